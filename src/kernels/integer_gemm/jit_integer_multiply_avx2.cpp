// Bytes times nibbles by vpmaddubsw on AVX2: a tile of six rows by two vectors
// of columns, four times for a panel.
//
//   dot = sum a b - zp_a sum_b - zp_b sum_a      all of it modulo 2^32
// A product is -128 * 15 at least, so a sum of sixteen fits 16 bits. Eight k4
// blocks make that many for each half of a lane. So a chunk of eight blocks is
// summed in registers, and then added to sums of 32 bits in memory. Weights of
// 8 bits are two planes of nibbles; the sums of the upper plane count sixteen
// times.

#include "kernels/integer_gemm/jit_integer_tile.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int vectors = 2;
constexpr uint32_t nr_bytes = vectors * 32;
// So many k4 blocks are multiplied before their sums are widened.
constexpr uint32_t chunks[] = {8, 4, 1};

class generator_t : public jit_integer_bytes_t {
public:
    explicit generator_t(const integer_format_t &format)
        : jit_integer_bytes_t("jit_integer_multiply_avx2", format) {}

private:
    static constexpr uint32_t sums_bytes = ymm_bytes(rows_at_once * vectors);

    const Reg64 nr_block_
            = general_.take("bytes of columns that are done", r11),
            columns_ = general_.take("columns of the group", r14);
    // These registers have another use inside the loop over k4 blocks.
    const Reg64 &c_row_ = a_, &parameters_row_ = k4_blocks_;
    vector_registers_t<isa_avx2> vectors_;
    const vmm_range_t<Ymm> sums_
            = vectors_.take("short sums", rows_at_once *vectors),
            vmm_b_ = vectors_.take("b", vectors);
    const Ymm vmm_a_ = vectors_.take("a"), product_ = vectors_.take("product");

    Ymm sum(int row, int v) const { return sums_[row * vectors + v]; }
    Address long_sum(int row, int v) {
        return ptr[rsp + ymm_bytes(row * vectors + v)];
    }
    Address of_columns(size_t offset, int v) {
        return ptr[columns_ + nr_block_ + offset + ymm_bytes(v)];
    }

    void clear_c(int rows) override { clear_rows(rows, c_row_, product_); }

    // The stack holds the wide sums, and behind them the old rsp.
    void all_groups(int rows) override {
        mov(rax, rsp);
        sub(rsp, sums_bytes + ymm_bytes(1));
        and_(rsp, ~(ymm_bytes(1) - 1));
        mov(ptr[rsp + sums_bytes], rax);
        repeat(groups_, [&] {
            Label l_nr_block;
            mov(columns_, ptr[group_ + offsetof(integer_group_t, columns)]);
            xor_(nr_block_, nr_block_);
            L(l_nr_block);
            begin_sums(rows);
            all_k4_blocks(rows);
            correct(rows);
            scale(rows);
            add(nr_block_, nr_bytes);
            cmp(nr_block_, k4_bytes);
            jb(l_nr_block, T_NEAR);
            next_group();
        });
        mov(rsp, ptr[rsp + sums_bytes]);
    }

    void begin_sums(int rows) {
        if (!format_.has_short_sums) {
            clear(product_);
            for (int i = 0; i < rows * vectors; ++i)
                vmovdqa(ptr[rsp + ymm_bytes(i)], product_);
            return;
        }
        mov(parameters_row_, parameters_);
        load_columns(offsetof(integer_columns_t, shorts));
        each_row(rows, offsetof(row_group_t, short_zp), [this](int r, int v) {
            vpmaddwd(product_, vmm_a_, vmm_b_[v]);
            vmovdqa(long_sum(r, v), product_);
        });
    }

    void load_columns(size_t offset) {
        for (int v = 0; v < vectors; ++v)
            vmovups(vmm_b_[v], of_columns(offset, v));
    }

    // Broadcasts a parameter of each row before the body sees its vectors.
    template <typename body_t>
    void each_row(int rows, size_t of_row, const body_t &body) {
        for (int r = 0; r < rows; ++r) {
            vpbroadcastd(vmm_a_, ptr[parameters_row_ + of_row]);
            for (int v = 0; v < vectors; ++v)
                body(r, v);
            add(parameters_row_, parameters_pitch_);
        }
    }

    void all_k4_blocks(int rows) {
        mov(b_, ptr[group_ + offsetof(integer_group_t, k4_blocks)]);
        add(b_, nr_block_);
        load_a();
        mov(k4_blocks_, ptr[group_ + offsetof(integer_group_t, k4_count)]);
        for (const uint32_t count : chunks) {
            Label l_chunk, l_end;
            cmp(k4_blocks_, count);
            jb(l_end, T_NEAR);
            align(32);
            L(l_chunk);
            chunk(rows, count);
            sub(k4_blocks_, count);
            cmp(k4_blocks_, count);
            jae(l_chunk, T_NEAR);
            L(l_end);
        }
    }

    void chunk(int rows, uint32_t count) {
        constexpr uint32_t ones = 0x00010001;
        if (count == chunks[0] && is_by_column()) prefetch_step();
        for (uint8_t shift = 0; shift < bits_of(format_.weights); shift += 4) {
            for (uint32_t i = 0; i < count; ++i)
                k4_block(rows, i, shift);
            lengthen(rows, ones << shift);
        }
        step_k4_blocks(rows, count);
    }

    void k4_block(int rows, uint32_t i, uint8_t shift) {
        for (int v = 0; v < vectors; ++v) {
            const Ymm x = vmm_b_[v];
            load(x, ptr[b_ + i * k4_bytes + ymm_bytes(v)]);
            if (shift > 0) vpsrlw(x, x, shift);
            if (!is_nibble()) bit_and(x, x, constant(0x0f0f0f0f));
        }
        for (int r = 0; r < rows; ++r) {
            vpbroadcastd(vmm_a_, ptr[row_of_a(r) + i * 4]);
            for (int v = 0; v < vectors; ++v) {
                vpmaddubsw(i == 0 ? sum(r, v) : product_, vmm_b_[v], vmm_a_);
                if (i > 0) vpaddw(sum(r, v), sum(r, v), product_);
            }
        }
    }

    void lengthen(int rows, uint32_t factors) {
        vmovdqa(product_, constant(factors));
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < vectors; ++v) {
                vpmaddwd(sum(r, v), sum(r, v), product_);
                vpaddd(sum(r, v), sum(r, v), long_sum(r, v));
                vmovdqa(long_sum(r, v), sum(r, v));
            }
    }

    void subtract(int rows, size_t of_columns_at, size_t of_row) override {
        mov(parameters_row_, parameters_);
        each_row(rows, of_row, [&](int r, int v) {
            vpmulld(product_, vmm_a_, of_columns(of_columns_at, v));
            vmovdqa(sum(r, v), long_sum(r, v));
            vpsubd(sum(r, v), sum(r, v), product_);
            vmovdqa(long_sum(r, v), sum(r, v));
        });
    }

    void scale(int rows) {
        load_columns(offsetof(integer_columns_t, scales));
        mov(parameters_row_, parameters_);
        lea(c_row_, ptr[c_ + nr_block_]);
        for (int r = 0; r < rows; ++r) {
            vbroadcastss(vmm_a_,
                    ptr[parameters_row_ + offsetof(row_group_t, scale)]);
            for (int v = 0; v < vectors; ++v)
                add_to_c(sum(r, v), long_sum(r, v), vmm_b_[v], vmm_a_,
                        ptr[c_row_ + ymm_bytes(v)]);
            add(parameters_row_, parameters_pitch_);
            add(c_row_, c_pitch_);
        }
    }
};

} // namespace

result_t make_jit_integer_multiply_avx2(
        const integer_format_t &format, jit_integer_multiply_t &multiply) {
    multiply.isa = isa_avx2;
    multiply.most_rows = generator_t::rows_at_once;
    multiply.k4_blocks = chunks[0];
    multiply.steps = integer_panel * 4 / nr_bytes;
    return make_jit_as<generator_t>(multiply.code, format);
}

} // namespace dnnl_dequant
