// Multiplies blocks of weights as bf16 or f16, by a CPU's instructions for
// pairs.

#include <algorithm>

#include "kernels/matmul/multiplier.hpp"

namespace dnnl_dequant {

namespace {

class narrow_multiplier_t : public multiplier_t {
public:
    narrow_multiplier_t(product_blocks_t blocks, low_precision_blocks_t plan)
        : multiplier_t(std::move(blocks))
        , plan_(std::move(plan)) {
        dim_t depth = 0;
        for (const dim_t block : this->blocks().depth_blocks)
            depth = std::max(depth, block);
        weights_bytes_ = round_up(
                bytes_of(plan_.gemm->type(), depth * this->blocks().pitch),
                dim_t(64));
    }

    const char *name() const override { return plan_.gemm->name(); }
    scratch_size_t scratch() const override {
        const dim_t made
                = plan_.src.kernel ? plan_.src.bytes(blocks().rows) : 0;
        return {made, weights_bytes_ + plan_.gemm->scratch_bytes()};
    }
    std::vector<stage_t> prepare(dim_t /*threads*/) const override {
        std::vector<stage_t> stages;
        plan_.src.add_stage(blocks().rows, 0, stages);
        return stages;
    }

    status_t run(const product_unit_t &unit, const stage_memory_t &memory,
            float *sums) const noexcept override {
        const auto &rows = blocks().row_blocks[unit.row_block];
        const size_t count = blocks().weights_operands;
        std::array<void *, max_operands> at {};
        std::copy_n(blocks().weights_of(memory.buffers), count, at.begin());
        at[count] = memory.own;
        const auto *a = static_cast<const char *>(
                plan_.src.find(memory, 0, rows.first));
        for (size_t k = 0; k < blocks().depth_blocks.size(); ++k) {
            const dim_t depth = blocks().depth_blocks[k];
            plan_.weights.run({rows.outer, k, unit.begin}, at.data());
            const status_t status = plan_.gemm->run(
                    {a, memory.own, sums, rows.rows,
                            blocks().col_blocks[unit.begin], depth, k > 0},
                    static_cast<char *>(memory.own) + weights_bytes_);
            if (status != status_t::success) return status;
            a += bytes_of(plan_.gemm->type(), depth);
        }
        return status_t::success;
    }

private:
    const low_precision_blocks_t plan_;
    dim_t weights_bytes_ = 0;
};

} // namespace

std::shared_ptr<const multiplier_t> make_multiplier(
        product_blocks_t blocks, low_precision_blocks_t plan) {
    return std::make_shared<const narrow_multiplier_t>(
            std::move(blocks), std::move(plan));
}

} // namespace dnnl_dequant
