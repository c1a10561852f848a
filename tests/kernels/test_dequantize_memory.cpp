// Ways that the dequantize family takes only if dst is too large for the
// caches, transposed sources above all. The kernels are compared with the
// reference kernel.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "kernels/chain_case.hpp"
#include "kernels/dequantize/dequantize.hpp"
#include "kernels/dequantize/jit_plan.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/on_machine.hpp"
#include "problem/make_problem.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace {

using support::chain_case_t;
using t = data_type_t;
using buffers_t = std::vector<std::vector<unsigned char>>;

struct variant_t {
    t src, zps, dst;
    dims_t dims, group;
    bool is_dense = false;          // src is, else along the rows
    bool has_turned_params = false; // dense along the rows
    support::values_t values = support::values_t::ordinary;
};

// Begins of dst. At 0 whole lines are stored past the caches where they are
// computed, else by way of a buffer.
constexpr size_t line = 64, places[] = {0, 16};

dim_t groups_of(const variant_t &v, size_t d) {
    return (v.dims[d] + v.group[d] - 1) / v.group[d];
}

// Scales and zero points a group each.
chain_case_t case_of(const variant_t &v) {
    chain_case_t c;
    c.dims = v.dims;
    c.groups = v.group;
    c.values = v.values;
    const dims_t dense {v.dims[1], 1};
    c.tensors.push_back(
            {v.src, v.is_dense ? dense : dims_t {1, v.dims[0]}, false, 0});
    const dims_t strides = v.has_turned_params ? dims_t {1, groups_of(v, 0)}
                                               : dims_t {groups_of(v, 1), 1};
    if (v.zps != t::undef) {
        c.tensors.push_back({v.zps, strides, true, 0});
        c.steps.push_back({step_kind_t::subtract, 1});
    }
    c.steps.push_back(
            {step_kind_t::multiply, static_cast<int>(c.tensors.size())});
    c.tensors.push_back({t::f32, strides, true, 0});
    c.tensors.push_back({v.dst, dense, false, 0});
    return c;
}

buffers_t buffers_of(const chain_case_t &c) {
    buffers_t buffers;
    for (size_t i = 0; i < c.tensors.size(); ++i) {
        buffers.emplace_back(c.bytes(c.tensors[i]) + 2 * line, 0x5a);
        if (i + 1 < c.tensors.size()) support::fill(c, i, buffers[i].data());
    }
    return buffers;
}

unsigned char *dst_of(buffers_t &buffers, size_t place) {
    unsigned char *const any = buffers.back().data();
    return any + (-reinterpret_cast<uintptr_t>(any) & (line - 1)) + place;
}

void run(const kernel_t &kernel, buffers_t &buffers, size_t place) {
    std::vector<void *> operands;
    for (auto &buffer : buffers)
        operands.push_back(buffer.data());
    operands.back() = dst_of(buffers, place);
    const dim_t units = kernel.work_amount();
    kernel.run(operands.data(), 0, units / 3);
    kernel.run(operands.data(), units / 3, units);
}

void expect_as_ref(const variant_t &v) {
    const chain_case_t c = case_of(v);
    const problem_t problem = problem_of(c);
    std::shared_ptr<const kernel_t> ref;
    ASSERT_TRUE(make_ref_dequantize(problem, isa_none, ref).ok());
    auto expected = buffers_of(c);
    run(*ref, expected, 0);
    for (const auto &row : dequantize_rows()) {
        if (!runs_here(row) || row.isa == isa_none) continue;
        std::shared_ptr<const kernel_t> kernel;
        const result_t made = row.factory(problem, row.isa, kernel);
        ASSERT_TRUE(made.ok()) << made.reason;
        auto got = buffers_of(c);
        for (const size_t place : places) {
            std::fill(got.back().begin(), got.back().end(), 0x5a);
            run(*kernel, got, place);
            EXPECT_EQ(support::difference(v.dst, dst_of(expected, 0),
                              dst_of(got, place), v.dims[0] * v.dims[1]),
                    "")
                    << row.name << ' ' << place << ' ' << to_string(problem);
        }
    }
}

// A row is left over, of all or of each group; the columns are no whole steps.
TEST(dequantize_in_memory, takes_two_rows_that_share_what_varies) {
    const bool is_dense = true;
    for (const auto &[dst, dims] : {std::pair<t, dims_t> {t::bf16, {311, 4096}},
                 {t::f16, {301, 4094}}, {t::f32, {1201, 519}}}) {
        expect_as_ref({t::u8, t::u8, dst, dims, {dims[0], 1}, is_dense});
        expect_as_ref({t::s8, t::undef, dst, dims, {41, 1}, is_dense});
        expect_as_ref({t::s16, t::s32, dst, dims, {128, 1}, is_dense});
        expect_as_ref({t::f8_e4m3, t::undef, dst, dims, {64, 1}, is_dense});
    }
    expect_as_ref({t::u4, t::u4, t::f16, {301, 4094}, {301, 1}, is_dense});
    expect_as_ref({t::s4, t::s32, t::bf16, {311, 4096}, {41, 1}, is_dense});
    expect_as_ref({t::s8, t::s8, t::f32, {301, 2048}, {301, 8}, is_dense});
}

const dims_t wide {1536, 4096}, narrow_rest {1536, 3200}, odd {1601, 3203};

TEST(dequantize_in_memory, transposes_groups_of_columns) {
    expect_as_ref({t::u8, t::u8, t::f32, wide, {1, 32}});
    expect_as_ref({t::u4, t::u4, t::bf16, {3072, 4096}, {1, 32}});
    expect_as_ref({t::s4, t::s32, t::f32, wide, {1, 128}});
    expect_as_ref({t::u4, t::u8, t::f16, {3072, 4096}, {1, 16}});
    expect_as_ref({t::s8, t::undef, t::f16, {3072, 4096}, {1, 128}});
    // Groups that are no whole lines.
    expect_as_ref({t::u8, t::s32, t::bf16, {3072, 4104}, {1, 72}});
    expect_as_ref({t::u4, t::u4, t::f32, {1537, 4095}, {1, 65}});
    expect_as_ref({t::u4, t::undef, t::f32, wide, {1, 4096}});
    // The last panel has fewer groups, or the last group is short.
    expect_as_ref({t::u4, t::u4, t::f32, narrow_rest, {1, 128}});
    expect_as_ref({t::u8, t::u8, t::f32, odd, {1, 128}});
    // Half of the rows, for which there is room, are an odd number.
    expect_as_ref({t::u4, t::u4, t::f32, {66, 98304}, {1, 32}});
    expect_as_ref({t::s4, t::s4, t::bf16, {130, 98304}, {1, 32}});
}

// They lie as those of weights do that are transposed after a dequantize.
TEST(dequantize_in_memory, transposes_groups_of_transposed_parameters) {
    for (const dims_t &group :
            {dims_t {1, 7}, dims_t {1, 8}, dims_t {1, 32}, dims_t {8, 32}}) {
        expect_as_ref({t::u8, t::s32, t::bf16, wide, group, false, true});
        expect_as_ref({t::u4, t::u4, t::f32, narrow_rest, group, false, true});
        expect_as_ref({t::s8, t::undef, t::f16, odd, group, false, true});
    }
}

TEST(dequantize_in_memory, transposes_groups_of_few_columns) {
    expect_as_ref({t::u4, t::u4, t::f32, wide, {1, 8}});
    expect_as_ref({t::s8, t::s32, t::f32, odd, {1, 4}});
    expect_as_ref({t::u8, t::u8, t::bf16, {3072, 4096}, {1, 16}});
    expect_as_ref({t::s4, t::undef, t::f32, narrow_rest, {16, 2}});
    expect_as_ref({t::u4, t::u4, t::bf16, {3072, 4096}, {1, 7}});
    expect_as_ref({t::s8, t::s16, t::f32, odd, {1, 3}});
    expect_as_ref({t::u8, t::undef, t::f16, {3072, 4095}, {8, 15}});
    expect_as_ref({t::s4, t::u4, t::f16, {3072, 4093}, {1, 48}});
}

// A row is several blocks of columns.
TEST(dequantize_in_memory, takes_groups_of_few_columns) {
    const bool is_dense = true;
    expect_as_ref({t::u4, t::u4, t::bf16, {123, 9001}, {1, 7}, is_dense});
    expect_as_ref({t::u8, t::s8, t::f32, {61, 9003}, {1, 12}, is_dense});
    expect_as_ref({t::s8, t::s32, t::f16, {123, 9000}, {1, 9}, is_dense});
    expect_as_ref({t::s4, t::s4, t::f16, {122, 9002}, {61, 5}, is_dense});
}

// All but the last are one row. No dst has a size that is a power of two.
// All groups are as long, so that all rows are one, whose blocks begin with a
// group. Or each row ends with a group of another length.
TEST(dequantize_in_memory, takes_whole_groups_of_dense_rows) {
    for (const dim_t group : {3, 7, 12, 30, 36, 61}) {
        const dim_t cols = 4096 / group * group;
        for (const dim_t more : {0, 1}) {
            const dims_t dims {513, cols + more};
            expect_as_ref({t::u8, t::u8, t::bf16, dims, {1, group}, true});
            expect_as_ref({t::u4, t::undef, t::f32, dims, {1, group}, true});
            expect_as_ref({t::s8, t::s32, t::f16, dims, {1, group}, true});
        }
    }
}

TEST(dequantize_in_memory, takes_short_groups_of_dense_rows) {
    const bool is_dense = true;
    expect_as_ref({t::u8, t::u8, t::f32, {1000, 400}, {1, 8}, is_dense});
    expect_as_ref({t::u4, t::u4, t::f32, {500, 600}, {1, 8}, is_dense});
    expect_as_ref({t::u8, t::u8, t::bf16, {1000, 608}, {1, 16}, is_dense});
    expect_as_ref({t::u4, t::u4, t::bf16, {40, 16401}, {1, 16}, is_dense});
}

// Panels of half as many rows. The policy says into which cache lines of dst
// are prefetched.
TEST(dequantize_in_memory, transposes_what_the_third_cache_holds) {
    for (const auto &policy : machine_policies()) {
        SCOPED_TRACE(policy.name);
        const on_machine_t on({policy, 32 << 20, 1 << 20});
        jit_plan_t plan;
        ASSERT_TRUE(make_jit_plan(problem_of(case_of({t::u8, t::u8, t::f32,
                                          {300, 1030}, {1, 8}})),
                {}, plan)
                        .ok());
        EXPECT_TRUE(plan.panels);
        EXPECT_EQ(
                plan.prefetches_dst_into_l2, policy.prefetches_panels_into_l2);
        expect_as_ref({t::u4, t::u4, t::bf16, {512, 1100}, {1, 50}});
        expect_as_ref({t::s8, t::s8, t::f16, {1001, 640}, {7, 1}});
        expect_as_ref({t::u8, t::u8, t::f32, {300, 1030}, {1, 8}});
        expect_as_ref({t::s4, t::u8, t::f32, {130, 2304}, {1, 32}});
    }
}

// A page of a row of dst, and what is left of it.
TEST(dequantize_in_memory, transposes_wide_panels) {
    expect_as_ref({t::u8, t::u8, t::bf16, odd, odd});
    expect_as_ref({t::s8, t::s8, t::f16, odd, {1, 128}});
    expect_as_ref({t::u4, t::u4, t::f16, {2500, 3604}, {2500, 3604}});
}

// Up to 512 bytes of each of 256 columns, and what is left of both.
TEST(dequantize_in_memory, transposes_tall_tiles) {
    const on_machine_t on(
            {policy_named("Zen 3"), no_cache_bytes, no_cache_bytes});
    const auto check = [](const variant_t &v, dim_t rows) {
        jit_plan_t plan;
        ASSERT_TRUE(make_jit_plan(problem_of(case_of(v)), {}, plan).ok());
        EXPECT_EQ(plan.tall_tile_rows, rows) << bits_of(v.src);
        expect_as_ref(v);
    };
    const dims_t dims {1602, 3203};
    for (const dims_t &group : {dims, dims_t {1, 128}, dims_t {128, 1},
                 dims_t {40, 64}, dims_t {1, 7}}) {
        check({t::u8, t::s8, t::bf16, dims, group}, 256);
        check({t::s4, t::s8, t::f16, dims, group}, 128);
        check({t::u4, t::s8, t::f32, dims, group}, 128);
        check({t::s16, t::s8, t::f32, dims, group}, 512);
        check({t::s32, t::s8, t::bf16, dims, group}, 512);
    }
    check({t::u8, t::u8, t::f16, {3111, 3203}, {1, 128}}, 512);
    check({t::u4, t::u4, t::f32, {6002, 3203}, {6002, 1}}, 512);
    // Too few, and elements that are bytes of a tile.
    check({t::u8, t::u8, t::f32, {512, 1024}, {1, 1024}}, 0);
    check({t::u2, t::u2, t::f32, {4100, 2052}, {1, 128}}, 0);
}

// Whole blocks of tiles of dwords, as a Zen 4 takes them: in L2, as panels and
// past the caches, with what varies along rows, columns, both and neither.
TEST(dequantize_in_memory, transposes_tiles_of_dwords) {
    const dims_t dims {256, 640};
    const dim_t caches[][2] = {{32 << 20, 1 << 20}, {32 << 20, no_cache_bytes},
            {no_cache_bytes, no_cache_bytes}};
    const auto any = support::values_t::any;
    for (const auto &cache : caches) {
        const on_machine_t on({policy_named("Zen 4"), cache[0], cache[1]});
        for (const t dst : {t::f32, t::bf16, t::f16}) {
            for (const dims_t &group : {dims, dims_t {1, 640}, dims_t {256, 1},
                         dims_t {1, 128}, dims_t {1, 32}, dims_t {64, 128}}) {
                expect_as_ref({t::u8, t::u8, dst, dims, group});
                expect_as_ref(
                        {t::s8, t::undef, dst, dims, group, false, false, any});
                expect_as_ref({t::u4, t::u4, dst, dims, group});
            }
            expect_as_ref({t::s8, t::s8, dst, {192, 96}, {1, 32}});
            expect_as_ref({t::u8, t::s8, dst, {192, 96}, {1, 96}});
            expect_as_ref({t::s4, t::s8, dst, {384, 96}, {384, 1}});
        }
    }
}

// Blocks of eight tiles below each other, and what is left of both.
TEST(dequantize_in_memory, transposes_blocks_of_tiles) {
    const on_machine_t on(
            {policy_named("Zen 4"), no_cache_bytes, no_cache_bytes});
    const auto check = [](const variant_t &v, dim_t rows) {
        jit_plan_t plan;
        ASSERT_TRUE(make_jit_plan(problem_of(case_of(v)), {}, plan).ok());
        EXPECT_EQ(plan.tile_rows, rows) << bits_of(v.src);
        expect_as_ref(v);
    };
    const dims_t even {1216, 4128}, rest {1201, 4129};
    check({t::u8, t::u8, t::f32, even, even}, 64);
    check({t::s8, t::s8, t::bf16, even, {1, 32}}, 64);
    check({t::s8, t::s8, t::f16, even, {1216, 1}}, 64);
    check({t::u8, t::s32, t::bf16, rest, {1, 4129}}, 64);
    check({t::s16, t::s8, t::f32, rest, {1, 128}}, 32);
    check({t::u4, t::s8, t::f16, {2000, 4736}, {1, 4736}}, 128);
    check({t::s4, t::s4, t::bf16, {2000, 4736}, {2000, 1}}, 128);
    // Too few.
    check({t::u8, t::u8, t::f32, {512, 1024}, {1, 1024}}, 0);
}

TEST(dequantize_in_memory, transposes_groups_of_rows) {
    for (const dims_t &group : {dims_t {128, 1}, dims_t {128, 128},
                 dims_t {40, 64}, dims_t {odd[0], 1}})
        expect_as_ref({t::s8, t::s8, t::f32, odd, group});
    expect_as_ref({t::u4, t::u4, t::f32, wide, {128, 1}});
    expect_as_ref({t::u4, t::u4, t::f32, wide, {7, 1}});
}

// A call takes as many columns as there is room for. They are stored at once,
// or by a buffer.
TEST(dequantize_in_memory, transposes_short_groups_of_few_columns) {
    expect_as_ref({t::u4, t::u4, t::f32, {42008, 128}, {8, 1}});
    expect_as_ref({t::s8, t::s32, t::bf16, {83002, 128}, {24, 1}});
    expect_as_ref({t::u4, t::u8, t::f32, {36003, 150}, {6, 1}});
    // 45 rows to a buffer, two to a byte.
    expect_as_ref({t::s4, t::s4, t::f32, {60001, 90}, {64, 1}});
}

TEST(dequantize_in_memory, transposes_every_width) {
    for (const t src : {t::u16, t::s32, t::bf16, t::f8_e4m3})
        expect_as_ref({src, t::undef, t::f32, wide, {1, 64}});
    expect_as_ref({t::u16, t::u16, t::f32, odd, odd});
}

// A small problem is stored past the caches if it is one of so many parts that
// all of them together leave these.
TEST(dequantize_plan, goes_by_the_memory_of_all_parts) {
    problem_t problem = make_problem({64, 1024}, {1, 1},
            {{data_type_t::u8, {1024, 1}, false},
                    {data_type_t::f32, {1024, 1}, false}},
            {}, 0);
    jit_plan_t plan;
    ASSERT_TRUE(make_jit_plan(problem, {}, plan).ok());
    EXPECT_FALSE(plan.streaming);
    problem.parts = 100000;
    ASSERT_TRUE(make_jit_plan(problem, {}, plan).ok());
    EXPECT_TRUE(plan.streaming);
    EXPECT_NE(to_string(problem).find(";parts:100000"), std::string::npos);
}

} // namespace
} // namespace dnnl_dequant
