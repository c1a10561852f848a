#ifndef KERNELS_ATTENTION_JIT_DIGITS_CODE_HPP
#define KERNELS_ATTENTION_JIT_DIGITS_CODE_HPP

#include "kernels/attention/digits.hpp"
#include "kernels/jit/simd.hpp"

namespace dnnl_dequant {

/// The base of code that multiplies bytes of keys by digits of the query, by
/// vpdpbusd: keys have no sign, digits have one. The code of both ways makes
/// the scores of sixteen tokens, then those of the next sixteen.
class jit_digits_code_t : public jit_simd_t {
protected:
    using block_t = digits_kernel_t::block_t;
    using vectors_t = vector_registers_t<isa_avx512_core_vnni>;

    static constexpr size_t line = 64,
                            all_tokens = digits_kernel_t::tokens_at_once;

    jit_digits_code_t(const char *name, const digits_format_t &format, int rows)
        : jit_simd_t(name)
        , format_(format)
        , rows_(rows) {}

    const digits_format_t format_;
    const int rows_;
    const Reg64 keys_
            = general_.take("keys", Xbyak::util::rax),
            digits_ = general_.take("digits", Xbyak::util::rcx),
            constants_ = general_.take("constants of rows", Xbyak::util::rdx),
            scales_ = general_.take("scales", Xbyak::util::rbx),
            zps_ = general_.take("zero points", Xbyak::util::rsi),
            scores_ = general_.take("scores", Xbyak::util::r8),
            pitch_ = general_.take("pitch of scores", Xbyak::util::r9),
            groups_ = general_.take("groups to go", Xbyak::util::r10),
            sums_at_ = general_.take("sums of a group", Xbyak::util::r11),
            at_
            = general_.take("sums of its tokens, or a row", Xbyak::util::r12),
            steps_ = general_.take("steps to go", Xbyak::util::r13),
            zeros_ = general_.take("sums of 0 * score", Xbyak::util::r14);
    const Opmask k_tail_ {1};
    static constexpr uint32_t nibble_signs = 0x08080808;
    static constexpr uint8_t and_then_xor = 0x6a; // of vpternlogd

    bool is_nibble() const { return bits_of(format_.type) == 4; }
    bool is_signed() const { return format_.bias() != 0; }
    int halves() const { return is_nibble() ? 2 : 1; }
    bool has_groups() const { return format_.has_groups(); }

    // One scale and one zero point a token.
    bool has_token_scales() const {
        return !has_groups() && !format_.by_number;
    }

    void load_arguments() {
        mov(keys_, arg(offsetof(block_t, keys)));
        mov(digits_, arg(offsetof(block_t, digits)));
        mov(constants_, arg(offsetof(block_t, parts)));
        mov(scales_, arg(offsetof(block_t, scales)));
        mov(zps_, arg(offsetof(block_t, zps)));
        mov(scores_, arg(offsetof(block_t, scores)));
        mov(pitch_, arg(offsetof(block_t, scores_pitch)));
        mov(groups_, arg(offsetof(block_t, groups)));
        mov(sums_at_, arg(offsetof(block_t, sums)));
        if (const auto tail = format_.key_bytes() % format_.chunk; tail != 0) {
            mov(steps_, (uint64_t(1) << tail) - 1);
            kmovq(k_tail_, steps_);
        }
        mov(zeros_, arg(offsetof(block_t, zeros)));
    }

    void next_scores() {
        add(scores_, line);
        if (!has_token_scales()) return;
        add(scales_, line);
        add(zps_, line);
    }

    static uint32_t power_of_2(int exponent) {
        return static_cast<uint32_t>(127 + exponent) << 23;
    }
    static size_t begin_of(int digit) {
        return offsetof(digits_part_t, begins)
               + static_cast<size_t>(digit) * line;
    }
    RegExp of_part(int row, int part) const {
        return constants_
               + static_cast<size_t>(row * format_.parts() + part)
                         * sizeof(digits_part_t);
    }
    Address float_of_row(int row, size_t offset) {
        return ptr_b[of_part(row, 0) + offset];
    }
    RegExp digit_at(int row, int vector, int digit) const {
        return digits_ + static_cast<size_t>(row * format_.row_bytes())
               + static_cast<size_t>(vector * format_.digits + digit) * line;
    }

    // Loads a chunk of a token's bytes, and without a sign if `bits` has those
    // of bytes.
    void load_bytes(const Zmm &key, const Zmm &bits, int token, int chunk) {
        const size_t place = static_cast<size_t>(token * format_.pitch)
                             + static_cast<size_t>(chunk) * line;
        const bool is_short = (chunk + 1) * format_.chunk > format_.key_bytes();
        if (place / line % static_cast<size_t>(format_.lines) == 0)
            prefetch_early(
                    ptr[keys_ + place + static_cast<size_t>(format_.ahead)]);
        const Address at = ptr[keys_ + place];
        const bool turns = is_signed() && !is_nibble();
        if (is_short) {
            vmovdqu8(key | k_tail_ | T_z, at);
            if (turns) vpxord(key, key, bits);
        } else if (turns) vpxord(key, bits, at);
        else load(key, at);
    }

    // Low nibbles stay, high ones go to another register, without a sign.
    // `bits` has low nibbles, `signs` has nibble_signs.
    void split_nibbles(const Zmm &key, const Zmm &high, const Zmm &bits,
            const Operand &signs) {
        vpsrlw(high, key, 4);
        for (const Zmm &x : {high, key})
            if (is_signed()) vpternlogd(x, bits, signs, and_then_xor);
            else bit_and(x, x, bits);
    }

    void load_bits(const Zmm &bits) {
        if (is_nibble()) vmovups(bits, constant(0x0f0f0f0f));
        else if (is_signed()) vmovups(bits, constant(0x80808080));
    }

    // Stores sixteen scores of a row, whose sums are in x.
    void store_scores(const Zmm &x, const Zmm &scratch, int row) {
        const Address total
                = float_of_row(row, offsetof(digits_part_t, totals));
        if (format_.has_zps && format_.by_number) vsubps(x, x, total);
        if (format_.has_zps && has_token_scales()) {
            vmovups(scratch, ptr[zps_]);
            vfnmadd231ps(x, scratch, total);
        }
        vmulps(x, x, constant(power_of_2(1 - 8 * format_.digits)));
        vmulps(x, x, float_of_row(row, offsetof(digits_part_t, norm)));
        if (has_token_scales()) vmulps(x, x, ptr[scales_]);
        vmovups(ptr[at_], x);
        add(at_, pitch_);
        // To set bits of a mask takes longer (MEASURED.md).
        clear(scratch);
        vfmadd213ps(x, scratch, ptr[zeros_]);
        vmovups(ptr[zeros_], x);
    }
};

using digits_code_t = jit_function_t<const digits_kernel_t::block_t>;

/// Makes code whose vectors have a byte, or four, of each of sixteen tokens:
/// for up to four rows of tokens that have one group.
result_t make_jit_token_lanes(
        const digits_format_t &format, int rows, digits_code_t &code);

} // namespace dnnl_dequant

#endif
