#ifndef ABI_BOUNDARY_HPP
#define ABI_BOUNDARY_HPP

#include <cstdint>
#include <memory>
#include <new>

#include <oneapi/dnnl/dnnl_common.hpp>

#include "exec/compiled_partition.hpp"
#include "partition/partition.hpp"
#include "upstream/api.hpp"

namespace dnnl_dequant {
namespace abi {

using upstream::api_t;

/// Runs the body of an exported function: forwards instead when oneDNN itself
/// has called, which may expect its own exceptions, and else lets none cross
/// the C boundary. oneDNN 3.7 lets some out of its C functions
/// (`dnnl_graph_partition_compile` of a pooling that no primitive computes):
/// the caller gets the status that they carry.
template <typename F, typename Body, typename... Args>
dnnl_status_t enter(F api_t::*real, const Body &body, Args... args) {
    if (upstream::inside_call()) return upstream::call(real, args...);
    try {
        return body();
    } catch (const dnnl::error &error) {
        return error.status;
    } catch (const std::bad_alloc &) {
        return dnnl_out_of_memory;
    } catch (...) {
        return dnnl_runtime_error;
    }
}

/// Runs `body`, which completes what oneDNN has just made; where that throws,
/// the handle is destroyed and the user is left with none.
template <typename H, typename Body>
void complete(
        H *handle, dnnl_status_t (*api_t::*destroy)(H), const Body &body) {
    try {
        body();
    } catch (...) {
        upstream::call(destroy, *handle);
        *handle = nullptr;
        throw;
    }
}

// Handles of ours are pointers with bit 0 set; oneDNN's are aligned objects,
// which never have it.

template <typename H>
bool is_ours(H handle) {
    return (reinterpret_cast<uintptr_t>(handle) & 1u) != 0;
}

template <typename H, typename T>
H to_handle(T *object) {
    return reinterpret_cast<H>(reinterpret_cast<uintptr_t>(object) | 1u);
}

template <typename T, typename H>
T *from_handle(H handle) {
    return reinterpret_cast<T *>(
            reinterpret_cast<uintptr_t>(handle) & ~uintptr_t(1));
}

/// A partition handle of ours points at this.
struct partition_handle_t {
    std::shared_ptr<const partition_t> partition;
};

inline const partition_t &as_partition(const_dnnl_graph_partition_t handle) {
    return *from_handle<const partition_handle_t>(handle)->partition;
}

inline dnnl_graph_partition_t new_handle(
        std::shared_ptr<const partition_t> partition) {
    return to_handle<dnnl_graph_partition_t>(
            new partition_handle_t {std::move(partition)});
}

inline compiled_partition_t *as_compiled(
        const_dnnl_graph_compiled_partition_t handle) {
    return from_handle<compiled_partition_t>(handle);
}

} // namespace abi
} // namespace dnnl_dequant

#endif
