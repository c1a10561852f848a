#ifndef RANDOM_REFERENCE_HPP
#define RANDOM_REFERENCE_HPP

#include "random/run.hpp"

namespace dnnl_dequant {
namespace random_graphs {

/// Runs the ops one by one: DynamicDequantize by its formula, the others by
/// stock oneDNN, each in a graph of its own with the plugin off. Outputs are
/// written to `values`. Returns false if oneDNN does not run one of them.
bool run_one_by_one(
        const spec_t &spec, const std::vector<uint64_t> &ops, values_t &values);

/// How far a partition of ours may be from what its ops give one by one.
struct bound_t {
    /// The part of the largest expected value that floats may be off; 0 for
    /// equal bits.
    double relative = 0;
    /// The most that products of the largest factors sum up to, and the part of
    /// it that they may be off.
    double sums = 0, relative_to_sums = 0;
    /// The steps that integers may be off.
    int64_t steps = 0;
};
/// values  the factors of products, as the ops one by one give them
bound_t bound_of(const spec_t &spec, const std::vector<uint64_t> &ops,
        const values_t &values);

/// Empty if the results are within the bound; `exact` says if they are equal.
std::string difference(const spec_tensor_t &tensor, const void *expected,
        const void *got, const bound_t &bound, bool &exact);

} // namespace random_graphs
} // namespace dnnl_dequant

#endif
