#ifndef BENCHMARKS_PRODUCT_PRODUCT_ROW_HPP
#define BENCHMARKS_PRODUCT_PRODUCT_ROW_HPP

#include <functional>
#include <optional>
#include <vector>

#include "measure.hpp"
#include "product_case.hpp"

namespace dnnl_dequant {
namespace bench {

/// All that is known of one product after it was measured.
struct product_row_t {
    product_case_t c;
    int copies = 1; // of the weights, which are taken in turn
    contender_t ours, stock;
    contender_t repacked;      // ours of integers, weights constant and kept
    contender_t onnx, xnnpack; // their results are unchecked
    contender_t dense; // oneDNN's, of weights that are floats; unchecked too
    samples_t limit;   // reading the packed weights once
    samples_t peak;    // a run of the multiply-adds; none where there are none
    double peak_operations = 0; // of such a run

    /// Round by round, over the limit.
    samples_t ratio_of(const contender_t &contender) const {
        return bench::ratio_of(contender.time, limit);
    }
    /// Round by round, what part of the peak it reached.
    samples_t share_of(const contender_t &contender) const;
    double peak_per_second() const; // operations
    /// Another's time over ours, round by round; stock's once.
    std::optional<double> gain_on(const contender_t &other) const;
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

/// What measuring it takes, other libraries' copies of the weights aside.
double bytes_needed(const product_case_t &c, long last_cache_bytes);

/// The case in ONNX's words, for peer_t::prepare():
///   {op_type: MatMulNBits, domain, rows, depth, columns, bits, block_size,
///    zero_points: whether there are, x, y: element types, accuracy_level,
///    copies, threads}
std::string onnx_product(const product_case_t &c, int copies);

} // namespace bench
} // namespace dnnl_dequant

#endif
