// A few rows times weights of 4 or 8 bits whose columns lie side by side, on
// AVX2: panel after panel of columns goes down some rows of one group, the sums
// in registers, and is scaled once at the group's end.
//
// Eight nibbles are four bytes, which every lane gets and shifts its own of to
// the right; in the mantissa of 2^23 an integer is the number 2^23 more, to
// which the zero points were raised before. Of a signed one the sign is turned
// over, which adds half its range.
//
// Registers: rdi the arguments; rax a of the first row; rcx the weights; rdx c;
// rsi r8 the pitches of a, weights; r9 how far ahead weights are asked for; r10
// depth to go; r11 r13 zero points and scales; r14 panels to go; r15 partial
// sums; rbp sums' places in memory. The first twelve vectors are sums.

#include "kernels/matmul/jit_gemv_code.hpp"

#if defined(__x86_64__)

#include <cstddef>

#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using args_t = jit_gemv_args_t;
constexpr int simd_w = 8, most_sums = 12;
constexpr int most_rows_of_avx2 = 3;

class generator_t : public jit_generator_t, public jit_gemv_code_t {
public:
    generator_t(const gemv_weights_t &weights, const jit_gemv_panel_t &panel,
            int rows)
        : jit_generator_t("jit_gemv_avx2")
        , w_(weights)
        , rows_(rows)
        , vectors_(panel.vectors) {}

    void operator()(const args_t &args) const override {
        getCode<void (*)(const args_t *)>()(&args);
    }

private:
    bool is_nibble() const { return bits_of(w_.type) == 4; }
    Ymm sum(int row, int v) const { return Ymm(row * vectors_ + v); }
    Ymm weight(int v) const { return Ymm(most_sums + v % 2); }
    const Ymm shifts_ {14}, vmm_a_ {15};
    Address arg(size_t offset) { return qword[rdi + offset]; }
    static size_t bytes(int vectors) {
        return static_cast<size_t>(vectors) * simd_w * 4;
    }
    size_t weights_bytes(int vectors) const {
        return static_cast<size_t>(bytes_of(w_.type, vectors * dim_t(simd_w)));
    }

    void generate() override {
        preamble();
        lanes_t shifts;
        for (uint32_t i = 0; i < shifts.size(); ++i)
            shifts[i] = i % simd_w * 4;
        vmovups(shifts_, constant(shifts));
        mov(rcx, arg(offsetof(args_t, weights)));
        mov(rdx, arg(offsetof(args_t, c)));
        mov(rsi, arg(offsetof(args_t, a_pitch)));
        mov(r8, arg(offsetof(args_t, weights_pitch)));
        mov(r11, arg(offsetof(args_t, zps)));
        mov(r13, arg(offsetof(args_t, scales)));
        mov(r14, arg(offsetof(args_t, panels)));
        mov(r15, arg(offsetof(args_t, partial)));
        Label l_panel;
        L(l_panel);
        panel();
        add(rcx, static_cast<uint32_t>(weights_bytes(vectors_)));
        for (const Reg64 &at : {rdx, r11, r13, r15})
            add(at, static_cast<uint32_t>(bytes(vectors_)));
        dec(r14);
        jnz(l_panel, T_NEAR);
        postamble();
    }

    void panel() {
        Label l_within, l_depth, l_scale, l_end;
        mov(r9, arg(offsetof(args_t, ahead)));
        cmp(r14, arg(offsetof(args_t, last_panels)));
        jg(l_within);
        mov(r9, arg(offsetof(args_t, ahead_last)));
        L(l_within);
        begin_sums();
        mov(r10, arg(offsetof(args_t, depth)));
        mov(rax, arg(offsetof(args_t, a)));
        mov(rbx, rcx);
        align(32);
        L(l_depth);
        row_of_weights();
        add(rbx, r8);
        add(rax, 4);
        dec(r10);
        jnz(l_depth, T_NEAR);
        cmp(arg(offsetof(args_t, ends)), 0);
        jne(l_scale, T_NEAR);
        move_partial(false);
        jmp(l_end, T_NEAR);
        L(l_scale);
        scale_sums();
        L(l_end);
    }

    void begin_sums() {
        Label l_zero, l_end;
        cmp(arg(offsetof(args_t, continues)), 0);
        je(l_zero, T_NEAR);
        move_partial(true);
        jmp(l_end, T_NEAR);
        L(l_zero);
        for (int i = 0; i < rows_ * vectors_; ++i)
            vxorps(Ymm(i), Ymm(i), Ymm(i));
        L(l_end);
    }

    // The sums of a group that is not done, from memory or to it.
    void move_partial(bool loads) {
        mov(rbp, r15);
        for (int r = 0; r < rows_; ++r) {
            for (int v = 0; v < vectors_; ++v) {
                if (loads) vmovups(sum(r, v), ptr[rbp + bytes(v)]);
                else vmovups(ptr[rbp + bytes(v)], sum(r, v));
            }
            add(rbp, arg(offsetof(args_t, c_pitch)));
        }
    }

    void row_of_weights() {
        prefetcht0(ptr[rbx + r9]);
        if (rows_ == 1) vbroadcastss(vmm_a_, ptr[rax]);
        for (int v = 0; v < vectors_; ++v) {
            make_number(v, weight(v));
            for (int r = 0; r < rows_; ++r) {
                if (rows_ > 1)
                    vbroadcastss(
                            vmm_a_, ptr[r == 0 ? RegExp(rax) : rax + rsi * r]);
                vfmadd231ps(sum(r, v), weight(v), vmm_a_);
            }
        }
    }

    void make_number(int v, const Ymm &number) {
        constexpr uint32_t bits_of_2_to_23 = 0x4b000000;
        const bool is_signed = family_of(w_.type) == type_family_t::signed_int;
        const Address from = ptr[rbx + weights_bytes(v)];
        if (is_nibble()) {
            vpbroadcastd(number, from);
            vpsrlvd(number, number, shifts_);
            vpand(number, number, constant(0xfu));
        } else {
            vpmovzxbd(number, from);
        }
        const uint32_t sign = !is_signed ? 0 : is_nibble() ? 8 : 128;
        vpxor(number, number, constant(bits_of_2_to_23 | sign));
        vsubps(number, number, ptr[r11 + bytes(v)]);
    }

    // c += sums * scales
    void scale_sums() {
        const Ymm c = weight(0);
        mov(rbp, rdx);
        for (int r = 0; r < rows_; ++r) {
            for (int v = 0; v < vectors_; ++v) {
                const Address at = ptr[rbp + bytes(v)];
                vmovups(c, at);
                vfmadd231ps(c, sum(r, v), ptr[r13 + bytes(v)]);
                vmovups(at, c);
            }
            add(rbp, arg(offsetof(args_t, c_pitch)));
        }
    }

    const gemv_weights_t w_;
    const int rows_, vectors_;
};

} // namespace

jit_gemv_panel_t gemv_panel_of_avx2(const gemv_weights_t &weights, dim_t rows) {
    if (rows > most_rows_of_avx2) return {};
    for (int vectors = 8; vectors >= 4; vectors /= 2)
        if (rows * vectors <= most_sums
                && weights.cols % (vectors * simd_w) == 0)
            return {vectors, false, simd_w};
    return {};
}

result_t make_jit_gemv_avx2_code(const gemv_weights_t &weights,
        const jit_gemv_panel_t &panel, int rows,
        std::unique_ptr<jit_gemv_code_t> &code) {
    return make_jit_as<generator_t>(code, weights, panel, rows);
}

} // namespace dnnl_dequant

#endif
