#ifndef BENCHMARKS_PRODUCT_PRODUCT_RUN_HPP
#define BENCHMARKS_PRODUCT_PRODUCT_RUN_HPP

#include <string>
#include <vector>

#include "dequantize_run.hpp"
#include "formula.hpp"
#include "product_memory.hpp"

namespace dnnl_dequant {
namespace bench {

/// A product through the standard API, by the plugin or by stock oneDNN.
class product_run_t {
public:
    /// `memory` must outlive this.
    product_run_t(
            const product_case_t &c, owner_t owner, product_memory_t &memory);

    /// Empty, or why there is nothing to run.
    const std::string &refusal() const { return refusal_; }
    /// impl_info; empty for partitions of oneDNN's own.
    const std::string &kernel() const { return kernel_; }

    /// Each time with the next copy of the weights.
    void execute();

private:
    struct bound_part_t {
        dnnl::graph::compiled_partition compiled;
        // By copy of the weights.
        std::vector<std::vector<dnnl::graph::tensor>> inputs, outputs;
    };

    std::string refusal_, kernel_;
    dnnl::stream stream_;
    std::vector<bound_part_t> parts_;
    size_t copies_, next_ = 0;
};

/// Compares dst with the formula in f64, at some elements spread over it:
///   dst = sum over the depth of src * floats((weight - zp) * scale)
/// within what sums in f32 may err, and one rounding to dst.
check_t check_product(const product_case_t &c, product_memory_t &memory);

} // namespace bench
} // namespace dnnl_dequant

#endif
