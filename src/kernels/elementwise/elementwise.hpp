#ifndef KERNELS_ELEMENTWISE_ELEMENTWISE_HPP
#define KERNELS_ELEMENTWISE_ELEMENTWISE_HPP

#include "kernels/kernel.hpp"

namespace dnnl_dequant {

// The elementwise family: any steps (problem/problem.hpp), with operands of
// any type; dst of up to 32 bits or, where there are no steps, of src's type.
#define X(name, isa, factory)                             \
    result_t factory(const problem_t &problem, isa_t isa, \
            std::shared_ptr<const kernel_t> &kernel);
#include "kernels/elementwise/kernels.def"
#undef X

/// Why the steps are not this family's, whatever the kernel; success where
/// they are.
result_t check_elementwise(const problem_t &problem);

} // namespace dnnl_dequant

#endif
