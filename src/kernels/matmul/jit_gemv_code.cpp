// A few rows times weights of 4 or 8 bits whose columns lie side by side: a
// panel of columns goes down one group of rows at a time, the sums in
// registers, and is scaled once at its end.
//
// Of 4 bits, a vector has the even columns of a panel's 32 and the next the odd
// ones: so a byte's halves need no shuffle. Zero points, scales and sums are in
// that order too; the sums are put right when all groups are done.
//
// Registers: rdi the arguments; rax a; rcx the weights; rdx c; rsi r8 r9 the
// pitches of a, weights, c; r10 depth; rbx and r11 scratch. The first vectors
// are the sums, then come the zero points; the last four are scratch.

#include "kernels/matmul/jit_gemv_code.hpp"

#if defined(__x86_64__)

#include <cstddef>
#include <cstring>

#include "kernels/jit/lanes.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// The parameters of a panel as code reads them: in memory side by side.
lane_format_t format_of(const gemv_parameters_t &parameters) {
    const data_type_t type = parameters.column_stride == 0 ? data_type_t::f32
                                                           : parameters.type;
    return {type, bits_of(type)};
}

class jit_gemv_generator_t : public jit_generator_t, public jit_gemv_code_t {
public:
    static constexpr int simd_w = 16;

    jit_gemv_generator_t(const gemv_weights_t &weights, int rows)
        : jit_generator_t("jit_gemv")
        , rows_(rows)
        , vectors_(rows > 2 ? 4 : 8)
        , type_(weights.type)
        , scales_(format_of(weights.scales))
        , zps_(format_of(weights.zps))
        , has_zps_(weights.zps.type != data_type_t::undef)
        , lanes_(*this, jit_isa_t<isa_avx512_core>::vmm_count,
                  data_type_t::undef) {}

    dim_t cols() const override { return vectors_ * simd_w; }

    void operator()(const jit_gemv_args_t &args) const override {
        getCode<void (*)(const jit_gemv_args_t *)>()(&args);
    }

private:
    bool is_nibble() const { return bits_of(type_) == 4; }
    bool is_signed() const {
        return family_of(type_) == type_family_t::signed_int;
    }
    Zmm sum(int row, int v) const { return Zmm(row * vectors_ + v); }
    Zmm zp(int v) const { return Zmm(rows_ * vectors_ + v); }
    Zmm scratch(int i) const { return Zmm(28 + i); }
    Address arg(size_t offset) { return qword[rdi + offset]; }
    static size_t bytes(int vectors) {
        return static_cast<size_t>(vectors) * simd_w * 4;
    }

    void generate() override {
        // What loading needs is known when all else is generated.
        Label l_constants, l_begin;
        preamble();
        jmp(l_constants, T_NEAR);
        L(l_begin);
        product();
        postamble();
        L(l_constants);
        lanes_.load_constants();
        jmp(l_begin, T_NEAR);
    }

    void product() {
        mov(rcx, arg(offsetof(jit_gemv_args_t, weights)));
        mov(rdx, arg(offsetof(jit_gemv_args_t, c)));
        mov(rsi, arg(offsetof(jit_gemv_args_t, a_pitch)));
        mov(r8, arg(offsetof(jit_gemv_args_t, weights_pitch)));
        mov(r9, arg(offsetof(jit_gemv_args_t, c_pitch)));
        mov(r10, arg(offsetof(jit_gemv_args_t, depth)));
        if (has_zps_) {
            mov(r11, arg(offsetof(jit_gemv_args_t, zps)));
            for (int v = 0; v < vectors_; v += 2)
                load_pair(zp(v), zp(v + 1), zps_, v, scratch(0));
        }
        mov(rax, arg(offsetof(jit_gemv_args_t, a)));
        lea(rbx, ptr[rsi + rsi * 2]);
        add(rbx, rax);
        begin_sums();
        if (is_nibble()) vmovups(scratch(3), constant(numbers()));
        Label l_depth;
        align(32);
        L(l_depth);
        row_of_weights();
        add(rcx, r8);
        add(rax, 4);
        if (rows_ > 3) add(rbx, 4);
        dec(r10);
        jnz(l_depth, T_NEAR);
        Label l_scale, l_end;
        cmp(arg(offsetof(jit_gemv_args_t, ends)), 0);
        jne(l_scale, T_NEAR);
        move_partial(false);
        jmp(l_end, T_NEAR);
        L(l_scale);
        scale_sums();
        L(l_end);
    }

    void begin_sums() {
        Label l_zero, l_end;
        cmp(arg(offsetof(jit_gemv_args_t, continues)), 0);
        je(l_zero, T_NEAR);
        move_partial(true);
        jmp(l_end, T_NEAR);
        L(l_zero);
        for (int r = 0; r < rows_; ++r)
            for (int v = 0; v < vectors_; ++v)
                vpxord(sum(r, v), sum(r, v), sum(r, v));
        L(l_end);
    }

    // The sums of a group that is not done, from memory or to it.
    void move_partial(bool loads) {
        mov(r11, arg(offsetof(jit_gemv_args_t, partial)));
        for (int r = 0; r < rows_; ++r) {
            for (int v = 0; v < vectors_; ++v) {
                if (loads) vmovups(sum(r, v), ptr[r11 + bytes(v)]);
                else vmovups(ptr[r11 + bytes(v)], sum(r, v));
            }
            if (r + 1 < rows_) add(r11, r9);
        }
    }

    // What a nibble stands for.
    lanes_t numbers() const {
        lanes_t lanes;
        for (size_t i = 0; i < 16; ++i) {
            const int n = static_cast<int>(i);
            const float value
                    = static_cast<float>(is_signed() && n > 7 ? n - 16 : n);
            std::memcpy(&lanes[i], &value, sizeof(value));
        }
        return lanes;
    }

    // Vectors v and v + 1 of a panel's parameters, in the order of the sums.
    void load_pair(const Zmm &first, const Zmm &second,
            const lane_format_t &format, int v, const Zmm &natural) {
        const auto at = [&](int i) {
            return r11 + static_cast<size_t>(bytes_of(format.type, i * simd_w));
        };
        const Zmm next(natural.getIdx() + 1);
        const Zmm a = Zmm(natural.getIdx() < 28 ? 28 : 30), b(a.getIdx() + 1);
        if (!is_nibble()) {
            lanes_.load(first, format, at(v), false, a, b);
            lanes_.load(second, format, at(v + 1), false, a, b);
            return;
        }
        lanes_.load(natural, format, at(v), false, a, b);
        lanes_.load(next, format, at(v + 1), false, a, b);
        lanes_t even, odd;
        for (uint32_t i = 0; i < simd_w; ++i) {
            even[i] = 2 * i;
            odd[i] = 2 * i + 1;
        }
        vmovups(first, constant(even));
        vpermi2ps(first, natural, next);
        vmovups(second, constant(odd));
        vpermi2ps(second, natural, next);
    }

    void row_of_weights() {
        // Panels of the same rows come next.
        prefetcht0(ptr[rcx + 4 * static_cast<size_t>(bytes_of(type_, cols()))]);
        if (is_nibble()) {
            for (int v = 0; v < vectors_; v += 2) {
                const Zmm even = scratch(0), odd = scratch(1), raw = scratch(2);
                vpmovzxbd(raw, ptr[rcx + bytes(v) / 8]);
                vpermps(even, raw, scratch(3));
                vpsrld(raw, raw, 4);
                vpermps(odd, raw, scratch(3));
                multiply(even, v);
                multiply(odd, v + 1);
            }
            return;
        }
        for (int v = 0; v < vectors_; ++v) {
            const Zmm value = scratch(v % 3);
            if (is_signed()) vpmovsxbd(value, ptr[rcx + bytes(v) / 4]);
            else vpmovzxbd(value, ptr[rcx + bytes(v) / 4]);
            vcvtdq2ps(value, value);
            multiply(value, v);
        }
    }

    void multiply(const Zmm &value, int v) {
        if (has_zps_) vsubps(value, value, zp(v));
        for (int r = 0; r < rows_; ++r)
            vfmadd231ps(sum(r, v), value, ptr_b[row_of_a(r)]);
    }

    RegExp row_of_a(int row) const {
        const Reg64 &base = row < 3 ? rax : rbx;
        return row % 3 == 0 ? RegExp(base) : base + rsi * (row % 3);
    }

    // c += sums * scales
    void scale_sums() {
        mov(r11, arg(offsetof(jit_gemv_args_t, scales)));
        // The zero points are no longer needed.
        const Zmm first(24), second(25), natural(26), c = scratch(2);
        for (int v = 0; v < vectors_; v += 2) {
            load_pair(first, second, scales_, v, natural);
            mov(rbx, rdx);
            for (int r = 0; r < rows_; ++r) {
                for (int i = 0; i < 2; ++i) {
                    vmovups(c, ptr[rbx + bytes(v + i)]);
                    vfmadd231ps(c, sum(r, v + i), i == 0 ? first : second);
                    vmovups(ptr[rbx + bytes(v + i)], c);
                }
                if (r + 1 < rows_) add(rbx, r9);
            }
        }
    }

    const int rows_, vectors_;
    const data_type_t type_;
    const lane_format_t scales_, zps_;
    const bool has_zps_;
    jit_lanes_t<isa_avx512_core> lanes_;
};

} // namespace

result_t make_jit_gemv_code(const gemv_weights_t &weights, int rows,
        std::unique_ptr<jit_gemv_code_t> &code) {
    std::unique_ptr<jit_gemv_generator_t> made;
    result_t result = make_jit(made, weights, rows);
    if (result.ok()) code = std::move(made);
    return result;
}

} // namespace dnnl_dequant

#endif
