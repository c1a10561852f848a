#include "e2e/plugin.hpp"

#include <dlfcn.h>

#include <stdexcept>

#include "oneapi/dnnl/dnnl.h"
#include "support/cpu.hpp"

#ifdef DNNL_DEQUANT_LINKED
#include "dnnl_dequant/dnnl_dequant.hpp"
#endif

namespace dnnl_dequant {
namespace e2e {

bool cpu_has(unsigned wanted) {
#if defined(__x86_64__)
    const auto isa = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
    return (isa & wanted) == wanted;
#else
    static_cast<void>(wanted);
    return false;
#endif
}

bool may_use_tiles() {
    return cpu_has(dnnl_cpu_isa_avx512_core_amx) && support::has_amx_bf16();
}

bool plugin_present() {
    return dlsym(RTLD_DEFAULT, "dnnl_dequant_version") != nullptr;
}

#ifdef DNNL_DEQUANT_LINKED

void set_plugin_enabled(bool enabled) {
    dnnl_dequant::set_enabled(enabled);
}

bool plugin_enabled() {
    return dnnl_dequant::enabled();
}

std::string kernel_of(const dnnl::graph::compiled_partition &compiled) {
    return dnnl_dequant::impl_info(compiled);
}

std::string not_taken_of(const dnnl::graph::compiled_partition &compiled) {
    return dnnl_dequant::not_taken(compiled);
}

std::string last_refusal_of_plugin() {
    return dnnl_dequant::last_refusal();
}

std::string plugin_version() {
    return dnnl_dequant::version();
}

std::string plugin_policy() {
    return dnnl_dequant::policy();
}

#else

namespace {

template <typename F>
F *function(const char *name) {
    void *const found = dlsym(RTLD_DEFAULT, name);
    if (!found) throw std::runtime_error(std::string("no ") + name);
    return reinterpret_cast<F *>(found);
}

} // namespace

void set_plugin_enabled(bool enabled) {
    function<void(int)>("dnnl_dequant_set_enabled")(enabled ? 1 : 0);
}

bool plugin_enabled() {
    return function<int()>("dnnl_dequant_enabled")() != 0;
}

namespace {

std::string text_of(
        const char *question, const dnnl::graph::compiled_partition &compiled) {
    using question_t = dnnl_status_t(
            const_dnnl_graph_compiled_partition_t, const char **);
    const char *text = "";
    const auto status = function<question_t>(question)(compiled.get(), &text);
    if (status != dnnl_success) throw std::runtime_error(question);
    return text;
}

} // namespace

std::string kernel_of(const dnnl::graph::compiled_partition &compiled) {
    return text_of("dnnl_dequant_impl_info", compiled);
}

std::string not_taken_of(const dnnl::graph::compiled_partition &compiled) {
    return text_of("dnnl_dequant_not_taken", compiled);
}

std::string last_refusal_of_plugin() {
    char text[512];
    function<size_t(char *, size_t)>("dnnl_dequant_last_refusal")(
            text, sizeof(text));
    return text;
}

std::string plugin_version() {
    return function<const char *()>("dnnl_dequant_version")();
}

std::string plugin_policy() {
    return function<const char *()>("dnnl_dequant_policy")();
}

#endif

} // namespace e2e
} // namespace dnnl_dequant
