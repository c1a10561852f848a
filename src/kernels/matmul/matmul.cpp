#include "kernels/matmul/matmul.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

namespace dnnl_dequant {

namespace {

constexpr dim_t line = 16; // floats

dim_t whole_lines(dim_t floats) {
    return round_up(floats, line);
}

} // namespace

matmul_t::matmul_t(matmul_plan_t plan)
    : plan_(std::move(plan)) {
    dim_t depth = 0, rows = 0;
    for (const dim_t block : plan_.depth_blocks)
        depth = std::max(depth, block);
    for (const auto &block : plan_.row_blocks)
        rows = std::max(rows, block.rows);
    if (!plan_.gemv) weights_floats_ = depth * plan_.pitch;
    if (plan_.narrow) weights_floats_ = whole_lines(weights_floats_ / 2);
    else if (!plan_.gemv && !plan_.integers) note_packed();
    if (plan_.integers) weights_floats_ = plan_.integers->own_bytes() / 4;
    parameters_floats_ = plan_.groups * (plan_.pitch + gemv_t::columns_beyond);
    const dim_t partial = plan_.gemv ? plan_.gemv->partial_floats() : 0;
    sums_floats_ = rows * plan_.pitch;
    thread_floats_
            = weights_floats_
              + sums_floats_
                        * (static_cast<dim_t>(plan_.cols_together) + partial)
              + parameters_floats_
                        * static_cast<dim_t>(plan_.parameters.size());
    if (plan_.gemv) places_of_src_ = plan_.gemv->places_of_src();
    if (!plan_.narrow) return;
    narrow_scratch_at_ = whole_lines(thread_floats_);
    thread_floats_ = narrow_scratch_at_
                     + whole_lines(plan_.narrow->scratch_bytes() / 4 + 1);
}

void matmul_t::note_packed() {
    packed_floats_ = whole_lines(plan_.rows * plan_.depth);
    std::set<dim_t> seen;
    for (size_t b = 0; b < plan_.row_blocks.size(); ++b)
        if (seen.insert(plan_.row_blocks[b].first).second)
            blocks_to_pack_.push_back(b);
}

void matmul_t::arrange(float *shared) const noexcept {
    const dim_t row_bytes = bytes_of(plan_.src_type(), plan_.src_pitch);
    auto *row = reinterpret_cast<char *>(shared);
    for (dim_t r = 0; r < plan_.rows; ++r, row += row_bytes)
        plan_.gemv->arrange(row);
}

dim_t matmul_t::pack_amount() const {
    return static_cast<dim_t>(
            blocks_to_pack_.size() * plan_.depth_blocks.size());
}

// A part is a block of rows by one of depth; depth blocks of a row block follow
// each other.
void matmul_t::pack(void *const *buffers, dim_t begin, dim_t end,
        float *shared) const noexcept {
    const auto *const src
            = static_cast<const float *>(src_rows(buffers, shared));
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

dim_t matmul_t::col_units() const {
    return static_cast<dim_t>(
            div_up(plan_.col_blocks.size(), plan_.cols_together));
}

dim_t matmul_t::work_amount() const {
    return static_cast<dim_t>(plan_.row_blocks.size()) * col_units();
}

dim_t matmul_t::cols() const {
    return std::accumulate(
            plan_.col_blocks.begin(), plan_.col_blocks.end(), dim_t(0));
}

dim_t matmul_t::shared_floats() const {
    if (plan_.integers) return plan_.integers->shared_bytes() / 4;
    const dim_t elements = plan_.src ? plan_.rows * plan_.src_pitch : 0;
    const dim_t bytes = bytes_of(plan_.src_type(), elements);
    return packed_floats_ + whole_lines((bytes + 3) / 4);
}

const void *matmul_t::src_rows(
        void *const *buffers, const float *shared) const noexcept {
    return plan_.src ? shared + packed_floats_ : buffers[0];
}

// Of what is not packed.
const void *matmul_t::src_row(const void *src, dim_t row) const noexcept {
    return static_cast<const char *>(src)
           + bytes_of(plan_.src_type(), row * plan_.src_pitch);
}

status_t matmul_t::run(void *const *buffers, dim_t begin, dim_t end,
        const float *shared, float *own) const noexcept {
    const bool as_packed = !plan_.narrow && (plan_.integers || !plan_.gemv);
    const void *src = as_packed ? shared : src_rows(buffers, shared);
    const dim_t units = col_units();
    status_t status = status_t::success;
    for (dim_t unit = begin; unit < end && status == status_t::success;
            ++unit) {
        const size_t first
                = static_cast<size_t>(unit % units) * plan_.cols_together;
        const col_range_t cols {first,
                std::min(first + plan_.cols_together, plan_.col_blocks.size())};
        status = run_unit(
                buffers, static_cast<size_t>(unit / units), cols, src, own);
    }
    return status;
}

// What is made f32 next: it would come from memory a line at a time.
read_ahead_t matmul_t::weights_after(block_kernels_t::index_t block,
        const col_range_t &cols, void *const *weights_buffers) const noexcept {
    auto &[outer, depth, col] = block;
    if (++col == cols.end) {
        col = cols.begin;
        if (++depth == plan_.depth_blocks.size()) {
            depth = 0;
            col = cols.end;
        }
    }
    if (col == plan_.col_blocks.size()) return {};
    read_ahead_t ahead = plan_.packed_weights;
    ahead.first = plan_.weights.address_of(block, 0, weights_buffers);
    return ahead;
}

void matmul_t::multiply(void *const *weights_buffers, size_t row_block,
        const col_range_t &cols, const float *packed,
        float *own) const noexcept {
    const auto &rows = plan_.row_blocks[row_block];
    std::array<void *, max_operands> at {};
    std::copy(weights_buffers, weights_buffers + plan_.weights_operands,
            at.begin());
    at[plan_.weights_operands] = own;

    gemm_block_t block;
    block.a = packed + rows.first * plan_.depth;
    block.b = own;
    block.ldb = block.ldc = plan_.pitch;
    block.rows = rows.rows;
    block.accumulates = false;
    const dim_t panel = plan_.gemm->panel();
    float *const sums = own + weights_floats_;
    for (size_t k = 0; k < plan_.depth_blocks.size(); ++k) {
        block.depth = plan_.depth_blocks[k];
        block.c = sums;
        for (size_t col = cols.begin; col < cols.end; ++col) {
            const block_kernels_t::index_t index {rows.outer, k, col};
            plan_.weights.run(index, at.data());
            block.ahead = weights_after(index, cols, at.data());
            block.cols = round_up(plan_.col_blocks[col], panel);
            plan_.gemm->run(block);
            block.c += sums_floats_;
        }
        block.a += block.rows * block.depth;
        block.accumulates = true;
    }
    if (plan_.depth_blocks.empty())
        std::fill_n(sums,
                static_cast<dim_t>(cols.end - cols.begin) * sums_floats_, 0.f);
}

status_t matmul_t::multiply_narrow(void *const *weights_buffers,
        size_t row_block, size_t col_block, const void *src,
        float *own) const noexcept {
    const auto &rows = plan_.row_blocks[row_block];
    std::array<void *, max_operands> at {};
    std::copy(weights_buffers, weights_buffers + plan_.weights_operands,
            at.begin());
    at[plan_.weights_operands] = own;

    const auto *a = static_cast<const char *>(src_row(src, rows.first));
    for (size_t k = 0; k < plan_.depth_blocks.size(); ++k) {
        const dim_t depth = plan_.depth_blocks[k];
        plan_.weights.run({rows.outer, k, col_block}, at.data());
        const status_t status = plan_.narrow->run(
                {a, own, own + weights_floats_, rows.rows,
                        plan_.col_blocks[col_block], depth, k > 0},
                own + narrow_scratch_at_);
        if (status != status_t::success) return status;
        a += bytes_of(plan_.src_type(), depth);
    }
    return status_t::success;
}

// The sums, partial ones, and the parameters.
void matmul_t::multiply_few(void *const *weights_buffers, size_t row_block,
        size_t col_block, const void *src, float *sums) const noexcept {
    const auto &rows = plan_.row_blocks[row_block];
    const dim_t floats = rows.rows * plan_.pitch;
    gemv_t::block_t block {src_row(src, rows.first), sums, sums + floats,
            plan_.src_pitch, plan_.pitch, rows.rows,
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
    plan_.gemv->redo_overflow(weights_buffers, block,
            places_of_src_.empty() ? nullptr : places_of_src_.data());
}

status_t matmul_t::run_unit(void *const *buffers, size_t row_block,
        const col_range_t &cols, const void *src, float *own) const noexcept {
    void *const *const of_weights = buffers + plan_.src_operands;
    float *const sums = own + weights_floats_;
    const auto &rows = plan_.row_blocks[row_block];
    if (plan_.integers)
        plan_.integers->run(of_weights,
                {rows.first, rows.rows,
                        static_cast<dim_t>(cols.begin) * plan_.col_blocks[0],
                        plan_.col_blocks[cols.begin], sums, plan_.pitch},
                static_cast<const float *>(src), own);
    else if (plan_.narrow) {
        const status_t status
                = multiply_narrow(of_weights, row_block, cols.begin, src, own);
        if (status != status_t::success) return status;
    } else if (plan_.gemv)
        multiply_few(of_weights, row_block, cols.begin, src, sums);
    else
        multiply(of_weights, row_block, cols, static_cast<const float *>(src),
                own);

    // The result's buffers are the last ones; the sums come before them.
    std::array<void *, max_operands> at {sums};
    void *const *const rest = of_weights + plan_.weights_operands;
    std::copy(rest, rest + plan_.result.operand_count() - 1, at.begin() + 1);
    for (size_t col = cols.begin; col < cols.end; ++col) {
        plan_.result.run({row_block, col, 0}, at.data());
        at[0] = static_cast<float *>(at[0]) + sums_floats_;
    }
    return status_t::success;
}

} // namespace dnnl_dequant
