#ifndef KERNELS_KERNEL_ROWS_HPP
#define KERNELS_KERNEL_ROWS_HPP

#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "support/dequantize_case.hpp"
#include "support/isa_of_machine.hpp"

namespace dnnl_dequant {

struct kernel_row_t {
    std::string name;
    isa_t isa; // the least it needs
    kernel_factory_t factory;
};

/// The rows of the dequantize family, best first, then what they do beyond the
/// least that they need.
const std::vector<kernel_row_t> &dequantize_rows();

/// The kernels of the quantize family, with the elementwise family's plain C++,
/// which stands in for theirs.
const std::vector<kernel_row_t> &quantize_rows();

using support::isa_of_machine;

inline bool runs_here(const kernel_row_t &row) {
    return has(isa_of_machine(), row.isa);
}

/// The problem that a case is, its tensors in the order src, [zps,] scales,
/// dst, whatever the order of its steps.
problem_t problem_of(const support::dequantize_case_t &c);

/// Half of the cases as they are, the others with a small offset of each
/// tensor, so that nibbles start at either half of a byte.
support::dequantize_case_t with_offsets(support::dequantize_case_t c);

} // namespace dnnl_dequant

#endif
