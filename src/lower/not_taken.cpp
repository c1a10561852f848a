#include "lower/not_taken.hpp"

namespace dnnl_dequant {

namespace {

// Initial-exec, so that no access asks the loader for memory.
[[gnu::tls_model("initial-exec")]] thread_local std::string *collected
        = nullptr;

} // namespace

void log_not_taken_sentence(const std::string &sentence) {
    log_refusal(log_dispatch, "implementation", sentence);
    if (collected) *collected += sentence + "\n";
}

not_taken_scope_t::not_taken_scope_t(std::string &text)
    : outer_(collected) {
    collected = &text;
}

not_taken_scope_t::~not_taken_scope_t() {
    collected = outer_;
}

} // namespace dnnl_dequant
