// Integer keys or values as they lie, what scales them, and where their sums
// go.

#include <algorithm>

#include "kernels/attention/products.hpp"

namespace dnnl_dequant {

void add_sums(const float *from, dim_t cols, float less, bool accumulates,
        float *sums) noexcept {
    if (!accumulates) std::fill_n(sums, cols, 0.f);
    for (dim_t c = 0; c < cols; ++c)
        sums[c] += from[c] - less;
}

dim_t attention_numbers_t::parameter_floats() const {
    return round_up(
            (div_up(tokens, token_group) + skinny_gemm_t::columns_beyond)
                    * groups(),
            dim_t(16));
}

dim_t most_of(const skinny_gemms_t &skinny_gemms,
        dim_t (skinny_gemm_t::*what)() const) {
    dim_t most = 0;
    for (const auto &skinny_gemm : skinny_gemms)
        if (skinny_gemm) most = std::max(most, (skinny_gemm.get()->*what)());
    return most;
}

void *attention_places_t::numbers_of(
        const attention_tokens_t &block) const noexcept {
    return places.address_of({block.outer, block.block, 0}, 0, block.buffers);
}

std::array<void *, max_operands> attention_places_t::operands_of(
        const attention_tokens_t &block) const noexcept {
    std::array<void *, max_operands> at {};
    for (size_t o = 0; o + 1 < places.operand_count(); ++o)
        at[o] = places.address_of(
                {block.outer, block.block, 0}, o, block.buffers);
    return at;
}

void attention_places_t::load(const attention_parameters_t &parameters,
        const attention_tokens_t &block, dim_t count,
        float *to) const noexcept {
    if (parameters.operand == 0) return;
    char *const from = places.address_of(
            {block.outer, block.block, 0}, parameters.operand, block.buffers);
    // Prefetch the next block's parameters: they are too few for the CPU to see
    // a stream.
    const dim_t bytes
            = bytes_of(places.operand_type(parameters.operand), count);
    for (dim_t next = bytes; next < 2 * bytes; next += 64)
        __builtin_prefetch(from + next);
    void *const at[] = {from, to};
    const kernel_t &kernel = *parameters.kernels[shape_of(block)];
    kernel.run(at, 0, kernel.work_amount());
}

} // namespace dnnl_dequant
