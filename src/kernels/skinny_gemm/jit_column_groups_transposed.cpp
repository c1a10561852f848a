// A skinny GEMM by [N,K] nibbles of which columns share scales, on AVX-512.
//
//   for each 128 columns, for each 128 of the depth: transpose dwords in cache
//     for some rows of a, for some columns that share scales:
//       for each eight rows of weights:
//         make a table of the numbers of each row, or of pairs of rows
//         look up the nibbles of vectors of columns, times a
//
// A dword has the nibbles of eight rows of weights of one column. So a vector
// of dwords has those of sixteen columns, and all nibbles that are as high in
// their dwords are of one row, which has one table.
//
// Pairs of bf16 are rows i and i + 4 of the eight. The lower word of a dword
// has the nibbles of the first four rows, the upper word those of the others.

#include <algorithm>
#include <cstddef>

#include "base/text.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/arrange.hpp"
#include "kernels/skinny_gemm/jit_transpose_nibbles.hpp"
#include "kernels/skinny_gemm/jit_weights.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int lanes = 16, dword_nibbles = 8;
constexpr dim_t line_bytes = 64, vector_bytes = 64;
// A tile has a line of each of its columns.
constexpr dim_t tile_cols = transposed_rows, tile_depth = lanes * dword_nibbles;
// From eight rows of the transposed weights to the next.
constexpr dim_t octet_bytes = transposed_dwords_bytes;
constexpr int most_code_rows = 8;

struct args_t {
    const void *weights;       // transposed, of the first eight rows
    const void *a;             // rows, arranged for pairs
    const float *scales, *zps; // of each row of weights, or of all
    float *sums;               // rows x columns, added to
    dim_t a_pitch, sums_pitch; // bytes
    dim_t octets;              // of rows of weights
    const void *next;          // a line of each column, to be prefetched
    dim_t next_pitch;          // bytes
};

// Returns the vectors of columns that are multiplied together: as many as
// share scales, as registers have sums for, and as leave no columns over.
int vectors_of(const skinny_weights_t &weights, int rows) {
    constexpr int others = 6; // tables, constants, scratch
    const auto fits = [&](int v) {
        return rows * v + v + others <= jit_isa_t<isa_avx512_core>::vmm_count
               && weights.col_group % (dim_t(v) * lanes) == 0
               && weights.cols % (dim_t(v) * lanes) == 0;
    };
    int vectors = 8;
    while (vectors > 1 && !fits(vectors))
        vectors /= 2;
    return vectors;
}

// Multiplies some rows by the columns of a panel.
class generator_t : public jit_weights_t {
public:
    generator_t(const skinny_weights_t &weights, int rows)
        : jit_weights_t("jit_column_groups_transposed", isa_avx512_core,
                  weights.type, weights.zps.type != data_type_t::undef,
                  weights.multiplied)
        , w_(weights)
        , rows_(rows)
        , lanes_(*this, jit_isa_t<isa_avx512_core>::vmm_count,
                  data_type_t::undef) {}

private:
    using vmms_t = vmm_range_t<Zmm>;
    const skinny_weights_t w_;
    const int rows_, vectors_ = vectors_of(w_, rows_);
    // Few sums would wait for the multiply-adds before.
    const int parts_ = rows_ * vectors_ <= 4 ? 2 : 1;
    jit_lanes_t<isa_avx512_core> lanes_; // constants in memory
    const Reg64 weights_at_ = general_.take("weights", rax),
                scales_ = general_.take("scales", rcx),
                zps_ = general_.take("zero points", rdx),
                sums_at_ = general_.take("sums", rbx),
                octets_ = general_.take("eights of rows to go", rsi),
                next_ = general_.take("next lines", rbp),
                next_pitch_ = general_.take("pitch of next lines", r13),
                a_pitch_ = general_.take("pitch of a", r8);
    // Each register addresses three rows.
    const Reg64 a_at_[3] {general_.take("a of rows 0 to 2", r9),
            general_.take("a of rows 3 to 5", r10),
            general_.take("a of rows 6 and 7", r11)};
    vector_registers_t<isa_avx512_core> registers_;
    const vmms_t sums_ = registers_.take("sums", rows_ *vectors_ *parts_),
                 raws_ = registers_.take("nibbles", vectors_),
                 tables_ = registers_.take("table, scratch", 2),
                 weights_ = registers_.take("weights", 1),
                 numbers_ = registers_.take("numbers of nibbles", 1),
                 constants_ = registers_.take("mask, bit", is_bf16() ? 2 : 0),
                 a_ = registers_.take("a", rows_ == 1 ? 1 : 0);

    Zmm sum(int row, int v, int part) const {
        return sums_[(row * vectors_ + v) * parts_ + part];
    }

    void generate() override {
        preamble();
        mov(weights_at_, arg(offsetof(args_t, weights)));
        mov(scales_, arg(offsetof(args_t, scales)));
        mov(zps_, arg(offsetof(args_t, zps)));
        mov(octets_, arg(offsetof(args_t, octets)));
        mov(next_, arg(offsetof(args_t, next)));
        mov(next_pitch_, arg(offsetof(args_t, next_pitch)));
        mov(a_pitch_, arg(offsetof(args_t, a_pitch)));
        mov(a_at_[0], arg(offsetof(args_t, a)));
        point_to_rows(a_at_, a_pitch_, rows_);
        vmovups(numbers_[0], constant(nibble_numbers(w_.type)));
        if (is_bf16()) {
            vmovups(constants_[0], constant(0x000f000fu));
            vmovups(constants_[1], constant(0x00100000u));
        }
        for (int i = 0; i < sums_.count(); ++i)
            clear(sums_[i]);
        align(32);
        repeat(octets_, [this] { octet(); });
        add_sums();
        postamble();
    }

    void octet() {
        for (int v = 0; v < vectors_; ++v) {
            vmovups(raws_[v], ptr[weights_at_ + disp(v * vector_bytes)]);
            prefetch_stream(ptr[next_]);
            add(next_, next_pitch_);
        }
        const int steps = is_bf16() ? dword_nibbles / 2 : dword_nibbles;
        for (int i = 0; i < steps; ++i) {
            if (is_bf16()) make_table_of_pairs(i);
            else make_table(tables_[0], i);
            if (rows_ == 1) vbroadcastss(a_[0], ptr[a_at_[0] + disp(4 * i)]);
            for (int v = 0; v < vectors_; ++v)
                multiply(v, i);
        }
        add(weights_at_, disp(octet_bytes));
        const auto of_octet = disp(4 * dword_nibbles);
        if (w_.group == 1) {
            add(scales_, of_octet);
            if (has_zps()) add(zps_, of_octet);
        }
        for (int r = 0; r < rows_; r += 3)
            add(a_at_[r / 3], disp(4 * steps));
    }

    // Makes a table of the numbers that a row's nibbles stand for.
    void make_table(const Zmm &table, int row) {
        const uint32_t at = w_.group == 1 ? disp(4 * row) : 0;
        if (has_zps()) vsubps(table, numbers_[0], ptr_b[zps_ + at]);
        vmulps(table, has_zps() ? table : numbers_[0], ptr_b[scales_ + at]);
        if (!is_bf16())
            lanes_.round(table, w_.rounded, weights_rounding(w_), weights_[0]);
    }
    // The numbers of the second row stand behind those of the first.
    void make_table_of_pairs(int row) {
        make_table(tables_[0], row);
        make_table(tables_[1], row + dword_nibbles / 2);
        vcvtne2ps2bf16(tables_[0], tables_[1], tables_[0]);
    }

    // Multiplies the i-th nibble of each lane, or of each word.
    void multiply(int v, int i) {
        constexpr int nibble_bits = 4;
        constexpr uint8_t masked_or_third = 0xea;
        const auto bits = static_cast<uint8_t>(nibble_bits * i);
        const Zmm w = weights_[0];
        if (is_bf16()) {
            if (i > 0) vpsrlw(w, raws_[v], bits);
            else vmovdqa32(w, raws_[v]);
            vpternlogd(w, constants_[0], constants_[1], masked_or_third);
            vpermw(w, w, tables_[0]);
        } else {
            if (i > 0) vpsrld(w, raws_[v], bits);
            vpermps(w, i > 0 ? w : raws_[v], tables_[0]);
        }
        for (int r = 0; r < rows_; ++r) {
            const Zmm to = sum(r, v, i % parts_);
            const Address at = ptr_b[row_of(a_at_, a_pitch_, r) + disp(4 * i)];
            const Operand &a
                    = rows_ == 1 ? static_cast<const Operand &>(a_[0]) : at;
            if (is_bf16()) vdpbf16ps(to, w, a);
            else vfmadd231ps(to, w, a);
        }
    }

    void add_sums() {
        mov(sums_at_, arg(offsetof(args_t, sums)));
        for_sums(sums_at_, arg(offsetof(args_t, sums_pitch)), rows_, vectors_,
                vector_bytes, [this](int r, int v, const Address &at) {
            const Zmm first = sum(r, v, 0);
            if (parts_ == 2) vaddps(first, first, sum(r, v, 1));
            vaddps(first, first, at);
            vmovups(at, first);
        });
    }
};

class column_groups_transposed_t final : public skinny_gemm_t {
public:
    explicit column_groups_transposed_t(const skinny_weights_t &weights)
        : skinny_gemm_t(weights) {}

    dim_t nr() const override { return lanes * dim_t(vectors_of(weights_, 1)); }
    dim_t src_unit() const override { return is_bf16() ? dword_nibbles : 1; }
    void arrange(void *row) const noexcept override {
        constexpr dim_t pairs = dword_nibbles / 2;
        if (is_bf16())
            arrange_lanes<pairs, 2>(
                    static_cast<uint16_t *>(row), weights_.depth);
    }

    result_t make(dim_t rows) {
        result_t made = make_jit_transpose_dwords(transpose_);
        if (made.ok())
            made = code_.make<generator_t>(
                    std::min<dim_t>(rows, most_code_rows), weights_);
        return made;
    }

    void run(void *const *buffers,
            const block_t &block) const noexcept override {
        alignas(64) char tile[transposed_bytes];
        for (dim_t r = 0; r < block.rows; ++r)
            std::fill_n(block.c + r * block.c_pitch, block.cols, 0.f);
        const dim_t pitch = bytes_of(weights_.type, weights_.pitch);
        const char *columns = static_cast<const char *>(buffers[0])
                              + block.first_col * pitch;
        for (dim_t col = 0; col < block.cols; col += tile_cols) {
            const dim_t cols = std::min(tile_cols, block.cols - col);
            for (dim_t k = 0; k < weights_.depth; k += tile_depth) {
                const dim_t depth = std::min(tile_depth, weights_.depth - k);
                const char *const from = columns + bytes_of(weights_.type, k);
                transpose_({from, pitch, tile, cols / lanes,
                        (dim_t(1) << depth / dword_nibbles) - 1});
                // The tile after the next one, or that of the next columns.
                const dim_t ahead = k + 2 * tile_depth;
                const char *const next
                        = ahead < weights_.depth
                                  ? from + 2 * line_bytes
                                  : columns + cols * pitch
                                            + (ahead - weights_.depth)
                                                      / tile_depth * line_bytes;
                for_row_blocks(
                        block.rows, most_code_rows, [&](dim_t row, dim_t rows) {
                    multiply(block, {row, rows, k, depth, col, cols}, tile,
                            next);
                });
            }
            columns += cols * pitch;
        }
    }

private:
    struct part_t {
        dim_t row, rows, k, depth, col, cols;
    };
    void multiply(const block_t &block, const part_t &part, const char *tile,
            const char *next) const noexcept;

    jit_transpose_dwords_t transpose_;
    jit_code_by_rows_t<const args_t> code_;
};

// Multiplies some rows by a tile. Rows of weights that share scales are
// multiplied by one call. Each eight of them prefetch as many lines of a tile
// to come as there are vectors, so that all lines are between the
// multiply-adds.
void column_groups_transposed_t::multiply(const block_t &block,
        const part_t &part, const char *tile, const char *next) const noexcept {
    const dim_t group = weights_.group;
    const dim_t panel
            = lanes * dim_t(vectors_of(weights_, static_cast<int>(part.rows)));
    args_t args {};
    args.a_pitch = src_pitch_bytes(block);
    args.sums_pitch = block.c_pitch * 4;
    args.next_pitch = bytes_of(weights_.type, weights_.pitch);
    dim_t depth = 0;
    for (dim_t k = part.k, end = k + part.depth; k < end; k += depth) {
        depth = group == 1 ? end - k : std::min(end - k, group - k % group);
        args.a = src_at(block, part.row, k);
        args.octets = depth / dword_nibbles;
        const dim_t octet = (k - part.k) / dword_nibbles;
        const char *const rows = tile + octet * octet_bytes;
        for (dim_t n = 0; n < part.cols; n += panel) {
            const dim_t col = part.col + n;
            const dim_t parameter = (block.first_col + col) / weights_.col_group
                                            * block.parameters_pitch
                                    + k / group;
            args.weights = rows + n * 4;
            args.next = next + (n + octet * panel / lanes) * args.next_pitch;
            args.scales = block.scales + parameter;
            if (weights_.zps.type != data_type_t::undef)
                args.zps = block.zps + parameter;
            args.sums = block.c + part.row * block.c_pitch + col;
            code_(part.rows, args);
        }
    }
}

} // namespace

result_t make_column_groups_transposed_avx512(const skinny_weights_t &weights,
        dim_t rows, std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    if (weights.group != 1 && weights.group % dword_nibbles != 0)
        return refuse(text("group ", weights.group,
                "; expected 1 or a multiple of ", dword_nibbles));
    return make_skinny_kernel_as<column_groups_transposed_t>(
            weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
