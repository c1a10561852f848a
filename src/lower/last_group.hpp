#ifndef LOWER_LAST_GROUP_HPP
#define LOWER_LAST_GROUP_HPP

#include "lower/lower.hpp"

namespace dnnl_dequant {

/// Makes two kernels of a transposed problem whose last group is shorter than
/// the others: one for the groups before it, and one for it. Neither has to
/// look where a group ends.
/// @returns unimplemented where no group is shorter, groups of two dimensions
///          are, or another kernel is better.
result_t make_last_group(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
