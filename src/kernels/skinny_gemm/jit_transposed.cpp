// A skinny GEMM by [K,N] weights of 2 and 4 bits on AVX-512. The lanes of each
// tile, of 32 bits or of pairs of rows' words, are transposed in cache. A
// vector then has a lane of each of some rows, which has weights of a few
// neighbouring columns. A column's weights are shifted down and looked up in a
// table as in jit_k_lanes.cpp.
//
//   for each 128 rows of weights, for each line of columns: transpose the tile
//     for some rows of a, for each lane's columns, by four:
//       load the sums from memory, sixteen parts each
//       for each group: make tables, look up, multiply and add
//       store the sums

#include <algorithm>
#include <cstddef>

#include "base/text.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/jit_k_lanes_code.hpp"
#include "kernels/skinny_gemm/jit_transpose_nibbles.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// The most rows that one generated function multiplies.
constexpr int most_code_rows = 4;
// Each sum is split into so many partial ones, side by side.
constexpr int sum_parts = 16;
// Columns whose sums are in registers together.
constexpr int some_cols = 4;
constexpr int vector_bytes = 64;

// The function multiplies some rows by a tile of transposed weights.
struct args_t {
    const void *tile;
    const void *a;
    const float *scales, *zps; // of the tile's columns
    float *sums;               // rows x columns x parts, added to
    // Bytes from row to row, and from one group's parameters to the next.
    dim_t a_pitch, sums_pitch, parameters_pitch;
    // The weights to prefetch lie in rows, `ahead_pitch` bytes apart. The
    // pointers are the beginning of a row, the next line and the end of the
    // row.
    const char *ahead_row, *ahead, *ahead_end;
    dim_t ahead_pitch;
};

// The vectors of rows in a tile, and their lanes.
nibble_step_t step_of(const skinny_weights_t &weights) {
    if (weights.multiplied == data_type_t::bf16) return {4, 32};
    return {8, 16};
}

class generator_t : public jit_lookup_t {
public:
    generator_t(const skinny_weights_t &weights, int rows)
        : jit_lookup_t("jit_transposed", weights, step_of(weights), rows,
                  some_cols, rows == 1 ? step_of(weights).vectors : 1, true) {}

private:
    const Reg64 tile_ = general_.take("tile", rsi),
                rows_of_a_ = general_.take("a", rax),
                third_row_of_a_ = general_.take("a of row 2", rbx),
                sums_at_ = general_.take("sums", rdx),
                sums_row_ = general_.take("a row of sums", rcx),
                sums_pitch_ = general_.take("pitch of sums", r9),
                ahead_end_ = general_.take("end of the prefetched row", r14),
                lanes_to_go_ = general_.take("lanes to go", r10),
                pitch_ = general_.take("pitch of parameters", rbp),
                pitch_3_ = general_.take("3 pitches", r15);

    // The vectors of a single row stay in registers.
    bool keeps_a() const { return rows_ == 1; }
    RegExp row_of_a(int row) const {
        if (row == 3) return third_row_of_a_ + a_pitch_;
        return row_of(&rows_of_a_, a_pitch_, row);
    }
    static uint32_t bytes(int vectors) { return disp(vectors * vector_bytes); }
    int lane_bytes() const { return is_bf16() ? 2 : 4; }
    int bits() const { return bits_of(w_.type); }
    int lane_cols() const { return 8 * lane_bytes() / bits(); }
    int groups_of_tile() const {
        return static_cast<int>(
                transposed_rows / std::min<dim_t>(w_.group, transposed_rows));
    }

    void load_arguments() override {
        mov(tile_, arg(offsetof(args_t, tile)));
        mov(rows_of_a_, arg(offsetof(args_t, a)));
        mov(a_pitch_, arg(offsetof(args_t, a_pitch)));
        mov(scales_, arg(offsetof(args_t, scales)));
        mov(zps_, arg(offsetof(args_t, zps)));
        mov(pitch_, arg(offsetof(args_t, parameters_pitch)));
        lea(pitch_3_, ptr[pitch_ + pitch_ * 2]);
        mov(sums_at_, arg(offsetof(args_t, sums)));
        mov(sums_pitch_, arg(offsetof(args_t, sums_pitch)));
        mov(ahead_, arg(offsetof(args_t, ahead)));
        mov(ahead_end_, arg(offsetof(args_t, ahead_end)));
        mov(lanes_to_go_.cvt32(),
                static_cast<uint32_t>(transposed_line / lane_bytes()));
        lea(third_row_of_a_, ptr[rows_of_a_ + a_pitch_ * 2]);
        load_numbers();
        for (int j = 0; keeps_a() && j < step_.vectors; ++j)
            vmovups(a_[j], ptr[rows_of_a_ + bytes(j)]);
    }

    void multiply_columns() override {
        align(32);
        repeat(lanes_to_go_, [this] {
            prefetch_weights();
            for (int col = 0; col < lane_cols(); col += some_cols)
                columns_of_lane(col);
            add(tile_, bytes(step_.vectors));
        });
        mov(arg(offsetof(args_t, ahead)), ahead_);
        mov(arg(offsetof(args_t, ahead_end)), ahead_end_);
    }

    void columns_of_lane(int first) {
        const int groups = groups_of_tile();
        const int vectors = step_.vectors / groups; // of a group
        move_sums(true);
        for (int g = 0; g < groups; ++g) {
            for (int c = 0; c < some_cols; ++c) {
                const RegExp at = of_group(g) + disp(4 * c);
                make_table_of(c, zps_ + at, scales_ + at);
            }
            for (int j = g * vectors; j < (g + 1) * vectors; ++j)
                multiply(j, first);
        }
        move_sums(false);
        add(sums_at_, bytes(some_cols));
        add(scales_, 4 * some_cols);
        if (has_zps()) add(zps_, 4 * some_cols);
    }

    RegExp of_group(int g) const {
        if (g == 0) return {};
        return g == 3 ? RegExp(pitch_3_) : pitch_ * g;
    }

    // Each vector of a lane's weights prefetches as many lines.
    void prefetch_weights() {
        for (int done = 0; done < step_.vectors; done += lines_at_once) {
            Label l_within;
            for (int c = 0; c < lines_at_once; ++c)
                prefetch_early(ptr[ahead_ + bytes(c)]);
            add(ahead_, bytes(lines_at_once));
            cmp(ahead_, ahead_end_);
            jb(l_within, T_NEAR);
            mov(ahead_, arg(offsetof(args_t, ahead_row)));
            add(ahead_, arg(offsetof(args_t, ahead_pitch)));
            mov(arg(offsetof(args_t, ahead_row)), ahead_);
            add(ahead_end_, arg(offsetof(args_t, ahead_pitch)));
            L(l_within);
        }
    }

    void move_sums(bool loads) {
        mov(sums_row_, sums_at_);
        for_sums(sums_row_, sums_pitch_, rows_, some_cols, bytes(1),
                [&](int r, int c, const Address &at) {
            move(sum(r, c), at, loads);
        });
    }

    // Multiplies a vector of rows of a lane's columns, from `first` on.
    void multiply(int j, int first) {
        const Zmm raw = raws_[j % raws_.count()];
        vmovups(raw, ptr[tile_ + bytes(j)]);
        for (int c = 0; c < some_cols; ++c)
            look_up_bits(c, raw, (first + c) * bits());
        const Zmm a = a_[keeps_a() ? j : 0];
        for (int r = 0; r < rows_; ++r) {
            if (!keeps_a()) vmovups(a, ptr[row_of_a(r) + bytes(j)]);
            for (int c = 0; c < some_cols; ++c)
                multiply_add(sum(r, c), c, a);
        }
    }

    static constexpr int lines_at_once = 4;
};

class jit_transposed_t : public skinny_gemm_t {
public:
    using skinny_gemm_t::skinny_gemm_t;

    dim_t nr() const override {
        return transposed_line * 8 / bits_of(weights_.type);
    }
    dim_t partial_floats() const override { return sum_parts; }

    result_t make(dim_t rows) {
        result_t made = is_bf16() ? make_jit_transpose_words(transpose_words_)
                                  : make_jit_transpose_dwords(transpose_);
        if (made.ok())
            made = code_.make<generator_t>(
                    std::min<dim_t>(rows, most_code_rows), weights_);
        return made;
    }

    void run(
            void *const *buffers, const block_t &block) const noexcept override;

private:
    void transpose(const char *from, dim_t pitch, char *tile) const noexcept {
        constexpr dim_t vectors = transposed_rows / 16, all_lanes = 0xffff;
        if (is_bf16()) transpose_words_({from, pitch, tile});
        else transpose_({from, pitch, tile, vectors, all_lanes});
    }
    void run_tile(const block_t &block, args_t &args) const noexcept;

    jit_transpose_dwords_t transpose_;
    jit_transpose_words_t transpose_words_;
    jit_code_by_rows_t<args_t> code_;
};

void jit_transposed_t::run(
        void *const *buffers, const block_t &block) const noexcept {
    std::fill_n(block.partial, block.rows * block.c_pitch * sum_parts, 0.f);
    const dim_t pitch = row_bytes(block);
    const dim_t block_bytes = bytes_of(weights_.type, block.cols);
    const char *rows = static_cast<const char *>(buffers[0])
                       + bytes_of(weights_.type, block.first_col);
    alignas(64) char tile[transposed_bytes];
    args_t args;
    args.tile = tile;
    args.a_pitch = src_pitch_bytes(block);
    args.sums_pitch = block.c_pitch * sum_parts * 4;
    args.parameters_pitch = block.c_pitch * 4;
    args.ahead_pitch = pitch;
    const char *const next_block = rows + block_bytes;
    for (dim_t k = 0; k < weights_.depth; k += transposed_rows) {
        const dim_t parameters = k / weights_.group * block.c_pitch;
        const char *const next_rows = rows + transposed_rows * pitch;
        args.ahead
                = k + transposed_rows < weights_.depth ? next_rows : next_block;
        args.ahead_row = args.ahead;
        args.ahead_end = args.ahead + block_bytes;
        for (dim_t n = 0; n < block.cols; n += nr()) {
            transpose(rows + bytes_of(weights_.type, n), pitch, tile);
            args.a = src_at(block, 0, k);
            args.scales = block.scales + parameters + n;
            args.zps = block.zps + parameters + n;
            args.sums = block.partial + n * sum_parts;
            run_tile(block, args);
        }
        rows = next_rows;
    }
    add_partial_sums<sum_parts>(block);
}

// Each call for some of the rows prefetches the same lines. The next tile
// continues where the first call ended.
void jit_transposed_t::run_tile(
        const block_t &block, args_t &args) const noexcept {
    const args_t begin = args;
    for_row_blocks(block.rows, most_code_rows, [&](dim_t row, dim_t rows) {
        args_t part = begin;
        part.a = static_cast<const char *>(begin.a) + row * begin.a_pitch;
        part.sums = begin.sums + row * begin.sums_pitch / 4;
        code_(rows, part);
        if (row == 0) args = part;
    });
}

} // namespace

result_t make_transposed_avx512(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    if (weights.group % transposed_rows != 0
            && transposed_rows % weights.group != 0)
        return refuse(text("group ", weights.group, "; expected a multiple of ",
                transposed_rows, ", or a part of it"));
    return make_skinny_kernel_as<jit_transposed_t>(weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
