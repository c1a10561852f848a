// A skinny GEMM of f32 by [N,K] weights of 2, 4 or 8 bits, multiplied by tiles
// of AMX: jit_amx_terms.hpp. Sixteen columns of weights, less their zero
// points, are the rows of a tile, and src has a column for each of its rows.
//
// Its code goes over all columns for each 128 of depth, so that the terms of so
// much depth stay in L1.

#include <algorithm>

#include "kernels/skinny_gemm/jit_amx_terms_k_lanes_code.hpp"

namespace dnnl_dequant {

namespace {

// Columns whose sums are in scratch memory.
constexpr dim_t most_cols = 256;

using generator_t = jit_amx_terms_k_lanes_generator_t;
using args_t = jit_amx_terms_k_lanes_args_t;

class jit_amx_terms_k_lanes_t : public amx_terms_t {
public:
    using amx_terms_t::amx_terms_t;

    dim_t nr() const override {
        return is_of_many_rows() ? amx_many_rows_t::nr : amx_tile_rows;
    }
    dim_t partial_floats() const override {
        return is_of_many_rows() ? floats_of_sums(0) : 0;
    }

    result_t make(dim_t rows) { return make_code<generator_t>(rows, code_); }

private:
    void run_in_turns(
            void *const *buffers, const block_t &block) const noexcept override;
    void run_columns(void *const *buffers, const block_t &block) const noexcept;
    void make_tiles(void *const *buffers, const block_t &block,
            const amx_tiles_part_t &part) const noexcept override;
    args_t args_of(void *const *buffers, const block_t &block, dim_t k,
            dim_t depth) const noexcept;

    amx_code_t<args_t> code_;
};

// The arguments of tiles of weights, from depth `k` on.
args_t jit_amx_terms_k_lanes_t::args_of(void *const *buffers,
        const block_t &block, dim_t k, dim_t depth) const noexcept {
    const skinny_weights_t &w = weights_;
    const dim_t pitch = bytes_of(w.type, w.pitch), group = k / w.group;
    args_t args {};
    args.weights = static_cast<const char *>(buffers[0])
                   + block.first_col * pitch + bytes_of(w.type, k);
    args.zps = block.zps + group;
    args.tiles = args.looked_up_tiles = block.cols / amx_tile_rows;
    args.steps = args.tiles * (depth / amx_depth);
    args.weights_back = block.cols * pitch - bytes_of(w.type, amx_depth);
    args.parameters_back = block.cols * w.groups() * 4;
    args.looked_up_group = ((group + 1) * w.group - k) / amx_depth;
    return args;
}

void jit_amx_terms_k_lanes_t::make_tiles(void *const *buffers,
        const block_t &block, const amx_tiles_part_t &part) const noexcept {
    args_t args = args_of(buffers, block, part.k, part.depth);
    args.work = reinterpret_cast<char *>(part.tiles);
    code_.of(1)(args);
}

void jit_amx_terms_k_lanes_t::run_in_turns(
        void *const *buffers, const block_t &block) const noexcept {
    for (dim_t n = 0; n < block.cols; n += most_cols) {
        block_t columns = block;
        columns.first_col += n;
        columns.cols = std::min(most_cols, block.cols - n);
        columns.c += n;
        columns.scales += n * weights_.groups();
        columns.zps += n * weights_.groups();
        for_rows(columns,
                [&](const block_t &rows) { run_columns(buffers, rows); });
    }
}

// Multiplies as many columns as sums have room for.
void jit_amx_terms_k_lanes_t::run_columns(
        void *const *buffers, const block_t &block) const noexcept {
    alignas(64) char work[generator_t::work_bytes];
    alignas(64) float sums[most_cols * amx_most_rows];
    const dim_t pitch = room_of(block.rows);
    const tile_config_t config = amx_whole_tiles();
    std::fill_n(sums, block.cols * pitch, 0.f);
    args_t args = args_of(buffers, block, 0, weights_.depth);
    args.config = &config;
    args.a = block.a;
    args.scales = block.scales;
    args.sums = sums;
    args.src_sums = src_sums(block);
    args.work = work;
    args.ahead = args.weights
                 + block.cols * bytes_of(weights_.type, weights_.pitch);
    args.lines_ahead
            = div_up(bytes_of(weights_.type, weights_.depth), amx_row_bytes);
    args.sums_back = block.cols * pitch * 4;
    args.scaled_tiles = args.multiplied_tiles = args.tiles;
    args.scaled_group = args.looked_up_group;
    code_.of(block.rows)(args);
    store_sums(block, sums);
}

} // namespace

result_t make_k_lanes_amx_f32(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<jit_amx_terms_k_lanes_t>(
            weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
