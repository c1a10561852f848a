// Checks which kernel takes the weights of a few rows, and the reasons of the
// others.

#if defined(__x86_64__)

#include <gtest/gtest.h>

#include "kernels/skinny_gemm/skinny_gemm.hpp"

namespace dnnl_dequant {

namespace {

using t = data_type_t;

// Returns the kernel that takes weights of 128 x 128 on AVX2, or the reason of
// `asked`, if one is named.
std::string taker_on_avx2(const skinny_weights_t &weights, dim_t rows,
        const std::string &asked = "") {
    std::shared_ptr<const skinny_gemm_t> made;
    std::string reason;
    const result_t result = make_skinny_kernel(weights, rows, isa_avx2, made,
            [&](const std::string &name, const std::string &why) {
        if (name == asked) reason += why + ". ";
    });
    return result.ok() ? made->name() : reason;
}

TEST(skinny_kernels, of_avx2_leave_the_rest_to_blocks) {
    const std::string by_row = "jit_matmul_n_lanes_avx2",
                      transposed = "jit_matmul_transposed_avx2",
                      by_column = "jit_matmul_k_lanes_avx2";
    skinny_weights_t w;
    w.type = t::u4;
    w.depth = w.cols = w.pitch = w.group = 128;
    w.scales.type = t::f32;
    EXPECT_EQ(taker_on_avx2(w, 3), by_row);
    EXPECT_EQ(taker_on_avx2(w, 8), transposed);
    EXPECT_EQ(taker_on_avx2(w, 9, transposed),
            "found 9 rows; expected 8 at most. ");
    w.rounded = t::bf16;
    EXPECT_EQ(taker_on_avx2(w, 3), by_row);
    EXPECT_EQ(taker_on_avx2(w, 4), transposed);
    w.cols = w.pitch = 96;
    EXPECT_EQ(taker_on_avx2(w, 3), by_row);
    EXPECT_EQ(taker_on_avx2(w, 4, transposed),
            "columns 96; expected a multiple of 64. ");
    w.by_column = true;
    w.pitch = 128;
    EXPECT_EQ(taker_on_avx2(w, 8), by_column);
    EXPECT_NE(taker_on_avx2(w, 9, by_column).find("expected 8 at most"),
            std::string::npos);
    w.rounded = t::f16;
    EXPECT_EQ(taker_on_avx2(w, 4), by_column);
    EXPECT_NE(taker_on_avx2(w, 5, by_column).find("expected 4 at most"),
            std::string::npos);
    w.depth = 192;
    w.by_column = false;
    w.cols = w.pitch = 128;
    EXPECT_EQ(taker_on_avx2(w, 9), by_row);
    w.by_column = true;
    w.pitch = 192;
    w.cols = 96;
    w.type = t::s8;
    EXPECT_EQ(taker_on_avx2(w, 8), by_column);
    w.by_column = false;
    EXPECT_EQ(taker_on_avx2(w, 9), by_row);
    EXPECT_EQ(taker_on_avx2(w, 10, transposed), "weights are of type s8. ");
}

TEST(skinny_kernels, of_avx2_take_two_groups_that_end_within_a_step) {
    const std::string taker = "jit_matmul_k_lanes_avx2";
    skinny_weights_t w;
    w.by_column = true;
    w.cols = 96;
    w.pitch = w.depth = 960;
    w.scales.type = t::f32;
    w.zps.type = t::u8;
    const auto refusal
            = [&](dim_t rows) { return taker_on_avx2(w, rows, taker); };
    for (const t type : {t::u4, t::s4, t::u2, t::s2})
        for (const t rounded : {t::f32, t::bf16, t::f16})
            for (const dim_t group : {16, 48, 240}) {
                w.type = type;
                w.rounded = rounded;
                w.group = group;
                EXPECT_EQ(taker_on_avx2(w, 1), taker);
                EXPECT_EQ(taker_on_avx2(w, 4), taker);
            }
    w.rounded = t::bf16;
    EXPECT_NE(refusal(5).find("found 5 rows; expected 4 at most where groups"),
            std::string::npos);
    w.group = 272;
    EXPECT_NE(refusal(1).find("in groups of 240 at most"), std::string::npos);
    w.group = 40;
    EXPECT_NE(refusal(1).find("group 40; expected a multiple of 16"),
            std::string::npos);
    w.group = 48;
    w.depth = 200;
    EXPECT_NE(refusal(1).find("depth 200; expected a multiple of 16"),
            std::string::npos);
    w.depth = 960;
    w.zps.type = t::undef;
    w.type = t::f4_e2m1;
    EXPECT_NE(refusal(1).find("group 48; expected a multiple of 32, or "),
            std::string::npos);
}

TEST(skinny_kernels, of_avx2_take_columns_that_share_scales) {
    const std::string taker = "jit_matmul_k_lanes_column_groups_avx2";
    skinny_weights_t w;
    w.by_column = true;
    w.depth = w.cols = w.pitch = 128;
    w.col_group = 32;
    w.group = 1;
    w.scales.type = t::f32;
    for (const t type : {t::u4, t::s8})
        for (const t rounded : {t::f32, t::bf16, t::f16}) {
            w.type = type;
            w.rounded = rounded;
            EXPECT_EQ(taker_on_avx2(w, 4), taker);
            EXPECT_NE(taker_on_avx2(w, 9, taker).find(" at most"),
                    std::string::npos);
        }
    w.depth = 120;
    EXPECT_NE(taker_on_avx2(w, 1, taker).find("expected a multiple of 16"),
            std::string::npos);
}

} // namespace
} // namespace dnnl_dequant

#endif
