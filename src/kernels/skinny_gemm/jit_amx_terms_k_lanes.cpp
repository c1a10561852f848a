// A skinny GEMM of f32 by [N,K] weights of 2, 4 or 8 bits, multiplied by tiles
// of AMX: jit_amx_terms.hpp. Sixteen columns of weights, less their zero
// points, are the rows of a tile, and src has a column for each of its rows.
//
// Its code goes over all columns for each 128 of depth, so that the terms of so
// much depth stay in L1.

#include <algorithm>

#include "kernels/skinny_gemm/jit_amx_store.hpp"
#include "kernels/skinny_gemm/jit_amx_terms_k_lanes_code.hpp"

namespace dnnl_dequant {

namespace {

// Columns whose sums are in scratch memory.
constexpr dim_t most_cols = 256;

using generator_t = jit_amx_terms_k_lanes_generator_t;
using args_t = jit_amx_terms_k_lanes_args_t;

class jit_amx_terms_k_lanes_t : public amx_terms_code_t<generator_t, args_t> {
public:
    explicit jit_amx_terms_k_lanes_t(const skinny_weights_t &weights)
        : amx_terms_code_t(weights, amx_src_t::pairs) {}

    const char *name() const override { return "jit_matmul_k_lanes_amx_f32"; }
    dim_t nr() const override {
        return is_of_many_rows() ? amx_many_rows_t::nr : amx_tile_rows;
    }
    bool parameters_by_column() const override { return true; }
    dim_t partial_floats() const override {
        return is_of_many_rows() ? many_rows_floats(0) : 0;
    }

private:
    void run_in_turns(void *const *buffers,
            const block_t &block) const noexcept override {
        for (dim_t n = 0; n < block.cols; n += most_cols)
            for_rows(block, [&](const block_t &rows) {
                run_columns(buffers, rows, n);
            });
    }
    // Multiplies columns from `first` on, as many as sums have room for.
    void run_columns(void *const *buffers, const block_t &block,
            dim_t first) const noexcept;

    amx_tiles_layout_t tiles_layout() const override {
        return {has_columns(), amx_tile_bytes, generator_t::weights_bytes};
    }
    void make_tiles(void *const *buffers, const block_t &block,
            const amx_tiles_part_t &part) const noexcept override;
};

void jit_amx_terms_k_lanes_t::make_tiles(void *const *buffers,
        const block_t &block, const amx_tiles_part_t &part) const noexcept {
    const dim_t k = part.k;
    const dim_t groups = weights_.groups(), group = k / weights_.group;
    const dim_t pitch = bytes_of(weights_.type, weights_.pitch);
    args_t args {};
    args.weights = static_cast<const char *>(buffers[0])
                   + block.first_col * pitch + bytes_of(weights_.type, k);
    args.zps = block.zps + group;
    args.work = reinterpret_cast<char *>(part.tiles);
    args.tiles = block.cols / amx_tile_rows;
    args.steps = args.tiles * (part.depth / amx_depth);
    args.weights_back = block.cols * pitch - bytes_of(weights_.type, amx_depth);
    args.parameters_back = block.cols * groups * 4;
    args.looked_up_tiles = args.tiles;
    args.looked_up_group = ((group + 1) * weights_.group - k) / amx_depth;
    maker_(args);
}

void jit_amx_terms_k_lanes_t::run_columns(void *const *buffers,
        const block_t &block, dim_t first) const noexcept {
    alignas(64) char work[generator_t::work_bytes];
    alignas(64) float sums[most_cols * amx_most_rows];
    const dim_t groups = weights_.groups();
    const dim_t col = bytes_of(weights_.type, weights_.depth);
    const dim_t pitch = bytes_of(weights_.type, weights_.pitch);
    const dim_t cols = std::min(most_cols, block.cols - first);
    const dim_t src_tiles = amx_src_tiles(block.rows);
    const dim_t sums_pitch = src_tiles * amx_tile_rows;
    const tile_config_t config = generator_t::config_of(src_tiles);
    std::fill_n(sums, cols * sums_pitch, 0.f);
    args_t args {};
    args.config = &config;
    args.weights = static_cast<const char *>(buffers[0])
                   + (block.first_col + first) * pitch;
    args.a = block.a;
    args.scales = block.scales + first * groups;
    args.zps = block.zps + first * groups;
    args.sums = sums;
    if (layout().corrects_sums) args.src_sums = src_sums(block, 0);
    args.work = work;
    args.ahead = args.weights + cols * pitch;
    args.lines_ahead = div_up(col, amx_row_bytes);
    args.tiles = cols / amx_tile_rows;
    args.steps = args.tiles * (weights_.depth / amx_depth);
    args.weights_back = cols * pitch - bytes_of(weights_.type, amx_depth);
    args.parameters_back = cols * groups * 4;
    args.sums_back = cols * sums_pitch * 4;
    args.looked_up_tiles = args.scaled_tiles = args.multiplied_tiles
            = args.tiles;
    args.looked_up_group = args.scaled_group = weights_.group / amx_depth;
    code_.of(block.rows)(args);
    store_(sums, sums_pitch, cols, block.rows, block.c + first, block.c_pitch);
}

} // namespace

result_t make_amx_terms_k_lanes(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<const skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<jit_amx_terms_k_lanes_t>(
            weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
