#ifndef KERNELS_QUANTIZE_JIT_RANGE_BITS_HPP
#define KERNELS_QUANTIZE_JIT_RANGE_BITS_HPP

#include <memory>

#include "kernels/quantize/jit_range_rows.hpp"

namespace dnnl_dequant {

/// Generates code for isa_avx512_core that finds the ranges of rows of so many
/// columns by their bits. For each row it writes 32 bits to `above` and to
/// `below`, of which as many count as src has, the lowest:
///
///      above    the greatest as a signed integer, at least 0
///      below    the greatest as an unsigned integer
///
/// So `above` is the greatest number and `below` the least negative one, or one
/// that is not negative if there is none. A row with a NaN has a NaN in one of
/// them, and then neither is of use.
///
/// With of_magnitudes `above` is the greatest one, and a NaN if there is one.
/// The code writes nothing to `below` then.
///
/// cols  a row has whole vectors
struct range_bits_desc_t {
    data_type_t src;
    dim_t cols;
    bool of_magnitudes = false;
};
result_t make_jit_range_bits(const range_bits_desc_t &desc,
        std::unique_ptr<const jit_range_rows_t> &kernel);

} // namespace dnnl_dequant

#endif
