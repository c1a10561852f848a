#ifndef KERNELS_SKINNY_GEMM_JIT_DEINTERLEAVE_HPP
#define KERNELS_SKINNY_GEMM_JIT_DEINTERLEAVE_HPP

#include <cstddef>
#include <vector>

#include "base/bits.hpp"
#include "kernels/jit/simd.hpp"

namespace dnnl_dequant {

struct jit_deinterleave_args_t {
    float *at;
    dim_t panels; // at least one
};

/// Deinterleaves panels of floats in place. On AVX-512 vector j of a panel of
/// `vectors` gets every `vectors`-th element, beginning at j. AVX2
/// deinterleaves words. The first sixteen elements of each half of a panel go
/// to the first four vectors, vector j getting every fourth, beginning at j.
/// Sixteen more go to the next four vectors.
using jit_deinterleave_t = jit_function_t<const jit_deinterleave_args_t>;

/// It loads a whole panel, orders it in registers and stores it, multiplied by
/// a factor, with biases added.
///
/// AVX-512 works in rounds. A round moves the even elements of two neighbouring
/// vectors to the lower half of the panel and the odd ones to the upper half.
/// So the lowest bit of an element's index becomes the highest. The rounds
/// alternate between the first eight vectors and the next eight. Two more
/// vectors hold the permutations.
///
/// AVX2 loads four vectors for each 32 or 64 numbers. Each vector has four
/// numbers of either half. A transpose within 128-bit lanes gives vector j
/// every fourth number. The first eight vectors hold half of a panel, the next
/// four are scratch.
///
/// Registers: rdi the arguments; rsi the panel; rdx panels to go.
template <isa_t isa>
class jit_deinterleave_code_t : public jit_simd_t {
public:
    jit_deinterleave_code_t(
            int vectors, float factor, const std::vector<float> &biases)
        : jit_simd_t(is_avx512 ? "jit_deinterleave" : "jit_deinterleave_words")
        , vectors_(vectors)
        , factor_(factor)
        , biases_(biases) {}

private:
    static constexpr bool is_avx512 = isa == isa_avx512_core;
    static constexpr int vector_bytes = jit_isa_t<isa>::simd_w * 4;
    static constexpr int side = 4; // vectors and lanes of a transpose
    const Zmm even_ {16}, odd_ {17};

    void generate() override {
        preamble();
        mov(rsi, arg(offsetof(jit_deinterleave_args_t, at)));
        mov(rdx, arg(offsetof(jit_deinterleave_args_t, panels)));
        if (is_avx512) load_permutations();
        repeat(rdx, [this] {
            if (is_avx512) panel_by_rounds();
            else panel_of_words();
            add(rsi, bytes(vectors_));
        });
        postamble();
    }

    static uint32_t bytes(int vectors) { return disp(vectors * vector_bytes); }

    // Stores a vector as the panel's vector v.
    void store(const Vmm &vector, int v) {
        if (factor_ < 1 || factor_ > 1)
            vmulps(vector, vector, constant(bits_of_f32(factor_)));
        if (!biases_.empty())
            vaddps(vector, vector,
                    constant(bits_of_f32(biases_[static_cast<size_t>(v)])));
        vmovups(ptr[rsi + bytes(v)], vector);
    }

    void load_permutations() {
        lanes_t evens, odds;
        for (uint32_t i = 0; i < 16; ++i) {
            evens[i] = 2 * i;
            odds[i] = 2 * i + 1;
        }
        vmovups(even_, constant(evens));
        vmovups(odd_, constant(odds));
    }

    void panel_by_rounds() {
        constexpr int most_vectors = 8;
        for (int v = 0; v < vectors_; ++v)
            vmovups(Zmm(v), ptr[rsi + bytes(v)]);
        int from = 0;
        for (int done = 1; done < vectors_; done *= 2) {
            const int to = most_vectors - from, half = vectors_ / 2;
            for (int v = 0; v < half; ++v) {
                const Zmm low(to + v), high(to + half + v);
                vmovaps(low, even_);
                vpermi2ps(low, Zmm(from + 2 * v), Zmm(from + 2 * v + 1));
                vmovaps(high, odd_);
                vpermi2ps(high, Zmm(from + 2 * v), Zmm(from + 2 * v + 1));
            }
            from = to;
        }
        for (int v = 0; v < vectors_; ++v)
            store(Zmm(from + v), v);
    }

    void panel_of_words() {
        const auto lane = [this](int i) {
            return ptr[rsi + disp(i * vector_bytes / 2)];
        };
        for (int v = 0; v < vectors_; ++v) {
            vmovups(Xmm(v), lane(v));
            vinsertf128(Ymm(v), Ymm(v), lane(vectors_ + v), 1);
        }
        for (int v = 0; v < vectors_; v += side)
            transpose(v);
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

    const int vectors_;
    const float factor_;
    const std::vector<float> biases_;
};

/// @param vectors 4 or 8; on AVX-512 also 1 or 2.
/// @param biases The number added to each vector; empty if there are none.
template <isa_t isa>
result_t make_jit_deinterleave(int vectors, float factor,
        const std::vector<float> &biases, jit_deinterleave_t &deinterleave) {
    return make_jit_as<jit_deinterleave_code_t<isa>>(
            deinterleave, vectors, factor, biases);
}

} // namespace dnnl_dequant

#endif
