#ifndef KERNELS_DEQUANTIZE_JIT_ROW_EIGHTS_HPP
#define KERNELS_DEQUANTIZE_JIT_ROW_EIGHTS_HPP

#include "kernels/dequantize/jit_row_kernel.hpp"

namespace dnnl_dequant {

/// Rows of groups of eight columns, on CPUs whose vectors of 512 bits are two
/// operations. A group is a vector of 256 bits. Instructions repeat its scale
/// and its zero point from memory.
struct jit_row_eights_t {
    /// Returns what staging must add to zero points.
    static float zps_bias(data_type_t src);

    /// Whether the code takes such rows. Integers of 4 and 8 bits that have
    /// whole groups only, in caches, each row with its own parameters.
    static bool takes(const jit_row_desc_t &desc);
};

/// Generates the code, for machines with AVX512_BF16 and VBMI. No scale is
/// subnormal if dst is bf16.
result_t make_jit_row_eights(const jit_row_desc_t &desc, const char *name,
        std::unique_ptr<const jit_row_kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
