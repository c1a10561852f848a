// Integer keys or values as they lie, what scales them, and where their sums
// go.

#include <algorithm>

#include "base/prefetch.hpp"
#include "kernels/attention/products.hpp"
#include "kernels/machine.hpp"

namespace dnnl_dequant {

namespace {

// Prefetches a later block's parameters: they are too few for the CPU to see a
// stream. So many lines at once on their way into L1 keep loads of keys and
// values waiting (measured on a Zen 4, MEASURED.md). So they go to L2, and a
// block earlier, but for CPUs that want such lines in L1.
void prefetch_later(const char *block, dim_t bytes) noexcept {
    const bool into_l1 = this_machine().policy.prefetches_early_into_l1;
    const char *const later = block + (into_l1 ? bytes : 2 * bytes);
    for (dim_t at = 0; at < bytes; at += 64)
        if (into_l1) prefetch_into<1>(later + at);
        else prefetch_into<2>(later + at);
}

} // namespace

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
    prefetch_later(
            from, bytes_of(places.operand_type(parameters.operand), count));
    void *const at[] = {from, to};
    const kernel_t &kernel = *parameters.kernels[shape_of(block)];
    kernel.run(at, 0, kernel.work_amount());
}

} // namespace dnnl_dequant
