// Integer keys or values as they lie, and what scales them.

#include "kernels/attention/products.hpp"

namespace dnnl_dequant {

dim_t attention_numbers_t::parameter_floats() const {
    return round_up(
            (tokens + skinny_gemm_t::columns_beyond) * groups(), dim_t(16));
}

void *attention_numbers_t::numbers_of(
        void *const *buffers, const attention_tile_t &tile) const noexcept {
    return places.address_of({tile.outer, tile.block, 0}, 0, buffers);
}

void attention_numbers_t::load(const parameters_t &parameters,
        void *const *buffers, const attention_tile_t &tile,
        float *to) const noexcept {
    if (parameters.operand == 0) return;
    char *const from = places.address_of(
            {tile.outer, tile.block, 0}, parameters.operand, buffers);
    // Prefetch the next block's parameters: they are too few for the CPU to see
    // a stream.
    const dim_t bytes
            = bytes_of(places.operand_type(parameters.operand), tokens);
    for (dim_t next = bytes; next < 2 * bytes; next += 64)
        __builtin_prefetch(from + next);
    void *const at[] = {from, to};
    const kernel_t &kernel = *parameters.kernels[shape_of(tile)];
    kernel.run(at, 0, kernel.work_amount());
}

} // namespace dnnl_dequant
