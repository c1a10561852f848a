#include "kernels/elementwise/elementwise.hpp"

#include <algorithm>

#include "kernels/dequantize/jit_stream.hpp"
#include "kernels/elementwise/jit_chain_walk.hpp"
#include "kernels/elementwise/jit_elementwise.hpp"
#include "kernels/ref_nest.hpp"

namespace dnnl_dequant {

result_t jit_elementwise_t::make(const problem_t &problem, isa_t isa,
        const char *name, std::shared_ptr<const kernel_t> &kernel) {
    std::shared_ptr<jit_elementwise_t> made(
            new jit_elementwise_t(problem, isa, name));
    auto &plan = made->plan_;
    result_t result = check_elementwise(problem);
    if (result.ok()) result = ref_nest_t::check(problem);
    if (result.ok()) result = make_chain_plan(problem, plan);
    if (result.ok())
        result = make_chain_kernel(plan.desc, isa, name, made->kernel_);
    if (result.ok() && plan.streaming) {
        auto desc = plan.desc;
        desc.streaming = true;
        result = make_chain_kernel(desc, isa, name, made->streaming_kernel_);
    }
    made->needs_memory_ = plan.needs_memory();
    if (result.ok()) kernel = std::move(made);
    return result;
}

dim_t jit_elementwise_t::work_amount() const {
    return div_up(plan_.pieces, plan_.pieces_per_unit);
}

// Each kind of plan has a stack frame of its own, never inlined: hardened code
// touches every page of a frame that it enters, which short rows would pay for.
void jit_elementwise_t::run(
        void *const *buffers, dim_t begin, dim_t end) const noexcept {
    if (plan_.panels) return run_panels(buffers, begin, end);
    if (needs_memory_) return run_with_memory(buffers, begin, end);
    run_pieces(buffers, begin, end, nullptr, nullptr);
}

[[gnu::noinline]] void jit_elementwise_t::run_panels(
        void *const *buffers, dim_t begin, dim_t end) const noexcept {
    alignas(64) uint8_t tiles[chain_panel_bytes];
    chain_memory_t memory;
    run_pieces(buffers, begin, end, &memory, tiles);
}

[[gnu::noinline]] void jit_elementwise_t::run_with_memory(
        void *const *buffers, dim_t begin, dim_t end) const noexcept {
    alignas(64) uint8_t tiles[chain_tile_bytes];
    chain_memory_t memory;
    run_pieces(buffers, begin, end, &memory, tiles);
    if (plan_.streaming) stream_fence();
}

[[gnu::noinline]] void jit_elementwise_t::run_pieces(void *const *buffers,
        dim_t begin, dim_t end, chain_memory_t *memory,
        uint8_t *tiles) const noexcept {
    const dim_t last = std::min(plan_.pieces, end * plan_.pieces_per_unit);
    chain_walk_t walk(*this, buffers, memory, tiles);
    for (dim_t p = begin * plan_.pieces_per_unit; p < last; ++p)
        walk.run_piece(p);
}

result_t make_jit_elementwise_avx512_core(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    const char *name = "jit_elementwise_avx512_core";
    if (!has(isa, isa_avx512_core))
        return {status_t::unimplemented,
                std::string(name) + ": the instruction set is less"};
    return jit_elementwise_t::make(problem, isa_avx512_core, name, kernel);
}

result_t make_jit_elementwise_avx2(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    const char *name = "jit_elementwise_avx2";
    if (!has(isa, isa_avx2))
        return {status_t::unimplemented,
                std::string(name) + ": the instruction set is less"};
    return jit_elementwise_t::make(problem, isa_avx2, name, kernel);
}

} // namespace dnnl_dequant
