// Keys and values as bf16, block by block, by packed rows.

#include "kernels/attention/products.hpp"

#include <algorithm>

namespace dnnl_dequant {

namespace {

// Scratch memory has packed rows, rounded rows, a block, and what the gemm
// wants, in this order.
class narrow_t {
protected:
    explicit narrow_t(attention_narrow_t plan)
        : plan_(std::move(plan)) {}

    dim_t scratch_floats(dim_t rows) const {
        return (packed_bytes(rows) + rounded_bytes(rows) + block_bytes()
                       + plan_.gemm->scratch_bytes(plan_.cols, plan_.depth))
               / 4;
    }

    // Rounds rows of f32 and packs them at the beginning of scratch memory.
    void pack(const float *from, dim_t rows, dim_t depth,
            float *scratch) const noexcept {
        char *const packed = reinterpret_cast<char *>(scratch);
        char *const rounded = packed + packed_bytes(rows);
        for (const auto &rounding : plan_.roundings)
            if (rounding.rows == rows && rounding.cols == depth) {
                void *const at[] = {const_cast<float *>(from), rounded};
                rounding.kernel->run(at, 0, rounding.kernel->work_amount());
            }
        pack_rows(*plan_.gemm, rounded, plan_.src_pitch, rows, depth, packed);
    }

    // Multiplies the rows of pack() by a block, which it makes behind them.
    // @param block c, what it is of, and whether sums are added to it.
    void multiply(void *const *buffers, const attention_tile_t &tile,
            gemm_block_t block, float *scratch) const noexcept {
        char *const weights = reinterpret_cast<char *>(scratch)
                              + packed_bytes(tile.rows)
                              + rounded_bytes(tile.rows);
        std::array<void *, max_operands> at {};
        const size_t count = plan_.kernels.operand_count() - 1;
        std::copy_n(buffers, count, at.begin());
        at[count] = weights;
        plan_.kernels.run({tile.outer, tile.block, 0}, at.data());
        block.a = scratch;
        block.b = weights;
        block.ldb = plan_.ldb;
        block.rows = tile.rows;
        block.cols = round_up(block.cols, plan_.gemm->nr());
        block.scratch = weights + block_bytes();
        plan_.gemm->run(block);
    }

    const attention_narrow_t plan_;

private:
    dim_t bytes(dim_t elements) const {
        return round_up(bytes_of(plan_.gemm->type(), elements), dim_t(64));
    }
    dim_t packed_bytes(dim_t rows) const {
        return bytes(rows * packed_depth(*plan_.gemm, plan_.depth));
    }
    dim_t rounded_bytes(dim_t rows) const {
        return bytes(rows * plan_.src_pitch);
    }
    dim_t block_bytes() const {
        const dim_t rows = plan_.gemm->takes_nk()
                                   ? round_up(plan_.cols, plan_.gemm->nr())
                                   : plan_.depth;
        return bytes(rows * plan_.ldb);
    }
};

class narrow_keys_t final : public keys_product_t, private narrow_t {
public:
    explicit narrow_keys_t(attention_narrow_t plan)
        : narrow_t(std::move(plan)) {}

    const char *name() const override { return plan_.gemm->name(); }
    dim_t scratch_floats(dim_t rows) const override {
        return narrow_t::scratch_floats(rows);
    }
    void begin(
            float *query, dim_t rows, float *scratch) const noexcept override {
        pack(query, rows, plan_.depth, scratch);
    }
    status_t run(void *const *buffers, const attention_tile_t &tile,
            const float * /*query*/, float *scratch) const noexcept override {
        gemm_block_t block {};
        block.c = tile.scores;
        block.ldc = tile.pitch;
        block.cols = tile.tokens;
        block.depth = plan_.depth;
        multiply(buffers, tile, block, scratch);
        return status_t::success;
    }
};

class narrow_values_t final : public values_product_t, private narrow_t {
public:
    explicit narrow_values_t(attention_narrow_t plan)
        : narrow_t(std::move(plan)) {}

    dim_t scratch_floats(dim_t rows) const override {
        return narrow_t::scratch_floats(rows);
    }
    status_t run(void *const *buffers, const attention_tile_t &tile,
            float *sums, dim_t sums_pitch, bool accumulates,
            float *scratch) const noexcept override {
        pack(tile.scores, tile.rows, tile.tokens, scratch);
        gemm_block_t block {};
        block.c = sums;
        block.ldc = sums_pitch;
        block.cols = plan_.cols;
        block.depth = tile.tokens;
        block.accumulates = accumulates;
        multiply(buffers, tile, block, scratch);
        return status_t::success;
    }
};

} // namespace

std::shared_ptr<const keys_product_t> make_keys_product(
        attention_narrow_t plan) {
    return std::make_shared<const narrow_keys_t>(std::move(plan));
}

std::shared_ptr<const values_product_t> make_values_product(
        attention_narrow_t plan) {
    return std::make_shared<const narrow_values_t>(std::move(plan));
}

} // namespace dnnl_dequant
