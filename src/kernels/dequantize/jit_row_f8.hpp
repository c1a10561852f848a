#ifndef KERNELS_DEQUANTIZE_JIT_ROW_F8_HPP
#define KERNELS_DEQUANTIZE_JIT_ROW_F8_HPP

#include "kernels/dequantize/jit_row_kernel.hpp"

namespace dnnl_dequant {

/// Rows of floats of 8 bits, 64 elements to a step. Permutations of bytes look
/// up the upper and the lower byte of each number as bf16, exactly. With
/// byte_table they look up those of the results instead.
struct jit_row_f8_t {
    /// Whether the code takes such rows, if nothing is subtracted.
    static bool takes(const jit_row_desc_t &desc);

    /// The least elements of one scale that are worth a table of results. They
    /// are fewer where a result takes more time otherwise.
    static constexpr dim_t least_looked_up(data_type_t src, data_type_t dst) {
        const bool is_dear
                = src == data_type_t::f8_e4m3 && dst == data_type_t::f16;
        return is_dear ? 128 : 256;
    }
};

/// Generates the code, for machines with AVX512_BF16 and VBMI. If dst is bf16,
/// no scale is so small that a product would be subnormal.
result_t make_jit_row_f8(const jit_row_desc_t &desc, const char *name,
        std::unique_ptr<const jit_row_kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
