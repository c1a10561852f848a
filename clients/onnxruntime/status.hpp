// Errors: exceptions inside this library, OrtStatus at its boundary.
#ifndef DNNL_DEQUANT_ORT_STATUS_HPP
#define DNNL_DEQUANT_ORT_STATUS_HPP

#include <stdexcept>
#include <string>

#include "oneapi/dnnl/dnnl_common.hpp"
#include "runtime.hpp"

namespace dnnl_dequant::ort {

class failure_t : public std::runtime_error {
public:
    explicit failure_t(
            const std::string &sentence, OrtErrorCode code = ORT_FAIL)
        : std::runtime_error(sentence)
        , code_(code) {}
    OrtErrorCode code() const { return code_; }

private:
    OrtErrorCode code_;
};

// The plugin's sentence about the refused call, which names what was found and
// what was expected; else oneDNN's.
std::string sentence_of(const dnnl::error &error);

// Throws what `status` says, and releases it.
void check(const OrtApi &api, OrtStatus *status);

// The status of the exception that is being handled.
OrtStatus *status_of_exception(const OrtApi &api) noexcept;

// Runs `body`; no exception leaves.
template <typename body_t>
OrtStatus *guarded(const OrtApi &api, const body_t &body) noexcept {
    try {
        body();
        return nullptr;
    } catch (...) {
        return status_of_exception(api);
    }
}

} // namespace dnnl_dequant::ort

#endif
