#ifndef KERNELS_QUANTIZE_JIT_QUANTIZE_DESC_HPP
#define KERNELS_QUANTIZE_JIT_QUANTIZE_DESC_HPP

#include "base/convert.hpp"
#include "base/float_format.hpp"
#include "kernels/dequantize/jit_row_kernel.hpp"

namespace dnnl_dequant {

/// The parameters that a row kernel of quantize is generated for.
struct jit_quantize_desc_t {
    data_type_t src, dst;
    data_type_t scales = data_type_t::f32;
    data_type_t zps = data_type_t::undef; // none
    bool scales_vary = false, zps_vary = false;
    bool true_division = false; // else by the scales' reciprocals
    // Zero points of s32 are at most dequantize's most_near_zp.
    bool has_near_zps = false;
    // Quotients by ordinary scales are NaN or some hundreds at most.
    bool has_small_quotients = false;
    bool has_no_nan = false; // in src
    bool prefetches_src = false, prefetches_dst = false;
    // Past the caches: rows of dst begin at lines, or, of two elements to a
    // byte, at halves of lines.
    bool streaming = false;
    dim_t cols = 0; // of every call; 0: each says how many
    // Two elements of 4 bits to a byte of dst; cols are whole vectors.
    bool packs = false;
    // The bounds that values are clamped to; for integers dst's range or
    // narrower.
    bool saturates = false;
    float lower = 0, upper = 0;

    bool has_zps() const { return zps != data_type_t::undef; }
    bool to_integers() const { return is_integer(dst); }
    bool to_small_floats() const { return is_floating(dst) && bits() <= 8; }
    int bits() const { return bits_of(dst); }
    /// Elements below a byte are stored in bytes of their own, or packed.
    int container_bits() const {
        return packs ? bits() : bits() < 8 ? 8 : bits();
    }
    /// Numerators, scales and dst have so few bits that quotients are found by
    /// one product (jit_quantizer.hpp).
    bool snaps_quotients() const {
        const auto is_short = [](data_type_t type) {
            return is_floating(type)
                   && float_format_of(type).significand_bits <= 10;
        };
        return to_integers() && !true_division && bits() <= 8
               && (!has_zps() || bits_of(zps) <= 8) && is_short(src)
               && is_short(scales);
    }
    /// Sums may go beyond 32 bits.
    bool is_wide() const {
        return to_integers()
               && (bits() > 16
                       || (has_zps() && bits_of(zps) > 16 && !has_near_zps));
    }
};

/// Generates the code for isa_avx512_core or isa_avx2. It is called as the row
/// kernels of dequantize are, with the reciprocals of scales; src and dst begin
/// at a byte. `name` stands in the perf map.
result_t make_jit_quantize_row(const jit_quantize_desc_t &desc, isa_t isa,
        const char *name, std::unique_ptr<const jit_row_kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
