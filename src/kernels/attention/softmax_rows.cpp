#include "kernels/attention/softmax_rows.hpp"

#include <algorithm>
#include <array>
#include <limits>

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
        : exp_(make_exp()) {}

    const char *name() const override { return "ref_softmax_rows"; }

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
        for (dim_t r = 0; r < block.rows; ++r) {
            float *const scores = block.scores + r * block.pitch;
            lanes_t parts {};
            for (dim_t t = 0; t < block.tokens; ++t) {
                scores[t] = evaluate(exp_, scores[t] + shifts[r]);
                parts[static_cast<size_t>(t % lanes)] += scores[t];
            }
            sums[r] = join_halves(
                    parts, [](float x, float y) { return x + y; });
        }
    }

private:
    const program_t exp_;
};

} // namespace

std::shared_ptr<const softmax_rows_t> make_ref_softmax_rows() {
    return std::make_shared<const ref_softmax_rows_t>();
}

} // namespace dnnl_dequant
