// Settings of oneDNN's that we follow, and the plugin's own questions.

#include "abi/boundary.hpp"

#include "base/last_refusal.hpp"
#include "base/log.hpp"
#include "dnnl_dequant/dnnl_dequant.h"
#include "exec/cache.hpp"
#include "exec/constant_cache.hpp"
#include "exec/parallel.hpp"
#include "kernels/machine.hpp"
#include "pipeline.hpp"

using namespace dnnl_dequant;
using namespace dnnl_dequant::abi;

extern "C" {

dnnl_status_t dnnl_set_verbose(int level) {
    return enter(&api_t::dnnl_set_verbose, [=] {
        const dnnl_status_t status
                = upstream::call(&api_t::dnnl_set_verbose, level);
        if (status == dnnl_success) set_verbose(level);
        return status;
    }, level);
}

dnnl_status_t dnnl_graph_set_compiled_partition_cache_capacity(int capacity) {
    constexpr auto real
            = &api_t::dnnl_graph_set_compiled_partition_cache_capacity;
    return enter(real, [=] {
        const dnnl_status_t status = upstream::call(real, capacity);
        if (status == dnnl_success) set_cache_capacity(capacity);
        return status;
    }, capacity);
}

dnnl_status_t dnnl_graph_set_constant_tensor_cache(int flag) {
    constexpr auto real = &api_t::dnnl_graph_set_constant_tensor_cache;
    return enter(real, [=] {
        return change_constant_capacity(
                [=] { return upstream::call(real, flag); });
    }, flag);
}

dnnl_status_t dnnl_graph_set_constant_tensor_cache_capacity(
        dnnl_engine_kind_t engine_kind, size_t megabytes) {
    constexpr auto real = &api_t::dnnl_graph_set_constant_tensor_cache_capacity;
    return enter(real, [=] {
        return change_constant_capacity(
                [=] { return upstream::call(real, engine_kind, megabytes); });
    }, engine_kind, megabytes);
}

void dnnl_dequant_set_enabled(int enabled) {
    enable_plugin(enabled != 0);
}

int dnnl_dequant_enabled(void) {
    return plugin_enabled() ? 1 : 0;
}

dnnl_status_t dnnl_dequant_impl_info(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        const char **name) {
    if (compiled_partition == nullptr || name == nullptr)
        return dnnl_invalid_arguments;
    *name = is_ours(compiled_partition)
                    ? as_compiled(compiled_partition)->kernel()
                    : "";
    return dnnl_success;
}

dnnl_status_t dnnl_dequant_set_parallel_for(
        const dnnl_dequant_parallel_for_t *parallel_for) {
    if (parallel_for == nullptr) {
        set_parallel_for({});
        return dnnl_success;
    }
    if (parallel_for->concurrency == 0 || parallel_for->run == nullptr)
        return dnnl_invalid_arguments;
    set_parallel_for(*parallel_for);
    return dnnl_success;
}

dnnl_status_t dnnl_dequant_get_parallel_for(
        dnnl_dequant_parallel_for_t *parallel_for) {
    if (parallel_for == nullptr) return dnnl_invalid_arguments;
    *parallel_for = this_parallel_for();
    return dnnl_success;
}

dnnl_status_t dnnl_dequant_not_taken(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        const char **reasons) {
    if (compiled_partition == nullptr || reasons == nullptr)
        return dnnl_invalid_arguments;
    *reasons = is_ours(compiled_partition)
                       ? as_compiled(compiled_partition)->not_taken()
                       : "";
    return dnnl_success;
}

size_t dnnl_dequant_last_refusal(char *text, size_t size) {
    return take_refusal(text, size);
}

const char *dnnl_dequant_policy(void) {
    return this_machine().policy.name;
}

const char *dnnl_dequant_version(void) {
    return DNNL_DEQUANT_VERSION;
}

} // extern "C"
