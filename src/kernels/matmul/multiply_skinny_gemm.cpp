// A skinny GEMM whose weights are read once and become numbers in registers
// only.

#include <algorithm>
#include <cstring>

#include "base/convert.hpp"
#include "kernels/matmul/multiplier.hpp"

namespace dnnl_dequant {

namespace {

class skinny_multiplier_t : public multiplier_t {
public:
    skinny_multiplier_t(product_blocks_t blocks, skinny_plan_t plan)
        : multiplier_t(std::move(blocks))
        , plan_(std::move(plan))
        , packed_bytes_(plan_.skinny_gemm->packed_bytes(most_rows()))
        , partial_floats_(sums_floats() * plan_.skinny_gemm->partial_floats())
        , parameters_floats_(
                  plan_.col_groups > 0
                          ? 0
                          : plan_.groups
                                    * (this->blocks().pitch
                                            + skinny_gemm_t::columns_beyond)) {}

    const char *name() const override { return plan_.skinny_gemm->name(); }
    bool is_stream() const override { return true; }
    scratch_size_t scratch() const override {
        const auto shared
                = static_cast<dim_t>(plan_.shared.size() * blocks().batches());
        const dim_t rest = plan_.skinny_gemm->rest_bytes(
                blocks().col_blocks.empty() ? 0 : blocks().col_blocks.back());
        return {shared_place(shared), 4 * rest_place() + rest};
    }

    std::vector<stage_t> prepare(dim_t /*threads*/) const override {
        std::vector<stage_t> stages;
        for (size_t p = 0; p < plan_.shared.size(); ++p)
            add_stage(p, stages);
        if (plan_.src.copied_pitch == 0)
            plan_.src.add_stage(blocks().rows, 0, stages);
        if (plan_.skinny_gemm->packs_src()) add_pack_stage(stages);
        else if (plan_.src.kernel && plan_.skinny_gemm->src_unit() != 1)
            stages.push_back(
                    make_serial_stage([self = shared_from_this(), this](
                                              const stage_memory_t &memory) {
                arrange(memory);
            }));
        return stages;
    }

    // A thread's own memory holds partial sums, then the parameters, the scales
    // of rows, and copied columns of weights.
    status_t run(const product_unit_t &unit, const stage_memory_t &memory,
            float *sums) const noexcept override {
        const auto &rows = blocks().row_blocks[unit.row_block];
        const std::array<void *, max_operands> weights
                = blocks().weights_of_batch(memory.buffers, rows.outer);
        auto *const own = static_cast<float *>(memory.own);
        skinny_gemm_t::block_t block {find_src(memory, unit.row_block), sums,
                own, plan_.src.pitch, blocks().pitch, rows.rows,
                static_cast<dim_t>(unit.begin) * blocks().col_blocks[0],
                blocks().col_blocks[unit.begin], nullptr, nullptr,
                plan_.skinny_gemm->parameters_by_column() ? plan_.groups
                                                          : plan_.col_groups};
        std::array<float *, 2> at {};
        float *made = own + partial_floats_;
        for (size_t p = 0; p < plan_.parameters.size(); ++p) {
            const auto &parameters = plan_.parameters[p];
            void *const given = weights[parameters.operand];
            // Kernels that take parameters by column do not write to them.
            if (parameters.are_in_place) {
                at[p] = static_cast<float *>(given)
                        + block.first_col * plan_.groups;
                continue;
            }
            at[p] = made;
            made += parameters_floats_;
            if (parameters.kernels.operand_count() == 0) continue;
            void *const buffers[] = {given, at[p]};
            parameters.kernels.run({unit.begin, 0, 0}, buffers);
        }
        for (size_t p = 0; p < plan_.shared.size(); ++p)
            if (plan_.shared[p].exist) at[p] = find(memory, rows.outer, p);
        block.scales = at[0];
        block.zps = at[1];
        if (!plan_.row_scales.places.empty()) {
            load_row_scales(memory.buffers, rows, made);
            block.row_scales = made;
        }
        plan_.skinny_gemm->multiply(weights.data(), block, own + rest_place());
        return status_t::success;
    }

private:
    // Arranges the rows of src for the kernel. If rows need no conversion, it
    // copies them first.
    void arrange(const stage_memory_t &memory) const noexcept {
        const src_rows_t &src = plan_.src;
        const dim_t row_bytes = src.bytes(1);
        const dim_t from_bytes = bytes_of(src.type, src.copied_pitch);
        const auto depth_bytes
                = static_cast<size_t>(bytes_of(src.type, blocks().depth));
        const auto *from = static_cast<const char *>(memory.buffers[0]);
        auto *row = static_cast<char *>(memory.shared);
        for (dim_t r = 0; r < blocks().rows;
                ++r, row += row_bytes, from += from_bytes) {
            if (src.copied_pitch != 0) std::memcpy(row, from, depth_bytes);
            plan_.skinny_gemm->arrange(row);
        }
    }

    void add_pack_stage(std::vector<stage_t> &stages) const {
        const dim_t units
                = div_up(blocks().depth, plan_.skinny_gemm->src_unit());
        const dim_t most_threads
                = div_up(plan_.src.bytes(blocks().rows), bytes_per_thread);
        const auto self = std::static_pointer_cast<const skinny_multiplier_t>(
                shared_from_this());
        stages.push_back({units, std::min(units, most_threads), false,
                [self](const stage_memory_t &memory, dim_t begin, dim_t end) {
            self->pack(memory, begin, end);
            return status_t::success;
        }});
    }

    // Packs a part of the depth of all rows, each block's together. Rows that
    // need no conversion are read from the user's memory.
    void pack(const stage_memory_t &memory, dim_t begin,
            dim_t end) const noexcept {
        const src_rows_t &src = plan_.src;
        auto *const shared = static_cast<char *>(memory.shared);
        const char *from = shared;
        dim_t pitch = src.bytes(1);
        if (src.copied_pitch != 0) {
            from = static_cast<const char *>(memory.buffers[0]);
            pitch = bytes_of(src.type, src.copied_pitch);
        }
        char *packed = shared + packed_place();
        for (const auto &block : blocks().row_blocks) {
            plan_.skinny_gemm->pack(from + block.first * pitch, pitch,
                    block.rows, begin, end, packed);
            packed += packed_bytes_;
        }
    }
    const void *find_src(
            const stage_memory_t &memory, size_t row_block) const noexcept {
        if (!plan_.skinny_gemm->packs_src())
            return plan_.src.find(
                    memory, 0, blocks().row_blocks[row_block].first);
        return static_cast<char *>(memory.shared) + packed_place()
               + static_cast<dim_t>(row_block) * packed_bytes_;
    }
    // Returns the floats of a thread's own memory before copied columns.
    dim_t rest_place() const {
        const dim_t made = std::count_if(plan_.parameters.begin(),
                plan_.parameters.end(),
                [](const auto &parameter) { return !parameter.are_in_place; });
        return round_up(partial_floats_ + made * parameters_floats_
                                + row_scales_floats(),
                dim_t(16));
    }
    dim_t row_scales_floats() const {
        return plan_.row_scales.places.empty() ? 0 : most_rows();
    }
    void load_row_scales(void *const *buffers,
            const product_blocks_t::row_block_t &rows,
            float *to) const noexcept {
        const auto &scales = plan_.row_scales;
        for (dim_t r = 0; r < rows.rows; ++r)
            to[r] = load_f32(scales.type, buffers[scales.operand],
                    scales.places[static_cast<size_t>(rows.first + r)]);
    }
    // The most rows of a block.
    dim_t most_rows() const {
        dim_t most = 0;
        for (const auto &block : blocks().row_blocks)
            most = std::max(most, block.rows);
        return most;
    }
    // Packed rows lie behind those that are converted first.
    dim_t packed_place() const {
        if (!plan_.skinny_gemm->packs_src() || plan_.src.copied_pitch != 0)
            return 0;
        return round_up(plan_.src.bytes(blocks().rows), dim_t(64));
    }

    // Returns the bytes of shared memory before so many shared parameters of
    // one batch each. The rows of src come first.
    dim_t shared_place(dim_t before) const {
        const auto row_blocks = static_cast<dim_t>(blocks().row_blocks.size());
        const dim_t src = plan_.skinny_gemm->packs_src()
                                  ? row_blocks * packed_bytes_
                          : plan_.src.kernel ? plan_.src.bytes(blocks().rows)
                                             : 0;
        return round_up(packed_place() + src, dim_t(64))
               + before * shared_bytes();
    }
    dim_t shared_bytes() const {
        return round_up(4 * plan_.groups * plan_.col_groups, dim_t(64));
    }

    // Makes parameters that columns share. Threads share one batch, or have
    // some of the batches each.
    void add_stage(size_t p, std::vector<stage_t> &stages) const {
        const auto &shared = plan_.shared[p];
        if (!shared.kernel) return;
        const auto self = std::static_pointer_cast<const skinny_multiplier_t>(
                shared_from_this());
        if (blocks().batches() == 1) {
            stages.push_back(make_stage(shared.kernel, shared_bytes(),
                    [self, p](const stage_memory_t &memory, void **buffers) {
                self->place_shared(memory, 0, p, buffers);
            }));
            return;
        }
        const auto count = static_cast<dim_t>(blocks().batches());
        stages.push_back({count,
                std::min(count, count * shared_bytes() / bytes_per_thread),
                false,
                [self, p](
                        const stage_memory_t &memory, dim_t begin, dim_t end) {
            const kernel_t &kernel = *self->plan_.shared[p].kernel;
            std::array<void *, 2> buffers {};
            for (dim_t batch = begin; batch < end; ++batch) {
                self->place_shared(
                        memory, static_cast<size_t>(batch), p, buffers.data());
                kernel.run(buffers.data(), 0, kernel.work_amount());
            }
            return status_t::success;
        }});
    }

    // Finds from where to where a batch's shared parameters go.
    void place_shared(const stage_memory_t &memory, size_t batch, size_t p,
            void **buffers) const noexcept {
        buffers[0] = blocks().weights_operand(
                memory.buffers, batch, plan_.shared[p].operand);
        buffers[1] = find(memory, batch, p);
    }

    float *find(const stage_memory_t &memory, size_t batch,
            size_t p) const noexcept {
        const auto &shared = plan_.shared[p];
        char *const at
                = shared.kernel
                          ? static_cast<char *>(memory.shared)
                                    + shared_place(static_cast<dim_t>(
                                            p * blocks().batches() + batch))
                          : static_cast<char *>(blocks().weights_operand(
                                    memory.buffers, batch, shared.operand));
        return reinterpret_cast<float *>(at);
    }

    const skinny_plan_t plan_;
    const dim_t packed_bytes_; // of a block of rows
    const dim_t partial_floats_, parameters_floats_;
};

} // namespace

std::shared_ptr<const multiplier_t> make_multiplier(
        product_blocks_t blocks, skinny_plan_t plan) {
    return std::make_shared<const skinny_multiplier_t>(
            std::move(blocks), std::move(plan));
}

} // namespace dnnl_dequant
