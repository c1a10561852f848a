#ifndef BENCHMARKS_PRODUCT_DENSE_PRODUCT_HPP
#define BENCHMARKS_PRODUCT_DENSE_PRODUCT_HPP

#include <string>
#include <unordered_map>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"

#include "product_case.hpp"
#include "timing.hpp"

namespace dnnl_dequant {
namespace bench {

/// Memory of any numbers: they are multiplied as fast as others, but for those
/// below the normal ones.
dnnl::memory made_of_numbers(const dnnl::memory::desc &desc);

/// oneDNN's matmul primitive for weights that are floats of src's type already,
/// in the order that it asks for. This is the cost of a product for a program
/// that dequantized beforehand and has room for the floats. Rows of u8 are
/// multiplied by s8, and nothing is scaled.
class dense_product_t {
public:
    /// Copies of the weights take turns, so many that no cache holds them.
    dense_product_t(const product_case_t &c, long last_cache_bytes);

    /// Empty, or why there is nothing to run.
    const std::string &refusal() const { return refusal_; }
    /// Returns oneDNN's impl_info.
    const std::string &kernel() const { return kernel_; }
    /// The contestant is valid as long as this object.
    contestant_t contestant();

private:
    void prepare(const product_case_t &c, long last_cache_bytes);

    std::string refusal_, kernel_;
    dnnl::stream stream_;
    dnnl::matmul matmul_;
    // One for each copy of the weights.
    std::vector<std::unordered_map<int, dnnl::memory>> arguments_;
    size_t next_ = 0;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
