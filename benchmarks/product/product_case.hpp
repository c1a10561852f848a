#ifndef BENCHMARKS_PRODUCT_PRODUCT_CASE_HPP
#define BENCHMARKS_PRODUCT_PRODUCT_CASE_HPP

#include <optional>
#include <string>
#include <vector>

#include "peak.hpp"
#include "replay/graph_file.hpp"

namespace dnnl_dequant {
namespace bench {

/// The ids of a product's values in its graph.
enum product_value_t : size_t {
    weights_value,
    scales_value,
    zps_value,
    float_weights_value,
    src_value, // of src's float type, given or dequantized
    dst_value,
    codes_value, // rows that the graph has in integers, a scale and a zero
    code_scales_value, // point a row
    code_zps_value,
};

/// Rows times weights of 2 to 8 bits: what is measured in one row of a table.
struct product_case_t {
    type_t src = type_t::f32; // a float; u8: rows that the graph dequantizes
    type_t weights = type_t::u4;
    bool has_zps = true; // the weights; zero points are of their type
    dim_t rows = 1, depth = 4096, columns = 4096;
    dim_t group = 128;      // rows of [K,N] that share a scale
    dim_t column_group = 1; // columns that do
    bool by_column = false; // a column's depth is contiguous, not a row of them
    int threads = 1;
    bool constant = false; // as the graph says of the weights, no more

    bool in_integers() const { return src == type_t::u8; }
    /// True if DequantizeLinear dequantizes the weights, which
    /// DynamicDequantize does not take.
    bool is_of_onnx() const {
        return is_floating(weights) || bits_of(weights) < 4;
    }
    /// The type of scales and of dst, and that weights are dequantized to.
    type_t floats() const { return in_integers() ? type_t::f32 : src; }
    dims_t dims() const { return {rows, depth, columns}; }
    /// True if each column has one scale.
    bool is_per_channel() const { return group == depth && column_group == 1; }
    /// Returns "group_128" along the depth, "group_1x128" along the columns, or
    /// "channel".
    std::string granularity_name() const;
    const char *zps_name() const;
    size_t weights_bytes() const;
    size_t scales_bytes() const;
    size_t zps_bytes() const;
    /// Bytes that one row has to read at least: weights, scales and zero
    /// points.
    size_t packed_bytes() const;
    /// Returns the number of multiplications and additions.
    double operations() const;
    /// The multiply-adds that the machine may do it with.
    peak_kind_t peak() const;

    /// Returns a name such as
    /// "MatMul/f32/u4/group_128/zps_u4/by_row/32x4096x4096/t1".
    std::string name() const;
    const char *layout_name() const;
    /// Returns our target. For one row it is the ratio to reading the packed
    /// weights, for many the part of the peak.
    std::optional<double> target() const;
    std::optional<double> peak_target() const;
    /// Returns the target for a few rows, over the time of oneDNN's product of
    /// floats.
    std::optional<double> dense_target() const;
};

/// The graph as a user would build it: a dequantize of the weights, one of the
/// rows where these are integers, and a MatMul.
graph_file_t graph_of(const product_case_t &c);

/// Returns the rows of products, in both orders of the weights:
/// - groups of 128 along the depth: 4096 x 4096 and 4096 x 11008 by 1, 8, 32
///   and 512 rows;
/// - other granularities: 4096 x 4096 by 1, 8, 16, 32 and 512 rows;
/// - weights of other types: 4096 x 4096 by 1, 8 and 32 rows.
///
/// The quick set has the smaller weights as peers store them, and a few others.
std::vector<product_case_t> products_set(
        const std::vector<int> &threads, bool quick);

} // namespace bench
} // namespace dnnl_dequant

#endif
