#ifndef BENCHMARKS_PRODUCT_PRODUCT_ROW_HPP
#define BENCHMARKS_PRODUCT_PRODUCT_ROW_HPP

#include <functional>
#include <vector>

#include "cold_row.hpp"
#include "product_case.hpp"

namespace dnnl_dequant {
namespace bench {

/// All that is known of one product after it was measured.
struct product_row_t : cold_row_t {
    product_case_t c;
    contender_t repacked;      // ours of integers, weights constant and kept
    contender_t onnx, xnnpack; // their results are unchecked
    contender_t dense; // oneDNN's, of weights that are floats; unchecked too

    /// Over the target where there is one, or slower than another.
    bool misses_target() const;
};

product_row_t measure_product(
        const product_case_t &c, const measure_options_t &options);

/// Until there are none or the user interrupts, as measure_all().
std::vector<product_row_t> measure_products(
        const std::vector<product_case_t> &cases,
        const measure_options_t &options,
        const std::function<void(const product_row_t &)> &print_row);

/// The memory that measuring it takes, without other libraries' copies of the
/// weights.
double bytes_needed(const product_case_t &c, long last_cache_bytes);

/// The case in ONNX's words, for peer_t::prepare():
///   {op_type: MatMulNBits, domain, rows, depth, columns, bits, block_size,
///    zero_points: whether there are, x, y: element types, accuracy_level,
///    copies, threads}
std::string onnx_product(const product_case_t &c, int copies);

} // namespace bench
} // namespace dnnl_dequant

#endif
