// The generated code that finds ranges by bits. For numbers of 16 and 32 bits:
//
//      above = max_signed(above, bits of x)
//      below = max_unsigned(below, bits of x)
//
// A float's bits without the sign are ordered as its magnitude is, with NaN
// above infinity. So nothing is converted, and two instructions take a whole
// vector of 16 bits. Magnitudes alone take
//
//      above = max_unsigned(above, bits of x << 1)
//
// which AMD's cores spread over more ports.
//
// Registers:
//   rdi                      the arguments
//   rdx, rsi, rbx            rows left, the row, its pitch
//   r8, r9                   cursor and steps left
//   r10, r11                 the ranges
//   zmm0 - 3, 4 - 7, 8 - 11  values, above, below
//   zmm12                    zero

#include "kernels/quantize/jit_range_bits.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

class jit_range_bits_t : public jit_generator_t, public jit_range_rows_t {
public:
    explicit jit_range_bits_t(const range_bits_desc_t &desc)
        : jit_generator_t("jit_range_bits")
        , in_words_(bits_of(desc.src) == 16)
        , of_magnitudes_(desc.of_magnitudes)
        , vectors_(static_cast<uint32_t>(bytes_of(desc.src, desc.cols))
                   / vmm_bytes)
        , used_(std::min(vectors_, unroll)) {}

    void operator()(jit_range_args_t &args) const override {
        getCode<void (*)(jit_range_args_t *)>()(&args);
    }

private:
    static constexpr uint32_t unroll = 4, vmm_bytes = 64;
    // So many vectors need no loop.
    static constexpr uint32_t most_unrolled = 16;

    static Zmm value(uint32_t u) { return Zmm(static_cast<int>(u)); }
    static Zmm above(uint32_t u) { return Zmm(static_cast<int>(unroll + u)); }
    static Zmm below(uint32_t u) {
        return Zmm(static_cast<int>(2 * unroll + u));
    }

    void generate() override {
        preamble();
        mov(reg_above, arg(offsetof(jit_range_args_t, above)));
        mov(reg_below, arg(offsetof(jit_range_args_t, below)));
        mov(reg_pitch, arg(offsetof(jit_range_args_t, src_pitch)));
        mov(reg_row, arg(offsetof(jit_range_args_t, src)));
        mov(reg_rows, arg(offsetof(jit_range_args_t, rows)));
        vpxord(vmm_zero, vmm_zero, vmm_zero);
        Label l_rows;
        align(16);
        L(l_rows);
        columns();
        if (of_magnitudes_) write_magnitude();
        else write_range();
        add(reg_row, reg_pitch);
        add(reg_above, 4);
        add(reg_below, 4);
        dec(reg_rows);
        jnz(l_rows, T_NEAR);
        postamble();
    }

    void columns() {
        for (uint32_t u = 0; u < used_; ++u) {
            load(above(u), reg_row + u * vmm_bytes);
            if (!of_magnitudes_) vmovdqa64(below(u), above(u));
        }
        if (vectors_ <= most_unrolled) {
            for (uint32_t v = used_; v < vectors_; ++v)
                widen(reg_row + v * vmm_bytes, v % unroll);
            return;
        }
        Label l_steps;
        lea(reg_src, ptr[reg_row + unroll * vmm_bytes]);
        mov(reg_count, vectors_ / unroll - 1);
        align(16);
        L(l_steps);
        for (uint32_t u = 0; u < unroll; ++u)
            widen(reg_src + u * vmm_bytes, u);
        add(reg_src, unroll * vmm_bytes);
        dec(reg_count);
        jnz(l_steps, T_NEAR);
        for (uint32_t u = 0; u < vectors_ % unroll; ++u)
            widen(reg_src + u * vmm_bytes, u);
    }

    void widen(const RegExp &from, uint32_t u) {
        load(value(u), from);
        if (of_magnitudes_) {
            max_unsigned(above(u), value(u));
            return;
        }
        max_signed(above(u), value(u));
        max_unsigned(below(u), value(u));
    }
    void load(const Zmm &to, const RegExp &from) {
        if (!of_magnitudes_) vmovdqu64(to, ptr[from]);
        else if (in_words_) vpsllw(to, ptr[from], 1);
        else vpslld(to, ptr[from], 1);
    }

    // Folds all vectors into one, of `above` in its low half and `below` in its
    // high one, and that into a number each.
    void write_range() {
        for (uint32_t u = used_; u-- > 1;) {
            max_signed(above(u / 2), above(u));
            max_unsigned(below(u / 2), below(u));
        }
        const Zmm a = above(0), b = below(0), low = value(0), high = value(1);
        constexpr uint8_t low_halves = 0x44, high_halves = 0xee;
        constexpr uint8_t other_quarter = 0xb1, other_half = 0x4e,
                          other_dword = 0xb1;
        max_signed(a, vmm_zero);
        vshufi64x2(low, a, b, low_halves);
        vshufi64x2(high, a, b, high_halves);
        max_unsigned(low, high);
        vshufi64x2(high, low, low, other_quarter);
        max_unsigned(low, high);
        for (const uint8_t order : {other_half, other_dword}) {
            vpshufd(high, low, order);
            max_unsigned(low, high);
        }
        if (in_words_) {
            vprold(high, low, 16);
            max_unsigned(low, high);
        }
        vextracti32x4(Xmm(high.getIdx()), low, 2);
        vmovd(dword[reg_above], Xmm(low.getIdx()));
        vmovd(dword[reg_below], Xmm(high.getIdx()));
    }

    void write_magnitude() {
        constexpr uint8_t other_half = 0x4e, other_dword = 0xb1;
        for (uint32_t u = used_; u-- > 1;)
            max_unsigned(above(u / 2), above(u));
        const Ymm half(above(0).getIdx()), upper(value(0).getIdx());
        const Xmm quarter(half.getIdx()), other(upper.getIdx());
        vextracti64x4(upper, above(0), 1);
        max_unsigned(half, upper);
        vextracti128(other, half, 1);
        max_unsigned(quarter, other);
        for (const uint8_t order : {other_half, other_dword}) {
            vpshufd(other, quarter, order);
            max_unsigned(quarter, other);
        }
        if (in_words_) {
            vprold(other, quarter, 16);
            max_unsigned(quarter, other);
            vpsrlw(quarter, quarter, 1);
        } else {
            vpsrld(quarter, quarter, 1);
        }
        vmovd(dword[reg_above], quarter);
    }

    void max_signed(const Zmm &to, const Zmm &by) {
        if (in_words_) vpmaxsw(to, to, by);
        else vpmaxsd(to, to, by);
    }
    void max_unsigned(const Xmm &to, const Xmm &by) {
        if (in_words_) vpmaxuw(to, to, by);
        else vpmaxud(to, to, by);
    }

    Address arg(size_t offset) { return qword[abi_param + offset]; }

    const bool in_words_, of_magnitudes_;
    const uint32_t vectors_; // of a row
    const uint32_t used_;    // of the unrolled ones
    const Zmm vmm_zero {12};
    const Reg64 reg_rows = rdx, reg_row = rsi, reg_pitch = rbx, reg_src = r8,
                reg_count = r9, reg_above = r10, reg_below = r11;
};

} // namespace

result_t make_jit_range_bits(const range_bits_desc_t &desc,
        std::unique_ptr<const jit_range_rows_t> &kernel) {
    return make_jit_as<jit_range_bits_t>(kernel, desc);
}

} // namespace dnnl_dequant
