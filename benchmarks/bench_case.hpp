#ifndef BENCHMARKS_BENCH_CASE_HPP
#define BENCHMARKS_BENCH_CASE_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "oneapi/dnnl/dnnl_graph.hpp"

namespace dnnl_dequant {
namespace bench {

using lt_t = dnnl::graph::logical_tensor;
using type_t = lt_t::data_type;
using dim_t = lt_t::dim;

const char *to_string(type_t type);
/// Bits of one element of a type that the benchmark knows.
dim_t bits_of(type_t type);
/// Bytes of `count` elements stored densely.
size_t bytes_of(type_t type, dim_t count);

enum class granularity_t { per_tensor, per_channel, per_group };

/// One DynamicDequantize of a matrix: what is measured in one row.
struct bench_case_t {
    type_t src = type_t::u8;
    type_t dst = type_t::f32;   // and the type of the scales
    type_t zps = type_t::undef; // undef: none
    dim_t rows = 0, cols = 0;
    granularity_t granularity = granularity_t::per_tensor;
    int axis = 1;                         // per_channel
    dim_t group_rows = 1, group_cols = 1; // per_group
    bool transposed = false;              // src is stored column by column
    int threads = 1;

    /// How many rows and columns share one scale, whatever the granularity.
    dim_t shared_rows() const;
    dim_t shared_cols() const;
    /// Rows and columns of the matrix of scales.
    dim_t scale_rows() const;
    dim_t scale_cols() const;

    dim_t elements() const { return rows * cols; }
    size_t src_bytes() const { return bytes_of(src, elements()); }
    size_t dst_bytes() const { return bytes_of(dst, elements()); }
    size_t scales_bytes() const;
    size_t zps_bytes() const;
    /// All that must be read and written.
    size_t bytes() const;

    std::string granularity_name() const; // "group_1x128"
    std::string shape_name() const;       // "4096x4096"
    const char *layout_name() const;      // "dense" or "transposed"
    /// What --filter is matched with:
    /// "u4/f32/group_1x128/zps_u4/dense/4096x4096/t2".
    std::string name() const;

    /// The ratio to the byte-moving limit that we hold ourselves to.
    std::optional<double> target() const;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
