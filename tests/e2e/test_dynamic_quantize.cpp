// DynamicQuantizeLinear through the graph API, against the formula written down
// a second time: ranges, scales, zero points and quantized values, bit for bit.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/bad_input.hpp"
#include "e2e/plugin.hpp"
#include "support/cross_product.hpp"
#include "support/guarded_buffer.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using support::guarded_buffer_t;
using support::tensor_t;

enum : size_t { x_id, y_id, y_scale_id, y_zero_point_id };

struct range_case_t {
    tensor_t x, y, scale, zero; // zero absent: symmetric
    dims_t groups;              // how much of each dimension shares a range
    dim_t axis = -9;            // said by axis, else by group_shape
    support::values_t values = support::values_t::ordinary;
    uint64_t seed = 1;

    size_t rank() const { return x.dims.size(); }
    bool per_tensor() const { return groups == x.dims; }
};

// Dense, with groups of the given size; y and zero of `type`, none if
// symmetric.
range_case_t make_case(const dims_t &dims, const dims_t &groups, data_type_t x,
        data_type_t y, bool symmetric) {
    range_case_t c;
    c.groups = groups;
    c.x = {x, dims, support::dense_strides(dims)};
    c.y = {y, dims, support::dense_strides(dims)};
    dims_t grid;
    for (size_t d = 0; d < dims.size() && !c.per_tensor(); ++d)
        grid.push_back((dims[d] + groups[d] - 1) / groups[d]);
    c.scale = {data_type_t::f32, grid, support::dense_strides(grid)};
    c.zero = {symmetric ? data_type_t::undef : y, grid,
            support::dense_strides(grid)};
    return c;
}

op op_of(const range_case_t &c, bool shaped = true) {
    op result(3, op_kind::DynamicQuantizeLinear, "dequantize_under_test");
    const auto declared = [shaped](size_t id, const tensor_t &t) {
        return shaped ? strided(id, t) : of_type_only(id, t);
    };
    result.add_input(declared(x_id, c.x));
    result.add_outputs({declared(y_id, c.y), declared(y_scale_id, c.scale)});
    if (c.zero.present()) result.add_output(declared(y_zero_point_id, c.zero));
    if (c.per_tensor()) return result;
    const bool by_axis = c.axis > -9;
    result.set_attr<std::string>(
            op::attr::qtype, by_axis ? "per_channel" : "per_group");
    if (by_axis) result.set_attr<int64_t>(op::attr::axis, c.axis);
    else result.set_attr<std::vector<int64_t>>(op::attr::group_shape, c.groups);
    return result;
}

// --- the formula

struct found_t {
    double above = 0, below = 0;
};

float as_f32(double value) {
    return static_cast<float>(value);
}

// To scale and zero point, a rounding each step.
void parameters_of(const range_case_t &c, const found_t &found, float &scale,
        double &zero) {
    zero = 0;
    if (!c.zero.present()) {
        const double most = std::fmax(found.above, found.below);
        scale = most == 0 ? 1.f : as_f32(most / 127);
        return;
    }
    const bool u8 = c.y.type == data_type_t::u8;
    const double lowest = u8 ? 0 : -127, highest = u8 ? 255 : 127;
    const double width = as_f32(found.above + found.below);
    scale = width == 0 ? 1.f : as_f32(width / (highest - lowest));
    const double quotient = as_f32(found.below / static_cast<double>(scale));
    const double initial = as_f32(lowest + quotient);
    zero = std::isnan(initial) ? 0
                               : std::nearbyint(std::fmin(
                                         std::fmax(initial, lowest), highest));
}

dim_t element_of(const tensor_t &t, const dims_t &index, const dims_t &groups) {
    dim_t element = 0;
    if (t.dims.size() == index.size())
        for (size_t d = 0; d < index.size(); ++d)
            element += index[d] / groups[d] * t.strides[d];
    else if (t.dims.size() == 1 && t.dims[0] > 1) // along the one axis
        for (size_t d = 0; d < index.size(); ++d)
            if (groups[d] == 1) element += index[d] * t.strides[0];
    return element;
}

template <typename Body>
void for_each_index(const dims_t &dims, const Body &body) {
    dims_t index(dims.size(), 0);
    for (bool more = true; more;) {
        body(index);
        more = false;
        for (size_t d = dims.size(); !more && d-- > 0;) {
            more = ++index[d] < dims[d];
            if (!more) index[d] = 0;
        }
    }
}

struct buffers_t {
    guarded_buffer_t x, y, scale, zero;

    buffers_t(const range_case_t &c, guarded_buffer_t::edge_t edge)
        : x(c.x.bytes(), edge)
        , y(c.y.bytes(), edge)
        , scale(c.scale.bytes(), edge)
        , zero(c.zero.present() ? c.zero.bytes() : 0, edge) {}
};

void reference(const range_case_t &c, const buffers_t &b) {
    const dims_t ones(c.rank(), 1);
    std::vector<found_t> ranges(static_cast<size_t>(c.scale.span()) + 1);
    const auto range_at = [&](const dims_t &index) -> found_t & {
        return ranges[static_cast<size_t>(
                element_of(c.scale, index, c.groups))];
    };
    for_each_index(c.x.dims, [&](const dims_t &index) {
        const double x = support::float_at(
                c.x.type, b.x.data(), element_of(c.x, index, ones));
        if (x > 0) range_at(index).above = std::fmax(range_at(index).above, x);
        if (x < 0) range_at(index).below = std::fmax(range_at(index).below, -x);
    });
    for_each_index(c.x.dims, [&](const dims_t &index) {
        float scale;
        double zero;
        parameters_of(c, range_at(index), scale, zero);
        uint32_t bits;
        std::memcpy(&bits, &scale, sizeof(bits));
        support::put_bits(data_type_t::f32, b.scale.data(),
                element_of(c.scale, index, c.groups), bits);
        const auto put_byte = [](const tensor_t &t, const guarded_buffer_t &to,
                                      dim_t at, double value) {
            support::put_bits(t.type, to.data(), at,
                    static_cast<uint32_t>(static_cast<int>(value)) & 0xffu);
        };
        if (c.zero.present())
            put_byte(c.zero, b.zero, element_of(c.zero, index, c.groups), zero);
        const double x = support::float_at(
                c.x.type, b.x.data(), element_of(c.x, index, ones));
        const double quotient = as_f32(x / static_cast<double>(scale));
        double value = std::isnan(quotient) ? 0 : std::nearbyint(quotient);
        const bool u8 = c.y.type == data_type_t::u8;
        value = std::fmin(
                std::fmax(value + zero, u8 ? 0 : -127), u8 ? 255 : 127);
        put_byte(c.y, b.y, element_of(c.y, index, ones), value);
    });
}

std::string text_of(const range_case_t &c) {
    std::string text = to_string(c.x.type);
    for (size_t d = 0; d < c.rank(); ++d)
        text += ' ' + std::to_string(c.x.dims[d]) + '/'
                + std::to_string(c.groups[d]) + '@'
                + std::to_string(c.x.strides[d]);
    return text + " -> " + to_string(c.y.type)
           + (c.zero.present() ? "" : " symmetric") + " axis "
           + std::to_string(c.axis) + " seed " + std::to_string(c.seed);
}

// Empty if all outputs are right.
std::string check(const range_case_t &c) {
    const auto edge = c.seed % 2 ? guarded_buffer_t::edge_t::end
                                 : guarded_buffer_t::edge_t::start;
    const buffers_t expected(c, edge), got(c, edge);
    support::random_t random(c.seed);
    support::fill_floats(
            c.x.type, expected.x.data(), c.x.bytes(), c.values, random);
    std::memcpy(got.x.data(), expected.x.data(), c.x.bytes());
    reference(c, expected);

    auto p = partition_of(op_of(c));
    std::vector<logical_tensor> outputs {
            strided(y_id, c.y), strided(y_scale_id, c.scale)};
    const auto &cpu = cpu_engine();
    std::vector<tensor> tensors {{outputs[0], cpu, got.y.data()},
            {outputs[1], cpu, got.scale.data()}};
    if (c.zero.present()) {
        outputs.push_back(strided(y_zero_point_id, c.zero));
        tensors.emplace_back(outputs[2], cpu, got.zero.data());
    }
    const auto x = strided(x_id, c.x);
    const auto compiled = p.compile({x}, outputs, cpu);
    if (kernel_of(compiled).find("dynamic_quantize") == std::string::npos)
        return "ran " + kernel_of(compiled);
    compiled.execute(cpu_stream(), {{x, cpu, got.x.data()}}, tensors);
    for (const auto *b : {&got.x, &got.y, &got.scale, &got.zero})
        if (!b->intact()) return "wrote beside a buffer";
    std::string wrong = support::difference(data_type_t::f32,
            expected.scale.data(), got.scale.data(), c.scale.span());
    if (!wrong.empty()) return "scales: " + wrong;
    if (c.zero.present())
        wrong = support::difference(c.zero.type, expected.zero.data(),
                got.zero.data(), c.zero.span());
    if (!wrong.empty()) return "zero points: " + wrong;
    return support::difference(
            c.y.type, expected.y.data(), got.y.data(), c.y.span());
}

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
            {{3, 5, 7}, {2, 5, 3}, -9}, {{2, 3, 5, 9}, {2, 3, 5, 9}, -9},
            {{130, 257}, {1, 257}, 0}, {{130, 257}, {130, 1}, 1},
            {{40, 300}, {1, 128}, -9}, {{40, 300}, {16, 100}, -9},
            {{1031}, {1031}, -9}, {{400, 129}, {1, 129}, -9},
            {{33, 1500}, {33, 1}, 1}, {{70, 2100}, {1, 3}, -9}};
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

// Too much for one core's cache, and for one thread.
TEST(dynamic_quantize, is_the_same_whatever_the_size_and_the_threads) {
    for (const auto &groups : std::vector<dims_t> {{1000, 1031}, {1, 1031},
                 {1, 128}, {1000, 1}, {7, 1031}, {3, 200}}) {
        auto c = make_case(
                {1000, 1031}, groups, data_type_t::f32, data_type_t::u8, false);
        expect_right(c);
        c.values = support::values_t::extreme;
        expect_right(c);
    }
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
