// A few rows times weights of 4 or 8 bits on AVX2, a column's depth in lanes:
// as much of src as stays in the first cache by a block's columns. Those of
// columns that lie side by side are transposed in cache, tile by tile.

#include "kernels/matmul/gemv.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.hpp"
#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/jit_dot_avx2_code.hpp"
#include "kernels/matmul/jit_transpose_nibbles.hpp"

namespace dnnl_dequant {

namespace {

// Floats of src that stay in the first cache beside the weights.
constexpr dim_t most_floats_of_src = 4096;
constexpr dim_t most_step = 32;
// Of weights by row.
constexpr dim_t longest_transposed_piece = transpose_avx2_rows / 2;

class jit_dot_avx2_t : public gemv_t {
public:
    explicit jit_dot_avx2_t(const gemv_weights_t &weights)
        : gemv_t(weights)
        , shape_(dot_avx2_shape_of(weights)) {}

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
    bool scales_sums() const override {
        return weights_.rounded == data_type_t::f32;
    }
    dim_t partial_floats() const override { return dot_avx2_parts; }

    result_t make() {
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
    // Pieces of the depth, and what is left behind the last.
    struct span_t {
        dim_t first, count;
        bool has_rest;
    };
    // Columns of a span that lie one after the other.
    struct columns_t {
        const char *at;
        dim_t pitch; // bytes
        dim_t first, count;
    };

    bool is_one_group() const { return weights_.group >= weights_.depth; }
    dim_t pieces_at_once(dim_t rows) const;
    void run_transposed(const char *weights, const block_t &block,
            const span_t &span) const noexcept;
    void run_rows(const columns_t &columns, const block_t &block,
            const span_t &span) const noexcept;
    void run_code(const columns_t &columns, const block_t &block,
            const span_t &span, dim_t rows,
            jit_dot_avx2_args_t &args) const noexcept;
    void run_with_tails(const columns_t &columns, const span_t &span,
            dim_t cols, const jit_dot_avx2_code_t &code,
            jit_dot_avx2_args_t &args) const noexcept;
    void add_parts(const block_t &block) const noexcept;

    const jit_dot_avx2_shape_t shape_;
    jit_transpose_nibbles_avx2_t transpose_;
    std::array<jit_dot_avx2_code_t, most_dot_avx2_rows + 1> code_;
};

// Nibbles as they come apart: the even ones of each byte in the lower lanes,
// the odd ones in the upper, two vectors of every sixteen.
void jit_dot_avx2_t::arrange(void *src) const noexcept {
    auto *const row = static_cast<float *>(src);
    const dim_t step = shape_.step, end = div_up(weights_.depth, step);
    std::fill(row + weights_.depth, row + end * step, 0.f);
    if (bits_of(weights_.type) != 4) return;
    float natural[most_step];
    for (dim_t k = 0; k < end * step; k += step) {
        std::copy_n(row + k, step, natural);
        for (dim_t i = 0; i < step; ++i) {
            const dim_t vector = i / 16 * 2 + i % 4 / 2;
            const dim_t lane = i % 2 * 4 + i % 16 / 4;
            row[k + vector * 8 + lane] = natural[i];
        }
    }
}

// Of weights by row as many as the tile has room for.
dim_t jit_dot_avx2_t::pieces_at_once(dim_t rows) const {
    const dim_t depth = weights_.by_column ? most_floats_of_src
                                                     / std::min<dim_t>(rows,
                                                             shape_.most_rows())
                                           : longest_transposed_piece;
    return std::max<dim_t>(depth / shape_.piece, 1);
}

void jit_dot_avx2_t::run(
        void *const *buffers, const block_t &block) const noexcept {
    std::fill_n(
            block.partial, block.rows * block.c_pitch * dot_avx2_parts, 0.f);
    const auto *const weights = static_cast<const char *>(buffers[0]);
    const dim_t at_once = pieces_at_once(block.rows), pieces = shape_.pieces;
    const dim_t pitch = bytes_of(weights_.type, weights_.pitch);
    dim_t piece = 0;
    do {
        const dim_t count = std::min(at_once, pieces - piece);
        const span_t span {
                piece, count, piece + count == pieces && shape_.rest != 0};
        const dim_t depth = piece * shape_.piece;
        if (weights_.by_column)
            run_rows({weights + block.first_col * pitch
                                     + bytes_of(weights_.type, depth),
                             pitch, 0, block.cols},
                    block, span);
        else
            run_transposed(weights + depth * pitch
                                   + bytes_of(weights_.type, block.first_col),
                    block, span);
        piece += count;
    } while (piece < pieces);
    add_parts(block);
}

void jit_dot_avx2_t::run_transposed(const char *weights, const block_t &block,
        const span_t &span) const noexcept {
    constexpr dim_t bytes_ahead = 64;
    alignas(64) char tile[transpose_avx2_cols * transpose_avx2_pitch];
    const dim_t depth
            = span.count * shape_.piece + (span.has_rest ? shape_.rest : 0);
    const dim_t block_bytes = bytes_of(weights_.type, block.cols);
    jit_transpose_nibbles_avx2_args_t args;
    args.to = tile;
    args.pitch = bytes_of(weights_.type, weights_.pitch);
    args.steps = depth / transpose_avx2_step;
    for (dim_t n = 0; n < block.cols; n += transpose_avx2_cols) {
        const dim_t at = bytes_of(weights_.type, n);
        args.from = weights + at;
        // From a row's end on it is the next span's.
        args.ahead = bytes_ahead;
        if (at + bytes_ahead >= block_bytes)
            args.ahead += depth * args.pitch - block_bytes;
        transpose_(args);
        run_rows({tile, transpose_avx2_pitch, n, transpose_avx2_cols}, block,
                span);
    }
}

void jit_dot_avx2_t::run_rows(const columns_t &columns, const block_t &block,
        const span_t &span) const noexcept {
    jit_dot_avx2_args_t args;
    args.a_pitch = src_pitch_bytes(block);
    args.sums_pitch = block.c_pitch * dot_avx2_parts * 4;
    args.pieces = span.count;
    args.has_rest = span.has_rest;
    for_strips(block.rows, shape_.most_rows(), [&](dim_t row, dim_t rows) {
        args.a = src_at(block, row, span.first * shape_.piece);
        args.sums = block.partial
                    + (row * block.c_pitch + columns.first) * dot_avx2_parts;
        run_code(columns, block, span, rows, args);
    });
}

void jit_dot_avx2_t::run_code(const columns_t &columns, const block_t &block,
        const span_t &span, dim_t rows,
        jit_dot_avx2_args_t &args) const noexcept {
    const jit_dot_avx2_code_t &code = code_[static_cast<size_t>(rows)];
    const dim_t cols = shape_.cols(static_cast<int>(rows));
    const dim_t column_stride = weights_.by_column ? weights_.groups() : 1;
    const dim_t group_stride = is_one_group()       ? 0
                               : weights_.by_column ? 1
                                                    : block.c_pitch;
    const dim_t parameters
            = columns.first * column_stride + span.first * group_stride;
    args.scales = block.scales + parameters;
    args.zps = block.zps + parameters;
    args.parameters_pitch = group_stride * 4;
    args.weights = columns.at;
    args.weights_pitch = columns.pitch;
    args.ahead = cols * columns.pitch;
    const dim_t tail = span.has_rest ? shape_.tail() : 0;
    if (tail != 0) return run_with_tails(columns, span, cols, code, args);
    args.turns = columns.count / cols;
    if (args.turns > 0) code(args);
    if (columns.count % cols == 0) return;
    // What is too much does the last column again.
    args.weights_pitch = 0;
    args.turns = 1;
    code(args);
}

// A column's last elements where what is behind them may be read.
void jit_dot_avx2_t::run_with_tails(const columns_t &columns,
        const span_t &span, dim_t cols, const jit_dot_avx2_code_t &code,
        jit_dot_avx2_args_t &args) const noexcept {
    const dim_t tail = shape_.tail();
    const auto bytes = static_cast<size_t>(bytes_of(weights_.type, tail));
    const dim_t at = bytes_of(
            weights_.type, weights_.depth - tail - span.first * shape_.piece);
    char tails[most_dot_avx2_cols][16] = {};
    for (dim_t n = 0; n < columns.count; n += cols) {
        for (dim_t c = 0; c < cols; ++c) {
            const dim_t column = std::min(n + c, columns.count - 1);
            std::memcpy(
                    tails[c], columns.at + column * columns.pitch + at, bytes);
            args.tails[c] = tails[c];
        }
        if (n + cols > columns.count) args.weights_pitch = 0;
        args.turns = 1;
        code(args);
    }
}

void jit_dot_avx2_t::add_parts(const block_t &block) const noexcept {
    for (dim_t r = 0; r < block.rows; ++r) {
        const float *p = block.partial + r * block.c_pitch * dot_avx2_parts;
        for (dim_t n = 0; n < block.cols; ++n, p += dot_avx2_parts)
            block.c[r * block.c_pitch + n] = ((p[0] + p[4]) + (p[2] + p[6]))
                                             + ((p[1] + p[5]) + (p[3] + p[7]));
    }
}

} // namespace

result_t make_dot_avx2(const gemv_weights_t &weights, dim_t,
        std::shared_ptr<const gemv_t> &gemv) {
    const dim_t piece = dot_avx2_shape_of(weights).piece;
    if (!weights.by_column && piece > longest_transposed_piece)
        return refuse(text("group ", piece, "; expected ",
                longest_transposed_piece, " at most, or one group"));
    auto made = std::make_shared<jit_dot_avx2_t>(weights);
    const result_t result = made->make();
    if (result.ok()) gemv = std::move(made);
    return result;
}

} // namespace dnnl_dequant
