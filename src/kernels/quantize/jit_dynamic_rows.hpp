#ifndef KERNELS_QUANTIZE_JIT_DYNAMIC_ROWS_HPP
#define KERNELS_QUANTIZE_JIT_DYNAMIC_ROWS_HPP

#include "kernels/kernel.hpp"

namespace dnnl_dequant {

/// A dynamic quantize whose groups are rows of a dense x. Scales and zero
/// points are dense too, one a row.
struct dynamic_rows_t {
    data_type_t src, dst; // f32 bf16 f16; u8 s8
    bool has_zps;
    dim_t rows, cols;
};

/// Takes rows of whole 64 elements that fit L2. A work item is a slab of rows,
/// about as many bytes of x as the policy says and at least one row. It is
/// quantized from the cache where finding its ranges left it, L1 unless rows
/// are longer, and meanwhile the next slab is prefetched. So memory rests only
/// while ranges are found. Slabs of bf16 and f16 are quantized by factors
/// (jit_row_factors.hpp). Their lines are prefetched into L2, from the second
/// next slab. Buffers: src, scales[, zps], dst.
result_t make_jit_dynamic_rows(const dynamic_rows_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
