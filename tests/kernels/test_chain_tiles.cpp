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
    dims_t scales, zps;        // strides along outer, rows, cols
    t type_of_zps = t::f32;    // an addend
    bool within_bytes = false; // columns of src may begin so
    dim_t parts = 1;           // as of a larger problem
};

problem_t problem_of_rows(const rows_case_t &c, t src, t dst) {
    const dim_t all = c.outer * c.rows;
    const dim_t col = c.within_bytes ? all : rounded_up(all, src);
    const auto ordered = [&](const dims_t &strides) {
        return c.outer_is_inside ? dims_t {strides[1], strides[0], strides[2]}
                                 : strides;
    };
    const dims_t extents = ordered({c.outer, c.rows, c.cols});
    problem_t problem = problem_of(extents, {src, ordered({c.rows, 1, col})},
            {t::f32, ordered(c.scales)}, {c.type_of_zps, ordered(c.zps)},
            {dst, {extents[1] * c.cols, c.cols, 1}});
    problem.parts = c.parts;
    return problem;
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

// There is one parameter for each outer row and column, dense along either of
// them, for each inner row and column, for all three, or for each inner row.
TEST_P(chain_tiles, have_rows_of_two_loops) {
    const auto check_parameters = [](const rows_case_t &c, t src, t dst) {
        const dim_t all = c.outer * c.rows;
        const dims_t by_outer {1, 0, c.outer}, by_outer_dense {c.cols, 0, 1},
                by_inner {0, 1, c.rows}, of_src {c.rows, 1, all},
                inner {0, 1, 0}, col {0, 0, 1};
        const std::pair<dims_t, dims_t> parameters[]
                = {{by_outer, by_outer_dense}, {by_inner, by_outer},
                        {of_src, inner}, {col, by_inner}};
        rows_case_t tested = c;
        for (const auto &[scales, addend] : parameters) {
            tested.scales = scales;
            tested.zps = addend;
            check_both(problem_of_rows(tested, src, dst));
        }
    };
    dim_t n = 0;
    for (const t dst : {t::f32, t::u4})
        for (const dim_t rows : {2, 3, 8, 49})
            for (const dim_t outer : {2, 30})
                for (const dim_t cols : {6, 130})
                    for (const bool inside : {false, true}) {
                        if (n++ % support::every() != 0) continue;
                        check_parameters({outer, rows, cols, inside, {}, {}},
                                GetParam(), dst);
                        if (HasFailure()) return;
                    }
}

// Zero points of nibbles begin within bytes for odd outer rows.
TEST_P(chain_tiles, have_zero_points_of_rows_of_two_loops) {
    if (is_floating(GetParam())) return;
    const dim_t outer = 64, cols = 133;
    for (const t zps : {t::u2, t::u4, t::s32})
        for (const dim_t rows : {3, 50})
            for (const bool inside : {false, true}) {
                const dim_t inner = round_up(rows, 4), all = outer * rows;
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

chain_plan_t plan_of_rows(const rows_case_t &c, t src) {
    chain_plan_t plan;
    EXPECT_TRUE(make_chain_plan(problem_of_rows(c, src, t::f32), plan).ok());
    return plan;
}

TEST_P(chain_tiles, are_planned_for_rows_of_two_loops) {
    const dims_t by_outer {1, 0, 30}, by_inner {0, 1, 3};
    for (const bool inside : {false, true}) {
        const auto plan = plan_of_rows(
                {30, 3, 40, inside, by_outer, by_inner}, GetParam());
        EXPECT_EQ(plan.all_rows(), 90);
        EXPECT_EQ(plan.calls_along_outer, inside);
        const tile_row_t rows[]
                = {tile_row_t::row, tile_row_t::outer, tile_row_t::inner};
        for (size_t o = 0; o < plan.feeds.size(); ++o) {
            EXPECT_TRUE(plan.feeds[o].tiled);
            EXPECT_EQ(plan.feeds[o].tile_row, rows[o]);
        }
    }
    // A scale of each element, which does not go on from row to row. One that
    // is wider than src would be what rows are chosen for.
    if (bits_of(GetParam()) < 32) return;
    const auto plan = plan_of_rows(
            {30, 3, 40, false, {4, 1, 120}, by_inner}, GetParam());
    EXPECT_TRUE(plan.feeds[1].tiled);
    EXPECT_FALSE(plan.rows_run_on(plan.feeds[1]));
}

// A src that cannot be transposed is staged, whatever its parameters are.
TEST_P(chain_tiles, have_no_rows_of_two_loops_within_bytes) {
    if (bits_of(GetParam()) >= 8) return;
    const rows_case_t c {31, 3, 38, false, {0, 1, 3}, {1, 0, 31}, t::f32, true};
    EXPECT_LT(plan_of_rows(c, GetParam()).outer_rows, 0);
    check_rows(c, t::f32);
}

// Runs of src that are long, but begin within bytes.
TEST_P(chain_tiles, have_long_rows_of_two_loops_within_bytes) {
    if (bits_of(GetParam()) >= 8) return;
    for (const dim_t cols : {20, 130}) {
        const rows_case_t c {20, 133, cols, false, {1, 0, 20}, {0, 0, 1}};
        EXPECT_EQ(plan_of_rows(c, GetParam()).all_rows(), 20 * 133);
        check_rows(c, t::f32);
    }
}

// A tile of the inner loop has all of its rows. Too many of them are staged, so
// that tiles fit the stack.
TEST_P(chain_tiles, have_no_tile_of_many_inner_rows) {
    if (bits_of(GetParam()) >= 8) return;
    const dim_t outer = 12, rows = 5001;
    const rows_case_t c {outer, rows, 37, false, {0, 1, rows}, {1, 0, outer}};
    const chain_plan_t plan = plan_of_rows(c, GetParam());
    EXPECT_EQ(plan.all_rows(), outer * rows);
    EXPECT_TRUE(plan.feeds[0].tiled);
    EXPECT_FALSE(plan.feeds[1].tiled);
    check_rows(c, t::f32);
}

// Rows that are stored past the caches: as they are, and by way of a buffer.
TEST_P(chain_tiles, stream_rows_of_two_loops) {
    for (const dim_t cols : {64, 70})
        for (const bool inside : {false, true}) {
            const rows_case_t c {100, 5, cols, inside, {1, 0, 100}, {0, 1, 5},
                    t::f32, false, dim_t {1} << 20};
            EXPECT_TRUE(plan_of_rows(c, GetParam()).streaming);
            for (const t dst : {t::f32, t::bf16})
                check_rows(c, dst);
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
