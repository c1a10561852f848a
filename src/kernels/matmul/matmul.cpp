#include "kernels/matmul/matmul.hpp"

#include <algorithm>
#include <array>

namespace dnnl_dequant {

namespace {

constexpr dim_t line = 64; // bytes

// One core multiplies so much in the time that a parallel region takes to
// start.
constexpr dim_t products_per_thread = 256 * 1024;

} // namespace

matmul_t::matmul_t(
        std::shared_ptr<const multiplier_t> multiplier, block_kernels_t result)
    : multiplier_(std::move(multiplier))
    , result_(std::move(result))
    , sums_at_(round_up(multiplier_->scratch().own, line)) {}

scratch_size_t matmul_t::scratch() const {
    const auto together = static_cast<dim_t>(multiplier_->cols_together());
    return {multiplier_->scratch().shared,
            sums_at_ + 4 * multiplier_->sums_floats() * together};
}

dim_t matmul_t::col_units() const {
    return static_cast<dim_t>(div_up(multiplier_->blocks().col_blocks.size(),
            multiplier_->cols_together()));
}

dim_t matmul_t::work_amount() const {
    return static_cast<dim_t>(multiplier_->blocks().row_blocks.size())
           * col_units();
}

status_t matmul_t::run(
        const stage_memory_t &memory, dim_t begin, dim_t end) const noexcept {
    const auto units = static_cast<size_t>(col_units());
    const size_t together = multiplier_->cols_together();
    const size_t cols = multiplier_->blocks().col_blocks.size();
    for (dim_t unit = begin; unit < end; ++unit) {
        const auto at = static_cast<size_t>(unit);
        const size_t first = at % units * together;
        const status_t status = run_unit(
                {at / units, first, std::min(first + together, cols)}, memory);
        if (status != status_t::success) return status;
    }
    return status_t::success;
}

status_t matmul_t::run_unit(const product_unit_t &unit,
        const stage_memory_t &memory) const noexcept {
    auto *const sums = reinterpret_cast<float *>(
            static_cast<char *>(memory.own) + sums_at_);
    const status_t status = multiplier_->run(unit, memory, sums);
    if (status != status_t::success) return status;

    // The result's buffers are the last ones; the sums come before them.
    const product_blocks_t &blocks = multiplier_->blocks();
    std::array<void *, max_operands> at {sums};
    std::copy_n(blocks.weights_of(memory.buffers) + blocks.weights_operands,
            result_.operand_count() - 1, at.begin() + 1);
    for (size_t col = unit.begin; col < unit.end; ++col) {
        result_.run({unit.row_block, col, 0}, at.data());
        at[0] = static_cast<float *>(at[0]) + multiplier_->sums_floats();
    }
    return status_t::success;
}

workload_t make_workload(const std::shared_ptr<const matmul_t> &matmul) {
    const multiplier_t &multiplier = matmul->multiplier();
    const product_blocks_t &blocks = multiplier.blocks();
    const dim_t work = blocks.rows * blocks.depth * blocks.cols();
    const dim_t threads
            = std::min(matmul->work_amount(), work / products_per_thread);
    workload_t workload {matmul->scratch(), multiplier.prepare(threads)};
    workload.stages.push_back({matmul->work_amount(), threads,
            !multiplier.is_stream(),
            [matmul](const stage_memory_t &memory, dim_t begin, dim_t end) {
        return matmul->run(memory, begin, end);
    }});
    return workload;
}

stage_t make_repack_stage(
        const std::shared_ptr<const integer_product_t> &product,
        size_t src_operands) {
    const dim_t panels = product->repacked_panels();
    return {panels,
            std::min(panels, product->repacked_bytes() / bytes_per_thread),
            false,
            [product, src_operands](
                    const stage_memory_t &memory, dim_t begin, dim_t end) {
        product->repack(
                memory.buffers + src_operands, begin, end, memory.shared);
        return status_t::success;
    }};
}

} // namespace dnnl_dequant
