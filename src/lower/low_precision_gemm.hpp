#ifndef LOWER_LOW_PRECISION_GEMM_HPP
#define LOWER_LOW_PRECISION_GEMM_HPP

#include "base/isa.hpp"
#include "kernels/matmul/matmul.hpp"
#include "match/match.hpp"
#include "primitives/matmul.hpp"
#include "upstream/declarations.hpp"

namespace dnnl_dequant {

/// The type of 16 bits that a product's factors may be multiplied in: the graph
/// has rounded both to it, or its fpmath mode lets f32 be rounded to it. Else
/// f32.
data_type_t narrow_type(const product_t &product, dnnl_fpmath_mode_t mode);

/// Chooses narrow_type() for blocks, if oneDNN's primitive is faster than our
/// own code, which it is by AMX. Otherwise it chooses f32, and result_t says
/// why if there was such a type to ask for.
/// @param rows The rows of a block.
result_t choose_narrow_type(const product_t &product, dnnl_fpmath_mode_t mode,
        isa_t isa, dim_t rows, data_type_t &type);

/// Makes generated code that multiplies blocks of bf16. Refuses where there is
/// none, or f32 is faster.
/// @param rows The rows of a block.
/// @param nk Whether the weights are [N,K] and may stay so; gemm->takes_nk()
///     says whether they have to.
result_t make_bf16_gemm(
        isa_t isa, dim_t rows, bool nk, std::shared_ptr<const gemm_t> &gemm);

/// Makes oneDNN's matmul primitive for every shape that the blocks have.
/// @param src_pitch Elements from row to row of src.
/// @returns unimplemented with the reason if oneDNN has none, or out_of_memory.
result_t make_low_precision_gemm(data_type_t type,
        const product_blocks_t &blocks, dim_t src_pitch,
        std::shared_ptr<const gemm_t> &gemm);

} // namespace dnnl_dequant

#endif
