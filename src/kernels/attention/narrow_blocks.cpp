// Keys and values as 16 bits, block by block, by oneDNN's matmul primitive.

#include "kernels/attention/products.hpp"

#include <algorithm>

namespace dnnl_dequant {

namespace {

// The parts that both products have: rounded rows, a block, oneDNN's scratch.
class narrow_t {
protected:
    explicit narrow_t(attention_narrow_t plan)
        : plan_(std::move(plan)) {}

    dim_t scratch_floats(dim_t rows) const {
        return (rows_bytes(rows) + block_bytes() + plan_.gemm->scratch_bytes())
               / 4;
    }

    void round_rows(const float *from, dim_t rows, dim_t cols,
            float *scratch) const noexcept {
        for (const auto &rounding : plan_.roundings)
            if (rounding.rows == rows && rounding.cols == cols) {
                void *const at[] = {const_cast<float *>(from), scratch};
                rounding.kernel->run(at, 0, rounding.kernel->work_amount());
            }
    }

    // Multiplies the rows of round_rows() by a block, which it makes behind
    // them.
    status_t multiply(void *const *buffers, const attention_tile_t &tile,
            float *c, dim_t cols, dim_t depth, bool accumulates,
            float *scratch) const noexcept {
        char *const rows = reinterpret_cast<char *>(scratch);
        char *const block = rows + rows_bytes(tile.rows);
        std::array<void *, max_operands> at {};
        const size_t count = plan_.kernels.operand_count() - 1;
        std::copy_n(buffers, count, at.begin());
        at[count] = block;
        plan_.kernels.run({tile.outer, tile.block, 0}, at.data());
        return plan_.gemm->run(
                {rows, block, c, tile.rows, cols, depth, accumulates},
                block + block_bytes());
    }

    const attention_narrow_t plan_;

private:
    dim_t bytes(dim_t elements) const {
        return round_up(bytes_of(plan_.gemm->type(), elements), dim_t(64));
    }
    dim_t rows_bytes(dim_t rows) const { return bytes(rows * plan_.src_pitch); }
    dim_t block_bytes() const { return bytes(plan_.depth * plan_.pitch); }
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
        round_rows(query, rows, plan_.depth, scratch);
    }
    status_t run(void *const *buffers, const attention_tile_t &tile,
            const float * /*query*/, float *scratch) const noexcept override {
        return multiply(buffers, tile, tile.scores, tile.tokens, plan_.depth,
                false, scratch);
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
            float *sums, dim_t /*sums_pitch*/, bool accumulates,
            float *scratch) const noexcept override {
        round_rows(tile.scores, tile.rows, tile.tokens, scratch);
        return multiply(buffers, tile, sums, plan_.cols, tile.tokens,
                accumulates, scratch);
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
