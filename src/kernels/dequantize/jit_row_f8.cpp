// The generated code for rows of floats of 8 bits:
//
//      for each row, or two rows of 32
//        for each 64 elements
//          load, in the order that joining bytes and words undoes
//          look up the upper and lower bytes of bf16, put the signs in
//          join bytes to bf16 and bf16 with zeros to f32
//          multiply, round, store
//
// The other way has tables of the results of one scale, in which case bytes are
// joined and stored.
//
// The table's upper bytes are those of negative numbers. A saturating
// subtraction of -0x80 makes a number positive. It leaves 0x7f, which is in the
// table for a NaN without a sign.

#include "kernels/dequantize/jit_row_f8.hpp"

#include <cstddef>

#include "base/bits.hpp"
#include "base/convert.hpp"
#include "kernels/dequantize/jit_row_registers.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr uint32_t step = 64, half = 32, f32_bytes = 4, line = 64;
constexpr int codes = 128; // of magnitudes
constexpr int simd_w = 16;
constexpr uint32_t sign_bytes = 0x80808080u;

class jit_row_f8_generator_t : public jit_generator_t,
                               public jit_row_kernel_t,
                               private jit_row_registers_t {
public:
    jit_row_f8_generator_t(const jit_row_desc_t &desc, const char *name)
        : jit_generator_t(name)
        , desc_(desc)
        , is_unrolled_(desc_.is_unrolled(step)) {}

    void operator()(jit_row_args_t &args) const override {
        getCode<void (*)(jit_row_args_t *)>()(&args);
    }
    dim_t width() const override { return step; }
    bool is_paired() const override { return false; }

private:
    enum class extent_t { full, tail };

    bool looks_up() const { return desc_.byte_table; }
    bool are_short() const { return desc_.cols == half; }
    uint32_t dst_bytes(uint32_t elements) const {
        return static_cast<uint32_t>(bytes_of(desc_.dst, elements));
    }

    void generate() override {
        preamble();
        load_constants();
        mov(reg_src_row, arg(offsetof(jit_row_args_t, src)));
        mov(reg_dst_row, arg(offsetof(jit_row_args_t, dst)));
        mov(reg_rows, arg(offsetof(jit_row_args_t, rows)));
        mov(reg_scales, arg(offsetof(jit_row_args_t, scales)));
        if (desc_.prefetching) {
            mov(reg_src_ahead, arg(offsetof(jit_row_args_t, src_ahead)));
            mov(reg_dst_ahead, arg(offsetof(jit_row_args_t, dst_ahead)));
        }
        if (are_short()) {
            mov(reg_src_pitch, arg(offsetof(jit_row_args_t, src_pitch)));
            mov(reg_dst_pitch, arg(offsetof(jit_row_args_t, dst_pitch)));
            mov(reg_scales_pitch, arg(offsetof(jit_row_args_t, scales_pitch)));
            short_rows(2);
            short_rows(1);
        } else {
            mov(reg_scales_row, reg_scales);
            if (desc_.one_table_a_call) make_table();
            rows_loop();
        }
        postamble();
    }

    void load_constants() {
        vmovups(vmm_order, constant(order()));
        vmovups(vmm_sign, constant(sign_bytes));
        vpxord(vmm_zero, vmm_zero, vmm_zero);
        for (int t = 0; t < 2 && !looks_up(); ++t) {
            vmovups(vmm_lower(t), constant(bytes_of_bf16(t, 16)));
            vmovups(vmm_upper(t), constant(bytes_of_bf16(t, 24)));
        }
        if (has_tail()) load_tail_masks();
    }

    // Joining bytes, then words, of 128-bit lanes leaves dwords in the order of
    // memory; joining bytes alone leaves qwords so.
    lanes_t order() const {
        lanes_t lanes {};
        for (uint32_t i = 0; i < lanes.size(); ++i)
            lanes[i] = looks_up() ? i / 4 * 2 + i / 2 % 2 * 8 + i % 2
                                  : i / 4 + i % 4 * 4;
        return lanes;
    }

    uint32_t bits_of_code(int code) const {
        return bits_of_f32(small_float_to_f32(
                desc_.src.type, static_cast<unsigned>(code)));
    }
    bool has_sign(int code) const {
        return bits_of_code(code) != bits_of_code(code + codes);
    }

    // Returns bytes for 64 codes of one of the two tables.
    template <typename each_t>
    static lanes_t bytes_of_codes(int table, each_t &&each) {
        lanes_t lanes {};
        for (int i = 0; i < 64; ++i)
            lanes[static_cast<size_t>(i / 4)] |= (each(table * 64 + i) & 0xffu)
                                                 << i % 4 * 8;
        return lanes;
    }
    lanes_t bytes_of_bf16(int table, int shift) const {
        return bytes_of_codes(table, [&](int code) {
            const int other = has_sign(code) ? code + codes : code;
            return bits_of_code(other) >> shift;
        });
    }
    lanes_t signs(int table) const {
        return bytes_of_codes(
                table, [&](int code) { return has_sign(code) ? 0x80u : 0u; });
    }
    // Indices of every other byte of two vectors.
    static lanes_t every_other_byte(uint32_t first) {
        lanes_t lanes {};
        for (uint32_t i = 0; i < lanes.size(); ++i)
            lanes[i]
                    = 8 * i * 0x01010101u + (0x06040200u | first * 0x01010101u);
        return lanes;
    }
    lanes_t numbers(int first) const {
        lanes_t lanes {};
        for (int i = 0; i < simd_w; ++i)
            lanes[static_cast<size_t>(i)] = bits_of_code(first + i);
        return lanes;
    }

    bool has_tail() const {
        return !are_short() && (desc_.cols == 0 || desc_.cols % step != 0);
    }
    void load_tail_masks() {
        mov(reg_count, arg(offsetof(jit_row_args_t, cols)));
        and_(reg_count, step - 1);
        mov(rax, ~uint64_t {0});
        bzhi(rax, rax, reg_count);
        kmovq(k_src, rax);
        const uint32_t elements = line / dst_bytes(1);
        for (uint32_t i = 0; i * elements < step; ++i) {
            kmovd(k_dst(i), eax); // kmovw would do for dwords
            shr(rax, static_cast<int>(elements));
        }
    }

    // Makes the tables of results for the scale. Numbers that are not negative
    // are multiplied by its magnitude; whether signs are then flipped is in
    // vmm_flip.
    void make_table() {
        constexpr uint32_t not_sign = 0x7fffffffu;
        vbroadcastss(vmm_scale, ptr[reg_scales_row]);
        vpsrad(vmm_flip, vmm_scale, 31);
        vpandd(vmm_scale, vmm_scale, constant(not_sign));
        vmovups(vmm_index, constant(every_other_byte(0)));
        for (int t = 0; t < 2; ++t) {
            make_words(vmm_words(0), t * 64);
            make_words(vmm_words(1), t * 64 + 32);
            vmovdqa32(vmm_lower(t), vmm_index);
            vpermi2b(vmm_lower(t), vmm_words(0), vmm_words(1));
            vmovups(vmm_upper(t), constant(every_other_byte(1)));
            vpermi2b(vmm_upper(t), vmm_words(0), vmm_words(1));
            vpxord(vmm_upper(t), vmm_upper(t), constant(signs(t)));
        }
    }
    void make_words(const Zmm &words, int first) {
        vmulps(vmm_value(0), vmm_scale, constant(numbers(first)));
        vmulps(vmm_value(1), vmm_scale, constant(numbers(first + simd_w)));
        round(words, vmm_value(0), vmm_value(1));
    }

    void rows_loop() {
        Label l_rows;
        align(16);
        L(l_rows);
        if (looks_up() && !desc_.one_table_a_call) make_table();
        else if (!looks_up() && !desc_.scales_vary)
            vbroadcastss(vmm_scale, ptr[reg_scales_row]);
        if (is_unrolled_) {
            for (uint32_t c = 0; c < desc_.cols; c += step)
                emit_step(c, extent_t::full);
        } else {
            columns_loop();
        }
        add(reg_src_row, arg(offsetof(jit_row_args_t, src_pitch)));
        add(reg_dst_row, arg(offsetof(jit_row_args_t, dst_pitch)));
        add(reg_scales_row, arg(offsetof(jit_row_args_t, scales_pitch)));
        dec(reg_rows);
        jnz(l_rows, T_NEAR);
    }

    void columns_loop() {
        mov(reg_src, reg_src_row);
        mov(reg_dst, reg_dst_row);
        mov(reg_scales, reg_scales_row);
        mov(reg_count, arg(offsetof(jit_row_args_t, cols)));
        steps_while(4);
        steps_while(1);
        if (!has_tail()) return;
        Label l_end;
        test(reg_count, reg_count);
        jz(l_end, T_NEAR);
        emit_step(0, extent_t::tail);
        L(l_end);
    }

    void steps_while(uint32_t unroll) {
        Label l_steps, l_end;
        const uint32_t elements = unroll * step;
        cmp(reg_count, elements);
        jl(l_end, T_NEAR);
        align(16);
        L(l_steps);
        for (uint32_t u = 0; u < unroll; ++u)
            emit_step(u * step, extent_t::full);
        add(reg_src, elements);
        add(reg_dst, dst_bytes(elements));
        if (desc_.scales_vary) add(reg_scales, elements * f32_bytes);
        sub(reg_count, elements);
        cmp(reg_count, elements);
        jge(l_steps, T_NEAR);
        L(l_end);
    }

    void emit_step(uint32_t c, extent_t extent) {
        const RegExp src = (is_unrolled_ ? reg_src_row : reg_src) + c;
        const RegExp dst
                = (is_unrolled_ ? reg_dst_row : reg_dst) + dst_bytes(c);
        const RegExp scales
                = (is_unrolled_ ? reg_scales_row : reg_scales) + c * f32_bytes;
        if (extent == extent_t::tail)
            vmovdqu8(vmm_index | k_src | T_z, ptr[src]);
        if (extent == extent_t::tail) vpermd(vmm_index, vmm_order, vmm_index);
        else vpermd(vmm_index, vmm_order, ptr[src]);
        look_up_bytes();
        for (uint32_t h = 0; h < 2; ++h) {
            join_bytes(h);
            if (looks_up()) {
                store(dst + h * line, vmm_words(h), h, extent);
                continue;
            }
            widen(h);
            for (uint32_t v = 0; v < 2; ++v)
                if (desc_.scales_vary)
                    vmulps(vmm_value(v), vmm_value(v),
                            ptr[scales + (2 * h + v) * line]);
                else vmulps(vmm_value(v), vmm_value(v), vmm_scale);
            round_and_store(dst, h, extent);
        }
        if (extent != extent_t::tail) prefetch(src, dst, step);
    }

    // Runs rows of half a step each, two at once or one.
    void short_rows(uint32_t rows) {
        Label l_rows, l_end;
        cmp(reg_rows, rows);
        jl(l_end, T_NEAR);
        align(16);
        L(l_rows);
        load_short_rows(rows);
        look_up_bytes();
        for (uint32_t r = 0; r < rows; ++r) {
            vbroadcastss(vmm_scale, ptr[scales_row(r)]);
            join_bytes(r);
            widen(r);
            for (uint32_t v = 0; v < 2; ++v)
                vmulps(vmm_value(v), vmm_value(v), vmm_scale);
            // A row is stored where a first half would be.
            const RegExp dst = dst_row(r, true);
            round_and_store(dst, 0, extent_t::full);
            if (!desc_.dense_rows) prefetch_short_row(r);
        }
        if (desc_.dense_rows) prefetch(reg_src_row, reg_dst_row, rows * half);
        const auto scale = static_cast<int>(rows);
        lea(reg_src_row, ptr[reg_src_row + reg_src_pitch * scale]);
        lea(reg_dst_row, ptr[reg_dst_row + reg_dst_pitch * scale]);
        lea(reg_scales, ptr[reg_scales + reg_scales_pitch * scale]);
        sub(reg_rows, rows);
        cmp(reg_rows, rows);
        jge(l_rows, T_NEAR);
        L(l_end);
    }

    void prefetch_short_row(uint32_t r) {
        if (desc_.stream_ahead == 0 && !desc_.prefetching) return;
        lea(rax, ptr[src_row(r, true)]);
        lea(reg_count, ptr[dst_row(r, true)]);
        prefetch(rax, reg_count, half);
    }

    void load_short_rows(uint32_t rows) {
        if (rows == 2 && desc_.dense_rows)
            return vpermd(vmm_index, vmm_order, ptr[reg_src_row]);
        vmovups(Ymm(vmm_index.getIdx()), ptr[reg_src_row]);
        if (rows == 2)
            vinserti64x4(vmm_index, vmm_index, ptr[src_row(1, true)], 1);
        vpermd(vmm_index, vmm_order, vmm_index);
    }

    void look_up_bytes() {
        constexpr uint8_t not_a_xor_b_and_c = 0x82;
        vmovdqa32(vmm_low, vmm_index);
        vmovdqa32(vmm_high, vmm_index);
        vpermi2b(vmm_low, vmm_lower(0), vmm_lower(1));
        vpermi2b(vmm_high, vmm_upper(0), vmm_upper(1));
        if (looks_up())
            vpternlogd(vmm_index, vmm_flip, vmm_sign, not_a_xor_b_and_c);
        else vpandnd(vmm_index, vmm_index, vmm_sign);
        vpsubsb(vmm_high, vmm_high, vmm_index);
    }

    void join_bytes(uint32_t h) {
        if (h == 0) vpunpcklbw(vmm_words(0), vmm_low, vmm_high);
        else vpunpckhbw(vmm_words(1), vmm_low, vmm_high);
    }
    void widen(uint32_t h) {
        vpunpcklwd(vmm_value(0), vmm_zero, vmm_words(h));
        vpunpckhwd(vmm_value(1), vmm_zero, vmm_words(h));
    }

    void round(const Zmm &to, const Zmm &first, const Zmm &second) {
        if (desc_.dst == data_type_t::bf16)
            return vcvtne2ps2bf16(to, second, first);
        const Ymm low(first.getIdx()), high(second.getIdx());
        vcvtps2ph(low, first, 0);
        vcvtps2ph(high, second, 0);
        vinserti64x4(to, first, high, 1);
    }

    void round_and_store(const RegExp &dst, uint32_t h, extent_t extent) {
        if (desc_.dst == data_type_t::f32) {
            for (uint32_t v = 0; v < 2; ++v)
                store(dst + (2 * h + v) * line, vmm_value(v), 2 * h + v,
                        extent);
            return;
        }
        round(vmm_value(0), vmm_value(0), vmm_value(1));
        store(dst + h * line, vmm_value(0), h, extent);
    }

    // `part`: which line of the step it is.
    void store(
            const RegExp &dst, const Zmm &v, uint32_t part, extent_t extent) {
        if (extent != extent_t::tail)
            return desc_.streaming ? vmovntps(ptr[dst], v)
                                   : vmovups(ptr[dst], v);
        if (desc_.dst == data_type_t::f32) vmovups(ptr[dst] | k_dst(part), v);
        else vmovdqu16(ptr[dst] | k_dst(part), v);
    }

    void prefetch(const RegExp &src, const RegExp &dst, uint32_t elements) {
        if (desc_.stream_ahead > 0) prefetcht0(ptr[src + desc_.stream_ahead]);
        if (!desc_.prefetching) return;
        prefetcht0(ptr[src + reg_src_ahead]);
        for (uint32_t at = 0; at < dst_bytes(elements); at += line)
            if (desc_.prefetches_dst_into_l2)
                prefetcht1(ptr[dst + reg_dst_ahead + at]);
            else prefetchw(ptr[dst + reg_dst_ahead + at]);
    }

    Address arg(size_t offset) { return qword[reg_args + offset]; }
    static Zmm vmm_words(uint32_t h) { return Zmm(static_cast<int>(3 + h)); }
    static Zmm vmm_value(uint32_t v) { return Zmm(static_cast<int>(5 + v)); }
    static Zmm vmm_lower(int table) { return Zmm(24 + table); }
    static Zmm vmm_upper(int table) { return Zmm(26 + table); }
    static Opmask k_dst(uint32_t part) {
        return Opmask(static_cast<int>(2 + part));
    }

    const jit_row_desc_t desc_;
    const bool is_unrolled_;
    const Reg64 reg_scales_row = reg_zps;
    const Zmm vmm_index {0}, vmm_low {1}, vmm_high {2}, vmm_flip {22},
            vmm_scale {23}, vmm_order {28}, vmm_sign {29}, vmm_zero {30};
    const Opmask k_src {1};
};

} // namespace

bool jit_row_f8_t::takes(const jit_row_desc_t &desc) {
    const auto type = desc.src.type;
    const bool is_f8
            = type == data_type_t::f8_e4m3 || type == data_type_t::f8_e5m2;
    const bool are_short = desc.cols == half && !desc.scales_vary;
    return is_f8 && desc.src.container_bits == 8 && desc.group_cols == 1
           && !desc.in_groups && !desc.both_halves
           && (desc.cols == 0 || desc.cols >= step || are_short);
}

result_t make_jit_row_f8(const jit_row_desc_t &desc, const char *name,
        std::unique_ptr<const jit_row_kernel_t> &kernel) {
    return make_jit_as<jit_row_f8_generator_t>(kernel, desc, name);
}

} // namespace dnnl_dequant
