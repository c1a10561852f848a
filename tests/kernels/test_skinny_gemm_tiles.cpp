// kernels/skinny_gemm: weights that the tiles of AMX multiply.

#include <gtest/gtest.h>

#include <string>

#include "kernels/skinny_gemm_case.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

// @param src bf16, f32 that is not rounded, or u8 for integers as bf16.
skinny_gemm_case_t case_of(t src, t type, bool by_column, dim_t rows) {
    skinny_gemm_case_t c;
    c.rows = rows;
    skinny_weights_t &w = c.weights;
    w.type = type;
    w.by_column = by_column;
    w.scales.type = rows % 2 ? t::f32 : t::bf16;
    // Terms take zero points whose difference to a weight has eight bits.
    const bool is_signed = family_of(type) == type_family_t::signed_int;
    const t zps[] = {t::u8, t::undef, t::s16, t::s8};
    const t zps_of_terms[] = {is_signed ? t::s8 : t::u8, t::undef, t::u4,
            bits_of(type) <= 4 ? t::s8
            : is_signed        ? t::s4
                               : t::u8};
    if (is_integer(type))
        w.zps.type = (src == t::bf16 ? zps : zps_of_terms)[rows % 4];
    const t rounded[] = {t::bf16, t::f32, t::f16};
    w.rounded = src == t::bf16 ? rounded[rows % 3] : t::f32;
    w.multiplied = src == t::u8 ? t::f32 : src;
    w.tiles = src == t::bf16  ? skinny_tiles_t::only
              : src == t::f32 ? skinny_tiles_t::exact
                              : skinny_tiles_t::integers;
    return c;
}

void set_shape(skinny_weights_t &w, dim_t depth, dim_t cols, dim_t group,
        dim_t pad = 0) {
    w.depth = depth;
    w.cols = cols;
    w.pitch = (w.by_column ? depth : cols) + pad;
    w.group = std::min(group, depth);
    place_parameters(w);
}

class skinny_gemm_of_tiles
    : public testing::TestWithParam<std::tuple<t, t, bool>> {
protected:
    void SetUp() override {
        if (!has(isa_of_machine(), isa_amx_bf16))
            GTEST_SKIP() << "this machine lacks the instructions";
    }
    static skinny_gemm_case_t case_of_rows(dim_t rows) {
        const auto &[src, type, by_column] = GetParam();
        return case_of(src, type, by_column, rows);
    }
    static std::shared_ptr<const skinny_gemm_t> make(
            const skinny_gemm_case_t &c) {
        std::shared_ptr<const skinny_gemm_t> made;
        const result_t result
                = make_skinny_kernel(c.weights, c.rows, isa_amx_bf16, made);
        EXPECT_TRUE(result.ok()) << result.reason;
        return made;
    }
};

TEST_P(skinny_gemm_of_tiles, multiplies_every_shape) {
    dim_t number = 0;
    for (const dim_t rows : {1, 3, 8, 16, 17, 32})
        for (const dim_t depth : {128, 384, 512})
            for (const dim_t units : {1, 3})
                for (const dim_t group : {32, 64, 128, 256, 1000}) {
                    skinny_gemm_case_t c = case_of_rows(rows);
                    if (number++ % one_in(c.weights.type)) continue;
                    const dim_t unit = c.weights.by_column ? 16 : 128;
                    set_shape(c.weights, depth, units * unit, group,
                            4 * (rows % 3));
                    const auto made = make(c);
                    ASSERT_NE(made, nullptr);
                    SCOPED_TRACE(testing::Message()
                                 << made->name() << ", " << rows << " rows, "
                                 << depth << " x " << units * unit
                                 << ", groups of " << group);
                    skinny_gemm_case_run_t(c).check(*made);
                    if (HasFatalFailure()) return;
                }
}

// The rows of many columns are cut out of longer ones.
TEST_P(skinny_gemm_of_tiles, multiplies_wide_weights) {
    for (const dim_t rows : {1, 20}) {
        skinny_gemm_case_t c = case_of_rows(rows);
        set_shape(c.weights, 512, 2176, 64, 4096);
        const auto made = make(c);
        ASSERT_NE(made, nullptr);
        skinny_gemm_case_run_t(c).check(*made);
    }
}

// More rows than two tiles have, which only kernels of terms take. Tiles of
// weights have 512 of the depth.
TEST_P(skinny_gemm_of_tiles, multiplies_many_rows) {
    if (std::get<0>(GetParam()) == t::bf16) {
        skinny_gemm_case_t c = case_of_rows(33);
        set_shape(c.weights, 256, 256, 64);
        std::shared_ptr<const skinny_gemm_t> made;
        EXPECT_FALSE(
                make_skinny_kernel(c.weights, c.rows, isa_amx_bf16, made).ok());
        return;
    }
    const dim_t rows_of[] = {33, 48, 70, 97};
    dim_t n = 0;
    for (const dim_t depth : {128, 640, 1024})
        for (const dim_t group : {32, 64, 128, 256, 2000}) {
            const dim_t rows = rows_of[n++ % 4];
            const dim_t cols = n % 3 ? 128 : 384;
            skinny_gemm_case_t c = case_of_rows(rows);
            if (n % one_in(c.weights.type)) continue;
            set_shape(c.weights, depth, cols, group, 4 * (n % 3));
            c.most_rows = c.rows = n % 4 ? 512 : rows;
            const auto made = make(c);
            ASSERT_NE(made, nullptr);
            c.rows = rows;
            SCOPED_TRACE(testing::Message()
                         << made->name() << ", " << rows << " rows, " << depth
                         << " x " << cols << ", groups of " << group);
            skinny_gemm_case_run_t(c).check(*made);
            if (HasFatalFailure()) return;
        }
}

// More blocks of rows than fit L1, and a last one of few rows.
TEST_P(skinny_gemm_of_tiles, multiplies_hundreds_of_rows) {
    if (std::get<0>(GetParam()) == t::bf16) return;
    skinny_gemm_case_t c = case_of_rows(197);
    set_shape(c.weights, 256, 128, 32);
    const auto made = make(c);
    ASSERT_NE(made, nullptr);
    skinny_gemm_case_run_t(c).check(*made);
}

// Columns that are no whole number of the pairs of tiles that many rows take.
TEST_P(skinny_gemm_of_tiles, multiplies_many_rows_of_odd_columns) {
    const auto &[src, type, by_column] = GetParam();
    if (src == t::bf16 || !by_column) return;
    skinny_gemm_case_t c = case_of_rows(40);
    set_shape(c.weights, 256, 144, 64);
    c.most_rows = c.rows = 512;
    const auto made = make(c);
    ASSERT_NE(made, nullptr);
    c.rows = 40;
    skinny_gemm_case_run_t(c).check(*made);
}

TEST_P(skinny_gemm_of_tiles, multiplies_fewer_rows_than_it_was_made_for) {
    skinny_gemm_case_t c = case_of_rows(32);
    set_shape(c.weights, 256, 256, 64);
    const auto made = make(c);
    ASSERT_NE(made, nullptr);
    c.most_rows = c.rows;
    for (const dim_t rows : {1, 5, 16, 17, 31}) {
        c.rows = rows;
        skinny_gemm_case_run_t(c).check(*made);
    }
}

TEST_P(skinny_gemm_of_tiles, errs_no_more_than_sums_in_order) {
    for (const dim_t rows : {1, 2, 19}) {
        skinny_gemm_case_t c = case_of_rows(rows);
        set_shape(c.weights, 2048, 128, 128);
        const auto made = make(c);
        ASSERT_NE(made, nullptr);
        skinny_gemm_case_run_t(c).check_errors(*made);
    }
}

TEST_P(skinny_gemm_of_tiles, keeps_nan) {
    for (const dim_t rows : {1, 2}) {
        skinny_gemm_case_t c = case_of_rows(rows);
        set_shape(c.weights, 128, 128, 32);
        const auto made = make(c);
        ASSERT_NE(made, nullptr);
        skinny_gemm_case_run_t(c).check_nan(*made);
    }
}

std::string name_of_case(
        const testing::TestParamInfo<skinny_gemm_of_tiles::ParamType> &of) {
    const auto &[src, type, by_column] = of.param;
    return std::string(to_string(src)) + "_" + to_string(type)
           + (by_column ? "_nk" : "_kn");
}
INSTANTIATE_TEST_SUITE_P(every, skinny_gemm_of_tiles,
        testing::Combine(testing::Values(t::bf16, t::f32),
                testing::Values(t::u4, t::s4, t::f4_e2m1), testing::Bool()),
        name_of_case);
INSTANTIATE_TEST_SUITE_P(floats_of_8_bits, skinny_gemm_of_tiles,
        testing::Combine(testing::Values(t::f32, t::u8),
                testing::Values(t::f8_e4m3, t::f8_e5m2), testing::Bool()),
        name_of_case);
INSTANTIATE_TEST_SUITE_P(bf16_by_floats_of_8_bits, skinny_gemm_of_tiles,
        testing::Combine(testing::Values(t::bf16),
                testing::Values(t::f8_e4m3, t::f8_e5m2),
                testing::Values(false)),
        name_of_case);
INSTANTIATE_TEST_SUITE_P(two_bits, skinny_gemm_of_tiles,
        testing::Combine(testing::Values(t::bf16, t::f32, t::u8),
                testing::Values(t::u2, t::s2), testing::Bool()),
        name_of_case);
INSTANTIATE_TEST_SUITE_P(bytes, skinny_gemm_of_tiles,
        testing::Combine(testing::Values(t::f32, t::u8),
                testing::Values(t::u8, t::s8), testing::Bool()),
        name_of_case);
INSTANTIATE_TEST_SUITE_P(integers, skinny_gemm_of_tiles,
        testing::Combine(testing::Values(t::u8), testing::Values(t::u4, t::s4),
                testing::Bool()),
        name_of_case);
INSTANTIATE_TEST_SUITE_P(bf16_bytes, skinny_gemm_of_tiles,
        testing::Combine(testing::Values(t::bf16),
                testing::Values(t::u8, t::s8), testing::Values(false)),
        name_of_case);

#if defined(__x86_64__)
// Whether or not the machine could run it.
TEST(skinny_gemm_tiles, are_for_whole_units_alone) {
    const auto name_of = [](const skinny_gemm_case_t &c) -> std::string {
        std::shared_ptr<const skinny_gemm_t> made;
        const result_t result
                = make_skinny_kernel(c.weights, c.rows, isa_amx_bf16, made);
        return result.ok() ? made->name() : "";
    };
    for (const bool by_column : {false, true}) {
        const std::string expected = by_column
                                             ? "jit_matmul_k_lanes_amx_bf16"
                                             : "jit_matmul_transposed_amx_bf16";
        skinny_gemm_case_t c = case_of(t::bf16, t::u4, by_column, 32);
        set_shape(c.weights, 256, 256, 64);
        EXPECT_EQ(name_of(c), expected);
        c.weights.type = t::u2;
        EXPECT_EQ(name_of(c), expected);
        c.weights.type = t::u4;
        for (const auto &[depth, cols, group] :
                {std::array<dim_t, 3> {192, 256, 64}, {256, 200, 64},
                        {256, 256, 96}, {256, 256, 16}}) {
            set_shape(c.weights, depth, cols, group);
            EXPECT_EQ(name_of(c), "") << depth << ", " << cols << ", " << group;
        }
        // Bytes in groups of 16 would be half a tile.
        for (const dim_t group : {16, 32}) {
            const bool is_taken = !by_column && group == 32;
            set_shape(c.weights, 256, 256, group);
            c.weights.type = t::u8;
            EXPECT_EQ(
                    name_of(c), is_taken ? "jit_matmul_n_lanes_amx_bf16" : "");
        }
        // Without tiles there is another kernel, for fewer rows.
        c = case_of(t::bf16, t::u4, by_column, 2);
        set_shape(c.weights, 256, 256, 64);
        c.weights.tiles = skinny_tiles_t::rounded;
        EXPECT_EQ(name_of(c), expected);
        c.weights.tiles = skinny_tiles_t::none;
        EXPECT_NE(name_of(c), expected);
        EXPECT_NE(name_of(c), "");
    }
}

// Elements are where they were packed, and terms lose nothing.
void find_what_is_packed(const skinny_gemm_case_t &c) {
    const dim_t rows = c.rows, depth = c.weights.depth;
    std::shared_ptr<const skinny_gemm_t> made;
    ASSERT_TRUE(make_skinny_kernel(c.weights, rows, isa_amx_bf16, made).ok());
    const t src = made->src_type();
    const dim_t pitch = bytes_of(src, depth);
    std::vector<char> a(static_cast<size_t>(rows * pitch)),
            packed(static_cast<size_t>(made->packed_bytes(rows)));
    for (dim_t i = 0; i < rows * depth; ++i)
        support::put_bits(src, a.data(), i,
                support::round_to(support::format_of(src),
                        static_cast<double>(i % 251) / 3 - 40));
    for (const dim_t unit : {1, 0})
        made->pack(a.data(), pitch, rows, unit, unit + 1, packed.data());
    skinny_gemm_t::block_t block {};
    block.a = packed.data();
    block.rows = rows;
    for (dim_t i = 0; i < rows * depth; ++i)
        ASSERT_EQ(made->src_element(block, i / depth, i % depth),
                load_f32(src, a.data(), i))
                << made->name() << ", " << rows << " rows, " << i;
}

TEST(skinny_gemm_tiles, find_what_they_have_packed) {
    for (const bool by_column : {false, true})
        for (const t type : {t::u4, t::u8})
            for (const t of : {t::bf16, t::f32, t::u8})
                for (const dim_t rows : {1, 17, 32, 71, 200}) {
                    const bool is_bf16 = of == t::bf16;
                    // No tiles of bytes in columns serve bf16.
                    if (is_bf16 && by_column && type == t::u8) continue;
                    if (is_bf16 && rows > 32) continue;
                    skinny_gemm_case_t c = case_of(of, type, by_column, rows);
                    set_shape(c.weights, 256, 256, 64);
                    find_what_is_packed(c);
                    if (HasFatalFailure()) return;
                }
}

// Terms are three products, so they serve only what may not be rounded.
TEST(skinny_gemm_tiles, of_terms_are_for_what_is_not_rounded) {
    for (const bool by_column : {false, true})
        for (const t type : {t::u4, t::u8})
            for (const dim_t group : {16, 32}) {
                skinny_gemm_case_t c = case_of(t::f32, type, by_column, 100);
                set_shape(c.weights, 256, 256, group);
                std::shared_ptr<const skinny_gemm_t> made;
                const auto is_made = [&] {
                    return make_skinny_kernel(
                            c.weights, c.rows, isa_amx_bf16, made)
                            .ok();
                };
                EXPECT_EQ(is_made(), group == 32);
                c.weights.tiles = skinny_tiles_t::rounded;
                EXPECT_FALSE(is_made());
            }
}
#endif

} // namespace
} // namespace dnnl_dequant
