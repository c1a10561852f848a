// A few rows times weights of 4 or 8 bits on AVX2, a column's depth in lanes:
// as much of src as stays in the first cache by a block's columns. Weights
// whose columns lie side by side ([K,N]) are transposed in cache, tile by tile.

#include "kernels/matmul/gemv.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.hpp"
#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/jit_dot_avx2_code.hpp"
#include "kernels/matmul/jit_dot_code.hpp"
#include "kernels/matmul/jit_transpose_nibbles.hpp"

namespace dnnl_dequant {

namespace {

// Floats of src that stay in the first cache beside the weights.
constexpr dim_t most_floats_of_src = 4096;
// Of [K,N] weights.
constexpr dim_t longest_transposed_piece = transpose_avx2_rows / 2;

class jit_dot_avx2_t : public gemv_t {
public:
    explicit jit_dot_avx2_t(const gemv_weights_t &weights)
        : gemv_t(weights)
        , shape_(weights) {}

    const char *name() const override {
        return weights_.by_column ? "jit_matmul_dot_avx2"
                                  : "jit_matmul_transposed_avx2";
    }
    dim_t panel() const override {
        return weights_.by_column ? 1 : transpose_avx2_cols;
    }
    bool parameters_by_column() const override { return weights_.by_column; }
    dim_t src_unit() const override { return shape_.step; }
    void arrange(void *row) const noexcept override;
    bool scales_sums() const override { return shape_.scales_sums; }
    dim_t partial_floats() const override { return dot_avx2_parts; }

    result_t make(dim_t /*rows*/) {
        result_t made;
        if (!weights_.by_column)
            made = make_jit_transpose_nibbles_avx2(transpose_);
        for (int rows = 1; rows <= shape_.most_rows() && made.ok(); ++rows)
            made = make_jit_dot_avx2_code(
                    weights_, rows, code_[static_cast<size_t>(rows)]);
        return made;
    }

    void run(
            void *const *buffers, const block_t &block) const noexcept override;

private:
    // Columns of weights, each of which lies in one piece of memory, down some
    // pieces of the depth and what is left behind the last.
    struct tile_t {
        const char *weights;
        dim_t pitch; // bytes
        dim_t first_col, cols;
        dim_t first_piece, pieces;
        bool has_rest;
    };

    dim_t pieces_at_once(dim_t rows) const;
    void run_transposed(tile_t tile, const block_t &block) const noexcept;
    void run_tile(const tile_t &tile, const block_t &block) const noexcept;
    void set_parameters(const tile_t &tile, const block_t &block,
            jit_dot_avx2_args_t &args) const noexcept;
    void run_rows(const tile_t &tile, int rows,
            jit_dot_avx2_args_t &args) const noexcept;

    const jit_dot_avx2_shape_t shape_;
    jit_transpose_nibbles_avx2_t transpose_;
    std::array<jit_dot_avx2_code_t, most_dot_avx2_rows + 1> code_;
};

// Nibbles as they come apart: the even ones of each byte in the lower lanes,
// the odd ones in the upper, two vectors of every sixteen.
void jit_dot_avx2_t::arrange(void *src) const noexcept {
    auto *const row = static_cast<float *>(src);
    const dim_t depth = weights_.depth;
    std::fill(row + depth, row + round_up(depth, shape_.step), 0.f);
    if (bits_of(weights_.type) != 4) return;
    arrange_steps(row, depth, shape_.step, [](dim_t i) {
        const dim_t vector = i / 16 * 2 + i % 4 / 2;
        return vector * 8 + i % 2 * 4 + i % 16 / 4;
    });
}

// The tile has room for so many of weights that are transposed.
dim_t jit_dot_avx2_t::pieces_at_once(dim_t rows) const {
    dim_t depth = longest_transposed_piece;
    if (weights_.by_column)
        depth = most_floats_of_src / std::min<dim_t>(rows, shape_.most_rows());
    return std::max<dim_t>(depth / shape_.piece, 1);
}

void jit_dot_avx2_t::run(
        void *const *buffers, const block_t &block) const noexcept {
    std::fill_n(
            block.partial, block.rows * block.c_pitch * dot_avx2_parts, 0.f);
    const bool by_column = weights_.by_column;
    const dim_t at_once = pieces_at_once(block.rows), pieces = shape_.pieces;
    tile_t tile {};
    tile.pitch = bytes_of(weights_.type, weights_.pitch);
    tile.cols = block.cols;
    do {
        const dim_t k = tile.first_piece * shape_.piece, n = block.first_col;
        tile.weights = static_cast<const char *>(buffers[0])
                       + (by_column ? n : k) * tile.pitch
                       + bytes_of(weights_.type, by_column ? k : n);
        tile.pieces = std::min(at_once, pieces - tile.first_piece);
        tile.has_rest
                = tile.first_piece + tile.pieces == pieces && shape_.rest != 0;
        if (by_column) run_tile(tile, block);
        else run_transposed(tile, block);
        tile.first_piece += tile.pieces;
    } while (tile.first_piece < pieces);
    add_partial_sums<dot_avx2_parts>(block);
}

void jit_dot_avx2_t::run_transposed(
        tile_t tile, const block_t &block) const noexcept {
    constexpr dim_t bytes_ahead = 64;
    alignas(64) char transposed[transpose_avx2_cols * transpose_avx2_pitch];
    const char *const weights = tile.weights;
    const dim_t depth
            = tile.pieces * shape_.piece + (tile.has_rest ? shape_.rest : 0);
    const dim_t block_bytes = bytes_of(weights_.type, block.cols);
    jit_transpose_nibbles_avx2_args_t args;
    args.to = transposed;
    args.pitch = tile.pitch;
    args.steps = depth / transpose_avx2_step;
    tile.weights = transposed;
    tile.pitch = transpose_avx2_pitch;
    tile.cols = transpose_avx2_cols;
    for (dim_t n = 0; n < block.cols; n += transpose_avx2_cols) {
        const dim_t at = bytes_of(weights_.type, n);
        args.from = weights + at;
        // From a row's end on the weights of the next pieces are prefetched.
        args.ahead = bytes_ahead;
        if (at + bytes_ahead >= block_bytes)
            args.ahead += depth * args.pitch - block_bytes;
        transpose_(args);
        tile.first_col = n;
        run_tile(tile, block);
    }
}

void jit_dot_avx2_t::run_tile(
        const tile_t &tile, const block_t &block) const noexcept {
    jit_dot_avx2_args_t args;
    args.a_pitch = src_pitch_bytes(block);
    args.sums_pitch = block.c_pitch * dot_avx2_parts * 4;
    args.pieces = tile.pieces;
    args.has_rest = tile.has_rest;
    for_strips(block.rows, shape_.most_rows(), [&](dim_t row, dim_t rows) {
        args.a = src_at(block, row, tile.first_piece * shape_.piece);
        args.sums = block.partial
                    + (row * block.c_pitch + tile.first_col) * dot_avx2_parts;
        set_parameters(tile, block, args);
        run_rows(tile, static_cast<int>(rows), args);
    });
}

void jit_dot_avx2_t::set_parameters(const tile_t &tile, const block_t &block,
        jit_dot_avx2_args_t &args) const noexcept {
    const bool by_column = weights_.by_column;
    const bool is_one_group = weights_.group >= weights_.depth;
    const dim_t column_stride = by_column ? weights_.groups() : 1;
    const dim_t group_stride = is_one_group ? 0 : by_column ? 1 : block.c_pitch;
    const dim_t first
            = tile.first_col * column_stride + tile.first_piece * group_stride;
    args.scales = block.scales + first;
    args.zps = block.zps + first;
    args.parameters_pitch = group_stride * 4;
}

// The last elements of columns, less than a step, are copied to where those
// behind them may be read.
void jit_dot_avx2_t::run_rows(const tile_t &tile, int rows,
        jit_dot_avx2_args_t &args) const noexcept {
    const dim_t cols = shape_.cols(rows);
    const dim_t tail = tile.has_rest ? shape_.tail() : 0;
    const auto bytes = static_cast<size_t>(bytes_of(weights_.type, tail));
    const char *const last
            = tile.weights
              + bytes_of(weights_.type,
                      tile.pieces * shape_.piece + shape_.rest - tail);
    char tails[most_dot_avx2_cols][16] = {};
    args.weights = tile.weights;
    args.weights_pitch = tile.pitch;
    args.ahead = cols * tile.pitch;
    for (dim_t n = 0; n < tile.cols;) {
        const dim_t left = tile.cols - n;
        args.iterations = tail != 0 || left < cols ? 1 : left / cols;
        // A short last iteration recomputes the last column.
        if (left < cols) args.weights_pitch = 0;
        for (dim_t c = 0; c < cols && tail != 0; ++c) {
            const dim_t column = std::min(n + c, tile.cols - 1);
            args.tails[c]
                    = std::memcpy(tails[c], last + column * tile.pitch, bytes);
        }
        n += args.iterations * cols;
        code_[static_cast<size_t>(rows)](args);
    }
}

} // namespace

jit_dot_avx2_shape_t::jit_dot_avx2_shape_t(const gemv_weights_t &weights) {
    // The partial sums of the only group are added to those in memory so often
    // that as much of src, or of transposed weights, stays in the first cache.
    const dim_t longest_part = weights.by_column ? 1024 : 256;
    const bool is_nibble = bits_of(weights.type) == 4;
    step = is_nibble ? 32 : 16;
    piece = weights.group >= weights.depth ? longest_part : weights.group;
    pieces = weights.depth / piece;
    rest = weights.depth % piece;
    scales_sums = weights.rounded == data_type_t::f32;
    planes = is_nibble && weights.rounded == data_type_t::f16 ? 4 : 2;
}

result_t make_dot_avx2(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv) {
    const dim_t piece = jit_dot_avx2_shape_t(weights).piece;
    if (!weights.by_column && piece > longest_transposed_piece)
        return refuse(text("group ", piece, "; expected ",
                longest_transposed_piece, " at most, or one group"));
    return make_k_lanes<jit_dot_avx2_t>(weights, rows, gemv);
}

} // namespace dnnl_dequant
