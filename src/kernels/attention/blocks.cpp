// Keys and values as f32, block by block, by packed rows.

#include <algorithm>

#include "kernels/attention/products.hpp"

namespace dnnl_dequant {

namespace {

// The buffers of a factor, and behind them where its block is made.
std::array<void *, max_operands> with_dst(
        const block_kernels_t &kernels, void *const *buffers, float *dst) {
    std::array<void *, max_operands> at {};
    const size_t count = kernels.operand_count() - 1;
    std::copy_n(buffers, count, at.begin());
    at[count] = dst;
    return at;
}

class block_keys_t : public keys_product_t {
public:
    explicit block_keys_t(attention_blocks_t plan)
        : plan_(std::move(plan)) {}

    const char *name() const override { return plan_.gemm->name(); }
    // Packed rows, then a block of keys.
    dim_t scratch_floats(dim_t rows) const override {
        return packed_floats(rows) + plan_.depth * plan_.pitch;
    }

    void begin(
            float *query, dim_t rows, float *scratch) const noexcept override {
        pack_rows(*plan_.gemm, query, plan_.depth, rows, plan_.depth, scratch);
    }

    status_t run(void *const *buffers, const attention_tile_t &tile,
            const float * /*query*/, float *scratch) const noexcept override {
        float *const keys = scratch + packed_floats(tile.rows);
        const auto at = with_dst(plan_.kernels, buffers, keys);
        plan_.kernels.run({tile.outer, tile.block, 0}, at.data());
        gemm_block_t block {};
        block.a = scratch;
        block.b = keys;
        block.c = tile.scores;
        block.ldb = plan_.pitch;
        block.ldc = tile.pitch;
        block.rows = tile.rows;
        block.cols = round_up(tile.tokens, plan_.gemm->nr());
        block.depth = plan_.depth;
        plan_.gemm->run(block);
        return status_t::success;
    }

private:
    dim_t packed_floats(dim_t rows) const {
        return round_up(rows * plan_.depth, dim_t(16));
    }

    const attention_blocks_t plan_;
};

class block_values_t : public values_product_t {
public:
    explicit block_values_t(attention_blocks_t plan)
        : plan_(std::move(plan)) {}

    // A block of values, then packed weights.
    dim_t scratch_floats(dim_t rows) const override {
        return values_floats() + rows * plan_.depth;
    }

    status_t run(void *const *buffers, const attention_tile_t &tile,
            float *sums, dim_t sums_pitch, bool accumulates,
            float *scratch) const noexcept override {
        const auto at = with_dst(plan_.kernels, buffers, scratch);
        plan_.kernels.run({tile.outer, tile.block, 0}, at.data());
        float *const packed = scratch + values_floats();
        pack_rows(*plan_.gemm, tile.scores, tile.pitch, tile.rows, tile.tokens,
                packed);
        gemm_block_t block {};
        block.a = packed;
        block.b = scratch;
        block.c = sums;
        block.ldb = plan_.pitch;
        block.ldc = sums_pitch;
        block.rows = tile.rows;
        block.cols = round_up(plan_.cols, plan_.gemm->nr());
        block.depth = tile.tokens;
        block.accumulates = accumulates;
        plan_.gemm->run(block);
        return status_t::success;
    }

private:
    dim_t values_floats() const {
        return round_up(plan_.depth * plan_.pitch, dim_t(16));
    }

    const attention_blocks_t plan_;
};

} // namespace

std::shared_ptr<const keys_product_t> make_keys_product(
        attention_blocks_t plan) {
    return std::make_shared<const block_keys_t>(std::move(plan));
}

std::shared_ptr<const values_product_t> make_values_product(
        attention_blocks_t plan) {
    return std::make_shared<const block_values_t>(std::move(plan));
}

} // namespace dnnl_dequant
