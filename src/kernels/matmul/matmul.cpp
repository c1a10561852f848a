#include "kernels/matmul/matmul.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

namespace dnnl_dequant {

namespace {

constexpr size_t max_buffers = 16;

} // namespace

matmul_t::matmul_t(matmul_plan_t plan)
    : plan_(std::move(plan)) {
    dim_t depth = 0, rows = 0;
    for (const dim_t block : plan_.depth_blocks)
        depth = std::max(depth, block);
    for (const auto &block : plan_.row_blocks)
        rows = std::max(rows, block.rows);
    if (!plan_.gemv) weights_floats_ = depth * plan_.pitch;
    if (!plan_.gemv && !plan_.integers) note_packed();
    if (plan_.integers) weights_floats_ = plan_.integers->own_bytes() / 4;
    parameters_floats_ = plan_.groups * (plan_.pitch + gemv_t::columns_beyond);
    const dim_t partial = plan_.gemv ? plan_.gemv->partial_floats() : 0;
    thread_floats_ = weights_floats_ + rows * plan_.pitch * (1 + partial)
                     + parameters_floats_
                               * static_cast<dim_t>(plan_.parameters.size());
}

void matmul_t::note_packed() {
    constexpr dim_t line = 16; // floats
    packed_floats_ = (plan_.rows * plan_.depth + line - 1) / line * line;
    std::set<dim_t> seen;
    for (size_t b = 0; b < plan_.row_blocks.size(); ++b)
        if (seen.insert(plan_.row_blocks[b].first).second)
            blocks_to_pack_.push_back(b);
}

void matmul_t::arrange(float *shared) const noexcept {
    if (!plan_.gemv || plan_.gemv->src_unit() == 1) return;
    for (dim_t r = 0; r < plan_.rows; ++r)
        plan_.gemv->arrange(shared + r * plan_.src_pitch);
}

dim_t matmul_t::pack_amount() const {
    return static_cast<dim_t>(
            blocks_to_pack_.size() * plan_.depth_blocks.size());
}

// A part is a block of rows by one of depth; depth blocks of a row block follow
// each other.
void matmul_t::pack(void *const *buffers, dim_t begin, dim_t end,
        float *shared) const noexcept {
    const float *const src = src_rows(buffers, shared);
    const auto depth_blocks = static_cast<dim_t>(plan_.depth_blocks.size());
    for (dim_t part = begin; part < end; ++part) {
        const auto &rows = plan_.row_blocks[blocks_to_pack_[static_cast<size_t>(
                part / depth_blocks)]];
        const dim_t k = part % depth_blocks;
        const dim_t depth = plan_.depth_blocks[static_cast<size_t>(k)];
        const dim_t before = k * plan_.depth_blocks[0];
        pack_rows(src + rows.first * plan_.src_pitch + before, plan_.src_pitch,
                rows.rows, depth, plan_.gemm->strip(),
                shared + rows.first * plan_.depth + before * rows.rows);
    }
}

dim_t matmul_t::work_amount() const {
    return static_cast<dim_t>(
            plan_.row_blocks.size() * plan_.col_blocks.size());
}

dim_t matmul_t::cols() const {
    return std::accumulate(
            plan_.col_blocks.begin(), plan_.col_blocks.end(), dim_t(0));
}

dim_t matmul_t::shared_floats() const {
    if (plan_.integers) return plan_.integers->shared_bytes() / 4;
    return packed_floats_ + (plan_.src ? plan_.rows * plan_.src_pitch : 0);
}

const float *matmul_t::src_rows(
        void *const *buffers, const float *shared) const noexcept {
    return plan_.src ? shared + packed_floats_
                     : static_cast<const float *>(buffers[0]);
}

void matmul_t::run(void *const *buffers, dim_t begin, dim_t end,
        const float *shared, float *own) const noexcept {
    const bool as_packed = plan_.integers || !plan_.gemv;
    const float *src = as_packed ? shared : src_rows(buffers, shared);
    const auto cols = static_cast<dim_t>(plan_.col_blocks.size());
    for (dim_t unit = begin; unit < end; ++unit)
        run_unit(buffers, static_cast<size_t>(unit / cols),
                static_cast<size_t>(unit % cols), src, own);
}

// What is made f32 next: it would come from memory a line at a time.
read_ahead_t matmul_t::weights_after(const block_kernels_t::index_t &block,
        void *const *weights_buffers) const noexcept {
    block_kernels_t::index_t next = block;
    if (++next[1] == plan_.depth_blocks.size()) {
        next[1] = 0;
        if (++next[2] == plan_.col_blocks.size()) return {};
    }
    read_ahead_t ahead = plan_.packed_weights;
    ahead.first = plan_.weights.address_of(next, 0, weights_buffers);
    return ahead;
}

void matmul_t::multiply(void *const *weights_buffers, size_t row_block,
        size_t col_block, const float *packed, float *own) const noexcept {
    const auto &rows = plan_.row_blocks[row_block];
    std::array<void *, max_buffers> at {};
    std::copy(weights_buffers, weights_buffers + plan_.weights_operands,
            at.begin());
    at[plan_.weights_operands] = own;

    gemm_block_t block;
    block.a = packed + rows.first * plan_.depth;
    block.b = own;
    block.c = own + weights_floats_;
    block.ldb = block.ldc = plan_.pitch;
    block.rows = rows.rows;
    const dim_t panel = plan_.gemm->panel();
    block.cols = (plan_.col_blocks[col_block] + panel - 1) / panel * panel;
    block.accumulates = false;
    for (size_t k = 0; k < plan_.depth_blocks.size(); ++k) {
        block.depth = plan_.depth_blocks[k];
        plan_.weights.run({rows.outer, k, col_block}, at.data());
        block.ahead = weights_after({rows.outer, k, col_block}, at.data());
        plan_.gemm->run(block);
        block.a += block.rows * block.depth;
        block.accumulates = true;
    }
    if (plan_.depth_blocks.empty())
        std::fill_n(block.c, rows.rows * plan_.pitch, 0.f);
}

// The sums, partial ones, and the parameters.
void matmul_t::multiply_few(void *const *weights_buffers, size_t row_block,
        size_t col_block, const float *src, float *sums) const noexcept {
    const auto &rows = plan_.row_blocks[row_block];
    const dim_t floats = rows.rows * plan_.pitch;
    gemv_t::block_t block {src + rows.first * plan_.src_pitch, sums,
            sums + floats, plan_.src_pitch, plan_.pitch, rows.rows,
            static_cast<dim_t>(col_block) * plan_.col_blocks[0],
            plan_.col_blocks[col_block], nullptr, nullptr};
    std::array<float *, 2> at {};
    for (size_t p = 0; p < plan_.parameters.size(); ++p) {
        const auto &parameters = plan_.parameters[p];
        at[p] = sums + floats * (1 + plan_.gemv->partial_floats())
                + static_cast<dim_t>(p) * parameters_floats_;
        if (parameters.kernels.operand_count() == 0) continue;
        void *const buffers[] = {weights_buffers[parameters.operand], at[p]};
        parameters.kernels.run({col_block, 0, 0}, buffers);
    }
    block.scales = at[0];
    block.zps = at[1];
    plan_.gemv->run(weights_buffers, block);
}

void matmul_t::run_unit(void *const *buffers, size_t row_block,
        size_t col_block, const float *src, float *own) const noexcept {
    void *const *const of_weights = buffers + plan_.src_operands;
    float *const sums = own + weights_floats_;
    const auto &rows = plan_.row_blocks[row_block];
    if (plan_.integers)
        plan_.integers->run(of_weights,
                {rows.first, rows.rows,
                        static_cast<dim_t>(col_block) * plan_.col_blocks[0],
                        plan_.col_blocks[col_block], sums, plan_.pitch},
                src, own);
    else if (plan_.gemv)
        multiply_few(of_weights, row_block, col_block, src, sums);
    else multiply(of_weights, row_block, col_block, src, own);

    // The result's buffers are the last ones; the sums come before them.
    std::array<void *, max_buffers> at {sums};
    void *const *const rest = of_weights + plan_.weights_operands;
    std::copy(rest, rest + plan_.result.operand_count() - 1, at.begin() + 1);
    plan_.result.run({row_block, col_block, 0}, at.data());
}

} // namespace dnnl_dequant
