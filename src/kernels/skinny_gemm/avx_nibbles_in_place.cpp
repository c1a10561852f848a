#include "kernels/skinny_gemm/avx_nibbles_in_place.hpp"

#include "kernels/jit/transpose_floats.hpp"
#include "kernels/skinny_gemm/arrange.hpp"

namespace dnnl_dequant {

namespace {

using places_t = nibbles_in_place_t;
constexpr auto lanes = places_t::lanes, line = places_t::line;
constexpr int vectors = places_t::vectors;

// Stores (from + bias) * factor of each number's place, as nibbles lie.
__attribute__((target("avx2"))) void arrange_parameters(const float *from,
        dim_t depth, float bias, const float (&factors)[places_t::places],
        float *to) noexcept {
    constexpr dim_t step = vectors * lanes;
    const dim_t of_lines = depth - depth % line;
    const __m256 biases = _mm256_set1_ps(bias);
    for (dim_t k = 0; k < of_lines; k += step) {
        __m256 numbers[vectors];
        load_transposed(from + k, vectors, numbers);
        for (int v = 0; v < vectors; ++v) {
            const __m256 factor = _mm256_set1_ps(factors[v % places_t::places]);
            _mm256_storeu_ps(to + k + v * lanes,
                    _mm256_mul_ps(_mm256_add_ps(numbers[v], biases), factor));
        }
    }
    constexpr int few = places_t::vectors_behind_lines;
    for (dim_t k = of_lines; k < depth; k += few * lanes)
        for (int v = 0; v < few; ++v)
            for (dim_t i = 0; i < lanes; ++i)
                to[k + v * lanes + i]
                        = (from[k + i * few + v] + bias) * factors[v];
}

} // namespace

void nibbles_in_place_t::arrange(float *src, dim_t depth) noexcept {
    const dim_t of_lines = depth - depth % line;
    arrange_lanes<vectors, lanes>(src, of_lines);
    arrange_lanes<vectors_behind_lines, lanes>(
            src + of_lines, depth - of_lines);
}

void nibbles_in_place_t::arrange_scales(
        const float *from, dim_t depth, float *to) noexcept {
    constexpr float factors[places] {1, 1, 1, 1};
    arrange_parameters(from, depth, 0, factors, to);
}

void nibbles_in_place_t::arrange_zps(
        const float *from, dim_t depth, float bias, float *to) noexcept {
    constexpr float factors[places] {1, 16, 256, 4096};
    arrange_parameters(from, depth, bias, factors, to);
}

// The compiler vectorizes the loops over lanes.
__attribute__((target("avx2"))) void nibbles_in_place_t::scale_src(
        const float *src, const float *scales, dim_t depth,
        float *to) noexcept {
    constexpr float factors[places] {1, 1.f / 16, 1.f / 256, 1.f / 4096};
    const auto scale = [&](dim_t k, int v) {
        for (dim_t i = k + v * lanes; i < k + (v + 1) * lanes; ++i)
            to[i] = src[i] * scales[i] * factors[v];
    };
    const dim_t of_lines = depth - depth % line;
    for (dim_t k = 0; k < of_lines; k += places * lanes)
        for (int v = 0; v < places; ++v)
            scale(k, v);
    for (dim_t k = of_lines; k < depth; k += vectors_behind_lines * lanes)
        for (int v = 0; v < vectors_behind_lines; ++v)
            scale(k, v);
}

} // namespace dnnl_dequant
