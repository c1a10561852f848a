// dequantize(weights) -> MatMul -> ... as one partition: the formula's bits
// where sums are exact, and close to a double's where they are not.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>

#include "e2e/matmul_graph.hpp"
#include "e2e/plugin.hpp"
#include "oneapi/dnnl/dnnl.h"
#include "support/cross_product.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;

void expect_bits(const chain_graph_t &g, const chain_values_t &expected,
        const chain_values_t &got) {
    const size_t dst = g.nodes.back().outputs[0];
    EXPECT_TRUE(got[dst].intact());
    EXPECT_EQ(support::difference(g.tensors[dst].type, expected[dst].data(),
                      got[dst].data(), g.tensors[dst].span()),
            "");
}

void check_exact(const chain_graph_t &g, uint64_t seed) {
    const chain_values_t expected = exact_values(g, seed);
    const chain_values_t got = exact_values(g, seed);
    compute_exactly(g, expected);
    const std::string kernel = run(g, only_partition(g), got);
    EXPECT_NE(kernel.find("matmul"), std::string::npos) << kernel;
    expect_bits(g, expected, got);
}

const std::vector<matmul_shapes_t> &all_shapes() {
    static const std::vector<matmul_shapes_t> shapes {
            {{1, 1}, {1, 1}},
            {{3, 0}, {0, 5}},
            {{0, 4}, {4, 5}},
            {{3, 8}, {8, 5}},
            {{1, 64}, {64, 130}},
            {{7, 33}, {33, 65}},
            {{13, 40}, {40, 17}},
            {{1, 300}, {300, 700}},
            {{2, 3, 24}, {24, 19}},
            {{2, 3, 24}, {1, 24, 19}},
            {{3, 2, 16}, {3, 16, 9}},
            {{2, 2, 5, 12}, {2, 1, 12, 7}},
            {{5, 12}, {3, 12, 7}},
            {{1, 5, 12}, {3, 12, 7}},
            {{2, 1, 5, 12}, {3, 12, 7}},
            {{1, 40}, {40, 128}},
            {{2, 24}, {24, 256}},
            {{2, 4, 20}, {20, 384}},
            {{1, 11, 50}, {50, 128}},
            {{530, 9}, {9, 66}},
            {{3, 250, 6}, {6, 66}},
            {{5, 1}, {1, 128}},
            {{2, 256}, {256, 384}},
            {{6, 330}, {330, 21}},
    };
    return shapes;
}

TEST(matmul, is_the_formula_where_sums_are_exact) {
    const matmul_cross_t cross {all_shapes(), {t::undef, t::u8, t::s4},
            {t::f32, t::bf16, t::f16}, {0, -1, 8, 6, 32}};
    for (const matmul_case_t &c : cases_of(cross, 67)) {
        SCOPED_TRACE(to_string(c));
        check_exact(graph_of(c), c.seed);
        if (HasFailure()) return;
    }
}

// oneDNN's own op does not take them.
TEST(matmul, takes_weights_that_onnx_dequantizes) {
    const matmul_cross_t cross {all_shapes(), {t::undef, t::u8},
            {t::f32, t::bf16, t::f16}, {0, -1, 8, 32, 64},
            {t::f8_e4m3, t::f8_e5m2, t::f8_e4m3fnuz, t::f4_e2m1, t::u2, t::s2}};
    for (const matmul_case_t &c : cases_of(cross, 149)) {
        SCOPED_TRACE(to_string(c));
        check_exact(graph_of(c), c.seed);
        if (HasFailure()) return;
    }
}

// ONNX's zero points of floats are 0, so they cost no way to multiply.
TEST(matmul, multiplies_floats_whose_zero_points_are_zero_as_others) {
    for (const t type : {t::f8_e4m3, t::f4_e2m1}) {
        matmul_case_t c;
        c.src = {1, 128};
        c.weights = {128, 128};
        c.quantized = type;
        c.group = -1;
        c.transpose_b = true;
        std::string kernels[2];
        for (const t zps : {t::undef, type}) {
            c.zps = zps;
            const chain_graph_t g = graph_of(c);
            kernels[zps == type]
                    = run(g, only_partition(g), exact_values(g, c.seed));
        }
        EXPECT_EQ(kernels[0], kernels[1]);
        const bool is_skinny = kernels[0].find("jit_matmul_k_lanes") == 0;
        EXPECT_EQ(is_skinny, cpu_has(dnnl_cpu_isa_avx2)) << kernels[0];
    }
}

// A column with an infinity, with two that differ, and with a NaN.
TEST(matmul, keeps_infinities_and_nan_of_weights) {
    constexpr uint32_t one = 0x3c, infinity = 0x7c, minus_infinity = 0xfc,
                       nan = 0x7f;
    for (const dim_t rows : {1, 8, 40})
        for (const bool by_column : {false, true})
            for (const t type : {t::f32, t::bf16, t::f16}) {
                matmul_case_t c;
                c.src = {rows, 256};
                c.weights = {256, 128};
                c.quantized = t::f8_e5m2;
                c.zps = t::undef;
                c.type = type;
                c.group = -1;
                c.transpose_b = by_column;
                SCOPED_TRACE(to_string(c));
                const chain_graph_t g = graph_of(c);
                const auto values = [&] {
                    chain_values_t made = exact_values(g, c.seed);
                    const size_t weights = g.nodes[0].inputs[0];
                    const size_t src = g.nodes[1].inputs[0];
                    const auto put = [&](dim_t k, dim_t n, uint32_t code) {
                        support::put_bits(t::f8_e5m2, made[weights].data(),
                                by_column ? n * 256 + k : k * 128 + n, code);
                    };
                    for (dim_t k = 0; k < 256; ++k)
                        put(k, 5, one);
                    put(9, 5, infinity);
                    put(17, 70, minus_infinity);
                    put(200, 70, infinity);
                    put(255, 127, nan);
                    for (dim_t i = 0; i < g.tensors[src].span(); ++i)
                        support::put_bits(type, made[src].data(), i,
                                support::round_to(support::format_of(type), 1));
                    return made;
                };
                const chain_values_t expected = values(), got = values();
                compute_exactly(g, expected);
                run(g, only_partition(g), got);
                expect_bits(g, expected, got);
            }
}

TEST(matmul, takes_what_follows) {
    matmul_case_t c;
    c.src = {2, 5, 24};
    c.weights = {24, 128};
    c.group = 8;
    const dims_t shape {2, 5, 128};
    const chain_graph_t product = graph_of(c);
    chain_graph_t g = product;
    const size_t residual = add_tensor(g, t::f32, shape);
    g = with(g, {op::kind::Add, {}, {}}, t::f32, shape, {residual});
    check_exact(g, 3);
    g = with(g, {op::kind::ReLU, {}, {}}, t::f32, shape);
    check_exact(g, 4);
    const size_t factor = add_tensor(g, t::f32, {128});
    g = with(g, {op::kind::Multiply, {}, {}}, t::f32, shape, {factor});
    check_exact(g, 5);
    g = with(g, {op::kind::TypeCast, {}, {}}, t::bf16, shape);
    check_exact(g, 6);
}

// The ops behind the product, in an order that `random` chooses: up to eight,
// and some of them move elements.
class tail_t {
public:
    tail_t(chain_graph_t &g, dims_t shape, uint64_t seed)
        : g_(g)
        , shape_(std::move(shape))
        , random_(seed) {}

    void add_op() {
        using kind = op::kind;
        const t type = random_.one_in(3) ? t::bf16 : t::f32;
        switch (random_.between(0, 7)) {
        case 0: return add({kind::Add, {}, {}}, {shape_.back()});
        case 1: return add({kind::Multiply, {}, {}}, broadcast());
        case 2: return add({kind::Add, {}, {}}, shape_);
        case 3: return add({kind::ReLU, {}, {}});
        case 4: return add({kind::Abs, {}, {}});
        case 5: return transpose();
        case 6: return reshape();
        default:
            if (type_ == type) return add({kind::Reorder, {}, {}});
            type_ = type;
            return add({kind::TypeCast, {}, {}});
        }
    }

private:
    dims_t broadcast() {
        dims_t shape = shape_;
        for (dim_t &dim : shape)
            if (random_.one_in(2)) dim = 1;
        return shape;
    }

    void add(chain_node_t node, const dims_t &other = {}) {
        node.inputs = {g_.nodes.back().outputs[0]};
        if (!other.empty()) node.inputs.push_back(add_tensor(g_, type_, other));
        node.outputs = {add_tensor(g_, type_, shape_)};
        g_.nodes.push_back(node);
    }

    void transpose() {
        chain_node_t node {op::kind::StaticTranspose, {}, {}};
        dims_t shape;
        const auto rank = static_cast<dim_t>(shape_.size());
        const dim_t by = random_.between(0, rank - 1);
        for (dim_t d = 0; d < rank; ++d) {
            node.order.push_back((d + by) % rank);
            shape.push_back(shape_[static_cast<size_t>((d + by) % rank)]);
        }
        shape_ = shape;
        add(node);
    }

    // The last dimension in halves, or two of them as one.
    void reshape() {
        chain_node_t node {op::kind::StaticReshape, {}, {}};
        if (shape_.size() < 4 && shape_.back() % 2 == 0) {
            shape_.back() /= 2;
            shape_.insert(shape_.end() - 1, 2);
        } else if (shape_.size() > 1) {
            shape_[1] *= shape_[0];
            shape_.erase(shape_.begin());
        }
        node.shape = shape_;
        add(node);
    }

    chain_graph_t &g_;
    dims_t shape_;
    t type_ = t::f32;
    support::random_t random_;
};

// Every op that a chain has is fused with the product, whatever the order:
// with its partitions run one after the other the bits are the formula's.
TEST(matmul, takes_eight_ops_of_any_order) {
    const matmul_shapes_t shapes[]
            = {{{4, 24}, {24, 128}}, {{2, 3, 16}, {16, 66}}, {{40, 8}, {8, 30}},
                    {{2, 2, 3, 8}, {2, 1, 8, 12}}, {{1, 32}, {32, 256}}};
    size_t whole = 0, all = 0;
    for (dim_t n = 0; n < 120; ++n) {
        const uint64_t seed = support::first_seed() + static_cast<uint64_t>(n);
        matmul_case_t c;
        c.src = shapes[n % 5].src;
        c.weights = shapes[n % 5].weights;
        c.group = n % 3 ? 8 : 0;
        c.seed = seed;
        chain_graph_t g = graph_of(c);
        dims_t shape = c.src;
        shape.back() = c.weights.back();
        tail_t tail(g, shape, seed);
        for (dim_t ops = n % 9; ops > 0; --ops)
            tail.add_op();
        SCOPED_TRACE(to_string(g));
        const chain_values_t expected = exact_values(g, seed);
        const chain_values_t got = exact_values(g, seed);
        compute_exactly(g, expected);
        graph built(dnnl::engine::kind::cpu);
        build(g, built);
        const auto partitions = built.get_partitions();
        for (const partition &p : partitions)
            run(g, p, got);
        whole += partitions.size() == 1;
        ++all;
        expect_bits(g, expected, got);
        if (HasFailure()) return;
    }
    EXPECT_GE(whole * 4, all * 3);
}

// Functions that are not exact: near what doubles give, and SiLU among them.
TEST(matmul, takes_functions) {
    using kind = op::kind;
    for (const kind function : {kind::Exp, kind::GELU, kind::HardSwish,
                 kind::Sigmoid, kind::Square, kind::Tanh})
        for (const bool times_value : {false, true})
            for (const dim_t rows : {1, 19}) {
                matmul_case_t c;
                c.src = {rows, 24};
                c.weights = {24, 130};
                c.group = 8;
                const dims_t shape {rows, 130};
                chain_graph_t g = graph_of(c);
                const size_t product = g.tensors.size() - 1;
                g = with(g, {function, {}, {}}, t::f32, shape);
                const bool silu = times_value && function == kind::Sigmoid;
                if (silu)
                    g = with(g, {kind::Multiply, {}, {}}, t::f32, shape,
                            {product});
                SCOPED_TRACE(to_string(g));
                const chain_values_t expected = exact_values(g, 5);
                const chain_values_t got = exact_values(g, 5);
                compute_exactly(g, expected);
                run(g, only_partition(g), got);
                for (dim_t i = 0; i < rows * 130; ++i) {
                    const double right = support::float_at(
                            t::f32, expected.back().data(), i);
                    const double is
                            = support::float_at(t::f32, got.back().data(), i);
                    if (std::isinf(right) && is == right) continue;
                    ASSERT_NEAR(is, right,
                            std::fabs(right) * std::exp2(-20) + std::exp2(-140))
                            << i;
                }
            }
}

// A product's sums are f32, a term after the other: no worse than the rounding
// of each.
TEST(matmul_large, is_near_where_sums_are_rounded) {
    for (const t quantized : {t::u4, t::s8})
        for (const t type : {t::f32, t::bf16})
            for (const dim_t rows : {1, 4, 9, 40}) {
                matmul_case_t c;
                c.src = {rows, 512};
                c.weights = {512, 256};
                c.quantized = quantized;
                c.type = type;
                c.group = 64;
                SCOPED_TRACE(to_string(c));
                const chain_graph_t g = graph_of(c);
                const auto values = initial_values(
                        g, support::values_t::ordinary, support::first_seed());
                run(g, only_partition(g), values);
                compute(g, 0, values);
                const auto &dst = g.tensors.back();
                for_each_product(g, 1, values, [&](const sum_t &sum) {
                    const double got = support::float_at(
                            dst.type, values.back().data(), sum.element);
                    const double bits = dst.type == t::f32 ? 24 : 8;
                    EXPECT_LE(std::fabs(got - sum.sum),
                            sum.magnitude * std::exp2(-18)
                                    + std::fabs(sum.sum) * std::exp2(-bits));
                });
                if (HasFailure()) return;
            }
}

size_t ours_of(const std::vector<partition> &partitions) {
    size_t count = 0;
    for (const partition &p : partitions)
        count += is_ours(p);
    return count;
}

std::vector<partition> partitions_of(const chain_graph_t &g,
        partition::policy policy = partition::policy::fusion) {
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    return built.get_partitions(policy);
}

struct group_t {
    dim_t depth, cols;
};

// Calls check(case) for weights of depth x cols in those groups.
template <typename check_t>
void for_groups(dim_t depth, dim_t cols, const std::vector<dim_t> &rows,
        const std::vector<t> &types, const std::vector<group_t> &groups,
        const check_t &check) {
    for (const t quantized : types)
        for (const bool transpose_b : {false, true})
            for (const group_t &group : groups)
                for (const dim_t count : rows) {
                    // ONNX's blocks are along one axis.
                    const bool is_onnx = is_floating(quantized);
                    if (is_onnx && group.depth > 1 && group.cols > 1) continue;
                    matmul_case_t c;
                    c.src = {count, depth};
                    c.weights = {depth, cols};
                    c.quantized = quantized;
                    if (is_onnx) c.zps = t::undef;
                    c.group = group.depth;
                    c.col_group = group.cols;
                    c.transpose_b = transpose_b;
                    SCOPED_TRACE(to_string(c));
                    check(c);
                    if (testing::Test::HasFailure()) return;
                }
}

// Groups whose sums are beyond f32's range before they are scaled, or before
// nibbles that were multiplied in place are; and src times the unit of e4m3.
TEST(matmul_large, loses_no_finite_result_to_an_overflow) {
    const std::vector<t> types {t::u4, t::s4, t::s8, t::f8_e4m3};
    const std::vector<group_t> groups {
            {0, 1}, {64, 1}, {1, 32}, {1, 128}, {64, 64}};
    for_groups(
            512, 256, {1, 3, 8, 40}, types, groups, [](const matmul_case_t &c) {
        const chain_graph_t g = graph_of(c);
        const auto values = exact_values(g, support::first_seed());
        const auto scale = [&](size_t tensor, float factor) {
            auto *floats = static_cast<float *>(values[tensor].data());
            const dim_t count = g.tensors[tensor].span();
            for (dim_t i = 0; i < count; ++i)
                floats[i] *= factor;
        };
        scale(g.nodes[0].inputs[1], 0x1p-20f);
        scale(g.nodes[1].inputs[0], 0x1p+122f);
        run(g, only_partition(g), values);
        compute(g, 0, values);
        for_each_product(g, 1, values, [&](const sum_t &sum) {
            const double got = support::float_at(
                    t::f32, values.back().data(), sum.element);
            EXPECT_LE(std::fabs(got - sum.sum), sum.magnitude * std::exp2(-18));
        });
    });
}

// A weight that is its zero point is 0, whatever the scale. Some kernels scale
// src instead of weights, which may overflow. Two rows of the weights are such.
TEST(matmul, by_zeros_is_exact_where_scaled_src_overflows) {
    constexpr dim_t depth = 272, cols = 128, zero_rows[] = {5, 266};
    const std::vector<t> types {t::u4, t::s4, t::s8};
    const std::vector<group_t> wide {{1, 32}, {1, 128}};
    for_groups(
            depth, cols, {1, 3, 8}, types, wide, [&](const matmul_case_t &c) {
        const chain_graph_t g = graph_of(c);
        const auto fill = [&](const chain_values_t &values, size_t tensor,
                                  dim_t width, bool is_transposed, double x) {
            const t type = g.tensors[tensor].type;
            for (const dim_t k : zero_rows)
                for (dim_t n = 0; n < width; ++n)
                    support::put_bits(type, values[tensor].data(),
                            is_transposed ? n * depth + k : k * width + n,
                            is_integer(type)
                                    ? static_cast<uint32_t>(x)
                                    : support::round_to(
                                              support::format_of(type), x));
        };
        const auto zeros_of = [&](chain_values_t values) {
            const auto &inputs = g.nodes[0].inputs;
            const dim_t groups = cols / c.col_group;
            fill(values, inputs[0], cols, c.transpose_b, 3);
            fill(values, inputs[1], groups, c.transpose_b, 1e30);
            fill(values, inputs[2], groups, c.transpose_b, 3);
            fill(values, g.nodes[1].inputs[0], c.src[0], true, 1e20);
            return values;
        };
        const chain_values_t expected = zeros_of(exact_values(g, 1));
        const chain_values_t got = zeros_of(exact_values(g, 1));
        compute_exactly(g, expected);
        run(g, only_partition(g), got);
        expect_bits(g, expected, got);
    });
}

// Pairs of bf16, and tiles, take subnormal factors for 0.
bool multiplies_pairs(const std::string &kernel) {
    return kernel.find("_bf16") != std::string::npos;
}
void flush_subnormals(const chain_graph_t &g, const chain_values_t &values) {
    const size_t dst = g.nodes.back().outputs[0];
    const t type = g.tensors[dst].type;
    for (dim_t i = 0; i < g.tensors[dst].span(); ++i)
        if (std::fpclassify(static_cast<float>(
                    support::float_at(type, values[dst].data(), i)))
                == FP_SUBNORMAL)
            support::put_bits(type, values[dst].data(), i, 0);
}

// Scales below, within and beyond those for which rounding takes two
// operations, and weights halfway between two numbers. Each row of src has
// one 1.
TEST(matmul, rounds_weights_of_every_scale) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::vector<std::vector<double>> scales_of_cases {
            {0.01, 0x1.01p-9, 0x1.002p-9, 0, 0.0123},
            {0x1p-13, 0x1.fffffep-3, 0x1.555p-7},
            {0x1.fffffep-14, 0x1.234567p-20, 0x1p-24, 1e-3, 0},
            {0x1p-2, 7000, 0x1.ffcp15, 1e-3},
            {0x1p-125, 0x1.fffffep93, -0x1.23456p-60, 0},
            {0x1.fffffep-126, 0x1p-149, 0x1.2345p-133, 1},
            {0x1p94, 0x1.fffffep127, -0x1.8p112, 1e-3},
            {infinity, NAN, -infinity, 0.5, 1e-3},
    };
    const std::vector<t> types {t::u4, t::s4, t::u8, t::s8};
    const std::vector<group_t> groups {
            {-1, 1}, {64, 1}, {32, 1}, {16, 1}, {1, 32}, {1, 128}};
    dim_t number = 0;
    for (const t type : {t::bf16, t::f16})
        for (const auto &scales : scales_of_cases)
            for_groups(256, 128, {1, 2, 5, 8}, types, groups,
                    [&](matmul_case_t c) {
                if (number++ % (5 * support::every()) != 0) return;
                c.type = type;
                chain_graph_t g = graph_of(c);
                const size_t scale = g.nodes[0].inputs[1],
                             src = g.nodes[1].inputs[0];
                if (number % 2 == 0) g.tensors[scale].type = t::f32;
                const auto fill = [&](const chain_values_t &values,
                                          size_t tensor, auto &&value_of) {
                    const t of = g.tensors[tensor].type;
                    for (dim_t i = 0; i < g.tensors[tensor].span(); ++i)
                        support::put_bits(of, values[tensor].data(), i,
                                support::round_to(support::format_of(of),
                                        value_of(static_cast<size_t>(i))));
                };
                const auto changed = [&](chain_values_t values) {
                    fill(values, scale, [&](size_t i) {
                        return scales[i % scales.size()];
                    });
                    fill(values, src, [](size_t i) {
                        return i % 256 == 37 * (i / 256) + 5 ? 1. : 0.;
                    });
                    return values;
                };
                const chain_values_t expected
                        = changed(exact_values(g, c.seed));
                const chain_values_t got = changed(exact_values(g, c.seed));
                compute_exactly(g, expected);
                const std::string kernel = run(g, only_partition(g), got);
                if (multiplies_pairs(kernel)) flush_subnormals(g, expected);
                expect_bits(g, expected, got);
            });
}

TEST(matmul, is_not_fused_where_it_must_not_be) {
    const chain_graph_t product = graph_of(matmul_case_t());
    EXPECT_EQ(partitions_of(product, partition::policy::debug).size(), 2u);

    // The weights have another use.
    chain_graph_t shared = product;
    chain_node_t cast {op::kind::TypeCast, {product.nodes[0].outputs[0]}, {}};
    cast.outputs = {add_tensor(shared, t::bf16, {8, 5})};
    shared.nodes.push_back(cast);
    EXPECT_EQ(partitions_of(shared).size(), 3u);
    EXPECT_EQ(ours_of(partitions_of(shared)), 1u);

    // Nothing is dequantized.
    chain_graph_t plain = product;
    plain.nodes.erase(plain.nodes.begin());
    EXPECT_EQ(ours_of(partitions_of(plain)), 0u);
}

TEST(matmul, takes_weights_through_layout_ops) {
    matmul_case_t c;
    c.src = {3, 24};
    c.weights = {24, 10};
    c.transpose_b = true;
    chain_graph_t g = graph_of(c);
    // [10, 24] -> transposed to [24, 10] before the product instead
    chain_node_t matmul = g.nodes.back();
    g.nodes.pop_back();
    g = with(g, {op::kind::StaticTranspose, {}, {}, {1, 0}}, t::f32, {24, 10});
    matmul.transpose_b = false;
    matmul.inputs[1] = g.nodes.back().outputs[0];
    g.nodes.push_back(matmul);
    check_exact(g, 7);
}

// To f16 by the dequantize, to bf16 by a cast: no kernel of few rows rounds
// twice, blocks do.
TEST(matmul, takes_weights_that_are_rounded_twice) {
    for (const bool transposed : {false, true}) {
        matmul_case_t c;
        c.src = {1, 128};
        c.weights = {128, 128};
        c.quantized = t::s8;
        c.zps = t::s8;
        c.group = 64;
        c.type = t::f16;
        c.transpose_b = transposed;
        chain_graph_t g = graph_of(c);
        chain_node_t matmul = g.nodes.back();
        g.nodes.pop_back();
        g = with(g, {op::kind::TypeCast, {}, {}}, t::f32, {128, 128});
        g = with(g, {op::kind::TypeCast, {}, {}}, t::bf16, {128, 128});
        matmul.inputs
                = {add_tensor(g, t::bf16, c.src), g.nodes.back().outputs[0]};
        matmul.outputs = {add_tensor(g, t::bf16, {1, 128})};
        g.nodes.push_back(matmul);
        check_exact(g, 8);
    }
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
