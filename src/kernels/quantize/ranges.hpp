#ifndef KERNELS_QUANTIZE_RANGES_HPP
#define KERNELS_QUANTIZE_RANGES_HPP

#include "kernels/kernel.hpp"

namespace dnnl_dequant {

/// How far the values of a group go on either side of zero: both are 0 or
/// above, infinity among it; NaN does not count. Finding them in any order, and
/// by any number of threads, gives the same.
struct range_t {
    float above = 0, below = 0;
};

/// Widens `range` by `found`, whoever else does so at the same time.
void widen(range_t &range, const range_t &found);

// Kernels that find ranges. src is f32, bf16 or f16. dst is an operand of
// range_t (said to be of f32), one a group. Ranges are widened and so have to
// be initialised. There are no steps. The loops stand in falling order of src's
// stride; work items may share an element of dst.
result_t make_jit_ranges(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel);
result_t make_ref_ranges(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel);

// Finds the greatest and the negated least value there are, on whichever side
// of zero: above and below start at -infinity. It is for one thread.
result_t make_ref_extremes(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
