#ifndef KERNELS_SKINNY_GEMM_JIT_WEIGHTED_SUM_CODE_HPP
#define KERNELS_SKINNY_GEMM_JIT_WEIGHTED_SUM_CODE_HPP

#include <algorithm>

#include "base/bits.hpp"
#include "kernels/jit/bf16_pairs.hpp"
#include "kernels/jit/prefetch_rows.hpp"
#include "kernels/skinny_gemm/jit_weights.hpp"
#include "kernels/skinny_gemm/weighted_sum.hpp"

namespace dnnl_dequant {

/// How a generated function sums the columns of some rows.
template <isa_t isa>
struct weighted_sum_plan_t {
    static constexpr bool is_avx512 = isa == isa_avx512_core;
    static constexpr int lanes = jit_isa_t<isa>::simd_w;
    static constexpr dim_t most_rows
            = is_avx512 ? weighted_sum_t::most_rows : 4;
    static constexpr int most_vectors = 8, most_sums = is_avx512 ? 24 : 8;

    weighted_sum_plan_t(const weighted_values_t &values, dim_t rows) {
        const bool are_nibbles = bits_of(values.type) <= 4;
        const int fewest = are_nibbles ? 2 : 1;
        const dim_t group = values.group_cols;
        scales_lanes = group % (fewest * lanes) != 0;
        // A lane has a nibble of each vector, which share a scale.
        const dim_t unit = are_nibbles && scales_lanes ? group : most_vectors;
        const auto fits = [&](int v) {
            return rows * v <= most_sums && values.cols % (v * lanes) == 0
                   && (!are_nibbles || unit % v == 0);
        };
        vectors = most_vectors;
        while (vectors >= fewest && !fits(vectors))
            vectors = are_nibbles ? vectors / 2 : vectors - 1;
        if (vectors < fewest) vectors = 0;
        const auto of_group = static_cast<int>(group / lanes);
        group_vectors = of_group == 0 || scales_lanes
                                ? vectors
                                : std::min(vectors, of_group & -of_group);
    }

    /// True if groups are no whole vectors, or 4-bit groups no pairs of them:
    /// each lane has a scale of its own then.
    bool scales_lanes;
    /// The vectors of columns that are summed together; 0 if none fit.
    int vectors;
    /// Returns the value of the lowest bit of the v-th nibble of a lane, where
    /// it lies. The last one is shifted down: it would have the sign bit.
    static uint32_t place_of(int v) {
        constexpr int last = 7;
        return v == last ? 1u : 1u << (4 * v);
    }

    /// How many of those vectors 4-bit numbers become at once: all, or the
    /// largest power of two that divides a group. Their sums have the order of
    /// lanes until restore_lanes_of().
    int group_vectors;
};

/// The generated code of weighted_sum_t::run(). The sums of some columns stay
/// in registers over all tokens. A nibble is looked up in a table of 16
/// numbers, which is scaled if tokens have scales; on AVX2 the table takes two
/// registers. A loaded lane has one nibble for each vector of numbers that
/// share a scale. Smaller groups give each lane a scale of its own, which
/// multiplies what was looked up. Integers on AVX2 may be multiplied in place
/// instead (weighted_values_t::in_place).
///
/// Pairs of bf16: a table has the numbers of two tokens, those of the second
/// behind those of the first. The lower word of a lane has nibbles of the first
/// token, the upper word nibbles of the second. So one permutation of words
/// looks up what one vdpbf16ps multiplies.
template <isa_t isa>
class jit_weighted_sum_code_t : public jit_weights_t {
public:
    jit_weighted_sum_code_t(const weighted_values_t &values, int rows)
        : jit_weights_t("jit_weighted_sum", isa, values.type, values.has_zp,
                  values.multiplied)
        , values_(values)
        , rows_(rows)
        , plan_(values, rows)
        , lanes_(*this, jit_isa_t<isa>::vmm_count, data_type_t::undef) {}

private:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using plan_t = weighted_sum_plan_t<isa>;
    using block_t = weighted_sum_t::block_t;
    static constexpr bool is_avx512 = plan_t::is_avx512;
    static constexpr int lanes = plan_t::lanes,
                         most_vectors = plan_t::most_vectors;
    static constexpr dim_t vector_bytes = lanes * 4, line = 64;

    const weighted_values_t values_;
    const int rows_;
    const plan_t plan_;
    const int vectors_ = plan_.vectors, group_vectors_ = plan_.group_vectors;
    dim_t first_col_ = 0;    // of the panel
    int vector_ = 0;         // the first one of the group, in the panel
    jit_lanes_t<isa> lanes_; // constants in memory
    const Reg64 at_ = general_.take("values", rax),
                sums_at_ = general_.take("sums", rcx),
                pitch_ = general_.take("pitch of sums", rdx),
                weights_pitch_ = general_.take("pitch of weights", rbx),
                tokens_ = general_.take("tokens to go", r11),
                panels_ = general_.take("panels to go", r12),
                first_ = general_.take("values of the panel", r13),
                row_ = general_.take("a row of sums, pitch of scales", r14),
                parameters_pitch_ = row_, // while there are tokens
            scales_ = general_.take("scales", rbp),
                zps_ = general_.take("zero points", r15);
    // Each register addresses three rows.
    const Reg64 weights_at_[4] {general_.take("weights of rows 0 to 2", rsi),
            general_.take("weights of rows 3 to 5", r8),
            general_.take("weights of rows 6 to 8", r9),
            general_.take("weights of rows 9 to 11", r10)};
    // More rows than AVX2 multiplies at once would take these registers.
    jit_next_rows_t next_ {*this, weights_at_[2], weights_at_[3],
            rdi + offsetof(block_t, next)};
    vector_registers_t<isa> registers_;
    using vmms_t = typename vector_registers_t<isa>::range_t;
    // For bytes the table's registers hold zero point and scale.
    const vmms_t sums_ = registers_.take("sums", rows_ *vectors_),
                 numbers_ = registers_.take("numbers", 2),
                 raw_ = registers_.take("nibbles", is_bf16() ? 2 : 1),
                 table_ = registers_.take("table", is_avx512 ? 1 : 2),
                 weights_ = registers_.take("weights", weight_count()),
                 scratch_ = registers_.take("scratch", is_bf16() ? 0 : 1),
                 constants_ = registers_.take("pairs", is_bf16() ? 3 : 0),
                 lane_scales_ = registers_.take(
                         "scales and zero points", scales_lanes() ? 2 : 0);
    const Opmask k_groups_ {4}; // jit_lanes_t has it for tails of 2 bits

    // True if the weights of all rows are in registers.
    bool keeps_weights() const {
        return rows_ <= (scales_lanes() ? 1 : is_avx512 ? 3 : 2);
    }
    int weight_count() const {
        if (is_bf16()) return 0;
        return keeps_weights() ? rows_ : 1;
    }
    bool scales_lanes() const { return plan_.scales_lanes; }

    dim_t panel_bytes() const {
        return bytes_of(values_.type, dim_t(vectors_) * lanes);
    }
    vmm_t sum(int row, int v) const { return sums_[row * vectors_ + v]; }
    RegExp weights_of(int row) const {
        return row_of(weights_at_, weights_pitch_, row);
    }

    void generate() override {
        preamble();
        mov(first_, arg(offsetof(block_t, values)));
        mov(sums_at_, arg(offsetof(block_t, sums)));
        mov(pitch_, arg(offsetof(block_t, sums_pitch)));
        mov(weights_pitch_, arg(offsetof(block_t, weights_pitch)));
        if (values_.prefetches_next) next_.begin();
        mov(panels_, static_cast<uint64_t>(values_.cols / lanes / vectors_));
        if (is_bf16()) load_constants_of_pairs();
        if (is_nibble() && scales_lanes()) {
            make_table([](const vmm_t &) {});
        } else if (!values_.by_token) {
            mov(row_, arg(offsetof(block_t, zp)));
            if (is_nibble())
                make_table([this](const vmm_t &half) {
                    if (has_zps()) subtract(half, RegExp(row_));
                });
            else if (has_zps()) vbroadcastss(table_[0], ptr[row_]);
        }
        const auto next_panel = [this] {
            panel();
            add(first_, disp(panel_bytes()));
            add(sums_at_, disp(vectors_ * vector_bytes));
        };
        if (values_.group_cols == 0) repeat(panels_, next_panel);
        // Each panel has groups of its own.
        for (; values_.group_cols > 0 && first_col_ < values_.cols;
                first_col_ += vectors_ * lanes)
            next_panel();
        postamble();
    }

    // Brings all pointers to the panel.
    void begin_panel() {
        if (scales_lanes()) {
            const dim_t last = first_col_ + dim_t(vectors_) * lanes - 1;
            const auto groups = last / values_.group_cols - first_group() + 1;
            mov(tokens_, (uint64_t(1) << groups) - 1);
            kmovw(k_groups_, tokens_.cvt32());
        }
        mov(at_, first_);
        mov(tokens_, arg(offsetof(block_t, tokens)));
        if (is_bf16()) shr(tokens_, 1);
        mov(weights_at_[0], arg(offsetof(block_t, weights)));
        if (values_.by_token) {
            mov(scales_, arg(offsetof(block_t, scales)));
            mov(zps_, arg(offsetof(block_t, zp)));
        }
        point_to_rows(weights_at_, weights_pitch_, rows_);
    }

    void panel() {
        begin_panel();
        if (values_.adds) move_sums(true);
        for (int i = 0; !values_.adds && i < sums_.count(); ++i)
            clear(sums_[i]);
        if (values_.by_token)
            mov(parameters_pitch_, arg(offsetof(block_t, parameters_pitch)));
        const int tokens = is_bf16() ? 2 : 1;
        align(32);
        repeat(tokens_, [&] {
            if (is_bf16()) two_tokens();
            else token();
            add(at_, disp(tokens * values_.pitch));
            for (int i = 0; i * 3 < rows_; ++i)
                add(weights_at_[i], 4);
            for (int i = 0; values_.by_token && i < tokens; ++i) {
                add(scales_, parameters_pitch_);
                if (has_zps()) add(zps_, parameters_pitch_);
            }
        });
        move_sums(false);
    }

    void prefetch_token(dim_t offset) {
        const auto prefetch = [this](const Address &at) { prefetch_early(at); };
        if (values_.prefetches_next)
            return next_.advance(disp(panel_bytes()), prefetch);
        for (dim_t place = 0; values_.ahead > 0 && place < panel_bytes();
                place += line)
            prefetch(ptr[at_ + disp(offset + place + values_.ahead)]);
    }

    void token() {
        prefetch_token(0);
        for (int r = 0; keeps_weights() && r < rows_; ++r)
            vbroadcastss(weights_[r], ptr[weights_of(r)]);
        for (int v = 0; v < vectors_; ++v) {
            if (begins_group(v)) begin_group(v);
            const vmm_t number = numbers_[is_avx512 ? v % 2 : 0];
            make_number(number, v);
            for (int r = 0; r < rows_; ++r) {
                if (!keeps_weights() && is_avx512) {
                    vfmadd231ps(sum(r, v), number, ptr_b[weights_of(r)]);
                    continue;
                }
                const vmm_t weight = !keeps_weights()   ? weights_[0]
                                     : values_.in_place ? scaled_weight(r)
                                                        : weights_[r];
                if (!keeps_weights()) vbroadcastss(weight, ptr[weights_of(r)]);
                vfmadd231ps(sum(r, v), number, weight);
            }
        }
    }

    // Multiplies pairs of numbers of two tokens.
    void two_tokens() {
        prefetch_token(0);
        prefetch_token(values_.pitch);
        for (int v = 0; v < vectors_; v += is_nibble() ? group_vectors_ : 1) {
            vector_ = v;
            if (is_nibble()) {
                make_table_of_two();
                pair_nibbles();
                for (int half = 0; half * 4 < group_vectors_; ++half)
                    look_up_pairs(v + half * 4, raw_[half]);
            } else {
                multiply_pairs(v, pair_of_bytes(v));
            }
        }
    }

    void multiply_pairs(int v, const vmm_t &pairs) {
        for (int r = 0; r < rows_; ++r)
            vdpbf16ps(sum(r, v), pairs, ptr_b[weights_of(r)]);
    }

    // Turns numbers into values of the first or the second token.
    void scale(const vmm_t &to, const vmm_t &numbers, int token) {
        const auto of_token = [&](const RegExp &first) {
            return token == 0 ? first : first + parameters_pitch_;
        };
        if (has_zps()) vsubps(to, numbers, ptr_b[of_token(zp_at())]);
        vmulps(to, has_zps() ? to : numbers, ptr_b[of_token(scale_at())]);
    }

    void make_table_of_two() {
        for (int token = 0; token < 2; ++token)
            scale(numbers_[token], constants_[2], token);
        vcvtne2ps2bf16(table_[0], numbers_[1], numbers_[0]);
    }

    // Loads nibbles of two tokens, up to four of each in a lane. If a lane has
    // eight of a token, the second vector has those of the upper words.
    void pair_nibbles() {
        constexpr uint8_t word_bits = 16;
        constexpr uint8_t first_where_third = 0xe4, second_where_third = 0xd8;
        load_nibbles(raw_[0], 0);
        load_nibbles(raw_[1], values_.pitch);
        const vmm_t shifted = numbers_[0], upper = numbers_[1];
        vpslld(shifted, raw_[1], word_bits);
        if (group_vectors_ < most_vectors) {
            vpord(raw_[0], raw_[0], shifted);
            return;
        }
        const Address lower_words = constant(0xffffu);
        vpsrld(upper, raw_[0], word_bits);
        vpternlogd(raw_[0], shifted, lower_words, first_where_third);
        vpternlogd(raw_[1], upper, lower_words, second_where_third);
    }

    // The bit above an index says which token's.
    void look_up_pairs(int first, const vmm_t &raw) {
        constexpr uint8_t nibble_bits = 4, byte_bits = 8;
        constexpr uint8_t masked_or_third = 0xea;
        const vmm_t index = numbers_[0], pairs = numbers_[1];
        const int count = std::min(group_vectors_, 4);
        for (int odd = 0; odd < 2; ++odd) {
            if (odd == 0) vmovdqa32(index, raw);
            else vpsrlw(index, raw, nibble_bits);
            vpternlogd(index, constants_[0], constants_[1], masked_or_third);
            for (int v = odd; v < count; v += 2) {
                if (v >= 2) vpsrlw(index, index, byte_bits);
                vpermw(pairs, index, table_[0]);
                multiply_pairs(first + v, pairs);
            }
        }
    }

    vmm_t pair_of_bytes(int v) {
        for (int token = 0; token < 2; ++token) {
            const vmm_t number = numbers_[token];
            load_bytes(number, v, token, table_[0]);
            scale(number, number, token);
        }
        vcvtne2ps2bf16(numbers_[0], numbers_[1], numbers_[0]);
        vpermw(numbers_[0], constants_[0], numbers_[0]);
        return numbers_[0];
    }

    // Nibbles need a mask, the bit that selects a token's half of the table,
    // and the numbers that they stand for. Bytes need the order of pairs.
    void load_constants_of_pairs() {
        if (!is_nibble())
            return vmovups(constants_[0], constant(order_of_bf16_pairs()));
        vmovups(constants_[0], constant(0x0f0f0f0fu));
        vmovups(constants_[1], constant(0x10100000u));
        vmovups(constants_[2], constant(nibble_numbers(values_.type)));
    }

    // True if a vector is the first one of those that share a scale, or a load.
    bool begins_group(int v) const {
        if (v == 0) return true;
        if (is_nibble()) return v % group_vectors_ == 0;
        return !scales_lanes() && group_of(v) != group_of(v - 1);
    }

    // Prepares what a group of a token's numbers shares, and loads its nibbles.
    void begin_group(int v) {
        vector_ = v;
        if (scales_lanes()) load_lane_scales();
        else if (values_.by_token) begin_token();
        if (is_nibble()) load_nibbles(raw_[0], 0);
        if (values_.in_place && is_signed()) flip_signs(raw_[0]);
    }

    dim_t group_of(int v) const {
        return values_.group_cols == 0
                       ? 0
                       : (first_col_ + dim_t(v) * lanes) / values_.group_cols;
    }
    dim_t first_group() const { return group_of(0); }
    RegExp scale_at() const { return scales_ + disp(group_of(vector_) * 4); }
    RegExp zp_at() const { return zps_ + disp(group_of(vector_) * 4); }

    // Loads what the panel's groups have. Nibbles of a lane need one of them.
    void load_lane_scales() {
        vmovups(lane_scales_[0] | k_groups_ | T_z, ptr[scale_at()]);
        if (has_zps()) vmovups(lane_scales_[1] | k_groups_ | T_z, ptr[zp_at()]);
        if (is_nibble())
            spread_lane_scales(0, lane_scales_[0], lane_scales_[1]);
    }

    // Gives each lane of a vector its scale and zero point.
    void spread_lane_scales(int v, const vmm_t &scales, const vmm_t &zps) {
        lanes_t order {};
        const dim_t numbers = is_nibble() ? vectors_ : 1; // of a lane
        for (dim_t lane = 0; lane < lanes; ++lane)
            order[static_cast<size_t>(lane)] = static_cast<uint32_t>(
                    (first_col_ + dim_t(v) * lanes + lane * numbers)
                            / values_.group_cols
                    - first_group());
        const vmm_t order_of_lanes = scratch_[0];
        vmovups(order_of_lanes, constant(order));
        vpermps(scales, order_of_lanes, lane_scales_[0]);
        if (has_zps()) vpermps(zps, order_of_lanes, lane_scales_[1]);
    }

    void begin_token() {
        if (values_.in_place) return scale_weights();
        if (is_nibble())
            return make_table([this](const vmm_t &half) { scale(half); });
        if (is_avx512) return;
        if (has_zps()) vbroadcastss(table_[0], ptr[zp_at()]);
        vbroadcastss(table_[1], ptr[scale_at()]);
    }

    // Loads a token's zero point and scale, and multiplies the weights that are
    // in registers by the scale.
    void scale_weights() {
        if (has_zps()) vbroadcastss(table_[0], ptr[zp_at()]);
        if (has_zps() && is_signed())
            vaddps(table_[0], table_[0], constant(bits_of_f32(bias())));
        vbroadcastss(table_[1], ptr[scale_at()]);
        for (int r = 0; keeps_weights() && r < rows_; ++r)
            vmulps(scaled_weight(r), weights_[r], table_[1]);
    }
    vmm_t scaled_weight(int row) const {
        return row == 0 ? scratch_[0] : numbers_[1];
    }
    // The sign bit of a signed number is flipped, which adds its value.
    float bias() const { return static_cast<float>(sign_bit_of(values_.type)); }
    void flip_signs(const vmm_t &raw) {
        constexpr uint32_t all_nibbles = 0x11111111u;
        vpxor(raw, raw, constant(sign_bit_of(values_.type) * all_nibbles));
    }

    // Converts the v-th nibble of each lane in its place, and subtracts the
    // zero point, which is exact.
    void make_number_in_place(const vmm_t &number, int v) {
        constexpr int last = 7, last_bit = 28;
        const uint32_t place = plan_t::place_of(v);
        if (v == last) vpsrld(number, raw_[0], last_bit);
        else vpand(number, raw_[0], constant(0xfu * place));
        vcvtdq2ps(number, number);
        const auto of_place = [&](float x) {
            return constant(bits_of_f32(x * static_cast<float>(place)));
        };
        if (has_zps()) vfnmadd231ps(number, table_[0], of_place(1));
        else if (is_signed()) vsubps(number, number, of_place(bias()));
        if (!keeps_weights()) vmulps(number, number, table_[1]);
    }

    // Loads the numbers that nibbles stand for. `use(half)` makes the table of
    // them.
    template <typename use_t>
    void make_table(use_t &&use) {
        lanes_t numbers = nibble_numbers(values_.type);
        for (int half = 0; half < table_.count(); ++half) {
            vmovups(table_[half], constant(numbers));
            use(table_[half]);
            std::rotate(numbers.begin(), numbers.begin() + lanes % 16,
                    numbers.end());
        }
    }

    // Loads nibbles, one of each vector to a lane.
    void load_nibbles(const vmm_t &raw, dim_t offset) {
        const dim_t group
                = bytes_of(values_.type, dim_t(vector_) * lanes) + offset;
        const Address from = ptr[at_ + disp(group)];
        const Xmm quarter(raw.getIdx());
        // Two vectors of AVX2 have four bytes of 2 bits, of AVX-512 eight.
        const bool is_short = has_two_bits() && group_vectors_ == 2;
        if (is_short && is_avx512) vmovq(quarter, from);
        else if (is_short) vmovd(quarter, from);
        spread_nibbles(raw,
                is_short ? static_cast<const Operand &>(quarter) : from, 32,
                most_vectors / group_vectors_, numbers_[0]);
    }

    void make_number(const vmm_t &number, int v) {
        if (values_.in_place)
            return make_number_in_place(number, v % group_vectors_);
        if (is_nibble()) {
            look_up(number, v % group_vectors_);
            if (scales_lanes())
                scale_lanes(number, lane_scales_[0], lane_scales_[1]);
            return;
        }
        load_bytes(number, v, 0, scratch_[0]);
        if (scales_lanes()) {
            spread_lane_scales(v, table_[0], raw_[0]);
            scale_lanes(number, table_[0], raw_[0]);
        } else if (values_.by_token) scale(number);
        else if (has_zps()) vsubps(number, number, table_[0]);
    }

    void load_bytes(
            const vmm_t &number, int v, int token, const vmm_t &scratch) {
        const dim_t from = v * lanes + token * values_.pitch;
        load_f32(number, ptr[at_ + disp(from)], scratch);
        multiply_by_unit(number);
    }

    // Looks up the v-th nibble of each lane.
    void look_up(const vmm_t &number, int v) {
        constexpr int last = 7;
        const auto bits
                = [](int nibbles) { return static_cast<uint8_t>(4 * nibbles); };
        const vmm_t index = is_avx512 ? number : numbers_[1];
        if (v > 0) vpsrld(index, raw_[0], bits(v));
        const vmm_t from = v > 0 ? index : raw_[0];
        vpermps(number, from, table_[0]);
        if (is_avx512) return;
        // The highest bit of an index selects the half of the table.
        const vmm_t upper = scratch_[0];
        vpermps(upper, from, table_[table_.count() - 1]);
        if (v < last) vpslld(index, raw_[0], bits(last - v));
        vblendvps(number, number, upper, v < last ? index : raw_[0]);
    }

    // Turns numbers into a token's values. On AVX2 the zero point and the scale
    // of bytes are in registers.
    void scale(const vmm_t &numbers) {
        if (!is_avx512 && !is_nibble())
            return scale_lanes(numbers, table_[1], table_[0]);
        if (has_zps()) subtract(numbers, zp_at());
        if (is_avx512) {
            vmulps(numbers, numbers, ptr_b[scale_at()]);
        } else {
            vbroadcastss(numbers_[0], ptr[scale_at()]);
            vmulps(numbers, numbers, numbers_[0]);
        }
        round(numbers);
    }

    void scale_lanes(
            const vmm_t &numbers, const vmm_t &scales, const vmm_t &zps) {
        if (has_zps()) vsubps(numbers, numbers, zps);
        vmulps(numbers, numbers, scales);
        round(numbers);
    }

    void round(const vmm_t &numbers) {
        lanes_.round(numbers, values_.rounded,
                values_.are_ordinary ? float_rounding_t::ordinary
                                     : float_rounding_t::with_nan,
                scratch_[0]);
    }

    // Subtracts from each number the one at an address.
    void subtract(const vmm_t &numbers, const RegExp &one) {
        if (is_avx512) return vsubps(numbers, numbers, ptr_b[one]);
        vbroadcastss(numbers_[0], ptr[one]);
        vsubps(numbers, numbers, numbers_[0]);
    }

    void move_sums(bool loads) {
        mov(row_, sums_at_);
        for (int r = 0; r < rows_; ++r) {
            for (int v = 0; v < vectors_; ++v)
                move(sum(r, v), ptr[row_ + disp(v * vector_bytes)], loads);
            add(row_, pitch_);
        }
    }
};

} // namespace dnnl_dequant

#endif
