#ifndef LOWER_PLANES_HPP
#define LOWER_PLANES_HPP

#include "lower/lower.hpp"

namespace dnnl_dequant {

/// Makes a kernel for planes that become points, or points that become planes:
/// the few channels of an image, innermost in src or dst, but not in both.
/// Blocks of them are planes on the stack between a kernel and a copy.
/// @returns unimplemented where there are no such planes.
result_t make_planes(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
