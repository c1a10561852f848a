#ifndef BENCHMARKS_BENCH_CASE_HPP
#define BENCHMARKS_BENCH_CASE_HPP

#include <cstddef>
#include <optional>
#include <string>

#include "types.hpp"

namespace dnnl_dequant {
namespace bench {

enum class op_t {
    dynamic_dequantize,
    dequantize_linear,
    extended_dequantize_linear,
    quantize_linear,
    extended_quantize_linear,
    dynamic_quantize_linear, // scales and zps are results
};

/// Returns the op's name in oneDNN, such as "DequantizeLinear".
const char *to_string(op_t op);
/// True for ops that turn floating types into types of few bits.
bool quantizes(op_t op);

enum class granularity_t { per_tensor, per_channel, per_group };

/// One op on its own: what is measured in one row.
struct bench_case_t {
    op_t op = op_t::dynamic_dequantize;
    type_t src = type_t::u8;
    type_t dst = type_t::f32;
    type_t zps = type_t::undef; // undef: none
    dims_t dims;
    granularity_t granularity = granularity_t::per_tensor;
    int axis = 1;            // per_channel
    dims_t group;            // per_group: how much of each dimension
    bool transposed = false; // src of two dimensions, column by column
    int threads = 1;

    /// The type of the scales: that of the floating side, or f32 where the op
    /// takes nothing else.
    type_t scales() const;
    /// How much of each dimension shares one scale, whatever the granularity.
    dims_t shared() const;
    /// How many scales there are along each dimension.
    dims_t scale_grid() const;

    dim_t elements() const { return product(dims); }
    size_t src_bytes() const { return bytes_of(src, elements()); }
    size_t dst_bytes() const { return bytes_of(dst, elements()); }
    size_t scales_bytes() const;
    size_t zps_bytes() const;
    /// All that must be read and written, once where a cache may keep it.
    size_t bytes() const;
    /// One range for all of src: it has to be read twice.
    bool has_two_passes() const;

    /// "tensor"; "channel_1" and "group_1x128" of DynamicDequantize; "axis_1"
    /// and "block_128" (along the last dimension) of the others.
    std::string granularity_name() const;
    std::string shape_name() const;  // "4096x4096"
    const char *layout_name() const; // "dense" or "transposed"
    /// The name that --filter is matched with. It begins with the op, unless
    /// that is DynamicDequantize:
    ///   u4/f32/group_1x128/zps_u4/dense/4096x4096/t2
    ///   DequantizeLinear/u16/f32/axis_1/zps_u16/dense/64x256x1024/t1
    std::string name() const;

    /// The ratio to the byte-moving limit that we hold ourselves to.
    std::optional<double> target() const;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
