#ifndef LOWER_JOINED_ROWS_HPP
#define LOWER_JOINED_ROWS_HPP

#include "lower/lower.hpp"

namespace dnnl_dequant {

/// Makes a kernel for short rows that share their scales and zero points, one
/// an element: u8 images whose channels are innermost. Kernels compute a row
/// after the other, so that short ones are joined.
/// @returns unimplemented where rows are not short, or not alike.
result_t make_joined_rows(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
