#include "kernels/dequantize/dequantize.hpp"

#if defined(__x86_64__)

#include "kernels/dequantize/jit_dequantize.hpp"
#include "kernels/dequantize/jit_stream.hpp"
#include "kernels/dequantize/jit_walk.hpp"

namespace dnnl_dequant {

result_t jit_dequantize_t::make(const problem_t &problem, isa_t isa,
        const char *name, std::shared_ptr<const kernel_t> &kernel) {
    std::shared_ptr<jit_dequantize_t> made(
            new jit_dequantize_t(problem, isa, name));
    result_t result = make_jit_plan(problem, made->plan_);
    if (result.ok()) result = made->make_row_kernels();
    if (result.ok()) kernel = std::move(made);
    else result.reason = std::string(name) + ": " + result.reason;
    return result;
}

result_t jit_dequantize_t::make_row_kernels() {
    const bool is_nibbles = bits_of(problem_.src().type) == 4;
    if (plan_.path == jit_src_path_t::direct)
        return make_row_kernel(row_of_src, false);
    result_t result = make_tile_kernels(row_of_tile);
    if (!result.ok()) return result;
    if (plan_.path == jit_src_path_t::unaligned)
        return make_row_kernel(row_of_src, false);
    if (plan_.path == jit_src_path_t::transposed && is_nibbles)
        return make_tile_kernels(row_of_tile_high);
    return {};
}

// Those of transposed tiles also for dst past the caches: tiles wait for
// memory twice, to read and to write, and storing at once while there is work
// to do is where it can be hidden.
result_t jit_dequantize_t::make_tile_kernels(row_src_t src) {
    const result_t result = make_row_kernel(src, false);
    if (!result.ok() || !plan_.streams_at_once()) return result;
    return make_row_kernel(src, true);
}

result_t jit_dequantize_t::make_row_kernel(row_src_t src, bool streams) {
    jit_row_desc_t desc;
    desc.src = dense_format(problem_.src().type);
    if (src != row_of_src)
        desc.src.container_bits = std::max(desc.src.container_bits, 8);
    if (src == row_of_tile_high) desc.src.shift = 4;
    desc.dst = problem_.dst().type;
    desc.scales_vary = plan_.scales_vary;
    desc.zps_vary = plan_.zps_vary;
    desc.has_zps = plan_.zps >= 0;
    desc.block_rows = plan_.block_rows;
    always_two_part_ = desc.src.is_wide();
    const bool may_be_two_part
            = always_two_part_ || (plan_.zps >= 0 && zps_may_be_wide());
    desc.streaming = streams;
    desc.prefetching = plan_.prefetching && src == row_of_src;
    desc.cols = plan_.fixed_cols;
    for (const bool two_part : {false, true}) {
        if (two_part ? !may_be_two_part : always_two_part_) continue;
        desc.two_part_zps = two_part;
        auto &made = row_kernels_[static_cast<size_t>(
                streams ? streaming + src : src)][two_part];
        const result_t result = make_jit_row_kernel(desc, isa_, name_, made);
        if (!result.ok()) return result;
        step_width_ = made->width();
        paired_ = made->fields() == 2;
    }
    return {};
}

// Integers only: no floating type has two parts.
bool jit_dequantize_t::zps_may_be_wide() const {
    const auto type = problem_.operands[static_cast<size_t>(plan_.zps)].type;
    return is_integer(type) && bits_of(type) > 16;
}

dim_t jit_dequantize_t::work_amount() const {
    return (plan_.pieces + plan_.pieces_per_unit - 1) / plan_.pieces_per_unit;
}

void jit_dequantize_t::run(
        void *const *buffers, dim_t begin, dim_t end) const noexcept {
    const dim_t last = std::min(plan_.pieces, end * plan_.pieces_per_unit);
    jit_walk_t walk(*this, buffers);
    for (dim_t p = begin * plan_.pieces_per_unit; p < last; ++p)
        walk.run_piece(p);
    if (plan_.streaming) stream_fence();
}

result_t make_jit_dequantize_avx512_core(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    const char *name = "jit_dequantize_avx512_core";
    if (!has(isa, isa_avx512_core))
        return {status_t::unimplemented,
                std::string(name) + ": the instruction set is less"};
    return jit_dequantize_t::make(problem, isa_avx512_core, name, kernel);
}

result_t make_jit_dequantize_avx2(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    const char *name = "jit_dequantize_avx2";
    if (!has(isa, isa_avx2))
        return {status_t::unimplemented,
                std::string(name) + ": the instruction set is less"};
    return jit_dequantize_t::make(problem, isa_avx2, name, kernel);
}

} // namespace dnnl_dequant

#else

namespace dnnl_dequant {

result_t make_jit_dequantize_avx512_core(
        const problem_t &, isa_t, std::shared_ptr<const kernel_t> &) {
    return {status_t::unimplemented,
            "jit_dequantize_avx512_core: the machine is no x86-64"};
}

result_t make_jit_dequantize_avx2(
        const problem_t &, isa_t, std::shared_ptr<const kernel_t> &) {
    return {status_t::unimplemented,
            "jit_dequantize_avx2: the machine is no x86-64"};
}

} // namespace dnnl_dequant

#endif
