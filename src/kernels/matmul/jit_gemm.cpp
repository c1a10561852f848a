// The generated code that multiplies blocks: panels of c, a few rows by a few
// vectors, stay in registers while it goes down the depth.
//
// Registers: rdi the arguments; rax rbx a of the first three rows and the rest;
// rcx b; rdx c; rsi r8 r9 pitches of a, b, c; r10 depth; the last vectors of
// the set are b and a's broadcast, the first ones c.

#include "kernels/matmul/gemm.hpp"

#if defined(__x86_64__)

#include <cstddef>

#include "kernels/jit/generator.hpp"
#include "kernels/jit/registers.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// Rows of c in registers at once, at most.
constexpr int most_rows = 6;

struct arguments_t {
    const float *a, *b;
    float *c;
    dim_t a_pitch, b_pitch, c_pitch; // bytes
    dim_t depth;
    dim_t rows; // 1 to most_rows
    dim_t accumulates;
};

template <isa_t isa>
class jit_gemm_t : public jit_generator_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    // As many as leave registers for b and a: 24 sums of 32, or 12 of 16.
    static constexpr int panel_vectors = isa == isa_avx512_core ? 4 : 2;
    static constexpr int simd_w = jit_isa_t<isa>::simd_w;

    jit_gemm_t()
        : jit_generator_t("jit_gemm") {}

    void operator()(const arguments_t &args) const {
        getCode<void (*)(const arguments_t *)>()(&args);
    }

private:
    static constexpr size_t vmm_bytes = simd_w * 4;
    static constexpr int last = jit_isa_t<isa>::vmm_count - 1;

    vmm_t sum(int row, int v) const { return vmm_t(row * panel_vectors + v); }
    vmm_t vmm_b(int v) const { return vmm_t(last - v); }
    vmm_t vmm_a() const { return vmm_t(last - panel_vectors); }
    Address arg(size_t offset) { return qword[rdi + offset]; }

    void generate() override {
        preamble();
        mov(rax, arg(offsetof(arguments_t, a)));
        mov(rcx, arg(offsetof(arguments_t, b)));
        mov(rdx, arg(offsetof(arguments_t, c)));
        mov(rsi, arg(offsetof(arguments_t, a_pitch)));
        mov(r8, arg(offsetof(arguments_t, b_pitch)));
        mov(r9, arg(offsetof(arguments_t, c_pitch)));
        mov(r10, arg(offsetof(arguments_t, depth)));
        lea(rbx, ptr[rsi + rsi * 2]);
        add(rbx, rax);
        Label l_end;
        for (int rows = most_rows; rows > 0; --rows) {
            Label l_next;
            cmp(arg(offsetof(arguments_t, rows)), static_cast<uint32_t>(rows));
            jne(l_next, T_NEAR);
            block(rows);
            jmp(l_end, T_NEAR);
            L(l_next);
        }
        L(l_end);
        postamble();
    }

    void block(int rows) {
        Label l_zero, l_begin, l_depth;
        cmp(arg(offsetof(arguments_t, accumulates)), 0);
        je(l_zero, T_NEAR);
        move_sums(rows, true);
        jmp(l_begin, T_NEAR);
        L(l_zero);
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < panel_vectors; ++v)
                vxorps(sum(r, v), sum(r, v), sum(r, v));
        L(l_begin);
        align(32);
        L(l_depth);
        for (int v = 0; v < panel_vectors; ++v)
            vmovups(vmm_b(v), ptr[rcx + static_cast<size_t>(v) * vmm_bytes]);
        for (int r = 0; r < rows; ++r) {
            vbroadcastss(vmm_a(), ptr[row_of_a(r)]);
            for (int v = 0; v < panel_vectors; ++v)
                vfmadd231ps(sum(r, v), vmm_a(), vmm_b(v));
        }
        add(rcx, r8);
        add(rax, 4);
        if (rows > 3) add(rbx, 4);
        dec(r10);
        jnz(l_depth, T_NEAR);
        move_sums(rows, false);
    }

    RegExp row_of_a(int row) const {
        const Reg64 &base = row < 3 ? rax : rbx;
        return row % 3 == 0 ? RegExp(base) : base + rsi * (row % 3);
    }

    // The sums from c, or to it.
    void move_sums(int rows, bool loads) {
        mov(r11, rdx);
        for (int r = 0; r < rows; ++r) {
            for (int v = 0; v < panel_vectors; ++v) {
                const Address at
                        = ptr[r11 + static_cast<size_t>(v) * vmm_bytes];
                if (loads) vmovups(sum(r, v), at);
                else vmovups(at, sum(r, v));
            }
            if (r + 1 < rows) add(r11, r9);
        }
    }
};

template <isa_t isa>
class jit_gemm_kernel_t : public gemm_t {
public:
    explicit jit_gemm_kernel_t(std::unique_ptr<jit_gemm_t<isa>> code)
        : code_(std::move(code)) {}

    const char *name() const override {
        return isa == isa_avx512_core ? "jit_matmul_avx512_core"
                                      : "jit_matmul_avx2";
    }
    dim_t panel() const override {
        return jit_gemm_t<isa>::panel_vectors * jit_gemm_t<isa>::simd_w;
    }

    void run(const gemm_block_t &block) const noexcept override {
        // Rows in even parts: two of 4 take less than one of 6 and one of 2.
        const dim_t parts = (block.rows + most_rows - 1) / most_rows;
        for (dim_t n = 0; n < block.cols; n += panel()) {
            dim_t row = 0;
            for (dim_t p = 0; p < parts; ++p) {
                const dim_t rows = (block.rows - row) / (parts - p);
                arguments_t args;
                args.a = block.a + row * block.lda;
                args.b = block.b + n;
                args.c = block.c + row * block.ldc + n;
                args.a_pitch = block.lda * 4;
                args.b_pitch = block.ldb * 4;
                args.c_pitch = block.ldc * 4;
                args.depth = block.depth;
                args.rows = rows;
                args.accumulates = block.accumulates;
                (*code_)(args);
                row += rows;
            }
        }
    }

private:
    const std::unique_ptr<jit_gemm_t<isa>> code_;
};

template <isa_t isa>
result_t make(std::shared_ptr<const gemm_t> &gemm) {
    std::unique_ptr<jit_gemm_t<isa>> code;
    result_t result = make_jit(code);
    if (result.ok())
        gemm = std::make_shared<jit_gemm_kernel_t<isa>>(std::move(code));
    return result;
}

} // namespace

result_t make_jit_gemm(isa_t isa, std::shared_ptr<const gemm_t> &gemm) {
    if (has(isa, isa_avx512_core)) return make<isa_avx512_core>(gemm);
    if (has(isa, isa_avx2)) return make<isa_avx2>(gemm);
    return {status_t::unimplemented, "the instruction set is less than AVX2"};
}

} // namespace dnnl_dequant

#else

namespace dnnl_dequant {

result_t make_jit_gemm(isa_t, std::shared_ptr<const gemm_t> &) {
    return {status_t::unimplemented, "the machine is no x86-64"};
}

} // namespace dnnl_dequant

#endif
