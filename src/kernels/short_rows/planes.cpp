#include "kernels/short_rows/planes.hpp"

#include <algorithm>
#include <array>

namespace dnnl_dequant {

namespace {

class points_and_planes_kernel_t final : public kernel_t {
public:
    explicit points_and_planes_kernel_t(points_and_planes_t plan)
        : plan_(std::move(plan))
        , blocks_(div_up(plan_.points, plan_.block)) {}

    const char *name() const override {
        return plan_.whole ? plan_.whole->name() : "copy_of_planes";
    }
    dim_t work_amount() const override {
        dim_t amount = blocks_;
        for (const dim_t extent : plan_.outer)
            amount *= extent;
        return amount;
    }

    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override {
        for (dim_t unit = begin; unit < end; ++unit) {
            const block_t block = block_at(buffers, unit);
            if (plan_.whole) run_block(block);
            else
                move(block,
                        block.at[1 - plan_.stacked] + plan_.first_plane_byte,
                        plan_.plane_bytes);
        }
    }

private:
    struct block_t {
        std::array<char *, max_operands> at {}; // each operand's part of it
        char *points = nullptr;
        dim_t count = 0; // of points
    };

    block_t block_at(void *const *buffers, dim_t unit) const noexcept {
        block_t made;
        const dim_t block = unit % blocks_;
        dim_t outer = unit / blocks_;
        for (size_t o = 0; o < plan_.operands; ++o)
            made.at[o] = static_cast<char *>(buffers[o])
                         + block * plan_.block_bytes[o];
        for (size_t l = plan_.outer.size(); l-- > 0; outer /= plan_.outer[l])
            for (size_t o = 0; o < plan_.operands; ++o)
                made.at[o] += outer % plan_.outer[l] * plan_.outer_bytes[o][l];
        made.points = made.at[plan_.stacked] + plan_.first_byte
                      + block * plan_.point_bytes;
        made.count = std::min(plan_.block, plan_.points - block * plan_.block);
        return made;
    }

    void move(const block_t &block, char *planes, dim_t pitch) const noexcept {
        const bool interleaves = plan_.planes.interleaves;
        const auto &rows = plan_.rows;
        plan_.interleave->run({interleaves ? planes : block.points,
                interleaves ? block.points : planes, pitch, block.count,
                rows.count, interleaves ? rows.planes_bytes : rows.points_bytes,
                interleaves ? rows.points_bytes : rows.planes_bytes});
    }

    void run_block(const block_t &block) const noexcept {
        alignas(64) char planes[points_and_planes_t::most_bytes];
        const dim_t pitch = plan_.block * plan_.planes.element_bytes;
        std::array<void *, max_operands> operands {};
        std::copy_n(block.at.begin(), plan_.operands, operands.begin());
        operands[plan_.stacked] = planes;
        const kernel_t &kernel
                = block.count == plan_.block ? *plan_.whole : *plan_.rest;
        if (!plan_.planes.interleaves) move(block, planes, pitch);
        kernel.run(operands.data(), 0, kernel.work_amount());
        if (plan_.planes.interleaves) move(block, planes, pitch);
    }

    const points_and_planes_t plan_;
    const dim_t blocks_;
};

} // namespace

std::shared_ptr<const kernel_t> make_points_and_planes(
        points_and_planes_t plan) {
    return std::make_shared<const points_and_planes_kernel_t>(std::move(plan));
}

} // namespace dnnl_dequant
