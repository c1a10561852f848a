// Rows of bytes times repacked weights, which are one stream that is read and
// prefetched in order. Up to six rows are multiplied by a whole panel. Seven to
// twelve rows are multiplied by an nr block of 32 columns, then by the other nr
// block.
//
//   dot = sum a b - zp_a sum_b - zp_b sum_a      all of it modulo 2^32
//   c += f32(dot) * scale of b * scale of a
// If sums fit 16 bits, one vpmaddwd makes both corrections. Lanes have the
// order of the stream until the last group is done; then c is put in order.

#include "kernels/integer_gemm/integer_kernel.hpp"

#include <array>

#include "kernels/integer_gemm/jit_integer_tile.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using tile_t = integer_repacked_tile_t;
constexpr int most_rows = 12, rows_by_panel = 6, panel_vectors = 4;

class generator_t : public jit_integer_gemm_t {
public:
    generator_t(const integer_format_t &format, int rows)
        : jit_integer_gemm_t("jit_integer_repacked", format, r11)
        , rows_(rows) {}

private:
    const int rows_;
    const int vectors_
            = rows_ <= rows_by_panel ? panel_vectors : panel_vectors / 2,
            nr_blocks_ = panel_vectors / vectors_,
            // With few rows even and odd k4 blocks have separate sums, which
            // keeps more multiplications in flight.
            sets_ = rows_ <= rows_by_panel / 2 ? 2 : 1,
            // The lines of weights from one step to the next.
            step_lines_ = has_two_columns() ? 2 : 4;
    const Reg64 group_ = general_.take("b where the group begins", r9),
                a_group_ = general_.take("a where the group begins", r14),
                a_next_ = general_.take("the next k4 block of a", rbx),
                counts_ = general_.take("k4 blocks of each group", r8),
                groups_ = general_.take("groups to go", r15),
                c_row_ = general_.take("row", rbp);
    const Reg64 &parameters_row_ = a_next_; // outside the loop over k4 blocks
    vector_registers_t<isa_avx512_core> registers_;
    const vmm_range_t<Zmm> sums_
            = registers_.take("sums", panel_vectors / 2 * most_rows),
            vmm_b_ = registers_.take("lower and upper nibbles of b", 4);
    const Zmm of_row_ = registers_.take("a row's short zero points"),
              scale_ = registers_.take("a row's scale"),
              x_ = registers_.take("a correction"),
              mask_ = registers_.take("mask of nibbles");

    Zmm sum(int row, int v, int set = 0) const {
        return sums_[(set * rows_ + row) * vectors_ + v];
    }

    void generate() override {
        preamble();
        mov(b_, arg(offsetof(tile_t, weights)));
        mov(a_, arg(offsetof(tile_t, a)));
        mov(a_pitch_, arg(offsetof(tile_t, a_k4_pitch)));
        mov(counts_, arg(offsetof(tile_t, k4_blocks)));
        mov(groups_, arg(offsetof(tile_t, group_count)));
        mov(parameters_, arg(offsetof(tile_t, row_groups)));
        imul(parameters_pitch_, arg(offsetof(tile_t, row_groups_pitch)),
                sizeof(row_group_t));
        mov(c_, arg(offsetof(tile_t, c)));
        mov(c_pitch_, arg(offsetof(tile_t, c_pitch)));
        shl(c_pitch_, 2);
        if (is_nibble()) vmovups(mask_, constant(0x0f0f0f0f));
        clear(sums_[0]);
        each_row_of_c([this](int) {
            for (int v = 0; v < panel_vectors; ++v)
                vmovups(ptr[c_row_ + zmm_bytes(v)], sums_[0]);
        });
        all_groups();
        if (has_two_columns()) restore_order();
        postamble();
    }

    void all_groups() {
        repeat(groups_, [&] {
            mov(group_, b_);
            mov(a_group_, a_);
            for (int nr_block = 0; nr_block < nr_blocks_; ++nr_block) {
                mov(b_, group_);
                mov(a_, a_group_);
                all_k4_blocks(nr_block);
                end_group(nr_block);
            }
            add(b_, k4_bytes * (format_.has_short_sums ? 2 : 3));
            add(parameters_, sizeof(row_group_t));
            add(counts_, sizeof(dim_t));
        });
    }

    template <typename body_t>
    void each_row_of_c(const body_t &body) {
        mov(c_row_, c_);
        for (int r = 0; r < rows_; ++r) {
            body(r);
            if (r + 1 < rows_) add(c_row_, c_pitch_);
        }
    }

    void all_k4_blocks(int nr_block) {
        const int sums = rows_ * vectors_;
        for (int i = 0; i < sets_ * sums; ++i)
            clear(sums_[i]);
        mov(k4_blocks_, ptr[counts_]);
        const auto k4_blocks
                = static_cast<uint32_t>(sets_ * (has_two_depths() ? 2 : 1));
        repeat_steps(k4_blocks_, k4_blocks, true, [&] {
            for (int i = 0; i < sets_; ++i)
                step(nr_block, i);
        });
        if (sets_ == 1) return;
        Label l_end;
        add(k4_blocks_, k4_blocks);
        jz(l_end, T_NEAR);
        step(nr_block, 0);
        L(l_end);
        for (int i = 0; i < sums; ++i)
            vpaddd(sums_[i], sums_[i], sums_[sums + i]);
    }

    // Multiplies a k4 block of all rows by the nr block, or two blocks.
    void step(int nr_block, int set) {
        // The prefetch brings the stream to L1.
        constexpr size_t prefetch_distance = 4096;
        const int lines = step_lines_ / nr_blocks_;
        if (has_two_depths()) lea(a_next_, ptr[a_ + a_pitch_]);
        for (int i = 0; i < lines; ++i) {
            const auto at = b_ + zmm_bytes(nr_block * lines + i);
            const Zmm x = vmm_b_[i % 2 * 2], y = vmm_b_[i % 2 * 2 + 1];
            load(x, ptr[at]);
            prefetch_stream(ptr[at + prefetch_distance]);
            if (is_nibble()) split(x, y, mask_);
            multiply(has_two_columns() ? 2 * i : i, set, x, a_);
            if (has_two_columns()) multiply(2 * i + 1, set, y, a_);
            if (has_two_depths()) multiply(i, set, y, a_next_);
        }
        add(b_, zmm_bytes(step_lines_));
        if (has_two_depths()) lea(a_, ptr[a_ + a_pitch_ * 2]);
        else add(a_, a_pitch_);
    }

    void multiply(int v, int set, const Zmm &b, const Reg64 &a) {
        for (int r = 0; r < rows_; ++r)
            vpdpbusd(sum(r, v, set), b, ptr_b[a + static_cast<size_t>(r) * 4]);
    }

    void end_group(int nr_block) {
        mov(parameters_row_, parameters_);
        each_row_of_c([&](int r) {
            load_row(scale_, of_row_, parameters_row_);
            for (int v = 0; v < vectors_; ++v) {
                const uint32_t at = zmm_bytes(nr_block * vectors_ + v);
                correct(sum(r, v), at + k4_bytes);
                add_to_c(sum(r, v), sum(r, v), ptr[b_ + at], scale_,
                        ptr[c_row_ + at]);
            }
            if (r + 1 < rows_) add(parameters_row_, parameters_pitch_);
        });
    }

    // Corrects sums by what follows the k4 blocks at offset `at`: the shorts,
    // or the zero points and behind them the sums.
    void correct(const Zmm &sum, size_t at) {
        if (format_.has_short_sums) {
            vpmaddwd(x_, of_row_, ptr[b_ + at]);
            vpaddd(sum, sum, x_);
            return;
        }
        for (const size_t of_row :
                {offsetof(row_group_t, sum), offsetof(row_group_t, zp)}) {
            vmovups(x_, ptr[b_ + at]);
            subtract_product(sum, x_, x_, parameters_row_ + of_row);
            at += k4_bytes;
        }
    }

    // The even columns of an nr block come before the odd ones.
    void restore_order() {
        const Zmm &first = x_, &second = scale_, even = sums_[0],
                  odd = sums_[1], x = sums_[2];
        load_interleaving(first, second);
        each_row_of_c([&](int) {
            for (int v = 0; v < panel_vectors; v += 2) {
                vmovups(even, ptr[c_row_ + zmm_bytes(v)]);
                vmovups(odd, ptr[c_row_ + zmm_bytes(v + 1)]);
                vmovaps(x, even);
                vpermt2ps(x, first, odd);
                vpermt2ps(even, second, odd);
                vmovups(ptr[c_row_ + zmm_bytes(v)], x);
                vmovups(ptr[c_row_ + zmm_bytes(v + 1)], even);
            }
        });
    }
};

// Returns how many rows are multiplied together next: parts of nearly equal
// size.
dim_t next_rows(dim_t left) {
    return div_up(left, div_up(left, most_rows));
}

class jit_integer_repacked_t : public integer_repacked_kernel_t {
public:
    // Generates code for the usual number of rows, and for the smaller numbers
    // that may be left.
    result_t make(const integer_format_t &format, dim_t rows) {
        result_t result = make_code(format, 1);
        for (dim_t left = rows; left > 0 && result.ok();
                left -= next_rows(left))
            result = make_code(format, next_rows(left));
        return result;
    }

    const char *name() const override {
        return "jit_integer_matmul_repacked_avx512_core_vnni";
    }

    void multiply(const tile_t &tile) const noexcept override {
        tile_t part = tile;
        for (dim_t row = 0; row < tile.rows;) {
            part.a = tile.a + row * 4;
            part.row_groups = tile.row_groups + row * tile.row_groups_pitch;
            part.c = tile.c + row * tile.c_pitch;
            dim_t rows = next_rows(tile.rows - row);
            if (!code_[static_cast<size_t>(rows)]) rows = 1;
            code_[static_cast<size_t>(rows)](part);
            row += rows;
        }
    }

private:
    result_t make_code(const integer_format_t &format, dim_t rows) {
        auto &code = code_[static_cast<size_t>(rows)];
        if (code) return {};
        return make_jit_as<generator_t>(code, format, static_cast<int>(rows));
    }

    std::array<jit_function_t<const tile_t>, most_rows + 1> code_;
};

} // namespace

result_t make_integer_repacked(const integer_format_t &format, dim_t rows,
        isa_t isa, std::shared_ptr<const integer_repacked_kernel_t> &kernel) {
    if (!has(isa, isa_avx512_core_vnni)) return refuse("no AVX-512 VNNI");
    auto made = std::make_shared<jit_integer_repacked_t>();
    const result_t result = made->make(format, rows);
    if (result.ok()) kernel = std::move(made);
    return result;
}

} // namespace dnnl_dequant
