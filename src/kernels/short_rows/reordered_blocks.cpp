#include "kernels/short_rows/reordered_blocks.hpp"

#include <algorithm>

#include "base/prefetch.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t line = 64;

class reordered_blocks_kernel_t final : public kernel_t {
public:
    explicit reordered_blocks_kernel_t(reordered_blocks_t plan)
        : plan_(std::move(plan)) {}

    const char *name() const override {
        return plan_.passes.front().compute->name();
    }
    dim_t work_amount() const override {
        dim_t amount = 1;
        for (const auto &cut : plan_.cuts)
            amount *= cut.blocks;
        return amount;
    }

    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override {
        alignas(line) char computed[reordered_blocks_t::most_bytes];
        block_t block = block_at(begin, buffers);
        for (dim_t unit = begin; unit < end; ++unit) {
            const block_t next = block_at(unit + 1, buffers);
            if (unit + 1 < end)
                prefetch_src(static_cast<const char *>(next.buffers[0]));
            run_block(block, computed);
            block = next;
        }
    }

private:
    struct block_t {
        std::array<void *, max_operands> buffers {};
        size_t pass = 0;
    };

    block_t block_at(dim_t unit, void *const *buffers) const noexcept {
        block_t block;
        std::copy_n(buffers, plan_.operands, block.buffers.begin());
        for (auto cut = plan_.cuts.rbegin(); cut != plan_.cuts.rend(); ++cut) {
            const dim_t index = unit % cut->blocks;
            unit /= cut->blocks;
            if (index == cut->blocks - 1) block.pass += cut->last_pass;
            for (size_t o = 0; o < plan_.operands; ++o)
                block.buffers[o] = static_cast<char *>(block.buffers[o])
                                   + index * cut->bytes[o];
        }
        return block;
    }

    // Rows of src are far from each other, where no hardware prefetcher finds
    // them.
    void prefetch_src(const char *src) const noexcept {
        const auto &[offset, bytes, rows, pitch] = plan_.src;
        for (dim_t r = 0; r < rows; ++r)
            for (dim_t b = 0; b < bytes; b += line)
                prefetch_into<2>(src + offset + r * pitch + b);
    }

    void run_block(block_t block, char *computed) const noexcept {
        const auto &[compute, copy] = plan_.passes[block.pass];
        void *&dst = block.buffers[plan_.operands - 1];
        const std::array<void *, 2> copied {computed, dst};
        dst = computed;
        compute->run(block.buffers.data(), 0, compute->work_amount());
        copy->run(copied.data(), 0, copy->work_amount());
    }

    const reordered_blocks_t plan_;
};

} // namespace

std::shared_ptr<const kernel_t> make_reordered_blocks(reordered_blocks_t plan) {
    return std::make_shared<const reordered_blocks_kernel_t>(std::move(plan));
}

} // namespace dnnl_dequant
