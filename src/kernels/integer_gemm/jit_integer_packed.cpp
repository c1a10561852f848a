// A few rows of bytes times weights that stay packed. Nibbles become bytes in
// registers, once for up to twelve rows. The k4 blocks of the rows are
// interleaved, so that the multiplication broadcasts each. An nr block of 32
// columns at a time is multiplied down a group. One more row, all ones, gives
// the sums of the weights.
//
//   dot = sum a b - zp_a sum_b - zp_b sum_a      all of it modulo 2^32
//   c += f32(dot) * scale of b * scale of a
// If sums fit 16 bits, one vpmaddwd makes both corrections.
//
// The lower nibbles of [K,N] weights are the even columns of an nr block; the
// columns are put in order when the group ends. The lower nibbles of [N,K]
// weights are four of depth and the upper ones the next four.

#include "kernels/integer_gemm/jit_integer_tile.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int rows_at_once = 12, vectors = 2;

class generator_t : public jit_integer_tile_t {
public:
    explicit generator_t(const integer_format_t &format)
        : jit_integer_tile_t("jit_integer_packed", format, rows_at_once, r11) {}

private:
    const Reg64 columns_ = general_.take("columns of the group", r9),
                nr_block_
                = general_.take("bytes of columns that are done", r14),
                parameters_row_ = general_.take("parameters of a row", rbx);
    const Reg64 &c_row_ = k4_blocks_; // outside the loop over k4 blocks
    vector_registers_t<isa_avx512_core> vectors_;
    const vmm_range_t<Zmm> sums_
            = vectors_.take("sums", vectors *rows_at_once),
            sums_of_weights_ = vectors_.take("sums of weights", vectors),
            low_ = vectors_.take("lower nibbles, zero points", vectors),
            high_ = vectors_.take("upper nibbles, scales", vectors);
    const Zmm mask_ = vectors_.take("mask, a correction"),
              of_row_ = vectors_.take("a row's parameter");
    // When a group ends these registers hold its zero points and scales.
    const vmm_range_t<Zmm> &zps_ = low_, &scales_ = high_;
    const Zmm &x_ = mask_;
    bool sums_weights_ = format_.has_src_zps; // in the code that is generated

    Zmm sum(int row, int v) const { return sums_[row * vectors + v]; }

    void clear_c(int rows) override { clear_rows(rows, c_row_, sums_[0]); }

    void all_groups(int rows) override {
        repeat(groups_, [&] {
            Label l_nr_block;
            mov(columns_, ptr[group_ + offsetof(integer_group_t, columns)]);
            xor_(nr_block_, nr_block_);
            L(l_nr_block);
            begin_nr_block(rows);
            multiply_nr_block(rows);
            if (can_cut_group(format_))
                choose_by(offsetof(integer_tile_t, ends),
                        [&] { end_nr_block(rows); }, [&] { keep_sums(rows); });
            else end_nr_block(rows);
            add(nr_block_, zmm_bytes(vectors));
            cmp(nr_block_, k4_bytes);
            jl(l_nr_block, T_NEAR);
            next_group();
        });
    }

    // The first rows make the sums of weights and keep them for the others.
    void multiply_nr_block(int rows) {
        if (!format_.keeps_sums) return all_k4_blocks(rows);
        const auto known = [&] {
            for_sums_of_weights([this](const Zmm &sum, const Address &at) {
                vmovups(sum, at);
            });
            sums_weights_ = false;
            all_k4_blocks(rows);
            sums_weights_ = true;
        };
        const auto unknown = [&] {
            all_k4_blocks(rows);
            for_sums_of_weights([this](const Zmm &sum, const Address &at) {
                vmovups(at, sum);
            });
        };
        choose_by(offsetof(integer_tile_t, has_sums), known, unknown);
    }

    void begin_nr_block(int rows) {
        mov(a_, ptr[group_ + offsetof(integer_group_t, place)]);
        shr(a_, 2);
        imul(a_, a_pitch_);
        add(a_, arg(offsetof(integer_tile_t, a)));
        mov(b_, nr_block_);
        if (has_two_columns()) shr(b_, 1);
        add(b_, ptr[group_ + offsetof(integer_group_t, k4_blocks)]);
        if (can_cut_group(format_))
            choose_by(offsetof(integer_tile_t, continues),
                    [&] { continue_sums(rows); }, [&] { clear_sums(rows); });
        else clear_sums(rows);
        if (is_nibble()) vmovups(mask_, constant(0x0f0f0f0f));
    }

    void clear_sums(int rows) {
        for (int v = 0; v < vectors; ++v) {
            for (int r = 0; r < rows; ++r)
                clear(sum(r, v));
            clear(sums_of_weights_[v]);
        }
    }

    // Between the parts of a group c has its sums, and the columns have those
    // of the weights, all in the order in which they are computed.
    void continue_sums(int rows) {
        clear(mask_);
        for_sums(rows, [&](const Zmm &sum, const Address &at) {
            vmovups(sum, at);
            vmovups(at, mask_);
        });
    }
    void keep_sums(int rows) {
        for_sums(rows,
                [&](const Zmm &sum, const Address &at) { vmovups(at, sum); });
    }
    template <typename body_t>
    void for_sums(int rows, const body_t &body) {
        lea(c_row_, ptr[c_ + nr_block_]);
        for (int r = 0; r < rows; ++r) {
            for (int v = 0; v < vectors; ++v)
                body(sum(r, v), ptr[c_row_ + zmm_bytes(v)]);
            add(c_row_, c_pitch_);
        }
        if (format_.has_src_zps) for_sums_of_weights(body);
    }
    template <typename body_t>
    void for_sums_of_weights(const body_t &body) {
        for (int v = 0; v < vectors; ++v)
            body(sums_of_weights_[v],
                    of_columns(offsetof(integer_columns_t, sums), v));
    }

    void all_k4_blocks(int rows) {
        mov(k4_blocks_, ptr[group_ + offsetof(integer_group_t, k4_count)]);
        if (has_two_depths()) shr(k4_blocks_, 1);
        align(32);
        repeat(k4_blocks_, [&] {
            // Every fourth k4 block prefetches a step of the next weights.
            Label l_prefetched;
            test(k4_blocks_, has_two_depths() ? 1 : 3);
            jnz(l_prefetched);
            prefetch_step();
            if (!is_nibble()) prefetch_step();
            L(l_prefetched);
            step(rows);
            add(b_, zmm_bytes(has_two_columns() ? 2 : 4));
        });
    }

    void step(int rows) {
        for (int v = 0; v < (has_two_columns() ? 1 : 2); ++v) {
            vmovups(low_[v], ptr[b_ + zmm_bytes(v)]);
            if (is_nibble()) split(low_[v], high_[v], mask_);
        }
        multiply(rows, low_[0], has_two_columns() ? high_[0] : low_[1]);
        if (has_two_depths()) multiply(rows, high_[0], high_[1]);
    }

    // Multiplies a k4 block of all rows by 32 columns.
    void multiply(int rows, const Zmm &first, const Zmm &second) {
        for (int r = 0; r < rows; ++r) {
            const Address a = ptr_b[a_ + static_cast<size_t>(r) * 4];
            vpdpbusd(sum(r, 0), first, a);
            vpdpbusd(sum(r, 1), second, a);
        }
        if (sums_weights_) {
            vpdpbusd(sums_of_weights_[0], first, constant(0x01010101));
            vpdpbusd(sums_of_weights_[1], second, constant(0x01010101));
        }
        add(a_, a_pitch_);
    }

    void end_nr_block(int rows) {
        if (has_two_columns()) restore_order(rows);
        load_columns();
        mov(parameters_row_, parameters_);
        lea(c_row_, ptr[c_ + nr_block_]);
        for (int r = 0; r < rows; ++r) {
            correct(r);
            vbroadcastss(of_row_, of_row(offsetof(row_group_t, scale)));
            for (int v = 0; v < vectors; ++v)
                add_to_c(sum(r, v), sum(r, v), scales_[v], of_row_,
                        ptr[c_row_ + zmm_bytes(v)]);
            add(parameters_row_, parameters_pitch_);
            add(c_row_, c_pitch_);
        }
    }

    void restore_order(int rows) {
        const Zmm &first = mask_, &second = of_row_, &even = low_[0];
        load_interleaving(first, second);
        const auto interleave = [&](const Zmm &a, const Zmm &b) {
            vmovdqa32(even, a);
            vpermt2d(a, first, b);
            vpermt2d(even, second, b);
            vmovdqa32(b, even);
        };
        for (int r = 0; r < rows; ++r)
            interleave(sum(r, 0), sum(r, 1));
        if (format_.has_src_zps)
            interleave(sums_of_weights_[0], sums_of_weights_[1]);
    }

    Address of_columns(size_t offset, int v) {
        return ptr[columns_ + nr_block_ + (offset + zmm_bytes(v))];
    }
    Address of_row(size_t offset) { return ptr[parameters_row_ + offset]; }

    // Short sums are packed with zero points; both are negated.
    void load_columns() {
        for (int v = 0; v < vectors; ++v) {
            const Zmm zps = zps_[v];
            vmovups(scales_[v],
                    of_columns(offsetof(integer_columns_t, scales), v));
            vmovups(zps, of_columns(offsetof(integer_columns_t, zps), v));
            if (!format_.has_short_sums) continue;
            vpslld(zps, zps, 16);
            bit_and(x_, sums_of_weights_[v], constant(0xffff));
            bit_or(zps, zps, x_);
            clear(x_);
            vpsubw(zps, x_, zps);
        }
    }

    void correct(int row) {
        const bool is_short = format_.has_short_sums;
        if (is_short)
            vpbroadcastd(of_row_, of_row(offsetof(row_group_t, short_zp)));
        for (int v = 0; v < vectors; ++v) {
            const Zmm x = sum(row, v);
            if (is_short) {
                vpmaddwd(x_, of_row_, zps_[v]);
                vpaddd(x, x, x_);
            } else {
                subtract_zps(
                        x, x_, zps_[v], sums_of_weights_[v], parameters_row_);
            }
        }
    }
};

} // namespace

result_t make_jit_integer_packed(
        const integer_format_t &format, jit_integer_multiply_t &multiply) {
    multiply.isa = isa_avx512_core_vnni;
    multiply.most_rows = rows_at_once;
    multiply.k4_blocks = 2;
    multiply.steps = 1;
    return make_jit_as<generator_t>(multiply.code, format);
}

} // namespace dnnl_dequant
