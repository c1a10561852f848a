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

    const char *name() const override { return plan_.whole->name(); }
    dim_t work_amount() const override {
        dim_t amount = blocks_;
        for (const dim_t extent : plan_.outer)
            amount *= extent;
        return amount;
    }

    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override {
        for (dim_t unit = begin; unit < end; ++unit)
            run_block(buffers, unit / blocks_, unit % blocks_);
    }

private:
    void run_block(
            void *const *buffers, dim_t outer, dim_t block) const noexcept {
        alignas(64) char planes[points_and_planes_t::most_bytes];
        std::array<char *, max_operands> at {};
        for (size_t o = 0; o < plan_.operands; ++o)
            at[o] = static_cast<char *>(buffers[o])
                    + block * plan_.block_bytes[o];
        for (size_t l = plan_.outer.size(); l-- > 0; outer /= plan_.outer[l])
            for (size_t o = 0; o < plan_.operands; ++o)
                at[o] += outer % plan_.outer[l] * plan_.outer_bytes[o][l];

        const dim_t count
                = std::min(plan_.block, plan_.points - block * plan_.block);
        char *const points = at[plan_.stacked] + plan_.first_byte
                             + block * plan_.point_bytes;
        interleave_args_t args {};
        args.pitch = plan_.block * plan_.planes.element_bytes;
        args.points = count;
        args.from = plan_.planes.interleaves ? planes : points;
        args.to = plan_.planes.interleaves ? points : planes;
        std::array<void *, max_operands> operands {};
        std::copy_n(at.begin(), plan_.operands, operands.begin());
        operands[plan_.stacked] = planes;
        const kernel_t &kernel
                = count == plan_.block ? *plan_.whole : *plan_.rest;
        if (!plan_.planes.interleaves) plan_.interleave->run(args);
        kernel.run(operands.data(), 0, kernel.work_amount());
        if (plan_.planes.interleaves) plan_.interleave->run(args);
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
