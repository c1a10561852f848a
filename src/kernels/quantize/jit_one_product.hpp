#ifndef KERNELS_QUANTIZE_JIT_ONE_PRODUCT_HPP
#define KERNELS_QUANTIZE_JIT_ONE_PRODUCT_HPP

#include <cstdint>

#include "base/data_type.hpp"
#include "kernels/jit/generator.hpp"
#include "kernels/quantize/jit_row_parameters.hpp"

namespace dnnl_dequant {

/// The rows of `made`, dense and one behind the other. The code prefetches the
/// line so many bytes later, of src into L2.
struct one_product_args_t {
    const void *src;
    void *dst;
    const row_parameters_t *made;
    dim_t rows, src_ahead, dst_ahead;
};

/// cols       a multiple of 64
/// has_zps    of dst's type
/// streaming  past the caches; rows of dst begin at lines then, and dst is not
///            prefetched
struct one_product_desc_t {
    data_type_t src, dst; // bf16 f16; u8 s8
    bool has_zps, streaming;
    dim_t cols;
};

/// Generates code for isa_avx512_core that quantizes rows whose scales are
/// ordinary, and which have no NaN. An element takes one product if its row has
/// a factor (jit_row_factors.hpp), else three (jit_quantizer.hpp).
result_t make_jit_one_product(const one_product_desc_t &desc,
        jit_function_t<one_product_args_t> &code);

} // namespace dnnl_dequant

#endif
