#include "kernels/dequantize/jit_rows.hpp"

#include "kernels/dequantize/jit_stream.hpp"
#include "kernels/dequantize/jit_walk.hpp"

namespace dnnl_dequant {

namespace {

template <size_t size>
struct jit_tile_t {
    alignas(64) uint8_t bytes[size];
};

} // namespace

result_t jit_rows_t::make_row_kernels() {
    const bool is_nibbles = bits_of(problem_.src().type) == 4;
    if (plan_.path == jit_src_path_t::direct)
        return make_kernels_of(row_of_src);
    if (plan_.both_halves) {
        const result_t both = make_kernels_of(row_of_tile_both);
        if (!both.ok() || !plan_.has_odd_row) return both;
    }
    result_t result = make_kernels_of(row_of_tile);
    if (!result.ok() || plan_.both_halves || plan_.dword_tiles) return result;
    if (plan_.path == jit_src_path_t::unaligned)
        return make_row_kernel(row_of_src, false);
    if (plan_.path == jit_src_path_t::transposed && is_nibbles)
        return make_kernels_of(row_of_tile_high);
    return {};
}

// Makes the kernels of transposed tiles also for dst past the caches. Tiles
// wait for memory twice, to read and to write. Storing at once, while there is
// work to do, hides the second wait.
result_t jit_rows_t::make_kernels_of(row_src_t src) {
    const result_t result = make_row_kernel(src, false);
    if (!result.ok() || !plan_.streams_at_once()) return result;
    return make_row_kernel(src, true);
}

void jit_rows_t::make_group_table() {
    if (!plan_.has_group_table()) return;
    const dim_t steps = div_up(plan_.cols.block, step_width_);
    group_table_.resize(static_cast<size_t>(steps * step_width_));
    fill_group_table({plan_.group_cols, step_width_, paired_}, plan_.cols.block,
            group_table_.data());
}

dim_t jit_rows_t::work_amount() const {
    return div_up(plan_.pieces, plan_.pieces_per_unit);
}

// Each kind of plan has a stack frame of its own, never inlined: hardened code
// touches every page of a frame that it enters. These took 130 ns of each small
// execution for panels, and 25 for a tile.
void jit_rows_t::run(
        void *const *buffers, dim_t begin, dim_t end) const noexcept {
    if (plan_.panels) return run_panels(buffers, begin, end);
    if (plan_.path == jit_src_path_t::direct)
        run_pieces(buffers, begin, end, nullptr);
    else if (plan_.tall_tile_rows > 0)
        run_tiles<jit_tall_tile_cols * jit_tall_tile_rows>(buffers, begin, end);
    else run_tiles<jit_tile_bytes>(buffers, begin, end);
    if (plan_.streaming || plan_.streams_nibbles) stream_fence();
}

[[gnu::noinline]] void jit_rows_t::run_panels(
        void *const *buffers, dim_t begin, dim_t end) const noexcept {
    jit_tile_t<jit_panel_rows *(jit_wide_panel_cols + jit_panel_gap)> tile;
    run_pieces(buffers, begin, end, tile.bytes);
}

template <size_t bytes>
[[gnu::noinline]] void jit_rows_t::run_tiles(
        void *const *buffers, dim_t begin, dim_t end) const noexcept {
    jit_tile_t<bytes> tile;
    run_pieces(buffers, begin, end, tile.bytes);
}

[[gnu::noinline]] void jit_rows_t::run_pieces(void *const *buffers, dim_t begin,
        dim_t end, uint8_t *tile) const noexcept {
    const dim_t last = std::min(plan_.pieces, end * plan_.pieces_per_unit);
    jit_walk_t walk(*this, buffers, tile);
    walk.run_pieces(begin * plan_.pieces_per_unit, last);
}

} // namespace dnnl_dequant
