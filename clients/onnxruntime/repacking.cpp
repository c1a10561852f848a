#include "repacking.hpp"

#include <cstdlib>
#include <mutex>

#include "oneapi/dnnl/dnnl_graph.h"

namespace dnnl_dequant::ort {

namespace {

// Megabytes; what is kept ends with its session, so a limit has no use.
constexpr size_t room = size_t(1) << 20;

std::mutex mutex;
size_t providers = 0;
bool is_ours = false;

size_t capacity() {
    size_t result = 0;
    const dnnl_status_t status
            = dnnl_graph_get_constant_tensor_cache_capacity(dnnl_cpu, &result);
    return status == dnnl_success ? result : 0;
}

bool user_has_set_it() {
    return secure_getenv("ONEDNN_GRAPH_CONSTANT_TENSOR_CACHE_CAPACITY")
                   != nullptr
           || capacity() != 0;
}

} // namespace

repacking_scope_t::repacking_scope_t() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (providers++ != 0 || user_has_set_it()) return;
    is_ours = dnnl_graph_set_constant_tensor_cache_capacity(dnnl_cpu, room)
              == dnnl_success;
}

repacking_scope_t::~repacking_scope_t() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (--providers != 0 || !is_ours) return;
    is_ours = false;
    if (capacity() == room)
        dnnl_graph_set_constant_tensor_cache_capacity(dnnl_cpu, 0);
}

} // namespace dnnl_dequant::ort
