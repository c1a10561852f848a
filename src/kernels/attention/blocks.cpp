// Keys and values as f32 or bf16, block by block, by packed rows. A block is
// made once, and meets one block of rows after the other.

#include <algorithm>

#include "kernels/attention/products.hpp"
#include "kernels/row_blocks.hpp"

namespace dnnl_dequant {

namespace {

// The base of both products. Scratch memory has a block, what the gemm makes of
// it, and rounded rows, in this order.
class blocks_t {
protected:
    explicit blocks_t(attention_blocks_t plan)
        : plan_(std::move(plan)) {}

    dim_t packed_floats(dim_t rows) const {
        return floats(rows * packed_depth(*plan_.gemm, plan_.depth));
    }
    dim_t scratch_floats(dim_t rows) const {
        return rounded_at() + (rounds() ? floats(rows * plan_.src_pitch) : 0);
    }

    // Packs the first `depth` numbers of rows of `cols` f32. They are
    // rounded first if the gemm takes bf16.
    void pack(const float *from, dim_t pitch, dim_t rows, dim_t cols,
            dim_t depth, float *packed, float *scratch) const noexcept {
        const void *src = from;
        for (const auto &rounding : plan_.roundings) {
            if (rounding.rows != rows || rounding.cols != cols) continue;
            float *const rounded = scratch + rounded_at();
            void *const at[] = {const_cast<float *>(from), rounded};
            rounding.kernel->run(at, 0, rounding.kernel->work_amount());
            src = rounded;
            pitch = plan_.src_pitch;
        }
        pack_rows(*plan_.gemm, src, pitch, rows, depth, packed);
    }

    void load(const attention_tokens_t &tokens, dim_t cols, dim_t depth,
            float *scratch) const noexcept {
        std::array<void *, max_operands> at {};
        const size_t count = plan_.kernels.operand_count() - 1;
        std::copy_n(tokens.buffers, count, at.begin());
        at[count] = scratch;
        plan_.kernels.run({tokens.outer, tokens.block, 0}, at.data());
        gemm_block_t block = block_of(depth, scratch);
        block.cols = round_up(cols, plan_.gemm->nr());
        plan_.gemm->arrange_b(block);
    }

    // Multiplies packed rows by the block that was loaded last. Code that takes
    // packed rows does not fail.
    void multiply(const float *packed, gemm_block_t block) const noexcept {
        block.a = packed;
        block.cols = round_up(block.cols, plan_.gemm->col_unit());
        plan_.gemm->run(block);
    }

    // The block in scratch memory, which is that deep.
    gemm_block_t block_of(dim_t depth, float *scratch) const {
        gemm_block_t block {};
        block.b = scratch;
        block.ldb = plan_.ldb;
        block.depth = block.arranged_depth = depth;
        block.scratch = scratch + block_floats();
        return block;
    }

    const attention_blocks_t plan_;

private:
    bool rounds() const { return !plan_.roundings.empty(); }
    // Floats that so many elements take, in whole cache lines.
    dim_t floats(dim_t elements) const {
        return round_up(bytes_of(plan_.gemm->type(), elements), dim_t(64)) / 4;
    }
    dim_t block_floats() const {
        const dim_t rows = plan_.gemm->takes_nk()
                                   ? round_up(plan_.cols, plan_.gemm->nr())
                                   : plan_.depth;
        return floats(rows * plan_.ldb);
    }
    dim_t rounded_at() const {
        return block_floats()
               + round_up(plan_.gemm->scratch_bytes(plan_.cols, plan_.depth),
                         dim_t(64))
                         / 4;
    }
};

class block_keys_t final : public keys_product_t, private blocks_t {
public:
    explicit block_keys_t(attention_blocks_t plan)
        : blocks_t(std::move(plan)) {}

    const char *name() const override { return plan_.gemm->name(); }
    dim_t arranged_floats(dim_t rows) const override {
        return packed_floats(rows);
    }
    dim_t scratch_floats(dim_t rows) const override {
        return blocks_t::scratch_floats(rows);
    }
    void arrange(const float *query, dim_t rows, float *arranged,
            float *scratch) const noexcept override {
        pack(query, plan_.depth, rows, plan_.depth, plan_.depth, arranged,
                scratch);
    }
    void load(const attention_tokens_t &keys,
            float *scratch) const noexcept override {
        blocks_t::load(keys, keys.count, plan_.depth, scratch);
    }
    bool run(const attention_tokens_t & /*keys*/, const attention_tile_t &tile,
            const float *arranged, float *scratch) const noexcept override {
        gemm_block_t block = block_of(plan_.depth, scratch);
        block.cols = tile.tokens;
        block.c = tile.scores;
        block.ldc = tile.pitch;
        block.rows = tile.rows;
        multiply(arranged, block);
        return true;
    }
};

// Packed weights are behind all else in scratch memory.
class block_values_t final : public values_product_t, private blocks_t {
public:
    explicit block_values_t(attention_blocks_t plan)
        : blocks_t(std::move(plan)) {}

    dim_t scratch_floats(dim_t rows) const override {
        return blocks_t::scratch_floats(rows) + packed_floats(rows);
    }
    void load(const attention_tokens_t &values,
            float *scratch) const noexcept override {
        blocks_t::load(values, plan_.cols, values.count, scratch);
    }
    bool takes_fewer_tokens() const override { return true; }
    // Tiles take rows in the chunks that the softmax packs.
    void weigh(const attention_tokens_t &values, const attention_tile_t &tile,
            const softmax_rows_t &softmax, const float *shifts, float *sums,
            float *scratch) const noexcept override {
        float *const packed = packed_weights(tile, scratch);
        const dim_t tokens = tile.tokens;
        if (!softmax.packs() || !takes_chunks(tokens)) {
            values_product_t::weigh(
                    values, tile, softmax, shifts, sums, scratch);
            pack(tile.scores, tile.pitch, tile.rows, values.count, tokens,
                    packed, scratch);
            return;
        }
        for_row_blocks(
                tile.rows, plan_.gemm->mr(), [&](dim_t first, dim_t rows) {
            softmax.weigh_packed({tile.scores + first * tile.pitch, tile.pitch,
                                         rows, tokens},
                    shifts + first, sums + first,
                    reinterpret_cast<char *>(packed)
                            + bytes_of(plan_.gemm->type(), first * tokens));
        });
    }
    void run(const attention_tokens_t &values, const attention_tile_t &tile,
            float *sums, dim_t sums_pitch, bool accumulates,
            float *scratch) const noexcept override {
        gemm_block_t block = block_of(values.count, scratch);
        block.depth = tile.tokens;
        block.cols = plan_.cols;
        block.c = sums;
        block.ldc = sums_pitch;
        block.rows = tile.rows;
        block.accumulates = accumulates;
        multiply(packed_weights(tile, scratch), block);
    }

private:
    float *packed_weights(const attention_tile_t &tile, float *scratch) const {
        return scratch + blocks_t::scratch_floats(tile.rows);
    }
    bool takes_chunks(dim_t tokens) const {
        return plan_.gemm->type() == data_type_t::bf16
               && plan_.gemm->packed_bytes() == softmax_rows_t::chunk * 2
               && tokens % softmax_rows_t::chunk == 0;
    }
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
