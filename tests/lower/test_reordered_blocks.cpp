// Blocks that are computed in the order of src and then copied. Bits are those
// of the plain C++ kernels.

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/problem_case.hpp"
#include "lower/reordered_blocks.hpp"

namespace dnnl_dequant {
namespace {

// dst is dense in the order of the loops, src in another one. Scales vary along
// one loop, zero points along another.
struct order_case_t {
    dims_t extents;
    std::vector<size_t> src_order;
    size_t scales_loop, zps_loop;
};

problem_t ordered(const order_case_t &order, t src, t dst,
        const parameters_t &parameters) {
    const size_t loops = order.extents.size();
    std::vector<size_t> inward(loops);
    std::iota(inward.begin(), inward.end(), size_t(0));
    dims_t scales(loops), zps(loops);
    scales[order.scales_loop] = 1;
    zps[order.zps_loop] = 1;
    return problem_of(order.extents,
            {src, strides_of(order.extents, order.src_order)},
            {parameters.scales, scales}, {parameters.zps, zps},
            {dst, strides_of(order.extents, inward)});
}

// Packed for a product: a few rows of weights side by side, or a few columns.
const order_case_t packed[] = {
        {{40, 300, 2}, {0, 2, 1}, 1, 2},
        {{7, 1000, 4}, {0, 2, 1}, 1, 2},
        {{33, 65, 4}, {1, 0, 2}, 1, 1},
        {{130, 37, 2}, {1, 0, 2}, 1, 0},
        {{5, 9, 70, 4}, {0, 2, 1, 3}, 2, 1},
        {{9, 5, 64, 7}, {0, 3, 1, 2}, 2, 0},
        // Tiles of AMX, by row and by column.
        {{3, 20, 64, 2}, {1, 3, 0, 2}, 2, 1},
        {{2, 15, 64, 4}, {1, 3, 0, 2}, 0, 2},
        {{5, 30, 16, 2}, {0, 2, 1, 3}, 3, 1},
};

TEST(reordered_blocks, are_packed_weights) {
    for_types({t::u8, t::s4, t::u2, t::u16},
            [](t src, t dst, const parameters_t &parameters) {
        for (const order_case_t &order : packed) {
            const problem_t problem = ordered(order, src, dst, parameters);
            check(problem, make_reordered_blocks, isa_avx2);
            if (testing::Test::HasFailure()) return;
        }
    });
}

// Filters of nibbles whose rows begin within bytes.
TEST(reordered_blocks, are_filters_of_nibbles) {
    const order_case_t filters[] = {
            {{24, 9, 35}, {0, 2, 1}, 0, 0},
            {{3, 3, 40, 26}, {3, 2, 1, 0}, 3, 2},
            {{3, 5, 7, 64}, {3, 2, 1, 0}, 2, 3},
            {{30, 44, 9}, {1, 0, 2}, 0, 1},
            {{101, 203}, {1, 0}, 0, 1},
    };
    for_types(
            {t::s4, t::u4}, [&](t src, t dst, const parameters_t &parameters) {
        for (const order_case_t &order : filters) {
            check(ordered(order, src, dst, parameters), make_reordered_blocks,
                    isa_avx2);
            if (testing::Test::HasFailure()) return;
        }
    });
}

// Values that share a scale lie along one loop of two that are neighbours in
// src. All of these are chosen by themselves.
TEST(reordered_blocks, are_chosen) {
    for_types({t::u8, t::s4}, [](t src, t dst, const parameters_t &parameters) {
        const problem_t problem = problem_of({20, 9, 32, 2},
                {src, {1152, 64, 1, 32}}, {parameters.scales, {18, 2, 0, 1}},
                {parameters.zps, {0, 1, 0, 0}}, {dst, {576, 64, 2, 1}});
        check(problem, make_reordered_blocks, isa_avx2);
        check(problem, choose_kernel);
    });
}

// Filters with a scale for each output channel, point and group of input
// channels: those of a row of src come again for each channel of a group. Rows
// of a filter's points are short, of f32 too.
TEST(reordered_blocks, are_filters_in_groups) {
    for_types({t::u8, t::s4}, [](t src, t dst, const parameters_t &parameters) {
        for (const dim_t points : {3, 9, 12, 36}) {
            const dim_t outputs = 70, groups = 3, group = 16,
                        inputs = groups * group;
            const dims_t extents {outputs, groups, group, points};
            const dims_t of_dst {inputs * points, group * points, points, 1};
            const dims_t of_groups {1, points * outputs, 0, outputs};
            check(problem_of(extents,
                          {src, {1, group * outputs, outputs,
                                        inputs * outputs}},
                          {parameters.scales, of_groups},
                          {parameters.zps, of_groups}, {dst, of_dst}),
                    make_reordered_blocks, isa_avx2);
            if (points > 12 || testing::Test::HasFailure()) continue;
            check(ordered({{outputs, inputs, points}, {0, 2, 1}, 0, 2}, src,
                          dst, parameters),
                    make_reordered_blocks, isa_avx2);
        }
    });
}

// Short runs of src whose columns are few, or have parameters of their own. A
// chain's rows may go on along a second loop, but not along the columns.
// Vectors of columns are tiles if the run is in groups, and blocks if it lies
// outside.
TEST(reordered_blocks, are_short_runs) {
    for_types({t::u8, t::s4}, [](t src, t dst, const parameters_t &parameters) {
        for (const dim_t run : {2, 9, 12})
            for (const dim_t columns : {15, 16, 28}) {
                const bool is_chain = is_floating(parameters.zps);
                order_case_t few {{run, 20, columns}, {2, 1, 0}, 0, 1};
                if (is_chain) few = {{run, 20, 3, columns}, {2, 1, 3, 0}, 0, 1};
                check(ordered(few, src, dst, parameters), make_reordered_blocks,
                        isa_avx2);
                if (columns == 16) continue;
                order_case_t own {{20, run, columns}, {2, 0, 1}, 2, 0};
                if (is_chain) own.src_order = {0, 2, 1};
                check(ordered(own, src, dst, parameters), make_reordered_blocks,
                        isa_avx2);
                if (HasFailure()) return;
            }
    });
}

// Each column has a scale of its own in each row of src. More than 64 columns
// of f32 are refused (are_refused_where_another_kernel_is_better).
TEST(reordered_blocks, have_scales_by_row_and_column) {
    for_types({t::u8, t::s4}, [](t src, t dst, const parameters_t &parameters) {
        for (const dim_t columns : {37, 64, 100}) {
            if (columns > 64 && dst == t::f32) continue;
            const dims_t of_both {1, 0, 70};
            check(problem_of({70, 8, columns}, {src, {1, 70, 560}},
                          {parameters.scales, of_both},
                          {parameters.zps, of_both},
                          {dst, {8 * columns, columns, 1}}),
                    make_reordered_blocks, isa_avx2);
            if (testing::Test::HasFailure()) return;
        }
    });
}

// Chains of short rows, and of nibbles whose runs begin within bytes.
TEST(reordered_blocks, are_chains) {
    const parameters_t of_chain {t::f32, t::f32};
    const order_case_t short_rows {{70, 20, 9}, {1, 0, 2}, 0, 1};
    const order_case_t within_bytes {{49, 20, 40}, {1, 2, 0}, 0, 1};
    for (const t dst : {t::f32, t::bf16, t::f16}) {
        for (const t src : {t::u8, t::u4, t::f16})
            check(ordered(short_rows, src, dst, of_chain),
                    make_reordered_blocks, isa_avx2);
        check(ordered(within_bytes, t::u4, dst, of_chain),
                make_reordered_blocks, isa_avx2);
        if (HasFailure()) return;
    }
}

// Rows of dst with gaps between them.
TEST(reordered_blocks, leave_gaps_alone) {
    for_types({t::u8, t::s4}, [](t src, t dst, const parameters_t &parameters) {
        const problem_t problem = problem_of({33, 65, 4}, {src, {4, 132, 1}},
                {parameters.scales, {0, 1, 0}}, {parameters.zps, {1, 0, 0}},
                {dst, {520, 8, 1}});
        check(problem, make_reordered_blocks, isa_avx2);
    });
}

TEST(reordered_blocks, are_refused_where_another_kernel_is_better) {
    problem_t short_group = ordered(packed[0], t::u8, t::f32, {t::f32, t::u8});
    short_group.loops[1].parent = 0;
    short_group.loops[1].last_extent = 1;
    const std::vector<problem_t> problems {
            // src in the order of dst; rows transposed in bytes; long rows.
            ordered({{40, 300, 2}, {0, 1, 2}, 1, 2}, t::u8, t::f32,
                    {t::f32, t::u8}),
            ordered({{40, 300}, {1, 0}, 0, 1}, t::u4, t::f32, {t::f32, t::u8}),
            ordered({{3, 40, 300}, {1, 0, 2}, 0, 1}, t::u8, t::f32,
                    {t::f32, t::u8}),
            // A src that overlaps itself; blocks that begin with bytes would
            // be too large.
            problem_of({3, 5, 4}, {t::u8, {4, 4, 1}}, {t::f32, {0, 0, 1}},
                    {t::u8, {1, 3, 0}}, {t::f32, {20, 4, 1}}),
            ordered({{3, 3, 3, 3, 3, 3, 3, 3, 3}, {8, 7, 6, 5, 4, 3, 2, 1, 0},
                            8, 7},
                    t::u2, t::f32, {t::f32, t::u8}),
            // Images of three colours, each of one scale, in no second cache.
            ordered({{40000, 300, 3}, {0, 2, 1}, 2, 0}, t::u8, t::f32,
                    {t::f32, t::u8}),
            // Rows that are not short: of 13 f32, and of 65 with scales by row
            // and column.
            ordered({{40, 300, 13}, {0, 2, 1}, 1, 2}, t::u8, t::f32,
                    {t::f32, t::u8}),
            problem_of({70, 8, 65}, {t::u8, {1, 70, 560}}, {t::f32, {1, 0, 70}},
                    {t::u8, {0, 0, 0}}, {t::f32, {520, 65, 1}}),
            // Few columns, but long runs of src: tiles join the columns.
            ordered({{130, 20, 9}, {2, 1, 0}, 0, 1}, t::u8, t::f32,
                    {t::f32, t::f32}),
            ordered({{130, 20, 63}, {2, 1, 0}, 0, 0}, t::u8, t::f32,
                    {t::f32, t::u8}),
            // Rows of two loops, groups of eight, whose columns fill vectors:
            // as many bytes as are few, and as many columns.
            problem_of({20, 16, 8, 32}, {t::u8, {4096, 8, 1, 128}},
                    {t::f32, {512, 32, 0, 1}}, {t::u8, {512, 32, 0, 1}},
                    {t::f32, {4096, 256, 32, 1}}),
            problem_of({20, 16, 8, 16}, {t::u8, {2048, 8, 1, 128}},
                    {t::f32, {256, 16, 0, 1}}, {t::u8, {256, 16, 0, 1}},
                    {t::f32, {2048, 128, 16, 1}}),
            // A chain's runs of src that go on along a second loop: rows that
            // begin within bytes, and columns.
            ordered({{49, 20, 40}, {2, 1, 0}, 0, 1}, t::u4, t::f32,
                    {t::f32, t::f32}),
            ordered({{12, 20, 15}, {2, 1, 0}, 0, 1}, t::u8, t::f32,
                    {t::f32, t::f32}),
            // Units could share a byte of dst; a short last group.
            ordered({{40, 300, 2}, {0, 2, 1}, 1, 2}, t::u8, t::u4,
                    {t::f32, t::u8}),
            short_group};
    expect_refused(problems, make_reordered_blocks);
}

TEST(reordered_blocks, say_how_large_they_would_be) {
    const problem_t problem = ordered(
            {{3, 3, 3, 3, 3, 3, 3, 3, 3}, {8, 7, 6, 5, 4, 3, 2, 1, 0}, 8, 7},
            t::u2, t::f32, {t::f32, t::u8});
    std::shared_ptr<const kernel_t> kernel;
    EXPECT_EQ(make_reordered_blocks(problem, isa_avx2, kernel).reason,
            "blocks that begin with bytes have 19683 elements; expected 16384 "
            "at most");
}

} // namespace
} // namespace dnnl_dequant
