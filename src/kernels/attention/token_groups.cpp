// A few rows of weights by values of which tokens share scales. A block is
// weights of tokens by columns, and the skinny GEMM scales the sums of a group
// of tokens.

#include <algorithm>

#include "kernels/attention/products.hpp"

namespace dnnl_dequant {

namespace {

class token_groups_t final : public values_product_t {
public:
    explicit token_groups_t(const attention_token_groups_t &plan)
        : plan_(plan) {}

    // Rows of weights in the skinny GEMM's order, its sums, what these need,
    // scales and zero points.
    dim_t scratch_floats(dim_t rows) const override {
        return rows * (row_floats() + (1 + partial_floats()) * plan_.pitch())
               + 2 * plan_.parameter_floats();
    }

    // The skinny GEMM puts scales and zero points in its own order, so each
    // run() needs new ones.
    void load(const attention_tokens_t & /*values*/,
            float * /*scratch*/) const noexcept override {}

    void run(const attention_tokens_t &values, const attention_tile_t &tile,
            float *sums, dim_t sums_pitch, bool accumulates,
            float *scratch) const noexcept override {
        const skinny_gemm_t &skinny_gemm
                = *plan_.skinny_gemm[plan_.shape_of(values)];
        skinny_gemm_t::block_t block {};
        block.scales = scratch;
        block.zps = block.scales + plan_.parameter_floats();
        plan_.load(values, plan_.groups * plan_.cols, plan_.parameter_floats(),
                block.scales);
        block.c = block.zps + plan_.parameter_floats();
        block.c_pitch = plan_.pitch();
        block.partial = block.c + tile.rows * plan_.pitch();
        float *const rows
                = block.partial + tile.rows * partial_floats() * plan_.pitch();
        arrange(skinny_gemm, values.count, tile, rows);
        block.a = rows;
        block.a_pitch = row_floats();
        block.rows = tile.rows;
        block.cols = plan_.cols;
        void *const at[] = {plan_.numbers_of(values)};
        skinny_gemm.run(at, block);
        for (dim_t r = 0; r < tile.rows; ++r)
            add_sums(block.c + r * plan_.pitch(), plan_.cols, 0, accumulates,
                    sums + r * sums_pitch);
    }

private:
    void arrange(const skinny_gemm_t &skinny_gemm, dim_t tokens,
            const attention_tile_t &tile, float *rows) const noexcept {
        for (dim_t r = 0; r < tile.rows; ++r, rows += row_floats()) {
            std::copy_n(tile.scores + r * tile.pitch, tokens, rows);
            std::fill(rows + tokens, rows + row_floats(), 0.f);
            if (skinny_gemm.src_unit() > 1) skinny_gemm.arrange(rows);
        }
    }

    dim_t row_floats() const {
        const dim_t unit = most_of(plan_.skinny_gemm, &skinny_gemm_t::src_unit);
        return round_up(plan_.tokens, std::max<dim_t>(16, unit));
    }
    dim_t partial_floats() const {
        return most_of(plan_.skinny_gemm, &skinny_gemm_t::partial_floats);
    }

    const attention_token_groups_t plan_;
};

} // namespace

std::shared_ptr<const values_product_t> make_values_product(
        const attention_token_groups_t &plan) {
    return std::make_shared<const token_groups_t>(plan);
}

} // namespace dnnl_dequant
