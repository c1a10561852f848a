#ifndef BENCHMARKS_ATTENTION_DENSE_ATTENTION_HPP
#define BENCHMARKS_ATTENTION_DENSE_ATTENTION_HPP

#include <unordered_map>

#include "oneapi/dnnl/dnnl.hpp"

#include "attention_case.hpp"
#include "timing.hpp"

namespace dnnl_dequant {
namespace bench {

/// Both products of attention by oneDNN's matmul primitive, keys and values
/// being floats of the query's type already, without a softmax: what those two
/// cost alone. Queries that share a head are rows of one product.
class dense_attention_t {
public:
    /// Copies of keys and values take turns, so many that no cache holds them.
    dense_attention_t(const attention_case_t &c, long last_cache_bytes);

    /// Empty, or why there is nothing to run.
    const std::string &refusal() const { return refusal_; }
    /// Returns oneDNN's impl_info.
    const std::string &kernel() const { return kernel_; }
    /// The contestant is valid as long as this object.
    contestant_t contestant();

private:
    using arguments_t = std::unordered_map<int, dnnl::memory>;

    void prepare(const attention_case_t &c, long last_cache_bytes);

    std::string refusal_, kernel_;
    dnnl::stream stream_;
    dnnl::matmul scores_, sums_;
    // One for each copy of keys and values.
    std::vector<arguments_t> of_scores_, of_sums_;
    size_t next_ = 0;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
