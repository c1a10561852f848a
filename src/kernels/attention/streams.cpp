// A few rows by keys that are numbers in registers only:
//
//   scores = sum over a token's numbers of query * ((key - zp) * scale)

#include <algorithm>

#include "base/convert.hpp"
#include "kernels/attention/products.hpp"

namespace dnnl_dequant {

namespace {

class stream_keys_t : public keys_product_t {
public:
    explicit stream_keys_t(attention_stream_t plan)
        : plan_(std::move(plan)) {}

    const char *name() const override { return plan_.skinny_gemm[0]->name(); }
    // Rows in the skinny GEMM's order.
    dim_t arranged_floats(dim_t rows) const override {
        return rows * row_floats();
    }
    // Scales and zero points, and what sums need.
    dim_t scratch_floats(dim_t rows) const override {
        return 2 * plan_.parameter_floats() + partial_floats(rows);
    }

    void arrange(const float *query, dim_t rows, float *arranged,
            float * /*scratch*/) const noexcept override {
        const skinny_gemm_t &skinny_gemm = *plan_.skinny_gemm[0];
        std::fill_n(arranged, rows * row_floats(), 0.f);
        for (dim_t r = 0; r < rows; ++r) {
            const float *const from = query + r * plan_.head;
            void *const row = arranged + r * row_floats();
            if (skinny_gemm.src_type() == data_type_t::bf16)
                std::transform(from, from + plan_.head,
                        static_cast<uint16_t *>(row), f32_to_bf16);
            else std::copy_n(from, plan_.head, static_cast<float *>(row));
            if (skinny_gemm.src_unit() > 1) skinny_gemm.arrange(row);
        }
    }

    void load(const attention_tokens_t &keys,
            float *scratch) const noexcept override {
        plan_.load(keys, scratch);
    }

    bool run(const attention_tokens_t &keys, const attention_tile_t &tile,
            const float *arranged, float *scratch) const noexcept override {
        skinny_gemm_t::block_t block = block_of(tile, arranged);
        block.scales = scratch;
        block.zps = scratch + plan_.parameter_floats();
        block.parameters_pitch = plan_.groups();
        block.partial = scratch + 2 * plan_.parameter_floats();
        block.cols = keys.count;
        void *const at[] = {plan_.numbers_of(keys)};
        const auto &skinny_gemm = *plan_.skinny_gemm[plan_.shape_of(keys)];
        skinny_gemm.run(at, block);
        return !skinny_gemm.scales_sums();
    }

    void redo_overflow(const attention_tokens_t &keys,
            const attention_tile_t &tile,
            const float *arranged) const noexcept override {
        plan_.skinny_gemm[plan_.shape_of(keys)]->redo_overflow(
                plan_.operands_of(keys).data(), block_of(tile, arranged));
    }

private:
    // The factors and sums of a tile.
    skinny_gemm_t::block_t block_of(
            const attention_tile_t &tile, const float *arranged) const {
        skinny_gemm_t::block_t block {};
        block.a = arranged;
        block.a_pitch = bytes_of(data_type_t::f32, row_floats()) * 8
                        / bits_of(plan_.skinny_gemm[0]->src_type());
        block.c = tile.scores;
        block.c_pitch = tile.pitch;
        block.rows = tile.rows;
        block.cols = tile.tokens;
        return block;
    }
    dim_t row_floats() const {
        return round_up(plan_.head, plan_.skinny_gemm[0]->src_unit());
    }
    dim_t partial_floats(dim_t rows) const {
        return round_up(rows * round_up(plan_.tokens, dim_t(64))
                                * plan_.skinny_gemm[0]->partial_floats(),
                dim_t(16));
    }

    const attention_stream_t plan_;
};

} // namespace

std::shared_ptr<const keys_product_t> make_keys_product(
        attention_stream_t plan) {
    return std::make_shared<const stream_keys_t>(std::move(plan));
}

} // namespace dnnl_dequant
