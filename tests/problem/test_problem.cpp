#include "problem/problem.hpp"

#include <gtest/gtest.h>

#include "problem/make_problem.hpp"

namespace dnnl_dequant {
namespace {

problem_t short_groups() {
    return make_problem({2, 100}, {1, 32},
            {{data_type_t::u4, {100, 1}, false},
                    {data_type_t::u4, {4, 1}, true},
                    {data_type_t::f32, {4, 1}, true},
                    {data_type_t::bf16, {100, 1}, false}},
            {{step_kind_t::subtract, 1}, {step_kind_t::multiply, 2}});
}

TEST(problem, prints_loops_operands_and_steps) {
    EXPECT_EQ(to_string(short_groups()),
            "2x4x32~4@1;src:u4:100:32:1;arg1:u4:4:1:0;arg2:f32:4:1:0;"
            "dst:bf16:100:32:1;sub:arg1;mul:arg2");
}

TEST(problem, prints_an_offset_behind_the_type) {
    auto p = short_groups();
    p.operands[0].offset = 3;
    EXPECT_NE(to_string(p).find("src:u4+3:100"), std::string::npos);
}

TEST(problem, prints_no_loops_as_scalar) {
    const problem_t p {{},
            {{data_type_t::u8, 0, {}}, {data_type_t::f32, 0, {}},
                    {data_type_t::f32, 0, {}}},
            {{step_kind_t::multiply, 1}}};
    EXPECT_EQ(to_string(p), "scalar;src:u8;arg1:f32;dst:f32;mul:arg1");
}

TEST(problem, is_printed_without_spaces_and_commas) {
    EXPECT_EQ(to_string(short_groups()).find_first_of(" ,"), std::string::npos);
}

TEST(problem, counts_short_groups_as_what_they_are) {
    EXPECT_EQ(element_count(short_groups()), 200);
    // 200 nibbles, 8 nibbles of zps, 8 f32 scales, 200 bf16.
    EXPECT_EQ(bytes_to_move(short_groups()), 100 + 4 + 32 + 400);
}

TEST(problem, counts_an_operand_that_varies_within_groups_only) {
    auto p = short_groups();
    p.operands[1].strides = {0, 0, 1}; // 32 zps, shared by all groups
    EXPECT_EQ(bytes_to_move(p), 100 + 16 + 32 + 400);
}

TEST(problem, counts_an_absorbed_loop_of_a_short_group) {
    const auto p = make_problem({10, 7}, {4, 7},
            {{data_type_t::s8, {7, 1}, false}, {data_type_t::f16, {1, 0}, true},
                    {data_type_t::f32, {7, 1}, false}},
            {{step_kind_t::multiply, 1}});
    EXPECT_EQ(bytes_to_move(p), 70 + 3 * 2 + 70 * 4);
}

TEST(problem, differs_by_every_field) {
    const auto p = short_groups();
    const auto expect_other = [&](const problem_t &q) {
        EXPECT_FALSE(p == q) << to_string(q);
        EXPECT_NE(to_string(p), to_string(q));
    };
    EXPECT_EQ(p, short_groups());
    auto q = p;
    q.loops[0].extent = 3;
    expect_other(q);
    (q = p).loops[2].last_extent = 5;
    expect_other(q);
    (q = p).loops[2].parent = 0;
    expect_other(q);
    (q = p).operands[0].type = data_type_t::s4;
    expect_other(q);
    (q = p).operands[0].offset = 1;
    expect_other(q);
    (q = p).operands[3].strides[0] = 128;
    expect_other(q);
    (q = p).steps[0].operand = 2;
    expect_other(q);
    (q = p).steps[0].kind = step_kind_t::multiply;
    expect_other(q);
}

} // namespace
} // namespace dnnl_dequant
