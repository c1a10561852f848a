#ifndef KERNELS_SKINNY_GEMM_JIT_K_LANES_AVX2_CODE_HPP
#define KERNELS_SKINNY_GEMM_JIT_K_LANES_AVX2_CODE_HPP

#include <algorithm>

#include "base/bits.hpp"
#include "kernels/skinny_gemm/jit_byte_tables.hpp"
#include "kernels/skinny_gemm/jit_k_lanes_code.hpp"

namespace dnnl_dequant {

constexpr int most_k_lanes_avx2_rows = 4, most_k_lanes_avx2_cols = 2;

/// The order in which AVX2 goes over weights. Their depth is cut into chunks of
/// one scale and zero point each: groups, or parts of the only group. Groups of
/// nibbles that end within a step make a chunk by twos.
struct jit_k_lanes_avx2_shape_t {
    explicit jit_k_lanes_avx2_shape_t(const skinny_weights_t &weights) {
        // A chunk of the only group is short enough for its src, or transposed
        // weights, to stay in L1.
        const dim_t longest_part = weights.by_column ? 1024 : 256;
        const bool is_nibble = weights.are_nibbles();
        step = is_nibble ? 32 : 16;
        k_chunk = weights.group >= weights.depth ? longest_part : weights.group;
        scales_sums = weights.rounded == data_type_t::f32;
        planes = is_nibble && weights.rounded == data_type_t::f16 ? 4 : 2;
        if (is_nibble && k_chunk % step != 0) {
            groups = 2;
            k_chunk *= groups;
            planes = 2;
        }
        has_four_sums = !scales_sums && groups == 1 && planes == 2;
        // Tables of two bytes pay in longer groups.
        const bool is_short = weights.group <= step;
        if (is_nibble && groups == 1 && weights.are_ordinary
                && is_integer(weights.type) && (is_short || planes > 2)) {
            rounds_each = true;
            planes = 2;
        }
        chunks = weights.depth / k_chunk;
        rest = weights.depth % k_chunk;
    }

    dim_t step;            // elements
    dim_t k_chunk, chunks; // elements of a whole chunk, and how many there are
    dim_t rest;            // elements behind the last whole chunk
    int groups = 1;        // of a chunk
    bool scales_sums;      // a chunk's sums are scaled, not the weights
    bool rounds_each = false; // nibbles, which are not looked up
    int planes; // bytes of a weight's f32 that are not always zero
    bool has_four_sums;

    /// Returns the elements at the end that are not a whole step.
    dim_t tail() const { return rest % step; }
    /// Return the most rows of one generated function, and its columns for a
    /// number of rows.
    int most_rows() const { return planes > 2 ? 2 : 4; }
    int cols(int rows) const {
        return planes > 2 || rows > 2 || groups > 1 || rounds_each ? 1 : 2;
    }

    /// Returns the sums of a row and column that the vectors of a step take
    /// turns at. A multiply-add waits for the one before it, and one row has
    /// registers for four. Blocks of ordinary weights have the same order of
    /// sums as others: threads decide which columns a block has.
    int sums_each(int rows) const { return rows == 1 && has_four_sums ? 4 : 2; }

    dim_t half_step() const { return step / 2; }
    /// Returns which of a chunk's groups has that element.
    int group_of(dim_t element) const {
        return static_cast<int>(element * groups / k_chunk);
    }
};

/// The base of a generator for AVX2: it decodes weights and multiplies them.
///
/// A nibble that the graph rounds is looked up byte by byte in a table of the
/// 16 numbers it may stand for. The highest byte and the next one, side by
/// side, are the upper half of an f32. The lower half is zero where weights are
/// rounded to bf16; otherwise it has two tables of its own. A vector of weights
/// costs two shuffles, and one or two more operations.
///
/// So is one of a float. An integer that is not rounded is put into the
/// significand of a power of two, as in the AVX2 kernel with N lanes. Then a
/// chunk's sums are scaled. Tables would serve too few steps of a chunk that
/// has two groups: integers are scaled and rounded one by one there.
class jit_k_lanes_avx2_weights_t : public jit_k_lanes_t<isa_avx2> {
protected:
    static constexpr int simd_w = jit_isa_t<isa_avx2>::simd_w;

    jit_k_lanes_avx2_weights_t(const skinny_weights_t &weights, int rows)
        : jit_k_lanes_t("jit_k_lanes_avx2", weights, rows,
                  jit_k_lanes_avx2_shape_t(weights).cols(rows))
        , shape_(weights)
        , lanes_(*this, jit_isa_t<isa_avx2>::vmm_count, data_type_t::undef) {}

    bool looks_up() const {
        return is_nibble() && shape_.groups == 1 && !shape_.rounds_each
               && (!shape_.scales_sums || w_.type == data_type_t::f4_e2m1);
    }
    uint32_t parameter_bytes(int cols) const {
        const dim_t stride = w_.by_column ? w_.groups() : 1;
        return disp(cols * stride * 4);
    }
    Address of_column(const Reg64 &parameters, int col) {
        return ptr[parameters + parameter_bytes(col)];
    }
    Address of_group(const Reg64 &parameters, int group) {
        return ptr[parameters + disp(4 * group)];
    }
    dim_t step_bytes() const { return bytes_of(w_.type, shape_.step); }
    int sums_each() const { return shape_.sums_each(rows_); }
    Ymm sum(int row, int col, int i) const {
        return sums_[(row * cols_ + col) * sums_each() + i];
    }

    /// Nibbles without lookups have free registers for constants.
    void keep_constants() {
        for (const lanes_t &lanes : {nibble_shifts(), mask(0), mask(1),
                     upper_halves(0), upper_halves(1)})
            if (vectors_.free_count() > 0)
                kept_.hold(lanes, vectors_.take("a constant"));
        kept_.load();
    }

    /// Makes a table of column c, or loads its scale and zero point.
    void load_parameters(int c) {
        if (looks_up()) return make_table(c);
        if (is_nibble()) load_zps(c, of_column(zps_, c));
        else if (has_zps()) vbroadcastss(zp(c), of_column(zps_, c));
        if (shape_.scales_sums) return;
        vbroadcastss(scale(c), of_column(scales_, c));
        if (w_.are_ordinary)
            vmulps(scale(c), scale(c),
                    constant(bits_of_f32(lanes_.factor_to_round(w_.rounded))));
    }

    /// Multiplies the next step of column c: `tail` elements, or all if that is
    /// 0.
    void step(int c, int tail) {
        if (is_nibble() && !looks_up()) return decode_nibbles(c);
        if (looks_up()) look_up(c, tail);
        for (int v = 0; v < vectors(); ++v) {
            if (is_nibble()) join_halves(v);
            else decode_bytes(c, v, tail);
            multiply(weight_, c, v);
        }
    }

    /// Loads the zero point of one of a chunk's two groups.
    void load_parameters_of_group(int group) {
        load_zps(group, of_group(zps_, group));
    }

    /// Multiplies the next step of the column, whose first element is the
    /// chunk's element `first`; the chunk ends at element `end`. Each group has
    /// a sum of its own.
    void step_of_two_groups(dim_t first, dim_t end) {
        load_nibbles(0);
        const int halves = first + shape_.half_step() < end ? 2 : 1;
        for (int i = 0; i < 2; ++i) {
            cut_out(i);
            for (int half = 0; half < halves; ++half) {
                const int group
                        = shape_.group_of(first + half * shape_.half_step());
                kept_.with(upper_halves(i), [&](const Operand &upper) {
                    if (half == 0) vpunpcklwd(weight_, scratch_, upper);
                    else vpunpckhwd(weight_, scratch_, upper);
                });
                vsubps(weight_, weight_, table(group, i));
                if (!shape_.scales_sums) {
                    vbroadcastss(spare_[0], of_group(scales_, group));
                    scale_and_round(weight_, spare_[0], spare_[0]);
                }
                multiply(weight_, 2 * half + i,
                        [&](int r) { return sum(r, 0, group); });
            }
        }
    }

    const jit_k_lanes_avx2_shape_t shape_;
    int unrolled_ = 0; // the step's index in an unrolled loop

    const Reg64 columns_[most_k_lanes_avx2_cols]
            = {general_.take("column 0", rax), general_.take("column 1", rcx)};
    const Reg64 rows_of_a_[most_k_lanes_avx2_rows]
            = {general_.take("row 0", rsi), general_.take("row 1", r9),
                    general_.take("row 2", r10), general_.take("row 3", rbx)};
    const vmms_t sums_ = vectors_.take("sums", sum_count());
    const Ymm scratch_ = vectors_.take_at("scratch", 14, 1)[0];

private:
    bool has_lower_halves() const { return shape_.planes > 2; }
    int sum_count() const { return rows_ * cols_ * sums_each(); }
    int table_count() const {
        return std::max(cols_, shape_.groups) * shape_.planes
               + (shape_.rounds_each ? 1 : 0);
    }
    int vectors() const { return static_cast<int>(shape_.step) / simd_w; }

    // The registers of a column depend on the weights. With lookups they are
    // tables of the bytes 2, 3, 0 and 1 of numbers. Nibbles without lookups
    // have zero points at bits 0 and 8, those of two groups instead of columns.
    // Bytes have a zero point and a scale.
    const vmms_t tables_ = vectors_.take_at("tables", 8, table_count());
    const Ymm index_ = vectors_.take_at("index", 12, 1)[0],
              weight_ = vectors_.take_at("weight", 13, 1)[0];
    const vmms_t first_upper_
            = vectors_.take_at("upper halves", 15, looks_up() ? 1 : 0),
            halves_ = vectors_.take_at("halves", 4, has_lower_halves() ? 4 : 0),
            spare_ = vectors_.take_at("spare", 15,
                    shape_.groups > 1 || shape_.rounds_each ? 1 : 0);
    jit_lanes_t<isa_avx2> lanes_;
    jit_constants_t<isa_avx2> &kept_ = lanes_.constants();

    Ymm table(int col, int i) const { return tables_[2 * col + i]; }
    Ymm zp(int col) const { return table(col, 0); }
    Ymm scale(int col) const { return table(col, is_nibble() ? 2 : 1); }
    // Each has a half of the numbers of sixteen nibbles.
    Ymm upper(int i) const {
        if (has_lower_halves()) return halves_[i];
        return i == 0 ? first_upper_[0] : scratch_;
    }
    Ymm lower(int i) const { return halves_[2 + i]; }

    Address next_weights(int c, int bytes = 0) {
        return ptr[columns_[c] + disp(step_bytes() * unrolled_ + bytes)];
    }
    void multiply(const Ymm &number, int c, int v) {
        multiply(number, v, [&](int r) { return sum(r, c, v % sums_each()); });
    }
    template <typename sum_of_row_t>
    void multiply(const Ymm &number, int v, sum_of_row_t &&sum_of_row) {
        const uint32_t at = disp((unrolled_ * vectors() + v) * simd_w * 4);
        for (int r = 0; r < rows_; ++r)
            vfmadd231ps(sum_of_row(r), number, ptr[rows_of_a_[r] + at]);
    }

    // Nibbles without lookups are cut out at bit 0 and at bit 8 of a word, in
    // the significands of 2^23 and 2^15.
    static lanes_t mask(int i) { return same_lanes(0x000f000fu << (8 * i)); }
    static uint32_t upper_half(int i) { return i == 0 ? 0x4b00 : 0x4700; }
    static lanes_t upper_halves(int i) {
        return same_lanes(upper_half(i) * 0x00010001u);
    }

    // Indices beyond a step's first `tail` get their highest bit set, which
    // gives zeros.
    static lanes_t indices_beyond(int tail) {
        lanes_t lanes {};
        for (int i = 0; i < 32; ++i) {
            const int element = i % 16 * 2 + i / 16;
            if (element >= tail)
                lanes[static_cast<size_t>(i / 4)] |= 0x80u << (i % 4 * 8);
        }
        return lanes;
    }

    // Zero points carry the same bias as the numbers: 2^23 or 2^15, and the 8
    // that flipping a sign adds.
    void load_zps(int c, const Address &zps) {
        const uint32_t sign = w_.sign_bit();
        for (int i = 0; i < 2; ++i)
            vmovups(table(c, i),
                    constant(upper_half(i) << 16 | sign << (8 * i)));
        if (!has_zps()) return;
        vbroadcastss(scratch_, zps);
        for (int i = 0; i < 2; ++i)
            vaddps(table(c, i), table(c, i), scratch_);
    }

    // A table has the same byte of sixteen numbers, in both lanes.
    void make_table(int c) {
        for (const Ymm &v : {index_, weight_}) {
            vmovups(v, constant(unpacked_numbers(w_.type, v == weight_)));
            if (has_zps()) {
                vbroadcastss(scratch_, of_column(zps_, c));
                vsubps(v, v, scratch_);
            }
            if (!shape_.scales_sums) {
                vbroadcastss(scratch_, of_column(scales_, c));
                scale_and_round(v, scratch_, scratch_);
            }
            vpshufb(v, v, constant(bytes_apart()));
        }
        constexpr uint8_t even = 0x88, odd = 0xdd;
        for (int i = 0; i < shape_.planes; i += 2) {
            if (i == 0) vpunpckhdq(scratch_, index_, weight_);
            else vpunpckldq(scratch_, index_, weight_);
            vpermq(table(c, i), scratch_, even);
            vpermq(table(c, i + 1), scratch_, odd);
        }
    }

    // The scale is the one that load_parameters() left.
    void scale_and_round(const Ymm &v, int c, const Ymm &spare) {
        if (!w_.are_ordinary) return scale_and_round(v, scale(c), spare);
        vmulps(v, v, scale(c));
        lanes_.round_multiplied(v, w_.rounded, spare);
    }
    void scale_and_round(const Ymm &v, const Ymm &scale, const Ymm &spare) {
        vmulps(v, v, scale);
        lanes_.round(v, w_.rounded, weights_rounding(w_), spare);
    }

    // Loads a step's nibbles, the sign's bit flipped, and parts the halves.
    void load_nibbles(int c) {
        load_in_both_lanes(index_, next_weights(c), scratch_);
        if (is_signed())
            vpxor(index_, index_, constant(w_.sign_bit() * 0x11111111u));
        kept_.with(nibble_shifts(),
                [&](const Operand &by) { vpsrlvd(index_, index_, by); });
    }
    void cut_out(int i) {
        kept_.with(mask(i),
                [&](const Operand &bits) { vpand(scratch_, index_, bits); });
    }

    // Elements beyond a tail are multiplied by zeros of src.
    void decode_nibbles(int c) {
        load_nibbles(c);
        for (int i = 0; i < 2; ++i) {
            cut_out(i);
            kept_.with(upper_halves(i), [&](const Operand &half) {
                vpunpcklwd(weight_, scratch_, half);
                vpunpckhwd(scratch_, scratch_, half);
            });
            multiply_difference(weight_, c, i, i);
            multiply_difference(scratch_, c, i, 2 + i);
        }
    }
    // The number was cut out at place i.
    void multiply_difference(const Ymm &number, int c, int i, int v) {
        vsubps(number, number, table(c, i));
        if (shape_.rounds_each) scale_and_round(number, c, spare_[0]);
        multiply(number, c, v);
    }

    void look_up(int c, int tail) {
        load_in_both_lanes(index_, next_weights(c), scratch_);
        vpsrlvd(index_, index_, constant(nibble_shifts()));
        vpand(index_, index_, constant(0x0f0f0f0fu));
        if (tail != 0) vpor(index_, index_, constant(indices_beyond(tail)));
        unpack(table(c, 0), table(c, 1), upper(0), upper(1));
        if (has_lower_halves())
            unpack(table(c, 2), table(c, 3), lower(0), lower(1));
    }

    void unpack(const Ymm &low_bytes, const Ymm &high_bytes, const Ymm &first,
            const Ymm &second) {
        vpshufb(weight_, low_bytes, index_);
        vpshufb(scratch_, high_bytes, index_);
        vpunpcklbw(first, weight_, scratch_);
        vpunpckhbw(second, weight_, scratch_);
    }

    // Makes f32 of the lower or the upper halves of lanes.
    void join_halves(int v) {
        constexpr uint8_t even = 0x55, odd = 0xaa;
        if (v % 2 == 0) {
            vpslld(weight_, upper(v / 2), 16);
            if (has_lower_halves())
                vpblendw(weight_, weight_, lower(v / 2), even);
        } else if (has_lower_halves()) {
            vpsrld(weight_, lower(v / 2), 16);
            vpblendw(weight_, weight_, upper(v / 2), odd);
        } else {
            vpand(weight_, upper(v / 2), constant(0xffff0000u));
        }
    }

    void decode_bytes(int c, int v, int tail) {
        load_bytes(weight_, next_weights(c, v * simd_w), zp(c), scratch_);
        multiply_by_unit(weight_);
        if (!shape_.scales_sums) scale_and_round(weight_, c, scratch_);
        if (tail == 0) return;
        lanes_t within {};
        for (int i = 0; i < std::min(tail - v * simd_w, simd_w); ++i)
            within[static_cast<size_t>(i)] = ~0u;
        vandps(weight_, weight_, constant(within));
    }
};

} // namespace dnnl_dequant

#endif
