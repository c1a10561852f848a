#include "e2e/plugin.hpp"

#include <dlfcn.h>

#include <stdexcept>

#ifdef DNNL_DEQUANT_LINKED
#include "dnnl_dequant/dnnl_dequant.hpp"
#endif

namespace dnnl_dequant {
namespace e2e {

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

std::string plugin_version() {
    return dnnl_dequant::version();
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

std::string kernel_of(const dnnl::graph::compiled_partition &compiled) {
    using impl_info_t = dnnl_status_t(
            const_dnnl_graph_compiled_partition_t, const char **);
    const char *name = "";
    const auto status = function<impl_info_t>("dnnl_dequant_impl_info")(
            compiled.get(), &name);
    if (status != dnnl_success) throw std::runtime_error("no impl_info");
    return name;
}

std::string plugin_version() {
    return function<const char *()>("dnnl_dequant_version")();
}

#endif

} // namespace e2e
} // namespace dnnl_dequant
