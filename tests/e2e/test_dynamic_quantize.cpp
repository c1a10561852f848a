// DynamicQuantizeLinear through the graph API: ranges, scales, zero points and
// quantized values, bit for bit.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "e2e/bad_input.hpp"
#include "e2e/range_case.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

void expect_right(const range_case_t &c) {
    std::string wrong;
    try {
        wrong = check(c);
    } catch (const std::exception &e) {
        wrong = std::string("threw: ") + e.what();
    }
    EXPECT_EQ(wrong, "") << text_of(c);
}

// --- the cross product

// Dense; padded; x and y in different orders; strided parameters.
std::vector<range_case_t> layouts_of(const range_case_t &dense) {
    std::vector<range_case_t> all {dense};
    range_case_t c = dense;
    c.x.strides = support::padded_strides(c.x.dims, 3);
    c.scale.strides = support::padded_strides(c.scale.dims, 2);
    c.zero.strides = support::padded_strides(c.zero.dims, 1);
    all.push_back(c);
    if (c.rank() < 2) return all;
    std::vector<size_t> order(c.rank());
    for (size_t d = 0; d < order.size(); ++d)
        order[d] = order.size() - 1 - d;
    c.x.strides = support::permuted_strides(c.x.dims, order);
    all.push_back(c);
    c.y.strides = c.x.strides;
    all.push_back(c);
    return all;
}

TEST(dynamic_quantize, equals_the_formula_in_every_granularity_and_layout) {
    struct shape_t {
        dims_t dims, groups;
        dim_t axis;
    };
    const std::vector<shape_t> shapes {{{}, {}, -9}, {{1}, {1}, -9},
            {{37}, {37}, -9}, {{37}, {8}, -9}, {{5, 19}, {5, 19}, -9},
            {{5, 19}, {1, 19}, 0}, {{5, 19}, {1, 19}, -9},
            {{5, 19}, {5, 1}, -1}, {{5, 19}, {2, 4}, -9}, {{5, 19}, {1, 1}, -9},
            {{3, 5, 7}, {3, 1, 7}, 1}, {{3, 5, 7}, {1, 1, 7}, -9},
            {{3, 5, 7}, {3, 5, 1}, 2}, {{3, 5, 7}, {2, 5, 3}, -9},
            {{2, 3, 5, 9}, {2, 3, 5, 9}, -9}, {{130, 257}, {1, 257}, 0},
            {{130, 257}, {130, 1}, 1}, {{40, 300}, {1, 128}, -9},
            {{40, 300}, {16, 100}, -9}, {{1031}, {1031}, -9},
            {{400, 129}, {1, 129}, -9}, {{33, 1500}, {33, 1}, 1},
            {{70, 2100}, {1, 3}, -9}};
    uint64_t seed = support::first_seed();
    dim_t n = 0;
    for (const auto &shape : shapes)
        for (const auto x :
                {data_type_t::f32, data_type_t::bf16, data_type_t::f16})
            for (const bool symmetric : {false, true})
                for (const auto y : {data_type_t::u8, data_type_t::s8}) {
                    if (symmetric && y == data_type_t::u8) continue;
                    auto dense = make_case(
                            shape.dims, shape.groups, x, y, symmetric);
                    if ((dense.axis = shape.axis) > -9) {
                        const dims_t list {dense.x.dims[static_cast<size_t>(
                                shape.axis < 0 ? shape.axis + 2 : shape.axis)]};
                        dense.scale.dims = dense.zero.dims = list;
                        dense.scale.strides = dense.zero.strides = {1};
                    }
                    for (auto c : layouts_of(dense)) {
                        c.seed = seed++;
                        c.values = c.seed % 3 == 0 ? support::values_t::any
                                   : c.seed % 3 == 1
                                           ? support::values_t::extreme
                                           : support::values_t::ordinary;
                        if (n++ % support::every() == 0) expect_right(c);
                    }
                }
}

// Rows of whole vectors, each of them a group, with and without NaN.
TEST(dynamic_quantize, equals_the_formula_by_rows_of_whole_vectors) {
    struct shape_t {
        dims_t dims, groups;
    };
    const std::vector<shape_t> shapes {{{40, 64}, {1, 64}},
            {{40, 320}, {1, 64}}, {{8, 192}, {1, 192}},
            {{5, 7, 128}, {1, 1, 128}}, {{13, 1, 1024}, {1, 1, 128}},
            {{6, 3, 32, 4}, {1, 1, 32, 4}}, {{300, 64}, {1, 64}},
            {{9, 1216}, {1, 1216}}};
    uint64_t seed = support::first_seed();
    for (const auto &shape : shapes)
        for (const auto x :
                {data_type_t::f32, data_type_t::bf16, data_type_t::f16})
            for (const auto y : {data_type_t::u8, data_type_t::s8})
                for (const bool symmetric : {false, true}) {
                    if (symmetric && y == data_type_t::u8) continue;
                    for (const auto values : {support::values_t::ordinary,
                                 support::values_t::extreme,
                                 support::values_t::any}) {
                        auto c = make_case(
                                shape.dims, shape.groups, x, y, symmetric);
                        c.seed = seed++;
                        c.values = values;
                        expect_right(c);
                    }
                }
}

// Too much for one core's cache, and for one thread.
TEST(dynamic_quantize_large, is_the_same_whatever_the_size_and_the_threads) {
    for (const auto &groups : std::vector<dims_t> {{1000, 1031}, {1, 1031},
                 {1, 128}, {1000, 1}, {7, 1031}, {3, 200}}) {
        auto c = make_case(
                {1000, 1031}, groups, data_type_t::f32, data_type_t::u8, false);
        expect_right(c);
        c.values = support::values_t::extreme;
        expect_right(c);
    }
}

// More than some policies leave in the caches: slabs are stored past them.
TEST(dynamic_quantize_large, is_right_where_it_leaves_the_caches) {
    for (const dim_t group : {1031, 128})
        expect_right(make_case({2600, 1031}, {1, group}, data_type_t::f32,
                data_type_t::u8, false));
    for (const dim_t group : {1024, 128})
        for (const auto x : {data_type_t::f32, data_type_t::bf16})
            expect_right(make_case(
                    {6000, 1024}, {1, group}, x, data_type_t::s8, true));
}

// --- what the specification leaves open

struct answer_t {
    float scale = -1;
    int zero = -1;
    std::vector<int> y;
};

answer_t quantize(std::vector<float> x) {
    const auto n = static_cast<dim_t>(x.size());
    auto c = make_case({n}, {n}, data_type_t::f32, data_type_t::u8, false);
    if (n == 0)
        c.scale.dims = c.zero.dims = c.scale.strides = c.zero.strides = {};
    answer_t answer;
    std::vector<uint8_t> y(x.size() + 1, 77);
    uint8_t zero = 77;
    const auto &cpu = cpu_engine();
    const auto xs = strided(x_id, c.x), ys = strided(y_id, c.y),
               scales = strided(y_scale_id, c.scale),
               zeros = strided(y_zero_point_id, c.zero);
    const auto compiled
            = partition_of(op_of(c)).compile({xs}, {ys, scales, zeros}, cpu);
    compiled.execute(cpu_stream(), {{xs, cpu, x.data()}},
            {{ys, cpu, y.data()}, {scales, cpu, &answer.scale},
                    {zeros, cpu, &zero}});
    answer.zero = zero;
    answer.y.assign(y.begin(), y.end() - 1);
    EXPECT_EQ(y.back(), 77);
    return answer;
}

constexpr float infinity = std::numeric_limits<float>::infinity();

// Rows of 128 KiB and more: a slab is one of them, and has room for so many
// groups or, where there are two more, is none.
TEST(dynamic_quantize, has_room_for_the_groups_of_a_slab) {
    for (const dim_t groups : {2048, 2050})
        expect_right(make_case({16, 16 * groups}, {1, 16}, data_type_t::f32,
                data_type_t::u8, false));
}

TEST(dynamic_quantize, of_zeros_is_zero_by_a_scale_of_one) {
    const auto answer = quantize({0.f, -0.f, 0.f});
    EXPECT_EQ(answer.scale, 1.f);
    EXPECT_EQ(answer.zero, 0);
    EXPECT_EQ(answer.y, std::vector<int>(3, 0));
}

TEST(dynamic_quantize, of_nothing_writes_the_parameters) {
    const auto answer = quantize({});
    EXPECT_EQ(answer.scale, 1.f);
    EXPECT_EQ(answer.zero, 0);
}

TEST(dynamic_quantize, leaves_nan_out_of_the_range) {
    const float nan = std::nanf("");
    const auto answer = quantize({nan, -1.f, 2.f, nan, 0.f});
    EXPECT_EQ(answer.scale, 3.f / 255.f);
    EXPECT_EQ(answer.zero, 85);
    EXPECT_EQ(answer.y, (std::vector<int> {85, 0, 255, 85, 85}));
    EXPECT_EQ(quantize({nan, nan}).scale, 1.f);
}

TEST(dynamic_quantize, of_infinities_has_an_infinite_scale) {
    auto answer = quantize({infinity, 1.f, -5.f});
    EXPECT_EQ(answer.scale, infinity);
    EXPECT_EQ(answer.zero, 0);
    EXPECT_EQ(answer.y, std::vector<int>(3, 0));
    answer = quantize({-infinity, 1.f});
    EXPECT_EQ(answer.scale, infinity);
    EXPECT_EQ(answer.zero, 0);
    EXPECT_EQ(answer.y, std::vector<int>(2, 0));
    answer = quantize({3e38f, -3e38f}); // the range overflows
    EXPECT_EQ(answer.scale, infinity);
    EXPECT_EQ(answer.y, std::vector<int>(2, 0));
}

TEST(dynamic_quantize, of_a_range_without_a_scale_saturates) {
    const auto answer = quantize({1e-45f, 0.f}); // 1e-45 / 255 is 0
    EXPECT_EQ(answer.scale, 0.f);
    EXPECT_EQ(answer.zero, 0);
    EXPECT_EQ(answer.y, (std::vector<int> {255, 0}));
}

// The cases above, so often that whole vectors are stored together.
TEST(dynamic_quantize, is_the_same_in_long_rows) {
    const float nan = std::nanf("");
    for (const std::vector<float> &few :
            {std::vector<float> {nan, -1.f, 2.f, nan, 0.f},
                    std::vector<float> {infinity, 1.f, -5.f, nan},
                    std::vector<float> {1e-45f, 0.f, nan},
                    std::vector<float> {0x1.fep-53f, nan, 0x1p-60f},
                    std::vector<float> {0x1.fcp-53f, 0x1p-61f, 0x1p-60f},
                    std::vector<float> {0x1.fep66f, nan, -0x1.fep66f},
                    std::vector<float> {0x1.fep67f, nan, -0x1.fep67f},
                    std::vector<float> {3e37f, -2e37f, 1.f}}) {
        const auto once = quantize(few);
        constexpr size_t times = 100;
        std::vector<float> many;
        std::vector<int> expected;
        for (size_t i = 0; i < times; ++i) {
            many.insert(many.end(), few.begin(), few.end());
            expected.insert(expected.end(), once.y.begin(), once.y.end());
        }
        const auto answer = quantize(many);
        EXPECT_EQ(answer.scale, once.scale);
        EXPECT_EQ(answer.zero, once.zero);
        EXPECT_EQ(answer.y, expected);
    }
}

TEST(dynamic_quantize, infers_shapes_and_layouts) {
    auto c = make_case(
            {6, 40}, {1, 8}, data_type_t::f32, data_type_t::s8, false);
    auto p = partition_of(op_of(c, false));
    const auto any = [](size_t id, const tensor_t &t) {
        return logical_tensor(
                id, type_of(t.type), logical_tensor::layout_type::any);
    };
    const auto compiled = p.compile({strided(x_id, c.x)},
            {any(y_id, c.y), any(y_scale_id, c.scale),
                    any(y_zero_point_id, c.zero)},
            cpu_engine());
    EXPECT_EQ(compiled.query_logical_tensor(y_id).get_dims(), c.y.dims);
    EXPECT_EQ(compiled.query_logical_tensor(y_scale_id).get_dims(),
            (dims_t {6, 5}));
    EXPECT_EQ(compiled.query_logical_tensor(y_zero_point_id).get_strides(),
            (dims_t {5, 1}));
}

// --- what is refused

void expect_refused(
        const range_case_t &c, dnnl_status_t status, const words_t &words) {
    expect_failure([&] {
        const auto p = partition_of(op_of(c));
        std::vector<logical_tensor> outputs {
                strided(y_id, c.y), strided(y_scale_id, c.scale)};
        if (c.zero.present())
            outputs.push_back(strided(y_zero_point_id, c.zero));
        compile_or_throw(p, {strided(x_id, c.x)}, outputs);
    }, status, words);
}

range_case_t plain_range() {
    return make_case({4, 6}, {4, 6}, data_type_t::f32, data_type_t::u8, false);
}

TEST(bad_input_range, types_that_are_not_the_ops) {
    auto c = plain_range();
    c.x.type = data_type_t::s32;
    expect_refused(c, dnnl_invalid_graph_op, {"x is of type s32", "expected"});
    c = plain_range();
    c.y.type = data_type_t::u16;
    expect_refused(c, dnnl_invalid_graph_op, {"y is of type u16", "expected"});
    c = plain_range();
    c.scale.type = data_type_t::f16;
    expect_refused(c, dnnl_invalid_graph_op,
            {"y_scale is of type f16", "expected one of f32"});
    c = plain_range();
    c.zero.type = data_type_t::s8;
    expect_refused(c, dnnl_invalid_graph_op,
            {"y_zero_point is of type s8", "expected y's type, u8"});
    c = plain_range();
    c.y.type = data_type_t::s8;
    expect_refused(c, dnnl_invalid_graph_op,
            {"y_zero_point is of type u8", "expected y's type, s8"});
    c = plain_range();
    c.zero.type = data_type_t::undef;
    expect_refused(c, dnnl_invalid_graph_op,
            {"y is of type u8", "expected s8 where there is no y_zero_point"});
}

TEST(bad_input_range, shapes_that_do_not_fit) {
    auto c = plain_range();
    c.scale.dims = {2};
    c.scale.strides = {1};
    expect_refused(c, dnnl_invalid_shape, {"y_scale", "shape 2", "expected"});
    c = plain_range();
    c.y.dims = {4, 7};
    c.y.strides = {7, 1};
    expect_refused(c, dnnl_invalid_shape, {"y", "4x7", "expected 4x6"});
    c = make_case({4, 6}, {1, 2}, data_type_t::f32, data_type_t::u8, false);
    c.groups = {1, 2, 1};
    expect_refused(c, dnnl_invalid_graph_op, {"group_shape", "expected 2"});
    c.groups = {1, 0};
    expect_refused(
            c, dnnl_invalid_graph_op, {"group_shape", "expected positive"});
    c = make_case({4, 6}, {1, 6}, data_type_t::f32, data_type_t::u8, false);
    c.axis = 2;
    expect_refused(c, dnnl_invalid_graph_op, {"axis is 2", "-2 .. 1"});
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
