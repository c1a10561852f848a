/// @file
/// C++ API of the dnnl_dequant plugin, over dnnl_dequant.h: constants for the
/// standard classes of oneapi/dnnl/dnnl_graph.hpp, and a few questions.

#ifndef DNNL_DEQUANT_DNNL_DEQUANT_HPP
#define DNNL_DEQUANT_DNNL_DEQUANT_HPP

#include <string>

#include "dnnl_dequant/dnnl_dequant.h"
#include "oneapi/dnnl/dnnl_graph.hpp"

namespace dnnl_dequant {

/// Data types for dnnl::graph::logical_tensor; see dnnl_dequant_data_type_t.
namespace data_type {
using type = dnnl::graph::logical_tensor::data_type;
constexpr type u16 = static_cast<type>(dnnl_dequant_data_type_u16);
constexpr type s16 = static_cast<type>(dnnl_dequant_data_type_s16);
constexpr type u32 = static_cast<type>(dnnl_dequant_data_type_u32);
constexpr type s2 = static_cast<type>(dnnl_dequant_data_type_s2);
constexpr type u2 = static_cast<type>(dnnl_dequant_data_type_u2);
constexpr type f8_e4m3fnuz
        = static_cast<type>(dnnl_dequant_data_type_f8_e4m3fnuz);
constexpr type f8_e5m2fnuz
        = static_cast<type>(dnnl_dequant_data_type_f8_e5m2fnuz);
constexpr type e8m0 = static_cast<type>(dnnl_dequant_data_type_e8m0);
constexpr type f4_e2m1 = static_cast<type>(dnnl_dequant_data_type_f4_e2m1);
constexpr type s64 = static_cast<type>(dnnl_dequant_data_type_s64);
} // namespace data_type

/// Op kinds for dnnl::graph::op; see dnnl_dequant_op_kind_t.
namespace op_kind {
using kind = dnnl::graph::op::kind;
constexpr kind DequantizeLinear
        = static_cast<kind>(dnnl_dequant_op_DequantizeLinear);
constexpr kind ExtendedDequantizeLinear
        = static_cast<kind>(dnnl_dequant_op_ExtendedDequantizeLinear);
constexpr kind DynamicQuantizeLinear
        = static_cast<kind>(dnnl_dequant_op_DynamicQuantizeLinear);
constexpr kind QuantizeLinear
        = static_cast<kind>(dnnl_dequant_op_QuantizeLinear);
constexpr kind ExtendedQuantizeLinear
        = static_cast<kind>(dnnl_dequant_op_ExtendedQuantizeLinear);
} // namespace op_kind

/// Attributes for dnnl::graph::op; see dnnl_dequant_attr_t. `axis`, `qtype`
/// and `group_shape` are oneDNN's own.
namespace attr {
using name = dnnl::graph::op::attr;
constexpr name block_size = static_cast<name>(dnnl_dequant_attr_block_size);
constexpr name saturate = static_cast<name>(dnnl_dequant_attr_saturate);
} // namespace attr

/// See dnnl_dequant_set_enabled().
inline void set_enabled(bool enabled) {
    dnnl_dequant_set_enabled(enabled ? 1 : 0);
}

/// See dnnl_dequant_enabled().
inline bool enabled() {
    return dnnl_dequant_enabled() != 0;
}

/// The kernel that `compiled_partition` runs, for example
/// "jit_dequantize_avx512_core", "onednn_reorder" or "ref_dequantize";
/// empty for a partition of oneDNN's own and for an empty handle.
inline std::string impl_info(
        const dnnl::graph::compiled_partition &compiled_partition) {
    const char *name = "";
    const auto handle = compiled_partition.get(true);
    if (handle == nullptr
            || dnnl_dequant_impl_info(handle, &name) != dnnl_success)
        return std::string();
    return std::string(name);
}

/// Why `compiled_partition` runs no kernel that the plugin prefers to
/// impl_info()'s, a line each; empty for a partition of oneDNN's own and for an
/// empty handle.
inline std::string not_taken(
        const dnnl::graph::compiled_partition &compiled_partition) {
    const char *reasons = "";
    const auto handle = compiled_partition.get(true);
    if (handle == nullptr
            || dnnl_dequant_not_taken(handle, &reasons) != dnnl_success)
        return std::string();
    return std::string(reasons);
}

/// The sentence about the last call of the calling thread that the plugin
/// refused; empty where there is none, and when it is asked for again.
inline std::string last_refusal() {
    char text[512];
    return std::string(text, dnnl_dequant_last_refusal(text, sizeof(text)));
}

/// Runs what the calling thread compiles and executes by the caller's own
/// threads, as long as the scope lives; what was set before comes back then.
/// See dnnl_dequant_set_parallel_for(). Scopes nest, and belong to the thread
/// that made them.
class parallel_for_scope {
public:
    /// @throws dnnl::error with #dnnl_invalid_arguments for a concurrency of 0
    ///     or a null `run`
    explicit parallel_for_scope(
            const dnnl_dequant_parallel_for_t &parallel_for) {
        dnnl_dequant_get_parallel_for(&before_);
        dnnl::error::wrap_c_api(dnnl_dequant_set_parallel_for(&parallel_for),
                "the caller's threads could not be set: a concurrency of 0, "
                "or no function to run tasks");
    }
    ~parallel_for_scope() {
        dnnl_dequant_set_parallel_for(before_.run ? &before_ : nullptr);
    }
    parallel_for_scope(const parallel_for_scope &) = delete;
    parallel_for_scope &operator=(const parallel_for_scope &) = delete;

private:
    dnnl_dequant_parallel_for_t before_;
};

/// The name of the CPU by whose measurements kernels are chosen.
inline std::string policy() {
    return dnnl_dequant_policy();
}

/// "major.minor.patch"
inline std::string version() {
    return dnnl_dequant_version();
}

} // namespace dnnl_dequant

#endif
