// A few rows times weights of 4 or 8 bits whose columns lie one after the
// other, on AVX2: as much of src as stays in the first cache by a block's
// columns.

#include "kernels/matmul/gemv.hpp"

#if defined(__x86_64__)

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/jit_dot_avx2_code.hpp"

namespace dnnl_dequant {

namespace {

// Floats of src that stay in the first cache beside the weights.
constexpr dim_t most_floats_of_src = 4096;
constexpr dim_t most_step = 32;

class jit_dot_avx2_t : public gemv_t {
public:
    explicit jit_dot_avx2_t(const gemv_weights_t &weights)
        : weights_(weights)
        , shape_(dot_avx2_shape_of(weights)) {}

    const char *name() const override { return "jit_matmul_dot_avx2"; }
    dim_t panel() const override { return 1; }
    bool parameters_by_column() const override { return true; }
    dim_t src_unit() const override { return shape_.step; }
    void arrange(float *row) const noexcept override;
    dim_t partial_floats() const override { return dot_avx2_parts; }

    result_t make() {
        result_t made;
        for (int rows = 1; rows <= shape_.most_rows() && made.ok(); ++rows)
            made = make_jit_dot_avx2_code(
                    weights_, rows, code_[static_cast<size_t>(rows)]);
        return made;
    }

    void run(
            void *const *buffers, const block_t &block) const noexcept override;

private:
    void run_rows(void *const *buffers, const block_t &block, dim_t row,
            dim_t rows) const noexcept;
    void run_pieces(const char *column, const block_t &block, dim_t piece,
            jit_dot_avx2_args_t &args, dim_t rows) const noexcept;
    void add_parts(const block_t &block) const noexcept;

    const gemv_weights_t weights_;
    const jit_dot_avx2_shape_t shape_;
    std::array<std::unique_ptr<jit_dot_avx2_code_t>, most_dot_avx2_rows + 1>
            code_;
};

// Nibbles as they come apart: the even ones of each byte in the lower lanes,
// the odd ones in the upper, two vectors of every sixteen.
void jit_dot_avx2_t::arrange(float *row) const noexcept {
    const dim_t step = shape_.step, end = (weights_.depth + step - 1) / step;
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

void jit_dot_avx2_t::run(
        void *const *buffers, const block_t &block) const noexcept {
    std::fill_n(
            block.partial, block.rows * block.c_pitch * dot_avx2_parts, 0.f);
    for_strips(block.rows, shape_.most_rows(), [&](dim_t row, dim_t rows) {
        run_rows(buffers, block, row, rows);
    });
    add_parts(block);
}

void jit_dot_avx2_t::run_rows(void *const *buffers, const block_t &block,
        dim_t row, dim_t rows) const noexcept {
    const char *const first
            = static_cast<const char *>(buffers[0])
              + block.first_col * bytes_of(weights_.type, weights_.pitch);
    jit_dot_avx2_args_t args;
    args.a_pitch = block.a_pitch * 4;
    args.sums_pitch = block.c_pitch * dot_avx2_parts * 4;
    const dim_t at_once
            = std::max<dim_t>(most_floats_of_src / (rows * shape_.piece), 1);
    dim_t piece = 0;
    do {
        args.pieces = std::min(at_once, shape_.pieces - piece);
        args.has_rest
                = piece + args.pieces == shape_.pieces && shape_.rest != 0;
        args.a = block.a + row * block.a_pitch + piece * shape_.piece;
        args.sums = block.partial + row * block.c_pitch * dot_avx2_parts;
        run_pieces(first, block, piece, args, rows);
        piece += args.pieces;
    } while (piece < shape_.pieces);
}

// Of all columns.
void jit_dot_avx2_t::run_pieces(const char *column, const block_t &block,
        dim_t piece, jit_dot_avx2_args_t &args, dim_t rows) const noexcept {
    const jit_dot_avx2_code_t &code = *code_[static_cast<size_t>(rows)];
    const dim_t cols = shape_.cols(static_cast<int>(rows));
    const dim_t pitch = bytes_of(weights_.type, weights_.pitch);
    const dim_t tail = shape_.tail();
    const dim_t begin = bytes_of(weights_.type, piece * shape_.piece);
    const dim_t tail_at = bytes_of(weights_.type, weights_.depth - tail);
    const auto tail_bytes = static_cast<size_t>(bytes_of(weights_.type, tail));
    char tails[most_dot_avx2_cols][16] = {};
    args.ahead = cols * pitch;
    for (dim_t n = 0; n < block.cols; n += cols) {
        for (dim_t c = 0; c < cols; ++c) {
            // What is too much does the last column again.
            const char *const at
                    = column + std::min(n + c, block.cols - 1) * pitch;
            args.weights[c] = at + begin;
            args.tails[c] = tails[c];
            if (args.has_rest && tail != 0)
                std::memcpy(tails[c], at + tail_at, tail_bytes);
        }
        const dim_t parameters
                = n * weights_.groups() + piece * shape_.parameter_stride;
        args.scales = block.scales + parameters;
        args.zps = block.zps + parameters;
        code(args);
        args.sums += cols * dot_avx2_parts;
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

result_t make_dot_avx2(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv) {
    // By blocks 4096 x 4096 u4 took 12.7 ms of eight rows and 15 of twelve, by
    // this 11.9 and 17.8 (one thread of a Cascade Lake held to AVX2).
    constexpr dim_t most_rows = 8;
    if (rows > most_rows)
        return {status_t::unimplemented, "there are too many rows"};
    if (dot_avx2_shape_of(weights).step == 0)
        return {status_t::unimplemented, "groups are not in whole vectors"};
    auto made = std::make_shared<jit_dot_avx2_t>(weights);
    const result_t result = made->make();
    if (result.ok()) gemv = std::move(made);
    return result;
}

} // namespace dnnl_dequant

#endif
