// Chains whose columns are those of two loops, which operands do not go through
// one after the other: transposed ones, and what columns share by turns. Bits
// are those of the plain C++ kernel.

#include "kernels/elementwise/elementwise.hpp"
#include "kernels/elementwise/jit_chain_plan.hpp"
#include "kernels/problem_case.hpp"

namespace dnnl_dequant {
namespace {

// (src * scales + addend) where src is dense along `rows` and its columns,
// `cols` by `outer_cols`, lie one outer loop after the other.
struct tile_case_t {
    dim_t rows, outer_cols, cols;
    bool by_group; // a scale a row and outer column, an addend an outer one
};

dim_t rounded_up(dim_t elements, t type) {
    const dim_t per_byte = std::max(8 / bits_of(type), 1);
    return round_up(elements, per_byte);
}

problem_t problem_of_tile(const tile_case_t &c, t src, t dst) {
    const dim_t row = rounded_up(c.rows, src);
    const dims_t of_src {1, row, row * c.outer_cols};
    const dims_t scales = c.by_group ? dims_t {1, c.rows, 0} : dims_t {1, 0, 0};
    const dims_t addend = c.by_group ? dims_t {0, 1, 0} : dims_t {0, c.cols, 1};
    return problem_of({c.rows, c.outer_cols, c.cols}, {src, of_src},
            {t::f32, scales}, {t::f32, addend},
            {dst, {c.outer_cols * c.cols, c.cols, 1}});
}

// Rows of two loops, which src goes through one after the other: dst and the
// parameters do not. The outer one is around the inner one in dst, or inside.
struct rows_case_t {
    dim_t outer, rows, cols;
    bool outer_is_inside;
    dims_t scales, zps;     // strides along outer, rows, cols
    t type_of_zps = t::f32; // an addend
};

problem_t problem_of_rows(const rows_case_t &c, t src, t dst) {
    const dim_t col = rounded_up(c.outer * c.rows, src);
    const auto ordered = [&](const dims_t &strides) {
        return c.outer_is_inside ? dims_t {strides[1], strides[0], strides[2]}
                                 : strides;
    };
    const dims_t extents = ordered({c.outer, c.rows, c.cols});
    return problem_of(extents, {src, ordered({c.rows, 1, col})},
            {t::f32, ordered(c.scales)}, {c.type_of_zps, ordered(c.zps)},
            {dst, {extents[1] * c.cols, c.cols, 1}});
}

class chain_tiles : public ::testing::TestWithParam<t> {
protected:
    void expect_equal(const tile_case_t &c, t dst) {
        const problem_t problem = problem_of_tile(c, GetParam(), dst);
        SCOPED_TRACE(to_string(problem));
        check_both(problem);
    }
    void check_rows(const rows_case_t &c, t dst) {
        check_both(problem_of_rows(c, GetParam(), dst));
    }
    static void check_both(const problem_t &problem) {
        check(problem, make_jit_elementwise_avx2, isa_avx2);
        check(problem, make_jit_elementwise_avx512_core, isa_avx512_core);
    }
};

TEST_P(chain_tiles, have_columns_of_two_loops) {
    for (const t dst : {t::f32, t::bf16, t::u8})
        for (const dim_t rows : {3, 24, 130})
            for (const dim_t cols : {2, 9, 16, 63})
                for (const bool by_group : {false, true}) {
                    expect_equal({rows, 20, cols, by_group}, dst);
                    if (HasFailure()) return;
                }
}

// A src that is not tiled would be staged element by element.
TEST_P(chain_tiles, are_planned) {
    const auto plan_of = [](const tile_case_t &c) {
        chain_plan_t plan;
        EXPECT_TRUE(
                make_chain_plan(problem_of_tile(c, GetParam(), t::f32), plan)
                        .ok());
        EXPECT_TRUE(plan.feeds.front().tiled);
        EXPECT_TRUE(plan.feeds.front().in_groups);
        return plan;
    };
    for (const dim_t cols : {2, 16, 63})
        EXPECT_FALSE(plan_of({130, 20, cols, false}).by_group);
    EXPECT_TRUE(plan_of({130, 20, 16, true}).by_group);
}

TEST_P(chain_tiles, have_rows_of_two_loops) {
    for (const t dst : {t::f32, t::u4})
        for (const dim_t rows : {2, 3, 8, 49})
            for (const dim_t outer : {2, 30})
                for (const dim_t cols : {6, 130})
                    for (const bool inside : {false, true}) {
                        const dim_t all = outer * rows;
                        // One value each for an outer row and a column, dense
                        // along either of them, for an inner row and a column,
                        // for all three, and for an inner row.
                        const dims_t by_outer {1, 0, outer},
                                by_outer_dense {cols, 0, 1},
                                by_inner {0, 1, rows}, of_src {rows, 1, all},
                                inner {0, 1, 0}, col {0, 0, 1};
                        using pair_t = std::pair<dims_t, dims_t>;
                        for (const auto &[scales, addend] :
                                {pair_t {by_outer, by_outer_dense},
                                        pair_t {by_inner, by_outer},
                                        pair_t {of_src, inner},
                                        pair_t {col, by_inner}}) {
                            check_rows(
                                    {outer, rows, cols, inside, scales, addend},
                                    dst);
                            if (HasFailure()) return;
                        }
                    }
}

// Zero points of nibbles begin within bytes for odd outer rows.
TEST_P(chain_tiles, have_zero_points_of_rows_of_two_loops) {
    if (is_floating(GetParam())) return;
    const dim_t outer = 30, cols = 37;
    for (const t zps : {t::u4, t::u8, t::s32})
        for (const dim_t rows : {3, 8, 50})
            for (const bool inside : {false, true}) {
                const dim_t inner = round_up(rows, 2), all = outer * rows;
                for (const dims_t &strides :
                        {dims_t {1, 0, outer}, dims_t {0, 1, inner},
                                dims_t {rows, 1, all}, dims_t {inner, 1, 0}}) {
                    check_rows({outer, rows, cols, inside, {1, 0, outer},
                                       strides, zps},
                            t::f32);
                    if (HasFailure()) return;
                }
            }
}

TEST_P(chain_tiles, are_panels) {
    expect_equal({256, 700, 9, false}, t::f32);
    expect_equal({70, 1100, 8, true}, t::bf16);
    const dim_t outer = 300, rows = 5, cols = 1100;
    for (const bool inside : {false, true})
        check_rows({outer, rows, cols, inside, {1, 0, outer}, {0, cols, 1}},
                t::f32);
}

// Rows of columns that share scales by turns, such as a scale for each image
// and channel: of one piece of columns, and of several.
TEST_P(chain_tiles, repeat_what_columns_share_by_turns) {
    for (const dim_t cols : {2, 3, 8, 13})
        for (const dim_t outer_cols : {7, 16, 1100}) {
            const dim_t row = rounded_up(outer_cols * cols, GetParam());
            const problem_t problem = problem_of({5, outer_cols, cols},
                    {GetParam(), {row, cols, 1}}, {t::f32, {cols, 0, 1}},
                    {t::f32, {cols, 0, 1}},
                    {t::f32, {outer_cols * cols, cols, 1}});
            check_both(problem);
            if (HasFailure()) return;
        }
}

INSTANTIATE_TEST_SUITE_P(every, chain_tiles,
        ::testing::Values(t::u2, t::s4, t::u8, t::f16, t::s32, t::f32),
        [](const auto &tested) { return to_string(tested.param); });

} // namespace
} // namespace dnnl_dequant
