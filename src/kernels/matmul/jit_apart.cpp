// Each round takes the even elements of two neighbouring vectors to the lower
// half of the panel and the odd ones to the upper: what was the lowest bit of
// an element's index becomes the highest.
//
// Registers: rdi the arguments; rsi the panel; rdx panels to go. A round's
// vectors are the first eight or the next, in turns; then the two orders.

#include "kernels/matmul/jit_apart.hpp"

#if defined(__x86_64__)

#include <cstddef>
#include <cstring>

#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int most_vectors = 8;

struct arguments_t {
    float *at;
    dim_t panels;
};

class jit_apart_generator_t : public jit_generator_t, public jit_apart_t {
public:
    jit_apart_generator_t(int vectors, const std::vector<float> &biases)
        : jit_generator_t("jit_apart")
        , vectors_(vectors)
        , biases_(biases) {}

    void operator()(float *at, dim_t panels) const override {
        const arguments_t args {at, panels};
        if (panels > 0) getCode<void (*)(const arguments_t *)>()(&args);
    }

private:
    static size_t bytes(int vectors) {
        return static_cast<size_t>(vectors) * 64;
    }

    void generate() override {
        const Zmm even(16), odd(17);
        lanes_t evens, odds;
        for (uint32_t i = 0; i < 16; ++i) {
            evens[i] = 2 * i;
            odds[i] = 2 * i + 1;
        }
        preamble();
        mov(rsi, qword[rdi + offsetof(arguments_t, at)]);
        mov(rdx, qword[rdi + offsetof(arguments_t, panels)]);
        vmovups(even, constant(evens));
        vmovups(odd, constant(odds));
        Label l_panel;
        L(l_panel);
        for (int v = 0; v < vectors_; ++v)
            vmovups(Zmm(v), ptr[rsi + bytes(v)]);
        int from = 0;
        for (int done = 1; done < vectors_; done *= 2) {
            const int to = most_vectors - from, half = vectors_ / 2;
            for (int v = 0; v < half; ++v) {
                const Zmm low(to + v), high(to + half + v);
                vmovaps(low, even);
                vpermi2ps(low, Zmm(from + 2 * v), Zmm(from + 2 * v + 1));
                vmovaps(high, odd);
                vpermi2ps(high, Zmm(from + 2 * v), Zmm(from + 2 * v + 1));
            }
            from = to;
        }
        for (int v = 0; v < vectors_; ++v) {
            if (!biases_.empty()) {
                uint32_t bias;
                std::memcpy(&bias, &biases_[static_cast<size_t>(v)], 4);
                vaddps(Zmm(from + v), Zmm(from + v), constant(bias));
            }
            vmovups(ptr[rsi + bytes(v)], Zmm(from + v));
        }
        add(rsi, static_cast<uint32_t>(bytes(vectors_)));
        dec(rdx);
        jnz(l_panel, T_NEAR);
        postamble();
    }

    const int vectors_;
    const std::vector<float> biases_;
};

} // namespace

result_t make_jit_apart(int vectors, const std::vector<float> &biases,
        std::unique_ptr<jit_apart_t> &apart) {
    return make_jit_as<jit_apart_generator_t>(apart, vectors, biases);
}

} // namespace dnnl_dequant

#endif
