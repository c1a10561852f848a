// Multiplies integers by integers. The sum of each group is exact.

#include <algorithm>

#include "kernels/matmul/multiplier.hpp"

namespace dnnl_dequant {

namespace {

class integer_multiplier_t : public multiplier_t {
public:
    integer_multiplier_t(product_blocks_t blocks,
            std::shared_ptr<const integer_product_t> product)
        : multiplier_t(std::move(blocks))
        , product_(std::move(product)) {}

    const char *name() const override { return product_->name(); }
    bool is_stream() const override {
        return product_->plan().stream != nullptr;
    }
    scratch_size_t scratch() const override {
        const auto &sizes = blocks().col_blocks;
        return {product_->shared_bytes(),
                product_->own_bytes(sizes.empty() ? 0 : sizes[0])};
    }

    // The stage makes the integers of src, and what its groups need.
    std::vector<stage_t> prepare(dim_t threads) const override {
        const integer_plan_t &plan = product_->plan();
        std::vector<stage_t> stages;
        if (plan.quantize)
            stages.push_back(make_stage(plan.quantize, plan.rows * plan.depth,
                    [product = product_](
                            const stage_memory_t &memory, void **buffers) {
                const size_t count = product->plan().quantize_operands;
                std::copy_n(memory.buffers, count, buffers);
                buffers[count] = product->quantized(memory.shared);
            }));
        stages.push_back({plan.rows, std::min(threads, plan.rows), false,
                [product = product_](
                        const stage_memory_t &memory, dim_t begin, dim_t end) {
            product->pack_src(memory.buffers, begin, end, memory.shared);
            return status_t::success;
        }});
        return stages;
    }

    status_t run(const product_unit_t &unit, const stage_memory_t &memory,
            float *sums) const noexcept override {
        const auto &rows = blocks().row_blocks[unit.row_block];
        const auto weights
                = blocks().weights_of_batch(memory.buffers, rows.outer);
        product_->run(weights.data(),
                {rows.first, rows.rows,
                        static_cast<dim_t>(unit.begin) * blocks().col_blocks[0],
                        blocks().col_blocks[unit.begin], sums, blocks().pitch},
                memory.shared, memory.own);
        return status_t::success;
    }

private:
    const std::shared_ptr<const integer_product_t> product_;
};

} // namespace

std::shared_ptr<const multiplier_t> make_multiplier(product_blocks_t blocks,
        std::shared_ptr<const integer_product_t> product) {
    return std::make_shared<const integer_multiplier_t>(
            std::move(blocks), std::move(product));
}

} // namespace dnnl_dequant
