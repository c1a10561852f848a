// Of each 32 or 64 numbers four vectors are loaded, each with four numbers from
// either half, and transposed in their lanes; so vector j gets every fourth.
//
// Registers: rdi the arguments; rsi the panel; rdx panels to go. A half's
// vectors are the first eight, the scratch the next four.

#include "kernels/matmul/jit_apart.hpp"

#if defined(__x86_64__)

#include <cstddef>
#include <cstring>

#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int side = 4; // of what is transposed
constexpr uint32_t vector_bytes = 32, lane_bytes = 16;

struct arguments_t {
    float *at;
    dim_t panels;
};

class jit_apart_words_t : public jit_generator_t, public jit_apart_t {
public:
    jit_apart_words_t(int vectors, const std::vector<float> &biases)
        : jit_generator_t("jit_apart_words")
        , vectors_(vectors)
        , biases_(biases) {}

    void operator()(float *at, dim_t panels) const override {
        const arguments_t args {at, panels};
        if (panels > 0) getCode<void (*)(const arguments_t *)>()(&args);
    }

private:
    Address at(int lane) {
        return ptr[rsi + static_cast<uint32_t>(lane) * lane_bytes];
    }

    void generate() override {
        preamble();
        mov(rsi, qword[rdi + offsetof(arguments_t, at)]);
        mov(rdx, qword[rdi + offsetof(arguments_t, panels)]);
        Label l_panel;
        L(l_panel);
        for (int v = 0; v < vectors_; ++v) {
            vmovups(Xmm(v), at(v));
            vinsertf128(Ymm(v), Ymm(v), at(vectors_ + v), 1);
        }
        for (int v = 0; v < vectors_; v += side)
            transpose(v);
        add(rsi, static_cast<uint32_t>(vectors_) * vector_bytes);
        dec(rdx);
        jnz(l_panel, T_NEAR);
        postamble();
    }

    void transpose(int first) {
        constexpr int scratch = 8;
        for (int i = 0; i < side; i += 2) {
            const Ymm a(first + i), b(first + i + 1);
            vunpcklps(Ymm(scratch + i), a, b);
            vunpckhps(Ymm(scratch + i + 1), a, b);
        }
        for (int j = 0; j < side; ++j) {
            const Ymm to(first + j), a(scratch + j / 2), b(scratch + 2 + j / 2);
            if (j % 2 == 0) vunpcklpd(to, a, b);
            else vunpckhpd(to, a, b);
            store(to, first + j);
        }
    }

    void store(const Ymm &vector, int v) {
        if (!biases_.empty()) {
            uint32_t bias;
            std::memcpy(&bias, &biases_[static_cast<size_t>(v)], sizeof(bias));
            vaddps(vector, vector, constant(bias));
        }
        vmovups(ptr[rsi + static_cast<uint32_t>(v) * vector_bytes], vector);
    }

    const int vectors_;
    const std::vector<float> biases_;
};

} // namespace

result_t make_jit_apart_words(int vectors, const std::vector<float> &biases,
        std::unique_ptr<jit_apart_t> &apart) {
    return make_jit_as<jit_apart_words_t>(apart, vectors, biases);
}

} // namespace dnnl_dequant

#endif
