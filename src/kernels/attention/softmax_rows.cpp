#include "kernels/attention/softmax_rows.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/bits.hpp"
#include "base/convert.hpp"
#include "kernels/elementwise/function.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t lanes = softmax_rows_t::lanes;
using lanes_t = std::array<float, lanes>;

template <typename join_t>
float join_halves(lanes_t &parts, join_t &&join) {
    for (size_t half = lanes / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; ++l)
            parts[l] = join(parts[l], parts[l + half]);
    return parts[0];
}

float larger(float known, float x) {
    return known < x ? x : known;
}

class ref_softmax_rows_t : public softmax_rows_t {
public:
    ref_softmax_rows_t()
        : exp_(make_exp())
        , coarse_exp_(make_coarse_exp()) {}

    const char *name() const override { return "ref_softmax_rows"; }

    void find_magnitudes(
            const block_t &block, float *magnitudes) const noexcept override {
        constexpr uint32_t no_sign = 0x7fffffff;
        for (dim_t r = 0; r < block.rows; ++r) {
            const float *const scores = block.scores + r * block.pitch;
            uint32_t most = 0; // NaN has more bits than any number
            for (dim_t t = 0; t < block.tokens; ++t)
                most = std::max(most, bits_of_f32(scores[t]) & no_sign);
            magnitudes[r] = f32_of_bits(most);
        }
    }

    void find_largest(
            const block_t &block, float *largest) const noexcept override {
        for (dim_t r = 0; r < block.rows; ++r) {
            const float *const scores = block.scores + r * block.pitch;
            lanes_t parts;
            parts.fill(-std::numeric_limits<float>::infinity());
            for (dim_t t = 0; t < block.tokens; ++t) {
                float &part = parts[static_cast<size_t>(t % lanes)];
                part = larger(part, scores[t]);
            }
            largest[r] = join_halves(parts, larger);
        }
    }

    void weigh(const block_t &block, const float *shifts,
            float *sums) const noexcept override {
        weigh(block, exp_, shifts, sums, [&](dim_t r, dim_t t, float weight) {
            block.scores[r * block.pitch + t] = weight;
        });
    }

    bool packs() const override { return true; }
    void weigh_packed(const block_t &block, const float *shifts, float *sums,
            void *packed) const noexcept override {
        auto *const to = static_cast<uint16_t *>(packed);
        weigh(block, coarse_exp_, shifts, sums,
                [&](dim_t r, dim_t t, float weight) {
            const bool is_denormal = weight < std::numeric_limits<float>::min();
            to[(t / chunk * block.rows + r) * chunk + t % chunk]
                    = f32_to_bf16(is_denormal ? 0 : weight);
        });
    }

private:
    // Calls store(row, token, weight).
    template <typename store_t>
    static void weigh(const block_t &block, const program_t &exp,
            const float *shifts, float *sums, store_t &&store) noexcept {
        for (dim_t r = 0; r < block.rows; ++r) {
            lanes_t parts {};
            for (dim_t t = 0; t < block.tokens; ++t) {
                const float score = block.scores[r * block.pitch + t];
                const float weight = evaluate(exp, score + shifts[r]);
                parts[static_cast<size_t>(t % lanes)] += weight;
                store(r, t, weight);
            }
            sums[r] = join_halves(
                    parts, [](float x, float y) { return x + y; });
        }
    }

    const program_t exp_, coarse_exp_;
};

} // namespace

std::shared_ptr<const softmax_rows_t> make_ref_softmax_rows() {
    return std::make_shared<const ref_softmax_rows_t>();
}

} // namespace dnnl_dequant
