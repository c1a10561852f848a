// A few rows by keys and values that are numbers in registers only.
//
//   scores = sum over a token's numbers of query * ((key - zp) * scale)
//   sums += sum over tokens of (weight * scale) * (value - zp)
//
// What a token's values are scaled by is a factor of its weight, so that no
// number is scaled; and its zero point is the difference to that of the block's
// first token, which the gemv subtracts, times the weight.

#include <algorithm>

#include "base/convert.hpp"
#include "kernels/attention/products.hpp"

namespace dnnl_dequant {

namespace {

// Compilers make vectors of as many parts of a sum.
constexpr dim_t parts = 16;

class stream_t {
protected:
    explicit stream_t(attention_stream_t plan)
        : plan_(std::move(plan)) {}

    size_t shape_of(const attention_tile_t &tile) const {
        return tile.tokens == plan_.tokens ? 0 : 1;
    }
    const gemv_t &gemv_of(const attention_tile_t &tile) const {
        return *plan_.gemv[shape_of(tile)];
    }
    // Of scales or zero points; those of some columns more are read.
    dim_t parameter_floats() const {
        return round_up(
                (plan_.tokens + gemv_t::columns_beyond) * plan_.groups(),
                dim_t(16));
    }
    // Of the blocks' shapes.
    dim_t most_of(dim_t (gemv_t::*what)() const) const {
        dim_t most = 0;
        for (const auto &gemv : plan_.gemv)
            if (gemv) most = std::max(most, (gemv.get()->*what)());
        return most;
    }
    static bool has(const attention_stream_t::parameters_t &parameters) {
        return parameters.operand != 0;
    }

    void load(const attention_stream_t::parameters_t &parameters,
            void *const *buffers, const attention_tile_t &tile,
            float *to) const noexcept {
        if (!has(parameters)) return;
        void *const at[] = {plan_.places.address_of({tile.outer, tile.block, 0},
                                    parameters.operand, buffers),
                to};
        const kernel_t &kernel = *parameters.kernels[shape_of(tile)];
        kernel.run(at, 0, kernel.work_amount());
    }
    void *numbers_of(
            void *const *buffers, const attention_tile_t &tile) const noexcept {
        return plan_.places.address_of({tile.outer, tile.block, 0}, 0, buffers);
    }

    const attention_stream_t plan_;
};

class stream_keys_t : public keys_product_t, private stream_t {
public:
    explicit stream_keys_t(attention_stream_t plan)
        : stream_t(std::move(plan)) {}

    const char *name() const override { return plan_.gemv[0]->name(); }
    // Scales and zero points, what sums need, rows in the gemv's order.
    dim_t scratch_floats(dim_t rows) const override {
        return 2 * parameter_floats() + partial_floats(rows)
               + rows * row_floats();
    }

    void begin(
            float *query, dim_t rows, float *scratch) const noexcept override {
        const gemv_t &gemv = *plan_.gemv[0];
        float *const arranged = arranged_rows(scratch, rows);
        std::fill_n(arranged, rows * row_floats(), 0.f);
        for (dim_t r = 0; r < rows; ++r) {
            const float *const from = query + r * plan_.head;
            void *const row = arranged + r * row_floats();
            if (gemv.src_type() == data_type_t::bf16)
                std::transform(from, from + plan_.head,
                        static_cast<uint16_t *>(row), f32_to_bf16);
            else std::copy_n(from, plan_.head, static_cast<float *>(row));
            if (gemv.src_unit() > 1) gemv.arrange(row);
        }
    }

    void run(void *const *buffers, const attention_tile_t &tile,
            const float * /*query*/, float *scratch) const noexcept override {
        gemv_t::block_t block {};
        block.scales = scratch;
        block.zps = scratch + parameter_floats();
        load(plan_.scales, buffers, tile, block.scales);
        load(plan_.zps, buffers, tile, block.zps);
        block.partial = scratch + 2 * parameter_floats();
        block.a = arranged_rows(scratch, tile.rows);
        block.a_pitch = bytes_of(data_type_t::f32, row_floats()) * 8
                        / bits_of(plan_.gemv[0]->src_type());
        block.c = tile.scores;
        block.c_pitch = tile.pitch;
        block.rows = tile.rows;
        block.cols = tile.tokens;
        void *const at[] = {numbers_of(buffers, tile)};
        gemv_of(tile).run(at, block);
    }

private:
    dim_t row_floats() const {
        return round_up(plan_.head, plan_.gemv[0]->src_unit());
    }
    dim_t partial_floats(dim_t rows) const {
        return round_up(rows * round_up(plan_.tokens, dim_t(64))
                                * plan_.gemv[0]->partial_floats(),
                dim_t(16));
    }
    float *arranged_rows(float *scratch, dim_t rows) const {
        return scratch + 2 * parameter_floats() + partial_floats(rows);
    }
};

class stream_values_t : public values_product_t, private stream_t {
public:
    explicit stream_values_t(attention_stream_t plan)
        : stream_t(std::move(plan)) {}

    // Scales and zero points; scales and zero points for the gemv; weights of
    // a group; its sums, and what sums need.
    dim_t scratch_floats(dim_t rows) const override {
        return 2 * parameter_floats() + 2 * cols()
               + rows * (row_floats() + cols())
               + rows * cols() * most_of(&gemv_t::partial_floats);
    }

    void run(void *const *buffers, const attention_tile_t &tile, float *sums,
            dim_t sums_pitch, bool accumulates,
            float *scratch) const noexcept override;

private:
    dim_t row_floats() const {
        return round_up(
                plan_.tokens, std::max(parts, most_of(&gemv_t::src_unit)));
    }
    dim_t cols() const {
        return round_up(plan_.group + gemv_t::columns_beyond, dim_t(64));
    }

    // weights * scale, and what their zero points add up to, less the first.
    float weigh(const float *weights, const float *scales, const float *zps,
            dim_t tokens, float *scaled) const noexcept;
};

float stream_values_t::weigh(const float *weights, const float *scales,
        const float *zps, dim_t tokens, float *scaled) const noexcept {
    for (dim_t t = 0; t < tokens; ++t)
        scaled[t] = weights[t] * scales[t];
    if (!has(plan_.zps)) return 0.f;
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

void stream_values_t::run(void *const *buffers, const attention_tile_t &tile,
        float *sums, dim_t sums_pitch, bool accumulates,
        float *scratch) const noexcept {
    float *const scales = scratch;
    float *const zps = scales + parameter_floats();
    load(plan_.scales, buffers, tile, scales);
    load(plan_.zps, buffers, tile, zps);
    gemv_t::block_t block {};
    block.scales = zps + parameter_floats();
    block.zps = block.scales + cols();
    float *const weights = block.zps + cols();
    block.a = weights;
    block.a_pitch = row_floats();
    block.c = weights + tile.rows * row_floats();
    block.c_pitch = cols();
    block.partial = block.c + tile.rows * cols();
    block.rows = tile.rows;
    const gemv_t &gemv = gemv_of(tile);
    void *const at[] = {numbers_of(buffers, tile)};
    for (dim_t g = 0; g < plan_.groups(); ++g) {
        block.first_col = g * plan_.group;
        block.cols = std::min(plan_.group, plan_.head - block.first_col);
        std::array<float, gemv_t::most_rows> of_zps {};
        std::fill_n(weights, tile.rows * row_floats(), 0.f);
        for (dim_t r = 0; r < tile.rows; ++r)
            of_zps[static_cast<size_t>(r)] = weigh(tile.scores + r * tile.pitch,
                    scales + g * tile.tokens, zps + g * tile.tokens,
                    tile.tokens, weights + r * row_floats());
        for (dim_t r = 0; gemv.src_unit() > 1 && r < tile.rows; ++r)
            gemv.arrange(weights + r * row_floats());
        std::fill_n(block.scales, cols(), 1.f);
        std::fill_n(
                block.zps, cols(), has(plan_.zps) ? zps[g * tile.tokens] : 0.f);
        gemv.run(at, block);
        for (dim_t r = 0; r < tile.rows; ++r) {
            float *const to = sums + r * sums_pitch + block.first_col;
            const float *const from = block.c + r * block.c_pitch;
            const float less = of_zps[static_cast<size_t>(r)];
            if (!accumulates) std::fill_n(to, block.cols, 0.f);
            for (dim_t c = 0; c < block.cols; ++c)
                to[c] += from[c] - less;
        }
    }
}

} // namespace

std::shared_ptr<const keys_product_t> make_keys_product(
        attention_stream_t plan) {
    return std::make_shared<const stream_keys_t>(std::move(plan));
}

std::shared_ptr<const values_product_t> make_values_product(
        attention_stream_t plan) {
    return std::make_shared<const stream_values_t>(std::move(plan));
}

} // namespace dnnl_dequant
