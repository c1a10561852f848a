// kernels/matmul: few rows, on values whose sums are exact.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/isa.hpp"
#include "kernels/on_machine.hpp"
#include "kernels/skinny_gemm_case.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

// A sample where the environment asks for no more.
void check_skinny_gemm(const skinny_gemm_case_t &c) {
    static dim_t number;
    if (number++ % one_in(c.weights.type)) return;
    std::shared_ptr<const skinny_gemm_t> skinny_gemm;
    std::string refusals;
    const result_t made = make_skinny_kernel(c.weights, c.rows, c.isa,
            skinny_gemm, [&](const std::string &name, const std::string &why) {
        refusals += name + ": " + why + "\n";
    });
    // There is more by blocks: skinny_gemm_of_avx2 says what.
    if (!made.ok() && c.isa == isa_avx2) return;
    ASSERT_TRUE(made.ok()) << made.reason << refusals;
    SCOPED_TRACE(testing::Message()
                 << to_string(c.weights.type) << ", rounded to "
                 << to_string(c.weights.rounded) << ", multiplied as "
                 << to_string(c.weights.multiplied) << ", ordinary "
                 << c.weights.are_ordinary << ", zps "
                 << to_string(c.weights.zps.type) << ", by column "
                 << c.weights.by_column << ", " << c.rows << " rows, "
                 << c.weights.depth << " x " << c.weights.cols << ", groups of "
                 << c.weights.group << " x " << c.weights.col_group);
    skinny_gemm_case_run_t(c).check(*skinny_gemm);
}

class skinny_gemm : public testing::TestWithParam<std::tuple<isa_t, t>> {
protected:
    void SetUp() override {
        if (!has(isa_of_machine(), isa()))
            GTEST_SKIP() << "this machine lacks the instructions";
    }

    static isa_t isa() { return std::get<0>(GetParam()); }
    static t type() { return std::get<1>(GetParam()); }
    static bool is_avx2() { return isa() == isa_avx2; }
    static t multiplied() {
        return has(isa(), isa_avx512_core_bf16) ? t::bf16 : t::f32;
    }
    // Who multiplies bf16 is not asked to where the graph rounds to f16.
    static std::vector<t> roundings() {
        if (multiplied() == t::bf16) return {t::bf16, t::f32};
        return {t::bf16, t::f32, t::f16};
    }
    // The table in kernels.def says so; AVX2's kernels take fewer. Pairs of
    // [K,N] rows are not cut.
    static dim_t most_rows(bool by_column, dim_t depth, dim_t group,
            dim_t col_group, dim_t cols) {
        if (multiplied() == t::f32) return 12;
        const bool has_pairs = depth % 2 == 0 && (group == 1 || group % 2 == 0);
        if (!by_column && (col_group == 1 || !has_pairs))
            return skinny_gemm_t::most_f32_rows_of_bf16;
        if (col_group == 1) return 24;
        const bool transposes_dwords = bits_of(type()) == 4
                                       && col_group % 32 == 0 && cols % 32 == 0
                                       && (group == 1 || group % 8 == 0);
        return by_column && bits_of(type()) <= 4 && !transposes_dwords ? 8 : 12;
    }
    // Returns one row by square weights of one group.
    static skinny_gemm_case_t square(bool by_column, t scales, t rounded) {
        skinny_gemm_case_t c;
        skinny_weights_t &w = c.weights;
        w.type = type();
        w.by_column = by_column;
        w.depth = w.cols = w.pitch = w.group = 128;
        w.scales.type = scales;
        w.rounded = rounded;
        w.multiplied = multiplied();
        place_parameters(w);
        return c;
    }
    // Kernels for columns that share scales take no 2 bits by [N,K] on AVX2.
    static void expect_is_made(const skinny_gemm_case_t &c,
            const std::shared_ptr<const skinny_gemm_t> &made) {
        const skinny_weights_t &w = c.weights;
        const bool is_left = is_avx2() && w.col_group > 1 && w.by_column
                             && w.have_two_bits();
        EXPECT_EQ(made == nullptr, is_left);
    }
    // Gives the weights more depth than src has in L1. Returns false if there
    // is no kernel for them.
    static bool check_neighbours(skinny_gemm_case_t &c) {
        skinny_weights_t &w = c.weights;
        w.depth = 2304;
        w.pitch = w.by_column ? w.depth : w.cols;
        if (is_integer(type())) w.zps.type = t::u8;
        place_parameters(w);
        std::shared_ptr<const skinny_gemm_t> made;
        (void)make_skinny_kernel(w, c.rows, isa(), made);
        if (made == nullptr) return false;
        SCOPED_TRACE(testing::Message() << made->name() << ", " << c.rows
                                        << " rows, groups of " << w.group);
        skinny_gemm_case_run_t(c).check_neighbours(*made);
        return true;
    }
    static std::shared_ptr<const skinny_gemm_t> make(
            const skinny_gemm_case_t &c) {
        std::shared_ptr<const skinny_gemm_t> made;
        const result_t result
                = make_skinny_kernel(c.weights, c.rows, isa(), made);
        EXPECT_TRUE(result.ok()) << result.reason;
        return made;
    }
    // Checks every number of rows, with and without zero points and rounding.
    // `pitch`: bytes from row to row, or from column to column; 0: as many as
    // they have, and some more.
    void check(bool by_column, dim_t depth, dim_t cols, dim_t group,
            dim_t col_group = 1, dim_t pitch = 0) {
        const dim_t most = most_rows(
                by_column, depth, std::min(group, depth), col_group, cols);
        for (dim_t rows = 1; rows <= most; ++rows) {
            skinny_gemm_case_t c;
            c.rows = rows;
            c.isa = isa();
            skinny_weights_t &w = c.weights;
            w.type = type();
            w.by_column = by_column;
            w.depth = depth;
            w.cols = cols;
            // Rows begin with bytes.
            const dim_t unit = w.have_two_bits() ? 4 : 2;
            w.pitch = round_up(by_column ? depth : cols, unit)
                      + unit * (rows % 3);
            if (pitch > 0) w.pitch = pitch * 8 / bits_of(w.type);
            w.group = std::min(group, depth);
            w.col_group = col_group;
            w.scales.type = rows % 2 ? t::f32 : t::bf16;
            const t zps[] = {t::u8, t::s16, t::undef, t::s8, t::s32};
            constexpr dim_t zps_count = 5;
            w.zps.type = is_floating(w.type) ? t::undef : zps[rows % zps_count];
            w.multiplied = multiplied();
            const auto types = roundings();
            w.rounded = types[static_cast<size_t>(rows) % types.size()];
            w.are_ordinary = w.may_be_ordinary() && rows / 2 % 2 == 0;
            check_skinny_gemm(c);
            if (HasFatalFailure()) return;
            // Weights that nobody rounds go other ways, by every zero point,
            // and so does one row.
            for (const t rounded : types)
                for (const dim_t z : {rows + 1, rows + 2}) {
                    if (rounded != t::f32 && rows > 1) continue;
                    w.rounded = rounded;
                    w.are_ordinary = w.may_be_ordinary() && z % 2 == 0;
                    if (!is_floating(w.type)) w.zps.type = zps[z % zps_count];
                    check_skinny_gemm(c);
                    if (HasFatalFailure()) return;
                }
        }
    }
};

TEST_P(skinny_gemm, multiplies_columns_side_by_side) {
    for (const dim_t depth : {1, 100})
        for (const dim_t cols : {32, 64, 96, 128, 192, 256})
            for (const dim_t group : {1000, 48, 8})
                check(false, depth, cols, group);
}

// The last ones are no whole panel.
TEST_P(skinny_gemm, multiplies_columns_side_by_side_that_leave_a_rest) {
    for (const dim_t cols : {132, 604})
        for (const dim_t group : {1000, 8})
            check(false, 100, cols, group);
    if (bits_of(type()) == 8) check(false, 100, 161, 48);
    // Tiles that are transposed.
    check(false, 256, 580, 128);
}

// One policy reads such rows in an order of its own.
TEST_P(skinny_gemm, multiplies_columns_side_by_side_in_rows_half_a_page_apart) {
    constexpr dim_t half_page = 2048;
    const on_machine_t machine({policy_named("Zen 5"), 32 << 20, 1 << 20});
    for (const dim_t group : {1000, 12})
        check(false, 100, 96, group, 1, half_page);
}

TEST_P(skinny_gemm, multiplies_columns_one_after_the_other) {
    for (const dim_t depth : {1, 40, 127, 130, 300})
        for (const dim_t cols : {1, 3, 9})
            for (const dim_t group : {1000, 128, 64, 32})
                check(true, depth, cols, group);
    // Longer than what src is cut into.
    for (const dim_t group : {5000, 128})
        check(true, 2080, 3, group);
}

// On AVX2 a chunk has two of them, or one at the end.
TEST_P(skinny_gemm, multiplies_columns_in_groups_that_end_within_a_step) {
    if (!has(isa(), isa_avx512_core) && type() == t::f4_e2m1)
        GTEST_SKIP() << "AVX2 looks floats up, group by group";
    for (const dim_t depth : {32, 48, 64, 112, 304})
        for (const dim_t cols : {1, 3, 9})
            for (const dim_t group : {16, 48, 80})
                check(true, depth, cols, group);
    check(true, 2080, 3, 16);
    check(true, 2096, 3, 16);
    check(true, 960, 3, 240);
}

TEST_P(skinny_gemm, multiplies_columns_side_by_side_that_share_scales) {
    for (const dim_t col_group : {32, 64, 96, 128, 384})
        for (const dim_t depth : {1, 100})
            for (const dim_t group : {1, 7, 10, 1000})
                check(false, depth, 384, group, col_group);
    // These are no whole lines.
    for (const dim_t col_group : {32, 64})
        check(false, 100, 3 * col_group, 1, col_group);
}

// No whole vectors, or no power of two of them. Blocks take what is left out.
TEST_P(skinny_gemm, multiplies_columns_side_by_side_of_which_few_share_scales) {
    for (const dim_t col_group : {8, 16, 24, 40, 48, 160})
        for (const dim_t group : {1, 7, 1000})
            for (const dim_t rows : {1, 2, 3, 8, 12})
                for (const t rounded : roundings()) {
                    skinny_gemm_case_t c;
                    c.rows = rows;
                    c.isa = isa();
                    skinny_weights_t &w = c.weights;
                    w.type = type();
                    w.depth = 100;
                    w.cols = col_group == 16 ? 160 : 8 * col_group;
                    w.pitch = w.cols + 4 * rows;
                    w.group = std::min(group, w.depth);
                    w.col_group = col_group;
                    w.scales.type = rows % 2 ? t::f32 : t::f16;
                    if (!is_floating(w.type) && rows != 2) w.zps.type = t::s8;
                    w.multiplied = multiplied();
                    w.rounded = rounded;
                    const bool is_faster_in_blocks
                            = (rounded == t::bf16 && (rows > 1 || group == 1)
                                      && col_group % 32 != 0)
                              || (col_group < 16 && group == 1
                                      && w.zps.type != t::undef)
                              || (w.multiplied == t::bf16
                                      && rows > skinny_gemm_t::
                                                         most_f32_rows_of_bf16);
                    if (is_faster_in_blocks) continue;
                    check_skinny_gemm(c);
                    // AVX2 scales pairs of vectors of nibbles.
                    if (is_avx2() && rows == 1 && col_group % 16 == 0) {
                        EXPECT_NE(make(c), nullptr);
                    }
                    if (HasFailure()) return;
                }
}

TEST_P(skinny_gemm, multiplies_columns_one_after_the_other_that_share_scales) {
    for (const dim_t col_group : {4, 12, 128})
        for (const dim_t depth : {32, 128})
            for (const dim_t group : {1, 7, 64, 1000})
                for (const dim_t cols : {2 * col_group, 2 * col_group + 3})
                    check(true, depth, cols, group, col_group);
    // Longer than a piece of the depth.
    for (const dim_t group : {1, 32})
        for (const dim_t depth : {1120, is_avx2() ? 1200 : 1216})
            check(true, depth, 8, group, 8);
}

// Dwords of tiles of nibbles are transposed. The last tile and the last group
// of columns may be short.
TEST_P(skinny_gemm, multiplies_columns_that_share_scales_by_dwords) {
    const bool by_dwords = has(isa(), isa_avx512_core) && bits_of(type()) == 4;
    // Others read them in order, in steps of up to 32.
    const dim_t others = by_dwords ? 0 : 24;
    for (const dim_t col_group : {32, 64, 96, 128, 256})
        for (const dim_t depth : {8, 40, 136, 264})
            for (const dim_t group : {1, 8, 24, 1000})
                for (const dim_t cols : {2 * col_group, dim_t(160)})
                    check(true, depth + others, cols, group, col_group);
    if (!by_dwords) return;
    skinny_gemm_case_t c = square(true, t::f32, t::f32);
    c.weights.col_group = 128;
    place_parameters(c.weights);
    const auto made = make(c);
    ASSERT_NE(made, nullptr);
    EXPECT_NE(std::string(made->name()).find("column_groups_transposed"),
            std::string::npos)
            << made->name();
}

// Groups end within a step: all of them, or the last one too.
TEST_P(skinny_gemm, multiplies_short_groups_one_after_the_other) {
    for (const dim_t depth : {50, 130})
        for (const dim_t group : {4, 16, 20, 48, 100})
            check(true, depth, 5, group);
}

// Beyond what kernels take, and as far as integers of 32 bits reach. One
// element of src is 1, so that every bit of a difference counts.
TEST_P(skinny_gemm, looks_at_zero_points) {
    if (!is_integer(type())) return;
    for (const bool by_column : {false, true})
        for (const dim_t col_group : {1, 32})
            for (const t rounded : roundings())
                for (const int64_t zp : {-70000, 65535, 65536, 1 << 24,
                             (1 << 24) + 3, INT32_MIN, INT32_MAX}) {
                    // Infinities times zeros are NaN.
                    constexpr int64_t largest_f16 = 65504;
                    if (rounded == t::f16 && std::abs(zp) / 2 > largest_f16)
                        continue;
                    skinny_gemm_case_t c = square(by_column, t::f32, rounded);
                    skinny_weights_t &w = c.weights;
                    w.group = 32;
                    w.col_group = col_group;
                    // The far one is of the last columns, which are fewer.
                    if (by_column && col_group > 1) w.cols += 3;
                    w.zps.type = t::s32;
                    place_parameters(w);
                    std::shared_ptr<const skinny_gemm_t> made;
                    (void)make_skinny_kernel(w, c.rows, isa(), made);
                    expect_is_made(c, made);
                    if (made == nullptr) continue;
                    SCOPED_TRACE(
                            testing::Message() << made->name() << ", " << zp);
                    skinny_gemm_case_run_t(c).check_zero_point(*made, zp);
                    if (HasFatalFailure()) return;
                }
}

TEST_P(skinny_gemm, looks_at_scales) {
    if (!is_integer(type()) || multiplied() != t::f32) return;
    for (const bool by_column : {false, true})
        for (const auto &[col_group, rounded, zps] :
                std::vector<std::tuple<dim_t, t, t>> {{1, t::bf16, t::undef},
                        {32, t::bf16, t::s8}, {1, t::bf16, t::s16},
                        {32, t::f16, t::undef}, {1, t::f16, t::s8},
                        {32, t::f16, t::s16}}) {
            skinny_gemm_case_t c = square(by_column, t::f32, rounded);
            skinny_weights_t &w = c.weights;
            w.group = 32;
            w.col_group = col_group;
            w.zps.type = zps;
            // The last columns are fewer.
            if (by_column && col_group > 1) w.cols += 3;
            place_parameters(w);
            std::shared_ptr<const skinny_gemm_t> made;
            (void)make_skinny_kernel(w, c.rows, isa(), made);
            expect_is_made(c, made);
            if (made == nullptr) continue;
            SCOPED_TRACE(testing::Message()
                         << made->name() << ", zps " << to_string(zps));
            const bool is_bf16 = rounded == t::bf16;
            // Differences from zero points of 16 bits are longer.
            const float end = (is_bf16 ? 0x1p102f : 0x1p6f)
                              * (zps == t::s16 ? 0x1p-8f : 1.f);
            const float begin = is_bf16 ? 0x1p-125f : 0x1p-13f;
            for (const float odd :
                    {std::nextafter(begin, 0.f), end, INFINITY, NAN})
                skinny_gemm_case_run_t(c).check_scale(*made, odd, false);
            for (const float ordinary : {begin, std::nextafter(end, 0.f)})
                skinny_gemm_case_run_t(c).check_scale(*made, ordinary, true);
        }
}

TEST_P(skinny_gemm, sums_in_one_order_whatever_the_scales) {
    if (!square(false, t::f32, t::bf16).weights.may_be_ordinary())
        GTEST_SKIP() << "ordinary weights have no kernel of their own";
    for (const bool by_column : {false, true}) {
        dim_t checked = 0;
        for (const t rounded : {t::bf16, t::f16})
            for (const dim_t col_group : {1, 32})
                for (const dim_t group : {16, 32, 128, 2304})
                    for (const dim_t rows : {1, 2, 3, 4}) {
                        skinny_gemm_case_t c
                                = square(by_column, t::f32, rounded);
                        c.rows = rows;
                        c.weights.group = group;
                        c.weights.col_group = col_group;
                        if (check_neighbours(c)) ++checked;
                        if (HasFatalFailure()) return;
                    }
        EXPECT_GT(checked, 0) << "no kernel was made";
    }
}

#if defined(__x86_64__)
void check_generated(const skinny_weights_t &w) {
    // Pairs of rows.
    const bool fits = w.by_column || w.depth % 2 == 0;
    std::shared_ptr<const skinny_gemm_t> made;
    const result_t result
            = make_skinny_kernel(w, 8, isa_avx512_core_bf16, made);
    ASSERT_TRUE(result.ok()) << result.reason;
    EXPECT_EQ(made->src_type(), fits ? t::bf16 : t::f32) << made->name();
}

// Whether or not the machine could run it.
TEST(skinny_gemm_of_bf16, is_generated_anywhere) {
    for (const t type : {t::u4, t::s4, t::u8, t::s8})
        for (const bool by_column : {false, true})
            for (const dim_t group : {16, 32, 64, 128, 1000})
                for (const dim_t depth : {100, 101, 128, 256})
                    for (const t zps : {t::undef, t::s8}) {
                        skinny_weights_t w;
                        w.type = type;
                        w.by_column = by_column;
                        w.depth = depth;
                        w.cols = w.pitch = 256;
                        w.group = std::min(group, depth);
                        w.scales.type = t::f32;
                        w.zps.type = zps;
                        w.multiplied = t::bf16;
                        check_generated(w);
                    }
}
#endif

// Weights of 4 bits that are rounded, by the graph or to be multiplied, are
// transposed in cache. On AVX2 that pays from four rows on.
TEST_P(skinny_gemm, multiplies_whole_tiles) {
    for (const dim_t depth : {128, 256})
        for (const dim_t group : {1000, 128})
            check(false, depth, 256, group);
    check(false, 384, 128, 256);
    // Longer than what is transposed at once, and a last group that is not.
    for (const dim_t group : {1000, 96, 32})
        check(false, 352, 64, group);
    skinny_weights_t w;
    w.type = type();
    w.depth = w.cols = w.pitch = w.group = 128;
    w.scales.type = w.rounded = t::bf16;
    w.multiplied = multiplied();
    std::shared_ptr<const skinny_gemm_t> made;
    const dim_t rows = is_avx2() ? 4 : 2;
    const result_t result = make_skinny_kernel(w, rows, isa(), made);
    const bool is_int8 = is_integer(w.type) && bits_of(w.type) == 8;
    ASSERT_EQ(result.ok(), !is_avx2() || is_int8 || bits_of(w.type) == 4);
    if (!result.ok()) return;
    EXPECT_EQ(std::string(made->name()).find("transposed") != std::string::npos,
            bits_of(w.type) == 4);
    EXPECT_EQ(made->src_type(), multiplied());
}

TEST_P(skinny_gemm, errs_no_more_than_sums_in_order) {
    for (const bool by_column : {false, true}) {
        skinny_gemm_case_t c;
        c.rows = 2;
        skinny_weights_t &w = c.weights;
        w.type = type();
        w.by_column = by_column;
        w.depth = 2048;
        w.cols = 128;
        w.pitch = by_column ? w.depth : w.cols;
        w.group = 128;
        w.scales.type = t::f32;
        if (is_integer(w.type)) w.zps.type = t::s8;
        w.multiplied = multiplied();
        std::shared_ptr<const skinny_gemm_t> made;
        ASSERT_TRUE(make_skinny_kernel(w, c.rows, isa(), made).ok());
        SCOPED_TRACE(made->name());
        skinny_gemm_case_run_t(c).check_errors(*made);
    }
}

TEST_P(skinny_gemm, keeps_nan) {
    for (const bool by_column : {false, true})
        for (const t scales : {t::f32, t::bf16})
            for (const t rounded : roundings()) {
                skinny_gemm_case_t c = square(by_column, scales, rounded);
                if (is_integer(type())) c.weights.zps.type = t::s8;
                const auto made = make(c);
                ASSERT_NE(made, nullptr);
                SCOPED_TRACE(made->name());
                skinny_gemm_case_run_t(c).check_nan(*made);
            }
}

// NaN, infinities and subnormal numbers too.
TEST_P(skinny_gemm, multiplies_every_code_of_floats) {
    if (is_integer(type())) return;
    for (const bool by_column : {false, true})
        for (const t rounded : roundings()) {
            const skinny_gemm_case_t c = square(by_column, t::f32, rounded);
            const auto made = make(c);
            ASSERT_NE(made, nullptr);
            SCOPED_TRACE(made->name());
            const int step = bits_of(type()) == 4 ? 0x11 : 1;
            for (int code = 0; code < 256; code += step) {
                SCOPED_TRACE(code);
                skinny_gemm_case_run_t(c, static_cast<uint8_t>(code))
                        .check_code(*made);
                if (HasFatalFailure()) return;
            }
        }
}

class skinny_gemm_of_digits : public skinny_gemm {};

// Groups that are parts of a chunk of digits, and of several chunks, the last
// one shorter.
TEST_P(skinny_gemm_of_digits, takes_groups_of_chunks) {
    const auto check = [&](bool by_column, dim_t depth, dim_t group, dim_t cols,
                               dim_t rows, uint32_t turns = 128) {
        machine_t machine {policy_named("Zen 4"), 32 << 20, 1 << 20};
        machine.policy.kn_digits = {turns, 256};
        const on_machine_t on(machine);
        for (const bool has_zps : {false, true}) {
            skinny_gemm_case_t c = square(by_column, t::f32, t::f32);
            skinny_weights_t &w = c.weights;
            c.rows = rows;
            c.isa = isa();
            w.multiplied = t::f32;
            w.depth = depth;
            w.cols = cols;
            w.pitch = (by_column ? depth : cols) + 8 * (rows % 2);
            // One row takes other chunks by rows that are half a page apart.
            if (!by_column && depth == 384)
                w.pitch = 2048 * 8 / bits_of(w.type);
            w.group = std::min(group, depth);
            if (has_zps && is_integer(type())) w.zps.type = type();
            place_parameters(w);
            check_skinny_gemm(c);
        }
    };
    const dim_t parts = bits_of(type()) == 2 ? 2 : 4; // a panel is a line
    for (const dim_t group : {32, 64, 96, 128, 256, 512}) {
        for (const dim_t depth : {256, 384, 768, 1280})
            for (const dim_t rows : {1, 2, 3})
                for (const dim_t cols : {1, 6, 7, 8, 15})
                    check(true, depth, group, cols, rows);
        for (const dim_t depth : {96, 384, 640})
            for (const dim_t rows : {1, 2, 7, 32})
                for (const dim_t cols : {512, 2208})
                    for (const uint32_t turns : {32u, 128u})
                        check(false, depth, group, cols / parts, rows, turns);
        if (HasFatalFailure()) return;
    }
}

// Digits of rests keep small elements next to large ones. If an element is
// infinite, so is every sum but those by weights of 0.
TEST_P(skinny_gemm, takes_rows_whose_elements_differ_much) {
    for (const bool by_column : {false, true})
        for (const dim_t rows : {1, 2, 4}) {
            skinny_gemm_case_t c = square(by_column, t::f32, t::f32);
            c.rows = rows;
            c.weights.multiplied = t::f32;
            c.weights.depth = c.weights.pitch = c.weights.group = 512;
            // The last columns are no whole panel.
            if (!by_column)
                c.weights.cols = c.weights.pitch
                        = bits_of(type()) == 2 ? 1064 : 552;
            if (is_integer(type())) c.weights.zps.type = type();
            place_parameters(c.weights);
            // There is more by blocks.
            if (is_avx2() && rows > 2) continue;
            const auto made = make(c);
            if (!made) continue;
            SCOPED_TRACE(testing::Message() << made->name() << ", " << rows);
            skinny_gemm_case_run_t(c).check_wide_rows(*made);
            if (!is_integer(type())) continue;
            skinny_gemm_case_run_t(c).check_infinity(*made);
        }
}

std::string name_of(
        const testing::TestParamInfo<skinny_gemm::ParamType> &tested) {
    const isa_t isa = std::get<0>(tested.param);
    return std::string(isa == isa_avx2               ? "avx2_"
                       : isa == isa_avx512_core      ? "avx512_core_"
                       : isa == isa_avx512_core_vnni ? "avx512_core_vnni_"
                                                     : "avx512_core_bf16_")
           + to_string(std::get<1>(tested.param));
}

INSTANTIATE_TEST_SUITE_P(every, skinny_gemm,
        testing::Combine(testing::Values(isa_avx512_core_bf16, isa_avx512_core,
                                 isa_avx2),
                testing::Values(t::u2, t::s2, t::u4, t::s4, t::u8, t::s8,
                        t::f4_e2m1, t::f8_e4m3, t::f8_e5m2)),
        name_of);

INSTANTIATE_TEST_SUITE_P(digits, skinny_gemm,
        testing::Combine(testing::Values(isa_avx512_core_vnni),
                testing::Values(t::u2, t::s2, t::u4, t::s4)),
        name_of);

INSTANTIATE_TEST_SUITE_P(every, skinny_gemm_of_digits,
        testing::Combine(testing::Values(isa_avx512_core_vnni),
                testing::Values(t::u2, t::s2, t::u4, t::s4)),
        name_of);

} // namespace
} // namespace dnnl_dequant
