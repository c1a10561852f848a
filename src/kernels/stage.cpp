#include "kernels/stage.hpp"

#include <algorithm>
#include <array>

namespace dnnl_dequant {

stage_t make_stage(std::shared_ptr<const kernel_t> kernel, dim_t bytes) {
    const dim_t amount = kernel->work_amount();
    return {amount, std::min(amount, bytes / bytes_per_thread), false,
            [kernel = std::move(kernel)](
                    const stage_memory_t &memory, dim_t begin, dim_t end) {
        kernel->run(memory.buffers, begin, end);
        return status_t::success;
    }};
}

stage_t make_stage(std::shared_ptr<const kernel_t> kernel, dim_t bytes,
        stage_buffers_t buffers_of) {
    stage_t stage = make_stage(std::move(kernel), bytes);
    stage.run = [run = std::move(stage.run), of = std::move(buffers_of)](
                        const stage_memory_t &memory, dim_t begin, dim_t end) {
        std::array<void *, max_operands> buffers {};
        of(memory, buffers.data());
        return run({buffers.data(), memory.shared, memory.own}, begin, end);
    };
    return stage;
}

stage_t make_serial_stage(
        std::function<void(const stage_memory_t &memory)> run) {
    return {1, 1, false,
            [run = std::move(run)](const stage_memory_t &memory, dim_t, dim_t) {
        run(memory);
        return status_t::success;
    }};
}

} // namespace dnnl_dequant
