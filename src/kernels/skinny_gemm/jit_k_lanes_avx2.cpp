// A skinny GEMM by weights of 2, 4 or 8 bits on AVX2, K lanes. A block's
// columns are multiplied by as much of src as stays in L1. [K,N] weights are
// transposed in cache, tile by tile.
//
//   for columns: for each chunk of the depth:
//     load zero points and scales, or make tables of numbers
//     for each step: make weights of columns, times rows of a
//     add the chunk's sums, scaled where weights are not, to those in memory;
//     sums of scaled weights stay in registers until the last chunk

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/text.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/jit_k_lanes_avx2_code.hpp"
#include "kernels/skinny_gemm/jit_transpose_nibbles.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// Floats of src that stay in L1 next to the weights.
constexpr dim_t most_floats_of_src = 4096;
// Steps of nibbles that are a cache line; two groups, whose steps are unrolled,
// have this many elements at most.
constexpr int steps_of_a_line = 4;
constexpr dim_t longest_two_groups = 480;
// The longest chunk of [K,N] weights.
constexpr dim_t longest_transposed_chunk = transpose_avx2_rows / 2;

// Each sum is split into so many partial ones, one in each lane.
constexpr dim_t sum_parts = 8;

// The function multiplies some rows by columns, down some chunks. An iteration
// takes one or two columns and advances the arguments, which describe the first
// column. Parameters of [N,K] weights are groups() apart from column to column.
struct args_t {
    const void *weights;
    const void
            *tails[most_k_lanes_avx2_cols]; // the last weights, 16 bytes each
    const void *a;                          // arranged
    const float *scales, *zps;              // the first chunk's
    float *sums;                           // rows x columns, in parts; added to
    dim_t weights_pitch, parameters_pitch; // bytes, by column and by chunk
    dim_t a_pitch, sums_pitch;             // bytes, by row
    dim_t ahead;                           // prefetch distance, bytes
    dim_t chunks, has_rest;
    dim_t iterations; // 1 where there is a tail
};

class generator_t : public jit_k_lanes_avx2_weights_t {
public:
    generator_t(const skinny_weights_t &weights, int rows)
        : jit_k_lanes_avx2_weights_t(weights, rows) {}

private:
    static constexpr int vector_bytes = simd_w * 4;

    const Reg64 sums_at_ = general_.take("sums in memory", rdx),
                sums_pitch_3_ = general_.take("three pitches of sums", rbp),
                steps_ = general_.take("steps to go", r14),
                chunks_ = general_.take("chunks to go", r15);
    // The register that held the pitch of a is free once a's rows are in
    // registers.
    const Reg64 &sums_pitch_ = a_pitch_;

    void generate() override {
        preamble();
        if (is_nibble() && !looks_up()) keep_constants();
        repeat(arg(offsetof(args_t, iterations)), [this] {
            load_arguments();
            all_chunks();
            next_columns();
        });
        postamble();
    }

    void load_arguments() {
        mov(columns_[0], arg(offsetof(args_t, weights)));
        if (cols_ > 1) {
            mov(columns_[1], arg(offsetof(args_t, weights_pitch)));
            add(columns_[1], columns_[0]);
        }
        mov(a_pitch_, arg(offsetof(args_t, a_pitch)));
        mov(rows_of_a_[0], arg(offsetof(args_t, a)));
        for (int r = 1; r < rows_; ++r)
            lea(rows_of_a_[r], ptr[rows_of_a_[r - 1] + a_pitch_]);
        mov(sums_at_, arg(offsetof(args_t, sums)));
        mov(sums_pitch_, arg(offsetof(args_t, sums_pitch)));
        lea(sums_pitch_3_, ptr[sums_pitch_ + sums_pitch_ * 2]);
        mov(scales_, arg(offsetof(args_t, scales)));
        mov(zps_, arg(offsetof(args_t, zps)));
        mov(ahead_, arg(offsetof(args_t, ahead)));
    }

    void next_columns() {
        const Reg64 &pitch = columns_[0];
        mov(pitch, arg(offsetof(args_t, weights_pitch)));
        for (int c = 0; c < cols_; ++c)
            add(arg(offsetof(args_t, weights)), pitch);
        add(arg(offsetof(args_t, scales)), parameter_bytes(cols_));
        add(arg(offsetof(args_t, zps)), parameter_bytes(cols_));
        add(arg(offsetof(args_t, sums)), disp(cols_ * vector_bytes));
    }

    void all_chunks() {
        Label l_rest, l_end;
        if (!shape_.scales_sums) clear_sums();
        mov(chunks_, arg(offsetof(args_t, chunks)));
        test(chunks_, chunks_);
        jz(l_rest, T_NEAR);
        repeat(chunks_, [this] { chunk(shape_.k_chunk); });
        L(l_rest);
        cmp(arg(offsetof(args_t, has_rest)), 0);
        je(l_end, T_NEAR);
        if (shape_.rest != 0) chunk(shape_.rest);
        L(l_end);
        if (!shape_.scales_sums) add_sums();
    }

    void clear_sums() {
        for (int i = 0; i < sums_.count(); ++i)
            vxorps(sums_[i], sums_[i], sums_[i]);
    }

    // Sums of weights that are scaled stay in registers over all chunks.
    void chunk(dim_t depth) {
        if (shape_.scales_sums) clear_sums();
        if (shape_.groups > 1) return chunk_of_two_groups(depth);
        for (int c = 0; c < cols_; ++c)
            load_parameters(c);
        all_steps(depth / shape_.step);
        const auto tail = static_cast<int>(depth % shape_.step);
        for (int c = 0; c < cols_ && tail != 0; ++c) {
            load_tail(c);
            step(c, tail);
        }
        end_chunk();
    }

    void chunk_of_two_groups(dim_t depth) {
        const int groups = shape_.group_of(depth - 1) + 1;
        for (int g = 0; g < groups; ++g)
            load_parameters_of_group(g);
        const auto steps = static_cast<int>(depth / shape_.step);
        for (unrolled_ = 0; unrolled_ < steps; ++unrolled_) {
            // advance() calls for the chunk's first line.
            if (unrolled_ > 0 && unrolled_ % steps_of_a_line == 0)
                prefetcht0(ptr[columns_[0] + ahead_
                               + disp(step_bytes() * unrolled_)]);
            step_of_two_groups(unrolled_ * shape_.step, depth);
        }
        unrolled_ = 0;
        advance(steps);
        if (depth % shape_.step != 0) {
            load_tail(0);
            step_of_two_groups(steps * shape_.step, depth);
        }
        end_two_groups(groups);
    }

    void load_tail(int c) {
        mov(columns_[c], arg(offsetof(args_t, tails) + disp(8 * c)));
    }

    void all_steps(dim_t steps) {
        if (steps == 0) return;
        int unroll = 4;
        while (steps % unroll != 0)
            unroll /= 2;
        mov(steps_.cvt32(), static_cast<uint32_t>(steps / unroll));
        align(32);
        repeat(steps_, [&] {
            for (unrolled_ = 0; unrolled_ < unroll; ++unrolled_)
                for (int c = 0; c < cols_; ++c)
                    step(c, 0);
            unrolled_ = 0;
            advance(unroll);
        });
    }

    void advance(int steps) {
        for (int c = 0; c < cols_; ++c) {
            // Nibbles are slower when they come from L2.
            if (is_nibble()) prefetcht0(ptr[columns_[c] + ahead_]);
            else prefetch_stream(ptr[columns_[c] + ahead_]);
            add(columns_[c], disp(step_bytes() * steps));
        }
        for (int r = 0; r < rows_; ++r)
            add(rows_of_a_[r], disp(steps * shape_.step * 4));
    }

    Address sums_in_memory(int row, int col) {
        const RegExp rows[] = {sums_at_, sums_at_ + sums_pitch_,
                sums_at_ + sums_pitch_ * 2, sums_at_ + sums_pitch_3_};
        return ptr[rows[row] + disp(col * vector_bytes)];
    }

    void end_chunk() {
        if (shape_.scales_sums) add_sums();
        next_parameters();
    }

    // Adds sums to those in memory.
    void add_sums() {
        for (int c = 0; c < cols_; ++c) {
            if (shape_.scales_sums)
                vbroadcastss(scratch_, of_column(scales_, c));
            for (int r = 0; r < rows_; ++r) {
                const Ymm s = sum(r, c, 0);
                const Address at = sums_in_memory(r, c);
                for (int half = sums_each() / 2; half > 0; half /= 2)
                    for (int i = 0; i < half; ++i)
                        vaddps(sum(r, c, i), sum(r, c, i), sum(r, c, i + half));
                if (shape_.scales_sums) vfmadd213ps(s, scratch_, at);
                else vaddps(s, s, at);
                vmovups(at, s);
            }
        }
    }

    void end_two_groups(int groups) {
        if (shape_.scales_sums) add_two_groups(groups);
        next_parameters();
    }

    // Each group's sums are scaled by its own scale. Adding those in memory
    // comes last: a short chunk would wait for what the one before it stored.
    void add_two_groups(int groups) {
        for (int g = 0; g < groups; ++g) {
            vbroadcastss(scratch_, of_group(scales_, g));
            for (int r = 0; r < rows_; ++r) {
                const Ymm total = sum(r, 0, 0);
                if (g == 0) vmulps(total, total, scratch_);
                else vfmadd231ps(total, sum(r, 0, g), scratch_);
            }
        }
        for (int r = 0; r < rows_; ++r) {
            const Ymm total = sum(r, 0, 0);
            const Address at = sums_in_memory(r, 0);
            vaddps(total, total, at);
            vmovups(at, total);
        }
    }

    void next_parameters() {
        add(scales_, arg(offsetof(args_t, parameters_pitch)));
        add(zps_, arg(offsetof(args_t, parameters_pitch)));
    }
};

class jit_k_lanes_avx2_t : public skinny_gemm_t {
public:
    explicit jit_k_lanes_avx2_t(const skinny_weights_t &weights)
        : skinny_gemm_t(weights)
        , shape_(weights) {}

    dim_t nr() const override {
        return weights_.by_column ? 1 : transpose_avx2_cols;
    }
    dim_t src_unit() const override { return shape_.step; }
    void arrange(void *row) const noexcept override;
    bool scales_sums() const override { return shape_.scales_sums; }
    dim_t partial_floats() const override { return sum_parts; }

    result_t make(dim_t /*rows*/) {
        result_t made;
        if (!weights_.by_column)
            made = make_jit_transpose_nibbles_avx2(transpose_);
        if (made.ok())
            made = code_.make<generator_t>(shape_.most_rows(), weights_);
        return made;
    }

    void run(
            void *const *buffers, const block_t &block) const noexcept override;

private:
    // Columns of [N,K] or transposed weights over some chunks of the depth. If
    // the last chunk is one of them, the rest of the depth belongs to the tile
    // too.
    struct tile_t {
        const char *weights;
        dim_t pitch; // bytes
        dim_t first_col, cols;
        dim_t first_chunk, chunks;
        bool has_rest;
    };

    dim_t chunks_at_once(dim_t rows) const;
    void run_transposed(tile_t tile, const block_t &block) const noexcept;
    void run_tile(const tile_t &tile, const block_t &block) const noexcept;
    void run_rows(const tile_t &tile, int rows, args_t &args) const noexcept;

    const jit_k_lanes_avx2_shape_t shape_;
    jit_transpose_nibbles_avx2_t transpose_;
    jit_code_by_rows_t<args_t> code_;
};

// Sixteen nibbles become two vectors: the even ones are in the lower lanes, the
// odd ones in the upper lanes.
void jit_k_lanes_avx2_t::arrange(void *src) const noexcept {
    auto *const row = static_cast<float *>(src);
    const dim_t depth = weights_.depth;
    const dim_t padded = round_up(depth, shape_.step);
    std::fill(row + depth, row + padded, 0.f);
    if (weights_.are_nibbles()) arrange_lanes<4, 4>(row, padded);
}

// A transposed tile limits the chunks of [K,N] weights. L1 limits those of
// [N,K] weights. The order of sums depends on it, and does not change if
// weights are ordinary.
dim_t jit_k_lanes_avx2_t::chunks_at_once(dim_t rows) const {
    dim_t depth = longest_transposed_chunk;
    if (weights_.by_column)
        depth = most_floats_of_src
                / std::min<dim_t>(rows, most_k_lanes_avx2_rows);
    return std::max<dim_t>(depth / shape_.k_chunk, 1);
}

void jit_k_lanes_avx2_t::run(
        void *const *buffers, const block_t &block) const noexcept {
    std::fill_n(block.partial, block.rows * block.c_pitch * sum_parts, 0.f);
    const bool by_column = weights_.by_column;
    const dim_t at_once = chunks_at_once(block.rows), chunks = shape_.chunks;
    tile_t tile {};
    tile.pitch = row_bytes(block);
    tile.cols = block.cols;
    do {
        const dim_t k = tile.first_chunk * shape_.k_chunk, n = block.first_col;
        tile.weights = static_cast<const char *>(buffers[0])
                       + (by_column ? n : k) * tile.pitch
                       + bytes_of(weights_.type, by_column ? k : n);
        tile.chunks = std::min(at_once, chunks - tile.first_chunk);
        tile.has_rest
                = tile.first_chunk + tile.chunks == chunks && shape_.rest != 0;
        if (by_column) run_tile(tile, block);
        else run_transposed(tile, block);
        tile.first_chunk += tile.chunks;
    } while (tile.first_chunk < chunks);
    add_partial_sums<sum_parts>(block);
}

void jit_k_lanes_avx2_t::run_transposed(
        tile_t tile, const block_t &block) const noexcept {
    constexpr dim_t bytes_ahead = 64;
    alignas(64) char transposed[transpose_avx2_cols * transpose_avx2_pitch];
    const char *const weights = tile.weights;
    const dim_t depth
            = tile.chunks * shape_.k_chunk + (tile.has_rest ? shape_.rest : 0);
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
        // The row's last columns prefetch weights of the next chunks.
        args.ahead = bytes_ahead;
        if (at + bytes_ahead >= block_bytes)
            args.ahead += depth * args.pitch - block_bytes;
        transpose_(args);
        tile.first_col = n;
        run_tile(tile, block);
    }
}

void jit_k_lanes_avx2_t::run_tile(
        const tile_t &tile, const block_t &block) const noexcept {
    const bool by_column = weights_.by_column;
    const bool is_one_group = weights_.group >= weights_.depth;
    const dim_t column_stride = by_column ? weights_.groups() : 1;
    const dim_t group_stride = is_one_group ? 0 : by_column ? 1 : block.c_pitch;
    const dim_t chunk_stride = shape_.groups * group_stride;
    const dim_t first
            = tile.first_col * column_stride + tile.first_chunk * chunk_stride;
    args_t args;
    args.a_pitch = src_pitch_bytes(block);
    args.sums_pitch = block.c_pitch * sum_parts * 4;
    args.parameters_pitch = chunk_stride * 4;
    args.chunks = tile.chunks;
    args.has_rest = tile.has_rest;
    for_row_blocks(block.rows, shape_.most_rows(), [&](dim_t row, dim_t rows) {
        args.a = src_at(block, row, tile.first_chunk * shape_.k_chunk);
        args.sums = block.partial
                    + (row * block.c_pitch + tile.first_col) * sum_parts;
        args.scales = block.scales + first;
        args.zps = block.zps + first;
        run_rows(tile, static_cast<int>(rows), args);
    });
}

// Copies a tail of columns to memory where a whole step may be read.
void jit_k_lanes_avx2_t::run_rows(
        const tile_t &tile, int rows, args_t &args) const noexcept {
    const dim_t cols = shape_.cols(rows);
    const dim_t tail = tile.has_rest ? shape_.tail() : 0;
    const auto bytes = static_cast<size_t>(bytes_of(weights_.type, tail));
    const char *const last
            = tile.weights
              + bytes_of(weights_.type,
                      tile.chunks * shape_.k_chunk + shape_.rest - tail);
    char tails[most_k_lanes_avx2_cols][16] = {};
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
        code_(rows, args);
    }
}

// More rows than one function's are faster in blocks.
result_t check_two_groups(const skinny_weights_t &weights,
        const jit_k_lanes_avx2_shape_t &shape, dim_t rows) {
    if (!is_integer(weights.type) || shape.k_chunk > longest_two_groups)
        return refuse(text("group ", weights.group, "; expected a multiple of ",
                shape.step, ", or integers by column in groups of ",
                longest_two_groups / 2, " at most"));
    if (weights.depth % shape.half_step() != 0)
        return refuse(text("depth ", weights.depth, "; expected a multiple of ",
                shape.half_step(), " where groups end within a step"));
    if (rows > most_k_lanes_avx2_rows)
        return refuse(
                text("found ", rows, " rows; expected ", most_k_lanes_avx2_rows,
                        " at most where groups end within a step"));
    return {};
}

} // namespace

result_t make_k_lanes_avx2(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    const jit_k_lanes_avx2_shape_t shape(weights);
    if (shape.groups > 1) {
        result_t result = check_two_groups(weights, shape, rows);
        if (!result.ok()) return result;
    }
    return make_skinny_kernel_as<jit_k_lanes_avx2_t>(
            weights, rows, skinny_gemm);
}

// kernels.def ensures that groups of [K,N] weights are whole steps.
result_t make_transposed_avx2(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    const dim_t chunk = jit_k_lanes_avx2_shape_t(weights).k_chunk;
    if (chunk > longest_transposed_chunk)
        return refuse(text("group ", chunk, "; expected ",
                longest_transposed_chunk, " at most, or one group"));
    return make_skinny_kernel_as<jit_k_lanes_avx2_t>(
            weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
