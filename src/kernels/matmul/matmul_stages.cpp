// What a product does, stage by stage.

#include <algorithm>

#include "kernels/matmul/matmul.hpp"

namespace dnnl_dequant {

namespace {

// What one core multiplies in the time that a parallel region takes.
constexpr dim_t products_per_thread = 256 * 1024;

float *floats(void *scratch) {
    return static_cast<float *>(scratch);
}

// The integers of src, and what its groups need.
void add_integers(
        const matmul_plan_t &plan, dim_t threads, workload_t &workload) {
    const auto product = plan.integers;
    const integer_plan_t &integers = product->plan();
    if (integers.quantize)
        workload.stages.push_back(
                make_stage(integers.quantize, integers.rows * integers.depth,
                        [product, count = integers.quantize_operands](
                                const stage_memory_t &memory, void **buffers) {
            std::copy_n(memory.buffers, count, buffers);
            buffers[count] = product->quantized(memory.shared);
        }));
    workload.stages.push_back({integers.rows, std::min(threads, integers.rows),
            false,
            [product](const stage_memory_t &memory, dim_t begin, dim_t end) {
        product->lay_out(memory.buffers, begin, end, memory.shared);
        return status_t::success;
    }});
}

} // namespace

workload_t make_workload(const std::shared_ptr<const matmul_t> &matmul) {
    const matmul_plan_t &plan = matmul->plan();
    const dim_t work = plan.rows * plan.depth * matmul->cols();
    const dim_t threads
            = std::min(matmul->work_amount(), work / products_per_thread);
    workload_t workload;
    workload.scratch
            = {matmul->shared_floats() * 4, matmul->thread_floats() * 4};
    if (plan.integers) add_integers(plan, threads, workload);
    if (plan.src)
        workload.stages.push_back(make_stage(plan.src,
                bytes_of(plan.src_type(), plan.rows * plan.src_pitch),
                [matmul](const stage_memory_t &memory, void **buffers) {
            const size_t count = matmul->plan().src_operands;
            std::copy_n(memory.buffers, count, buffers);
            buffers[count] = matmul->rows_in(floats(memory.shared));
        }));
    if (plan.src && matmul->arranges())
        workload.stages.push_back(
                make_serial_stage([matmul](const stage_memory_t &memory) {
            matmul->arrange(floats(memory.shared));
        }));
    if (const dim_t parts = matmul->pack_amount(); parts > 0)
        workload.stages.push_back({parts, std::min(threads, parts), false,
                [matmul](const stage_memory_t &memory, dim_t begin, dim_t end) {
            matmul->pack(memory.buffers, begin, end, floats(memory.shared));
            return status_t::success;
        }});
    // Whoever reads weights as a stream has one part of them for each thread.
    workload.stages.push_back({matmul->work_amount(), threads,
            !matmul->is_stream(),
            [matmul](const stage_memory_t &memory, dim_t begin, dim_t end) {
        return matmul->run(memory.buffers, begin, end, floats(memory.shared),
                floats(memory.own));
    }});
    return workload;
}

stage_t make_repack_stage(const std::shared_ptr<const matmul_t> &matmul) {
    const integer_product_t &product = *matmul->plan().integers;
    const dim_t panels = product.repacked_panels();
    return {panels,
            std::min(panels, product.repacked_bytes() / bytes_per_thread),
            false,
            [matmul](const stage_memory_t &memory, dim_t begin, dim_t end) {
        const matmul_plan_t &plan = matmul->plan();
        plan.integers->repack(
                memory.buffers + plan.src_operands, begin, end, memory.shared);
        return status_t::success;
    }};
}

} // namespace dnnl_dequant
