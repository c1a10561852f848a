// Multiplies blocks of weights as f32, bf16 or f16 by rows of src, which are
// packed unless the gemm takes them as they are.

#include <algorithm>
#include <set>

#include "kernels/matmul/multiplier.hpp"

namespace dnnl_dequant {

namespace {

class float_multiplier_t : public multiplier_t {
public:
    float_multiplier_t(product_blocks_t blocks, float_blocks_t plan)
        : multiplier_t(std::move(blocks))
        , plan_(std::move(plan)) {
        dim_t depth = 0;
        for (const dim_t block : this->blocks().depth_blocks)
            depth = std::max(depth, block);
        const dim_t pitch = this->blocks().pitch;
        const dim_t rows_of_weights
                = plan_.gemm->takes_nk() ? round_up(pitch, plan_.gemm->nr())
                                         : depth;
        weights_bytes_
                = round_up(bytes_of(type(), rows_of_weights * plan_.ldb), line);
        gemm_bytes_ = plan_.gemm->scratch_bytes(pitch, depth);
        if (plan_.gemm->takes_rows()) return;
        for (const dim_t block : this->blocks().depth_blocks)
            row_elements_ += packed_depth(*plan_.gemm, block);
        packed_bytes_ = round_up(
                bytes_of(type(), this->blocks().rows * row_elements_), line);
        std::set<dim_t> seen;
        const auto &rows = this->blocks().row_blocks;
        for (size_t b = 0; b < rows.size(); ++b)
            if (seen.insert(rows[b].first).second) blocks_to_pack_.push_back(b);
    }

    const char *name() const override { return plan_.gemm->name(); }
    size_t cols_together() const override { return plan_.cols_together; }
    scratch_size_t scratch() const override {
        const dim_t made
                = plan_.src.kernel ? plan_.src.bytes(blocks().rows) : 0;
        return {packed_bytes_ + made, weights_bytes_ + gemm_bytes_};
    }

    std::vector<stage_t> prepare(dim_t threads) const override {
        std::vector<stage_t> stages;
        plan_.src.add_stage(blocks().rows, packed_bytes_, stages);
        const auto parts = static_cast<dim_t>(
                blocks_to_pack_.size() * blocks().depth_blocks.size());
        if (parts == 0) return stages;
        const auto self = std::static_pointer_cast<const float_multiplier_t>(
                shared_from_this());
        stages.push_back({parts, std::min(threads, parts), false,
                [self](const stage_memory_t &memory, dim_t begin, dim_t end) {
            self->pack(memory, begin, end);
            return status_t::success;
        }});
        return stages;
    }

    status_t run(const product_unit_t &unit, const stage_memory_t &memory,
            float *sums) const noexcept override;

private:
    static constexpr dim_t line = 64;

    data_type_t type() const { return plan_.gemm->type(); }
    void pack(const stage_memory_t &memory, dim_t begin, dim_t end) const;
    const char *first_block(const stage_memory_t &memory, dim_t row) const;
    dim_t block_elements(dim_t rows, dim_t depth) const;
    read_ahead_t weights_after(block_kernels_t::index_t block,
            const product_unit_t &unit, void *const *weights) const noexcept;

    const float_blocks_t plan_;
    /// The row blocks to pack, if any. Several batches may have the same rows,
    /// which are packed once.
    std::vector<size_t> blocks_to_pack_;
    /// Elements of a packed row, over all blocks of depth. Each may end with
    /// half a pair.
    dim_t row_elements_ = 0;
    dim_t packed_bytes_ = 0, weights_bytes_ = 0, gemm_bytes_ = 0;
};

// A part is a row block by a depth block. The depth blocks of a row block
// follow each other.
void float_multiplier_t::pack(
        const stage_memory_t &memory, dim_t begin, dim_t end) const {
    const auto depth_blocks = static_cast<dim_t>(blocks().depth_blocks.size());
    for (dim_t part = begin; part < end; ++part) {
        const auto &rows
                = blocks().row_blocks[blocks_to_pack_[static_cast<size_t>(
                        part / depth_blocks)]];
        const dim_t k = part % depth_blocks;
        const dim_t depth = blocks().depth_blocks[static_cast<size_t>(k)];
        const dim_t before = k * blocks().depth_blocks[0];
        const auto *const src = static_cast<const char *>(
                plan_.src.find(memory, packed_bytes_, rows.first));
        const dim_t at
                = rows.first * row_elements_
                  + k * block_elements(rows.rows, blocks().depth_blocks[0]);
        pack_rows(*plan_.gemm, src + bytes_of(type(), before), plan_.src.pitch,
                rows.rows, depth,
                static_cast<char *>(memory.shared) + bytes_of(type(), at));
    }
}

// Returns where the first depth block of rows begins.
const char *float_multiplier_t::first_block(
        const stage_memory_t &memory, dim_t row) const {
    if (plan_.gemm->takes_rows())
        return static_cast<const char *>(
                plan_.src.find(memory, packed_bytes_, row));
    return static_cast<const char *>(memory.shared)
           + bytes_of(type(), row * row_elements_);
}

// Returns the elements from a depth block of rows to the next.
dim_t float_multiplier_t::block_elements(dim_t rows, dim_t depth) const {
    return plan_.gemm->takes_rows() ? depth
                                    : rows * packed_depth(*plan_.gemm, depth);
}

// Returns the block that is dequantized next. Without a prefetch it would come
// from memory a line at a time.
read_ahead_t float_multiplier_t::weights_after(block_kernels_t::index_t block,
        const product_unit_t &unit, void *const *weights) const noexcept {
    auto &[outer, depth, col] = block;
    if (++col == unit.end) {
        col = unit.begin;
        if (++depth == blocks().depth_blocks.size()) {
            depth = 0;
            col = unit.end;
        }
    }
    if (col == blocks().col_blocks.size()) return {};
    read_ahead_t ahead = plan_.packed_weights;
    ahead.first = plan_.weights.address_of(block, 0, weights);
    return ahead;
}

status_t float_multiplier_t::run(const product_unit_t &unit,
        const stage_memory_t &memory, float *sums) const noexcept {
    const auto &rows = blocks().row_blocks[unit.row_block];
    const size_t count = blocks().weights_operands;
    std::array<void *, max_operands> at {};
    std::copy_n(blocks().weights_of(memory.buffers), count, at.begin());
    at[count] = memory.own;

    gemm_block_t block;
    const char *a = first_block(memory, rows.first);
    block.b = memory.own;
    block.scratch = static_cast<char *>(memory.own) + weights_bytes_;
    block.ldb = plan_.ldb;
    block.ldc = blocks().pitch;
    block.rows = rows.rows;
    block.accumulates = false;
    const dim_t panel = plan_.gemm->nr();
    for (size_t k = 0; k < blocks().depth_blocks.size(); ++k) {
        block.a = a;
        block.depth = blocks().depth_blocks[k];
        block.c = sums;
        for (size_t col = unit.begin; col < unit.end; ++col) {
            const block_kernels_t::index_t index {rows.outer, k, col};
            plan_.weights.run(index, at.data());
            block.ahead = weights_after(index, unit, at.data());
            block.cols = round_up(blocks().col_blocks[col], panel);
            const status_t status = plan_.gemm->run(block);
            if (status != status_t::success) return status;
            block.c += sums_floats();
        }
        a += bytes_of(type(), block_elements(block.rows, block.depth));
        block.accumulates = true;
    }
    if (blocks().depth_blocks.empty())
        std::fill_n(sums,
                static_cast<dim_t>(unit.end - unit.begin) * sums_floats(), 0.f);
    return status_t::success;
}

} // namespace

std::shared_ptr<const multiplier_t> make_multiplier(
        product_blocks_t blocks, float_blocks_t plan) {
    return std::make_shared<const float_multiplier_t>(
            std::move(blocks), std::move(plan));
}

} // namespace dnnl_dequant
