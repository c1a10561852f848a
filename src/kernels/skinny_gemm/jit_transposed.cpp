// A skinny GEMM by [K,N] weights of 4 bits on AVX-512. Each tile is transposed
// in cache, so that K lies in lanes. A column's weights are then looked up in a
// table as in jit_k_lanes.cpp.
//
//   for each 128 rows of weights, for each 128 columns: transpose the tile
//     for some rows of a, for each four columns of the tile:
//       make tables, add the products to the sums in memory, sixteen parts each
//
// A vector of each of the tile's four parts has a quarter of four columns. The
// nibbles of a column become eight vectors of f32, or four of bf16.

#include <algorithm>
#include <cstddef>

#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/jit_k_lanes_code.hpp"
#include "kernels/skinny_gemm/jit_transpose_nibbles.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// The most rows that one generated function multiplies.
constexpr int most_code_rows = 4;
// Each sum is split into so many partial ones, side by side.
constexpr dim_t sum_parts = 16;

constexpr int quarters = 4;
// The distance between the columns that share a vector, a quarter each.
constexpr int quarter_cols = transposed_tile / quarters;
constexpr int vector_bytes = 64;

// The function multiplies some rows by a tile of transposed weights.
struct args_t {
    const void *tile;
    const void *a;             // arranged
    const float *scales, *zps; // of the tile's columns
    float *sums;               // rows x columns x parts, added to
    dim_t a_pitch, sums_pitch; // bytes
    // The weights to prefetch lie in rows, `ahead_pitch` bytes apart. The
    // pointers are the beginning of a row, the next line and the end of the
    // row.
    const char *ahead_row, *ahead, *ahead_end;
    dim_t ahead_pitch;
};

nibble_step_t step_of(const skinny_weights_t &weights) {
    if (weights.multiplied == data_type_t::bf16) return {4, 32};
    return {8, 16};
}

class generator_t : public jit_lookup_t {
public:
    generator_t(const skinny_weights_t &weights, int rows)
        : jit_lookup_t("jit_transposed", weights, step_of(weights), rows,
                  quarters, rows == 1 ? step_of(weights).vectors : 1, true) {}

private:
    const Reg64 tile_ = general_.take("tile", rsi),
                rows_of_a_ = general_.take("a", rax),
                third_row_of_a_ = general_.take("a of row 2", rbx),
                sums_at_ = general_.take("sums", rdx),
                sums_row_ = general_.take("a row of sums", rcx),
                sums_pitch_ = general_.take("pitch of sums", r9),
                ahead_end_ = general_.take("end of the prefetched row", r14),
                columns_ = general_.take("columns to go", r10);

    // The vectors of a single row stay in registers.
    bool keeps_a() const { return rows_ == 1; }
    RegExp row_of_a(int row) const {
        if (row == 3) return third_row_of_a_ + a_pitch_;
        return row_of(&rows_of_a_, a_pitch_, row);
    }
    static uint32_t bytes(int vectors) { return disp(vectors * vector_bytes); }

    void load_arguments() override {
        mov(tile_, arg(offsetof(args_t, tile)));
        mov(rows_of_a_, arg(offsetof(args_t, a)));
        mov(a_pitch_, arg(offsetof(args_t, a_pitch)));
        mov(scales_, arg(offsetof(args_t, scales)));
        mov(zps_, arg(offsetof(args_t, zps)));
        mov(sums_at_, arg(offsetof(args_t, sums)));
        mov(sums_pitch_, arg(offsetof(args_t, sums_pitch)));
        mov(ahead_, arg(offsetof(args_t, ahead)));
        mov(ahead_end_, arg(offsetof(args_t, ahead_end)));
        mov(columns_.cvt32(), static_cast<uint32_t>(quarter_cols));
        lea(third_row_of_a_, ptr[rows_of_a_ + a_pitch_ * 2]);
        load_numbers();
        for (int j = 0; keeps_a() && j < step_.vectors; ++j)
            vmovups(a_[j], ptr[rows_of_a_ + bytes(j)]);
    }

    void multiply_columns() override {
        align(32);
        repeat(columns_, [this] { four_columns(); });
        mov(arg(offsetof(args_t, ahead)), ahead_);
        mov(arg(offsetof(args_t, ahead_end)), ahead_end_);
    }

    void four_columns() {
        prefetch_weights();
        load_weights();
        for (int c = 0; c < quarters; ++c)
            make_table(c, disp(c * quarter_cols * 4));
        move_sums(true);
        for (int j = 0; j < step_.vectors; ++j)
            multiply(j);
        move_sums(false);
        add(tile_, bytes(1));
        add(sums_at_, bytes(1));
        next_parameters();
    }

    // Each iteration prefetches one line for each of its columns.
    void prefetch_weights() {
        Label l_within;
        for (int c = 0; c < quarters; ++c)
            prefetch_early(ptr[ahead_ + bytes(c)]);
        add(ahead_, bytes(quarters));
        cmp(ahead_, ahead_end_);
        jb(l_within, T_NEAR);
        mov(ahead_, arg(offsetof(args_t, ahead_row)));
        add(ahead_, arg(offsetof(args_t, ahead_pitch)));
        mov(arg(offsetof(args_t, ahead_row)), ahead_);
        add(ahead_end_, arg(offsetof(args_t, ahead_pitch)));
        L(l_within);
    }

    // Gives each column its quarter of every part: a transpose of 4 x 4 lanes.
    void load_weights() {
        constexpr uint8_t even = 0x88, odd = 0xdd;
        const auto part = [&](int p) {
            return ptr[tile_ + disp(p * transposed_part_bytes)];
        };
        const Zmm first = weights_[0], second = weights_[1];
        vmovups(raws_[0], part(0));
        vmovups(raws_[1], part(2));
        vshufi32x4(first, raws_[0], part(1), even);
        vshufi32x4(second, raws_[1], part(3), even);
        vshufi32x4(raws_[3], raws_[0], part(1), odd);
        vshufi32x4(raws_[1], raws_[1], part(3), odd);
        vshufi32x4(raws_[0], first, second, even);
        vshufi32x4(raws_[2], first, second, odd);
        vshufi32x4(first, raws_[3], raws_[1], even);
        vshufi32x4(raws_[3], raws_[3], raws_[1], odd);
        vmovaps(raws_[1], first);
    }

    void move_sums(bool loads) {
        mov(sums_row_, sums_at_);
        for_sums(sums_row_, sums_pitch_, rows_, quarters, bytes(quarter_cols),
                [&](int r, int c, const Address &at) {
            move(sum(r, c), at, loads);
        });
    }

    void multiply(int j) {
        for (int c = 0; c < quarters; ++c)
            look_up(c, j);
        const Zmm a = a_[keeps_a() ? j : 0];
        for (int r = 0; r < rows_; ++r) {
            if (!keeps_a()) vmovups(a, ptr[row_of_a(r) + bytes(j)]);
            for (int c = 0; c < quarters; ++c)
                multiply_add(sum(r, c), c, a);
        }
    }
};

class jit_transposed_t : public k_lanes_lookup_t {
public:
    explicit jit_transposed_t(const skinny_weights_t &weights)
        : k_lanes_lookup_t(weights, step_of(weights)) {}

    dim_t nr() const override { return transposed_tile; }
    dim_t partial_floats() const override { return sum_parts; }

    result_t make(dim_t rows) {
        result_t made = make_jit_transpose_nibbles(transpose_);
        if (made.ok())
            made = code_.make<generator_t>(
                    std::min<dim_t>(rows, most_code_rows), weights_);
        return made;
    }

    void run(
            void *const *buffers, const block_t &block) const noexcept override;

private:
    void run_tile(const block_t &block, args_t &args) const noexcept;

    jit_transpose_nibbles_t transpose_;
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
    args.ahead_pitch = pitch;
    const char *const next_block = rows + block_bytes;
    for (dim_t k = 0; k < weights_.depth; k += transposed_tile) {
        const dim_t parameters = k / weights_.group * block.c_pitch;
        const char *const next_rows = rows + transposed_tile * pitch;
        args.ahead
                = k + transposed_tile < weights_.depth ? next_rows : next_block;
        args.ahead_row = args.ahead;
        args.ahead_end = args.ahead + block_bytes;
        for (dim_t n = 0; n < block.cols; n += transposed_tile) {
            transpose_({rows + bytes_of(weights_.type, n), pitch, tile});
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
    return make_skinny_kernel_as<jit_transposed_t>(weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
