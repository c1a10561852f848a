// A few rows of weights by values that are numbers in registers only.
//
//   sums += sum over tokens of (weight * scale) * (value - zp)
//
// A token's scale is multiplied into its weight, so that no value is scaled.
// All values have the zero point of the block's first token subtracted. A
// token's difference to it is added up times the weight. With no zero point
// subtracted, zero points would be most of the sum, and so of its error.

#include <algorithm>

#include "kernels/attention/products.hpp"

namespace dnnl_dequant {

namespace {

// Compilers make vectors of as many parts of a sum.
constexpr dim_t parts = 16;

// The base of both ways to multiply a group's numbers.
class scaled_values_t : public values_product_t {
public:
    // Scales and zero points; weights of a group, and its sums.
    dim_t scratch_floats(dim_t rows) const final {
        return 2 * numbers_.parameter_floats()
               + rows * (row_floats() + cols_floats()) + more_floats(rows);
    }

    void load(const attention_tokens_t &values,
            float *scratch) const noexcept final {
        numbers_.load(values, scratch);
    }
    void run(const attention_tokens_t &values, const attention_tile_t &tile,
            float *sums, dim_t sums_pitch, bool accumulates,
            float *scratch) const noexcept final;

protected:
    // A group's numbers of a block's tokens.
    struct group_t {
        const void *values; // of the block, from a token's first number on
        dim_t first_col, cols;
        const float *zp, *weights;
        float *sums, *more; // scratch
    };

    explicit scaled_values_t(const attention_numbers_t &numbers)
        : numbers_(numbers) {}

    virtual dim_t row_unit() const = 0;
    virtual dim_t more_floats(dim_t rows) const = 0;
    // Puts a row of weights in order.
    virtual void arrange(float *weights) const noexcept = 0;
    virtual void sum(const attention_tokens_t &values, dim_t rows,
            const group_t &group) const noexcept
            = 0;

    dim_t row_floats() const {
        return round_up(numbers_.tokens, std::max(parts, row_unit()));
    }
    dim_t cols_floats() const {
        return round_up(
                numbers_.group + skinny_gemm_t::columns_beyond, dim_t(64));
    }
    bool has_zps() const { return numbers_.zps.operand != 0; }

    const attention_numbers_t numbers_;

private:
    // weights * scale, and what their zero points add up to, less the first.
    float scale_weights(const float *weights, const float *scales,
            const float *zps, dim_t tokens, float *scaled) const noexcept;
};

float scaled_values_t::scale_weights(const float *weights, const float *scales,
        const float *zps, dim_t tokens, float *scaled) const noexcept {
    for (dim_t t = 0; t < tokens; ++t)
        scaled[t] = weights[t] * scales[t];
    if (!has_zps()) return 0.f;
    std::array<float, parts> sums {};
    dim_t t = 0;
    for (; t + parts <= tokens; t += parts)
        for (dim_t p = 0; p < parts; ++p)
            sums[static_cast<size_t>(p)]
                    += scaled[t + p] * (zps[t + p] - zps[0]);
    for (; t < tokens; ++t)
        sums[0] += scaled[t] * (zps[t] - zps[0]);
    for (size_t half = parts / 2; half > 0; half /= 2)
        for (size_t p = 0; p < half; ++p)
            sums[p] += sums[p + half];
    return sums[0];
}

void scaled_values_t::run(const attention_tokens_t &values,
        const attention_tile_t &tile, float *sums, dim_t sums_pitch,
        bool accumulates, float *scratch) const noexcept {
    const dim_t tokens = values.count;
    const float *const scales = scratch;
    const float *const zps = scales + numbers_.parameter_floats();
    float *const weights = scratch + 2 * numbers_.parameter_floats();
    group_t group {};
    group.values = numbers_.numbers_of(values);
    group.weights = weights;
    group.sums = weights + tile.rows * row_floats();
    group.more = group.sums + tile.rows * cols_floats();
    for (dim_t g = 0; g < numbers_.groups(); ++g) {
        group.first_col = g * numbers_.group;
        group.cols = std::min(numbers_.group, numbers_.head - group.first_col);
        group.zp = zps + g * tokens;
        std::array<float, weighted_sum_t::most_rows> of_zps {};
        std::fill_n(weights, tile.rows * row_floats(), 0.f);
        for (dim_t r = 0; r < tile.rows; ++r) {
            of_zps[static_cast<size_t>(r)] = scale_weights(
                    tile.scores + r * tile.pitch, scales + g * tokens, group.zp,
                    tokens, weights + r * row_floats());
            arrange(weights + r * row_floats());
        }
        sum(values, tile.rows, group);
        for (dim_t r = 0; r < tile.rows; ++r)
            add_sums(group.sums + r * cols_floats(), group.cols,
                    of_zps[static_cast<size_t>(r)], accumulates,
                    sums + r * sums_pitch + group.first_col);
    }
}

class stream_values_t final : public scaled_values_t {
public:
    explicit stream_values_t(const attention_stream_t &plan)
        : scaled_values_t(plan)
        , skinny_gemm_(plan.skinny_gemm) {}

private:
    dim_t row_unit() const override {
        return most_of(skinny_gemm_, &skinny_gemm_t::src_unit);
    }
    // Scales and zero points for the skinny GEMM, and what its sums need.
    dim_t more_floats(dim_t rows) const override {
        return 2 * cols_floats()
               + rows * cols_floats()
                         * most_of(
                                 skinny_gemm_, &skinny_gemm_t::partial_floats);
    }
    void arrange(float *weights) const noexcept override {
        if (skinny_gemm_[0]->src_unit() > 1) skinny_gemm_[0]->arrange(weights);
    }
    void sum(const attention_tokens_t &values, dim_t rows,
            const group_t &group) const noexcept override {
        skinny_gemm_t::block_t block {};
        block.a = group.weights;
        block.a_pitch = row_floats();
        block.c = group.sums;
        block.c_pitch = cols_floats();
        block.rows = rows;
        block.first_col = group.first_col;
        block.cols = group.cols;
        block.scales = group.more;
        block.zps = block.scales + cols_floats();
        block.partial = block.zps + cols_floats();
        std::fill_n(block.scales, cols_floats(), 1.f);
        std::fill_n(block.zps, cols_floats(), has_zps() ? *group.zp : 0.f);
        void *const at[] = {const_cast<void *>(group.values)};
        skinny_gemm_[numbers_.shape_of(values)]->run(at, block);
    }

    const skinny_gemms_t skinny_gemm_;
};

class summed_values_t final : public scaled_values_t {
public:
    explicit summed_values_t(const attention_sum_t &plan)
        : scaled_values_t(plan)
        , plan_(plan) {}

private:
    dim_t row_unit() const override { return 1; }
    // Sums of the last columns.
    dim_t more_floats(dim_t rows) const override {
        return rows * plan_.last_cols;
    }
    void arrange(float * /*weights*/) const noexcept override {}
    void sum(const attention_tokens_t &values, dim_t rows,
            const group_t &group) const noexcept override {
        weighted_sum_t::block_t block {};
        block.values = group.values;
        block.weights = group.weights;
        block.weights_pitch = row_floats() * 4;
        block.zp = group.zp;
        block.sums = group.sums;
        block.sums_pitch = cols_floats() * 4;
        block.tokens = values.count;
        plan_.sum->run(rows, block);
        plan_.sum->put_in_order(rows, block);
        if (!plan_.last_sum) return;
        const dim_t first = group.cols - plan_.last_cols;
        block.values = static_cast<const char *>(group.values)
                       + bytes_of(plan_.values.type, first);
        block.sums = group.more;
        block.sums_pitch = plan_.last_cols * 4;
        plan_.last_sum->run(rows, block);
        plan_.last_sum->put_in_order(rows, block);
        for (dim_t r = 0; r < rows; ++r)
            std::copy_n(group.more + r * plan_.last_cols, plan_.last_cols,
                    group.sums + r * cols_floats() + first);
    }

    const attention_sum_t plan_;
};

// Groups of a token's values are scaled, and not its weight: so all of them are
// read at once.
class summed_groups_t final : public values_product_t {
public:
    explicit summed_groups_t(const attention_sum_t &plan)
        : plan_(plan) {}

    // Scales and zero points, and sums.
    dim_t scratch_floats(dim_t rows) const override {
        return 2 * plan_.parameter_floats() + rows * cols_floats();
    }
    void load(const attention_tokens_t &values,
            float *scratch) const noexcept override {
        plan_.load(values, scratch);
    }
    void run(const attention_tokens_t &values, const attention_tile_t &tile,
            float *sums, dim_t sums_pitch, bool accumulates,
            float *scratch) const noexcept override {
        weighted_sum_t::block_t block {};
        block.values = plan_.numbers_of(values);
        block.weights = tile.scores;
        block.weights_pitch = tile.pitch * 4;
        block.scales = scratch;
        block.zp = scratch + plan_.parameter_floats();
        block.parameters_pitch = plan_.groups() * 4;
        block.sums = scratch + 2 * plan_.parameter_floats();
        block.sums_pitch = cols_floats() * 4;
        block.tokens = values.count;
        plan_.sum->run(tile.rows, block);
        plan_.sum->put_in_order(tile.rows, block);
        for (dim_t r = 0; r < tile.rows; ++r)
            add_sums(block.sums + r * cols_floats(), plan_.head, 0, accumulates,
                    sums + r * sums_pitch);
    }

private:
    dim_t cols_floats() const { return round_up(plan_.head, dim_t(64)); }

    const attention_sum_t plan_;
};

} // namespace

std::shared_ptr<const values_product_t> make_values_product(
        const attention_stream_t &plan) {
    return std::make_shared<const stream_values_t>(plan);
}

std::shared_ptr<const values_product_t> make_values_product(
        const attention_sum_t &plan) {
    if (plan.values.by_token)
        return std::make_shared<const summed_groups_t>(plan);
    return std::make_shared<const summed_values_t>(plan);
}

} // namespace dnnl_dequant
