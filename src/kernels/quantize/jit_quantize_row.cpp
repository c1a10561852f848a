// The generated code of the quantize family:
//
//   dst[r][c] = saturate(round(src[r][c] / scales) + zps)
//
// for rows r and columns c, each of src and dst dense along c. Scales, their
// reciprocals (f32) and zero points (f32 for floating dst, else integers) stand
// one a row or one an element:
//
//   for each row
//     load parameters (one a row)
//     for each group of vectors     four of bytes, two of words, then single
//       load, quantize              jit_quantizer.hpp
//       narrow and store            kernels/jit/narrow.hpp
//     the rest by mask, or one by one
//
// Values that are NaN or far beyond dst need instructions that others do not.
// With AVX-512, groups whose scales are ordinary are quantized without them,
// and once more with them if the integers show such a value (see
// quick_group()). Zen 4 has one port for these instructions and all products.
//
// Registers: jit_row_registers.hpp for the general ones; vector registers
//   0 - 3    values
//   4 - 7    scratch of what is done to them
//   8 - 10   scales, reciprocals, zero points, of the row; in place of scales
//            what quotients are snapped by
//   11       order of narrowing
//   12       groups of two rows: the zero points of the second
//   13       what shows far values
//   14 - 16  bf16 in turns: see takes_turns()
// and from io's first on those of rounding to bf16.

#include "kernels/quantize/jit_quantize_desc.hpp"

#include <cstddef>
#include <list>

#include "base/bits.hpp"
#include "kernels/dequantize/jit_row_registers.hpp"
#include "kernels/jit/io.hpp"
#include "kernels/jit/narrow.hpp"
#include "kernels/quantize/jit_quantizer.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

template <isa_t isa>
class jit_quantize_row_t : public jit_generator_t,
                           public jit_row_kernel_t,
                           private jit_row_registers_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using io_t = jit_io_t<isa>;
    using extent_t = typename io_t::extent_t;

    jit_quantize_row_t(const jit_quantize_desc_t &desc, const char *name)
        : jit_generator_t(name)
        , desc_(desc)
        , load_(*this, dense_format(desc.src), data_type_t::f32, first_io_vmm)
        , store_(*this, dense_format(data_type_t::f32),
                  is_result_type(desc.dst) ? desc.dst : data_type_t::f32,
                  first_io_vmm)
        , quantizer_(*this, desc, vmm_scratch_at)
        , narrow_(*this, desc.packs ? 8 : desc.container_bits(),
                  family_of(desc.dst) == type_family_t::signed_int,
                  vmm_t(vmm_order_at)) {
        if (!desc.to_integers() || desc.is_wide()) return;
        if (takes_turns())
            narrow_.take_turns(
                    vmm_t(vmm_pairs_at), vmm_t(vmm_order_of_pairs_at));
        const auto range = range_of(desc.dst);
        const auto lower = desc.saturates ? static_cast<int64_t>(desc.lower)
                                          : range.lowest;
        const auto upper = desc.saturates ? static_cast<int64_t>(desc.upper)
                                          : range.highest;
        narrow_.clamp_to(static_cast<int>(lower), static_cast<int>(upper));
    }

    void operator()(jit_row_args_t &args) const override {
        getCode<void (*)(jit_row_args_t *)>()(&args);
    }
    dim_t width() const override { return io_t::simd_w; }
    bool is_paired() const override { return false; }

private:
    static constexpr bool is_avx512 = isa == isa_avx512_core;
    static constexpr int first_io_vmm
            = jit_isa_t<isa>::vmm_count - io_t::vmm_needed;
    static constexpr int vmm_scratch_at = 4, vmm_scale_at = 8,
                         vmm_reciprocal_at = 9, vmm_zp_at = 10,
                         vmm_order_at = 11, vmm_second_zp_at = 12,
                         vmm_seen_at = 13, vmm_pairs_at = 14,
                         vmm_order_of_pairs_at = 15, vmm_upper_words_at = 16;
    static constexpr uint32_t f32_bytes = 4;
    static constexpr uint32_t step_width = io_t::simd_w;
    static constexpr uint32_t most_vectors = 4;
    static constexpr uint32_t line_bytes = 64;

    bool varies() const { return desc_.scales_vary || desc_.zps_vary; }
    // From memory, where they vary.
    bool reads_scales() const {
        return desc_.scales_vary && !desc_.snaps_quotients();
    }
    bool stays_float() const { return is_result_type(desc_.dst); }
    uint32_t src_bytes(uint32_t elements) const {
        return load_.src_bytes(elements);
    }
    uint32_t dst_bytes(uint32_t elements) const {
        return elements * static_cast<uint32_t>(desc_.container_bits()) / 8;
    }

    void generate() override {
        preamble();
        mov(reg_src_pitch, arg(offsetof(jit_row_args_t, src_pitch)));
        mov(reg_dst_pitch, arg(offsetof(jit_row_args_t, dst_pitch)));
        mov(reg_src_ahead(), arg(offsetof(jit_row_args_t, src_ahead)));
        mov(reg_dst_ahead_, arg(offsetof(jit_row_args_t, dst_ahead)));
        load_constants();
        mov(reg_src_row, arg(offsetof(jit_row_args_t, src)));
        mov(reg_dst_row, arg(offsetof(jit_row_args_t, dst)));
        mov(reg_rows, arg(offsetof(jit_row_args_t, rows)));
        load_params_row();
        if (takes_pairs()) pairs_loop();
        rows_loop();
        postamble();
        if (may_need_care()) careful_groups();
    }

    void load_constants() {
        store_.set_streaming(desc_.streaming);
        if (stays_float()) store_.load_constants();
        else narrow_.load_constants();
        if (desc_.snaps_quotients())
            vmovups(vmm_t(vmm_scale_at),
                    constant(bits_of_f32(jit_quantizer_t<isa>::snapper)));
        if (!is_avx512) return;
        if (takes_turns())
            vmovups(Zmm(vmm_upper_words_at), constant(0xffff0000u));
        mov(reg_count, arg(offsetof(jit_row_args_t, cols)));
        and_(reg_count, step_width - 1);
        load_.load_tail_masks(reg_count, rax);
    }

    void load_params_row() {
        mov(reg_scales, arg(offsetof(jit_row_args_t, scales)));
        mov(reg_zps, arg(offsetof(jit_row_args_t, zps)));
        mov(reg_reciprocals, arg(offsetof(jit_row_args_t, reciprocals)));
    }

    // Two rows that are stored as one group of vectors. Rows that are less than
    // a line are not stored past the caches.
    bool takes_pairs() const {
        return is_unrolled() && !varies() && !stays_float() && !desc_.streaming
               && 2 * desc_.cols == narrow_.group() * dim_t(step_width);
    }

    // Runs while two rows lie next to each other in dst.
    void pairs_loop() {
        const auto cols = static_cast<uint32_t>(desc_.cols);
        Label l_pairs, l_left, l_end;
        cmp(reg_dst_pitch, dst_bytes(cols));
        jne(l_end, T_NEAR);
        sub(reg_rows, 2);
        align(16);
        L(l_pairs);
        jl(l_left, T_NEAR);
        mov(reg_dst, reg_dst_row);
        if (is_quick()) quick_group({true, 0});
        else pair(false);
        prefetch_dst(2 * cols);
        next_row();
        sub(reg_rows, 2);
        jmp(l_pairs, T_NEAR);
        L(l_left);
        add(reg_rows, 2);
        L(l_end);
    }

    // Two rows, stored.
    void pair(bool again) {
        vmm_t values[most_vectors];
        load_pair(values, false, !again);
        store_group(RegExp(reg_dst), values);
    }

    void load_pair(vmm_t *values, bool quickly, bool prefetches) {
        const auto cols = static_cast<uint32_t>(desc_.cols);
        const uint32_t in_row = cols / step_width;
        for (uint32_t v = 0; v < 2 * in_row; ++v) {
            const uint32_t at = v % in_row * step_width;
            if (v == in_row) next_row();
            if (at == 0) {
                mov(reg_src, reg_src_row);
                load_parameters(
                        quickly && v == in_row ? vmm_second_zp_at : vmm_zp_at);
                if (prefetches) prefetch_src(cols);
            }
            values[v] = quickly ? loaded_and_rounded(v, at)
                                : loaded_and_quantized(v, at);
        }
    }

    void rows_loop() {
        Label l_rows, l_end;
        test(reg_rows, reg_rows);
        jz(l_end, T_NEAR);
        align(16);
        L(l_rows);
        mov(reg_src, reg_src_row);
        mov(reg_dst, reg_dst_row);
        if (!is_unrolled()) mov(reg_count, arg(offsetof(jit_row_args_t, cols)));
        load_parameters(vmm_zp_at);
        columns();
        next_row();
        dec(reg_rows);
        jnz(l_rows, T_NEAR);
        L(l_end);
    }

    // Loads the parameters that a row's columns share.
    void load_parameters(int zp_at) {
        if (!desc_.scales_vary) {
            if (!desc_.snaps_quotients())
                vbroadcastss(vmm_t(vmm_scale_at), ptr[reg_scales]);
            if (!desc_.true_division)
                vbroadcastss(vmm_t(vmm_reciprocal_at), ptr[reg_reciprocals]);
        }
        if (desc_.has_zps() && !desc_.zps_vary)
            vbroadcastss(vmm_t(zp_at), ptr[reg_zps]);
    }

    bool is_unrolled() const {
        constexpr dim_t most_steps = 8;
        return desc_.cols > 0 && desc_.cols % step_width == 0
               && desc_.cols <= most_steps * step_width;
    }

    void columns() {
        if (is_unrolled()) {
            const auto all = static_cast<uint32_t>(desc_.cols) / step_width;
            for (uint32_t v = 0; v < all;) {
                const uint32_t count = vectors_at_once(all - v);
                vectors(count, v * step_width);
                v += count;
            }
            prefetch(static_cast<uint32_t>(desc_.cols));
            return;
        }
        steps_while(most_vectors, true);
        if (narrow_.group() == 2) steps_while(2, false);
        steps_while(1, true);
        if (desc_.packs) return;
        if (is_avx512) masked_tail();
        else scalar_tail();
    }

    uint32_t vectors_at_once(uint32_t left) const {
        const auto group = static_cast<uint32_t>(narrow_.group());
        if (stays_float() || left < group) return 1;
        return group;
    }

    // While so many vectors are left, or once.
    void steps_while(uint32_t count, bool again) {
        Label l_steps, l_end;
        const uint32_t elements = count * step_width;
        cmp(reg_count, elements);
        jl(l_end, T_NEAR);
        if (again) align(16);
        L(l_steps);
        for (uint32_t v = 0; v < count;) {
            const uint32_t at_once = vectors_at_once(count - v);
            vectors(at_once, v * step_width);
            v += at_once;
        }
        prefetch(elements);
        advance(elements);
        sub(reg_count, elements);
        if (again) {
            cmp(reg_count, elements);
            jge(l_steps, T_NEAR);
        }
        L(l_end);
    }

    // So many vectors, `offset` elements from the cursors on; stored together
    // where they are a group.
    void vectors(uint32_t count, uint32_t offset) {
        if (is_quick() && static_cast<int>(count) == narrow_.group())
            return quick_group({false, offset});
        careful_vectors(count, offset);
    }

    void careful_vectors(uint32_t count, uint32_t offset) {
        vmm_t values[most_vectors];
        for (uint32_t v = 0; v < count; ++v)
            values[v] = loaded_and_quantized(v, offset + v * step_width);
        const RegExp to = reg_dst + dst_bytes(offset);
        if (stays_float()) store_float(to, values[0], extent_t::full);
        else if (static_cast<int>(count) == narrow_.group())
            store_group(to, values);
        else if (desc_.packs) narrow_.store_nibbles(to, values[0]);
        else narrow_.store(to, values[0], false, load_.k_dst_tail());
    }

    void store_group(const RegExp &to, const vmm_t *values) {
        if (desc_.packs)
            narrow_.store_nibble_group(to, values, desc_.streaming);
        else narrow_.store_group(to, values, desc_.streaming);
    }

    // Zero points of bytes are added to words.
    bool is_quick() const {
        const bool has_short_zps = !desc_.has_zps() || bits_of(desc_.zps) <= 8;
        return is_avx512 && !desc_.true_division && desc_.to_integers()
               && !desc_.is_wide() && (desc_.bits() == 16 || has_short_zps);
    }

    bool may_need_care() const {
        return !desc_.has_no_nan || !desc_.has_small_quotients;
    }

    // Groups of bytes are joined to words first.
    bool has_words() const { return narrow_.group() == 4; }

    // Two vectors of bf16 are the even and the odd elements of one, which takes
    // fewer instructions than to spread each half of it.
    bool takes_turns() const {
        return is_quick() && !varies() && desc_.src == data_type_t::bf16
               && has_words();
    }

    // A group that is quantized without care at first: two rows, or `offset`
    // elements from the cursors on.
    struct group_t {
        bool is_pair;
        uint32_t offset;
        Label l_careful = {}, l_done = {};
    };

    void quick_group(const group_t &which) {
        groups_.push_back(which);
        group_t &group = groups_.back();
        vmm_t values[most_vectors];
        if (group.is_pair) load_pair(values, true, true);
        else
            for (int v = 0; v < narrow_.group(); ++v)
                values[v] = loaded_and_rounded(static_cast<uint32_t>(v),
                        group.offset + static_cast<uint32_t>(v) * step_width);
        if (has_words()) narrow_.join_words(values);
        if (may_need_care()) {
            see_far(values);
            jnz(group.l_careful, T_NEAR);
        }
        add_zps(values, group);
        const RegExp to = reg_dst + dst_bytes(group.offset);
        if (!has_words()) narrow_.store_group(to, values, desc_.streaming);
        else if (desc_.packs)
            narrow_.store_joined_nibbles(to, values, desc_.streaming);
        else narrow_.store_joined(to, values, desc_.streaming);
        L(group.l_done);
    }

    // The integers of what needs care are the least of all, and saturated to
    // words they are the least words. Zero points are added to words with
    // saturation, but to dwords without, so those that the sum might not hold
    // need care too. Others that are as far are done again to no effect.
    void see_far(const vmm_t *values) {
        constexpr uint8_t above = 6;
        const Zmm seen(vmm_seen_at), other(vmm_scratch_at);
        const Zmm first(values[0].getIdx());
        if (has_words()) {
            vpminsw(seen, first, Zmm(values[2].getIdx()));
            vpcmpeqw(k_seen_, seen, constant(0x80008000u));
        } else if (!desc_.has_zps()) {
            vpminsd(seen, first, Zmm(values[1].getIdx()));
            vpcmpeqd(k_seen_, seen, constant(0x80000000u));
        } else {
            vpabsd(seen, first);
            vpabsd(other, Zmm(values[1].getIdx()));
            vpmaxud(seen, seen, other);
            vpcmpud(k_seen_, seen, constant(0x40000000u), above);
        }
        kortestd(k_seen_, k_seen_);
    }

    // Adds to words, or to two vectors of dwords.
    void add_zps(const vmm_t *values, const group_t &group) {
        if (!desc_.has_zps()) return;
        const int step = has_words() ? 2 : 1;
        for (int i = 0; i < 2; ++i) {
            const Zmm value(values[i * step].getIdx()), tmp(vmm_seen_at);
            const uint32_t at = group.offset
                                + static_cast<uint32_t>(i * step) * step_width;
            const auto place = reg_zps + at * f32_bytes;
            const Zmm fixed(
                    group.is_pair && i == 1 ? vmm_second_zp_at : vmm_zp_at);
            if (!has_words()) {
                if (desc_.zps_vary) vpaddd(value, value, ptr[place]);
                else vpaddd(value, value, fixed);
                continue;
            }
            if (desc_.zps_vary) {
                vmovups(tmp, ptr[place]);
                vpackssdw(tmp, tmp, ptr[place + step_width * f32_bytes]);
            } else {
                vpackssdw(tmp, fixed, fixed);
            }
            vpaddsw(value, value, tmp);
        }
    }

    void careful_groups() {
        for (group_t &group : groups_) {
            L(group.l_careful);
            if (group.is_pair) {
                to_row_before();
                pair(true);
            } else {
                careful_vectors(
                        static_cast<uint32_t>(narrow_.group()), group.offset);
            }
            jmp(group.l_done, T_NEAR);
        }
    }

    // Vector v, which begins `at` elements from the cursors on.
    vmm_t loaded_and_quantized(uint32_t v, uint32_t at) {
        const vmm_t value(static_cast<int>(v));
        load_.load_raw(value, reg_src + src_bytes(at), false);
        quantize(value, at);
        return value;
    }

    // The same as divide_and_round() leaves it.
    vmm_t loaded_and_rounded(uint32_t v, uint32_t at) {
        const vmm_t value(static_cast<int>(v));
        if (takes_turns()) {
            load_in_turns(v, at);
        } else {
            load_.load_raw(value, reg_src + src_bytes(at), false);
            to_f32(value);
        }
        const vmm_t scale(vmm_scale_at), reciprocal(vmm_reciprocal_at),
                varying(vmm_scratch_at + 1);
        if (desc_.scales_vary)
            vmovups(varying, ptr[reg_reciprocals + at * f32_bytes]);
        const Address scales = ptr[reg_scales + at * f32_bytes];
        quantizer_.divide_and_round(value,
                either(reads_scales(), scales, scale),
                either(desc_.scales_vary, varying, reciprocal));
        return value;
    }

    // Loads this vector and the next with every other one.
    void load_in_turns(uint32_t v, uint32_t at) {
        const Zmm even(static_cast<int>(v)), odd(static_cast<int>(v) + 1);
        if (v % 2 != 0) return;
        vmovups(even, ptr[reg_src + src_bytes(at)]);
        vpandd(odd, even, Zmm(vmm_upper_words_at));
        vpslld(even, even, 16);
    }

    void to_f32(const vmm_t &x) {
        const vmm_t a(vmm_scratch_at), b(vmm_scratch_at + 1);
        if (desc_.src == data_type_t::s32) vcvtdq2ps(x, x);
        else load_.extract(x, x, 0, a, b);
    }

    void store_float(const RegExp &to, const vmm_t &value, extent_t extent) {
        store_.store(to, value, value, vmm_t(vmm_scratch_at), extent);
    }

    // Quantizes what was loaded raw; x is element `at` from the cursors.
    void quantize(const vmm_t &x, uint32_t at) {
        to_f32(x);
        const auto place
                = [&](const Reg64 &reg) { return ptr[reg + at * f32_bytes]; };
        const vmm_t scale(vmm_scale_at), reciprocal(vmm_reciprocal_at),
                zp(vmm_zp_at);
        const Address scales = place(reg_scales), zps = place(reg_zps),
                      reciprocals = place(reg_reciprocals);
        quantizer_.quantize(x, either(reads_scales(), scales, scale),
                either(desc_.scales_vary, reciprocals, reciprocal),
                either(desc_.zps_vary, zps, zp));
    }
    static const Operand &either(
            bool vary, const Operand &varying, const Operand &fixed) {
        return vary ? varying : fixed;
    }

    void masked_tail() {
        Label l_end;
        test(reg_count, reg_count);
        jz(l_end, T_NEAR);
        const vmm_t x(0);
        load_.load_raw(x, RegExp(reg_src), true);
        quantize(x, 0);
        if (stays_float()) store_float(RegExp(reg_dst), x, extent_t::tail);
        else narrow_.store(RegExp(reg_dst), x, true, load_.k_dst_tail());
        L(l_end);
    }

    // Quantizes one by one, each in lane 0. Loads of parameters read more than
    // one, which does not matter.
    void scalar_tail() {
        Label l_tail, l_end;
        test(reg_count, reg_count);
        jz(l_end, T_NEAR);
        L(l_tail);
        const vmm_t x(0);
        load_.load_raw_single(x, RegExp(reg_src), 0, eax);
        quantize(x, 0);
        if (stays_float()) store_float(RegExp(reg_dst), x, extent_t::single);
        else narrow_.store_single(RegExp(reg_dst), x);
        advance(1);
        dec(reg_count);
        jnz(l_tail, T_NEAR);
        L(l_end);
    }

    void advance(uint32_t elements) {
        add(reg_src, src_bytes(elements));
        add(reg_dst, dst_bytes(elements));
        if (desc_.scales_vary) {
            add(reg_scales, elements * f32_bytes);
            add(reg_reciprocals, elements * f32_bytes);
        }
        if (desc_.zps_vary) add(reg_zps, elements * f32_bytes);
    }

    void prefetch(uint32_t elements) {
        prefetch_dst(elements);
        prefetch_src(elements);
    }
    void prefetch_dst(uint32_t elements) {
        if (!desc_.prefetches_dst) return;
        for (uint32_t at = 0; at < dst_bytes(elements); at += line_bytes)
            prefetchw(ptr[reg_dst + reg_dst_ahead_ + at]);
    }
    void prefetch_src(uint32_t elements) {
        if (!desc_.prefetches_src) return;
        for (uint32_t at = 0; at < src_bytes(elements); at += line_bytes)
            prefetcht0(ptr[reg_src + reg_src_ahead() + at]);
    }

    void next_row() {
        add(reg_src_row, reg_src_pitch);
        add(reg_dst_row, reg_dst_pitch);
        if (!varies()) {
            mov(rax, arg(offsetof(jit_row_args_t, scales_pitch)));
            add(reg_scales, rax);
            add(reg_reciprocals, rax);
            add(reg_zps, arg(offsetof(jit_row_args_t, zps_pitch)));
            return;
        }
        mov(rax, arg(offsetof(jit_row_args_t, scales_pitch)));
        add(arg(offsetof(jit_row_args_t, scales)), rax);
        add(arg(offsetof(jit_row_args_t, reciprocals)), rax);
        mov(rax, arg(offsetof(jit_row_args_t, zps_pitch)));
        add(arg(offsetof(jit_row_args_t, zps)), rax);
        load_params_row();
    }

    // Undoes next_row(), of parameters that do not vary.
    void to_row_before() {
        sub(reg_src_row, reg_src_pitch);
        sub(reg_dst_row, reg_dst_pitch);
        mov(rax, arg(offsetof(jit_row_args_t, scales_pitch)));
        sub(reg_scales, rax);
        sub(reg_reciprocals, rax);
        sub(reg_zps, arg(offsetof(jit_row_args_t, zps_pitch)));
    }

    Address arg(size_t offset) { return qword[abi_param + offset]; }
    const Reg64 &reg_src_ahead() const { return reg_src_pitch3; }

    const jit_quantize_desc_t desc_;
    io_t load_, store_;
    jit_quantizer_t<isa> quantizer_;
    jit_narrow_t<isa> narrow_;
    const Reg64 reg_dst_ahead_ = reg_dst_pitch3;
    const Opmask k_seen_ {6};
    std::list<group_t> groups_;
};

} // namespace

result_t make_jit_quantize_row(const jit_quantize_desc_t &desc, isa_t isa,
        const char *name, std::unique_ptr<const jit_row_kernel_t> &kernel) {
    return make_jit_for<jit_quantize_row_t>(isa, kernel, desc, name);
}

} // namespace dnnl_dequant
