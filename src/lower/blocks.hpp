#ifndef LOWER_BLOCKS_HPP
#define LOWER_BLOCKS_HPP

#include <algorithm>
#include <functional>

#include "kernels/matmul/block_kernels.hpp"
#include "kernels/matmul/gemm.hpp"
#include "problem/chain.hpp"

namespace dnnl_dequant {

/// The largest size up to `most` that `fits` and divides by `unit`; else the
/// next larger one that fits, which the whole extent does.
template <typename fits_t>
dim_t pick_size(dim_t extent, dim_t most, dim_t unit, fits_t &&fits) {
    if (extent <= most) return std::max<dim_t>(extent, 1);
    for (dim_t size = most / unit * unit; size > 0; size -= unit)
        if (fits(size)) return size;
    for (dim_t size = most; size < extent; ++size)
        if (fits(size)) return size;
    return extent;
}

/// Blocks of `size` indices along dimension d of a chain's value: where its
/// operands lie and which of two shapes a block has. dst is placed already, or
/// has these strides.
block_kernels_t::axis_t block_axis(const chain_t &chain, size_t d, dim_t size);
block_kernels_t::axis_t block_axis(
        const chain_t &chain, const dims_t &dst_strides, size_t d, dim_t size);

/// An axis of several dimensions, the outermost first.
block_kernels_t::axis_t combined_axis(const block_kernels_t::axis_t &outer,
        const block_kernels_t::axis_t &inner);

/// An axis that is not cut.
block_kernels_t::axis_t whole_axis(size_t operands);

std::vector<data_type_t> operand_types(const chain_t &chain);
std::vector<data_type_t> operand_types(const chain_t &chain, data_type_t dst);

/// Returns the rows that a block reads of its src, without their begin. There
/// are no rows if they do not have one pitch.
read_ahead_t rows_of(const problem_t &problem);

/// A kernel for every block that looks like no other before it; make(i, j, k,
/// problem) says what is to be done there.
result_t make_kernels(block_kernels_t &blocks, isa_t isa,
        const std::function<result_t(size_t, size_t, size_t, problem_t &)>
                &make);

} // namespace dnnl_dequant

#endif
