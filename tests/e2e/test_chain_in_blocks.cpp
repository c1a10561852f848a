// Chains whose dequantize has short groups and whose dst is transposed: two
// kernels a block.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include <oneapi/dnnl/dnnl.h>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/chain_graph.hpp"
#include "e2e/plugin.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;

constexpr const char *in_blocks = "chain_in_blocks";

struct chain_case_t {
    dims_t dims {150, 300}; // of src, whose last dimension is dense
    dims_t groups {1, 8};
    t src = t::u4, scales = t::f32, zps = t::u8;
    t value = t::f32;    // of the dequantize; a TypeCast if scales are others
    dims_t side {1, 1};  // of what is multiplied
    bool clamps = false; // after it
    dim_t dst_gap = 0;   // elements between rows of dst
    bool side_is_transposed = false; // it lies as dst does
    bool is_split = false;           // a dimension of dst is two of src
    t quantized = t::undef; // dst is u8 by Quantize, or u4 by QuantizeLinear
};

class chain_builder_t {
public:
    explicit chain_builder_t(const chain_case_t &c)
        : c_(c) {}

    chain_graph_t make() {
        size_t value = dequantize();
        if (c_.value != c_.scales)
            value = add({op::kind::TypeCast, {value}, {}}, c_.value, c_.dims);
        const size_t side = add_tensor(c_.value, c_.side);
        if (c_.side_is_transposed)
            g_.tensors[side].strides = {1, c_.side.front()};
        value = add({op::kind::Multiply, {value, side}, {}}, c_.value, c_.dims);
        if (c_.clamps) {
            chain_node_t clamp {op::kind::Clamp, {value}, {}};
            clamp.lower = -3;
            clamp.upper = 6;
            value = add(clamp, c_.value, c_.dims);
        }
        chain_node_t transpose {op::kind::StaticTranspose, {value}, {}};
        dims_t dims = c_.dims;
        for (size_t d = 0; d < dims.size(); ++d)
            transpose.order.push_back(static_cast<int64_t>(d));
        std::swap(dims.rbegin()[0], dims.rbegin()[1]);
        std::swap(transpose.order.rbegin()[0], transpose.order.rbegin()[1]);
        size_t dst = add(transpose, c_.value, dims);
        if (c_.is_split) {
            chain_node_t reshape {op::kind::StaticReshape, {dst}, {}};
            dims = reshape.shape = {dims[0], 2, dims[1] / 2};
            dst = add(reshape, c_.value, dims);
        }
        if (c_.quantized != t::undef) dst = quantize(dst, dims);
        dims.back() += c_.dst_gap;
        g_.tensors[dst].strides = support::dense_strides(dims);
        return std::move(g_);
    }

private:
    size_t add_tensor(t type, const dims_t &dims) {
        g_.tensors.push_back({type, dims, support::dense_strides(dims)});
        return g_.tensors.size() - 1;
    }
    size_t add(chain_node_t node, t type, const dims_t &dims) {
        node.outputs = {add_tensor(type, dims)};
        g_.nodes.push_back(std::move(node));
        return g_.tensors.size() - 1;
    }

    size_t quantize(size_t value, const dims_t &dims) {
        if (c_.quantized == t::u4) {
            const size_t scale = add_tensor(t::f32, {1});
            const size_t zp = add_tensor(t::u4, {1});
            return add({op_kind::QuantizeLinear, {value, scale, zp}, {}}, t::u4,
                    dims);
        }
        chain_node_t node {op::kind::Quantize, {value}, {}};
        node.scales = {0.25f};
        node.zps = {7};
        node.upper = 255;
        return add(node, t::u8, dims);
    }

    size_t dequantize() {
        dequantize_case_t c;
        c.src = {c_.src, c_.dims, {}};
        c.qtype = support::qtype_t::per_group;
        c.group_shape = c_.groups;
        const dims_t counts = support::scales_dims_of(c);
        chain_node_t node {op::kind::DynamicDequantize, {}, {}};
        node.dequantize = c;
        node.inputs
                = {add_tensor(c_.src, c_.dims), add_tensor(c_.scales, counts)};
        if (c_.zps != t::undef)
            node.inputs.push_back(add_tensor(c_.zps, counts));
        return add(node, c_.scales, c_.dims);
    }

    const chain_case_t &c_;
    chain_graph_t g_;
};

// Returns the tensor that the value is multiplied by.
size_t side_of(const chain_graph_t &g) {
    for (const chain_node_t &node : g.nodes)
        if (node.kind == op::kind::Multiply) return node.inputs[1];
    return 0;
}

std::string kernel_of(const chain_case_t &c) {
    const auto g = chain_builder_t(c).make();
    const auto values = initial_values(g, support::values_t::any, 1);
    return run(g, only_partition(g), values);
}

bool has_kernels() {
    return cpu_has(dnnl_cpu_isa_avx2);
}

// Groups of f32 along the dimension that is dense in src are left to tiles.
bool is_in_blocks(const chain_case_t &c) {
    return bits_of(c.scales) == 16 || bits_of(c.value) == 16
           || std::any_of(c.groups.begin(), c.groups.end() - 1,
                   [](dim_t group) { return group > 1; });
}

// Computes dst in its own place, or in that of another tensor.
void expect_equal(const chain_case_t &c, uint64_t seed, bool in_place = false) {
    const auto g = chain_builder_t(c).make();
    SCOPED_TRACE(to_string(g));
    const auto expected = initial_values(g, support::values_t::any, seed);
    const auto got = copies_of(expected, 0);
    for (size_t id = 0; id < g.nodes.size(); ++id)
        ASSERT_TRUE(compute(g, id, expected));
    const size_t dst = g.nodes.back().outputs[0];
    const size_t place = in_place ? side_of(g) : dst;
    const std::string kernel = run(g, only_partition(g),
            [&](size_t id) { return got[id == dst ? place : id].data(); });
    EXPECT_TRUE((kernel == in_blocks) == is_in_blocks(c) || !has_kernels())
            << kernel;
    if (c.quantized == t::undef)
        EXPECT_EQ(support::difference(c.value, expected[dst].data(),
                          got[place].data(), g.tensors[dst].span()),
                "");
    else
        EXPECT_EQ(std::memcmp(expected[dst].data(), got[place].data(),
                          got[place].size()),
                0);
    EXPECT_TRUE(got[place].intact());
}

// oneDNN's TypeCast has no way from one type of 16 bits to the other.
bool can_cast(t from, t to) {
    return from == to || from == t::f32 || to == t::f32;
}

TEST(chain_in_blocks, equals_the_ops_one_by_one) {
    const std::vector<dims_t> all_groups {
            {1, 8}, {1, 16}, {8, 1}, {2, 4}, {1, 7}, {6, 300}};
    uint64_t n = 0;
    for (const t src : {t::u4, t::s4, t::u8, t::s8})
        for (const t zps : {t::undef, t::u4, t::s8, t::s32})
            for (const t scales : {t::f32, t::bf16, t::f16})
                for (const t value : {t::f32, t::bf16, t::f16})
                    for (const dims_t &groups : all_groups) {
                        if (!can_cast(scales, value)) continue;
                        if (n++ % static_cast<uint64_t>(support::every()) != 0)
                            continue;
                        chain_case_t c;
                        c.src = src;
                        c.scales = scales;
                        c.zps = zps;
                        c.value = value;
                        c.groups = groups;
                        c.side = n % 3 == 0   ? dims_t {c.dims[0], 1}
                                 : n % 3 == 1 ? dims_t {1, c.dims[1]}
                                              : c.dims;
                        c.clamps = n % 2 == 0;
                        c.dst_gap = n % 5 == 0 ? 3 : 0;
                        expect_equal(c, n);
                        if (HasFailure()) return;
                    }
}

TEST(chain_in_blocks, takes_more_dimensions_and_many_blocks) {
    for (const dims_t &dims : {dims_t {3, 130, 264}, dims_t {1030, 520},
                 dims_t {2, 2, 128, 32}}) {
        chain_case_t c;
        c.dims = dims;
        c.groups.assign(dims.size(), 1);
        c.groups.back() = 8;
        c.side = dims_t(dims.size(), 1);
        c.side.back() = dims.back();
        expect_equal(c, 1);
        c.value = t::bf16;
        expect_equal(c, 2);
    }
}

// Rows of src that begin within bytes, dst of another shape, dst that is
// quantized.
TEST(chain_in_blocks, takes_odd_rows_and_what_follows) {
    chain_case_t c;
    c.value = t::bf16;
    c.dims = {150, 301};
    expect_equal(c, 5);
    c.groups = {1, 7};
    expect_equal(c, 6);
    c = chain_case_t();
    c.groups = {6, 1};
    c.dims = {300, 264};
    c.is_split = true;
    expect_equal(c, 7);
    c.is_split = false;
    c.quantized = t::u8;
    expect_equal(c, 8);
}

TEST(chain_in_blocks, computes_in_the_place_of_an_operand) {
    chain_case_t c;
    c.side = c.dims;
    c.side_is_transposed = true;
    expect_equal(c, 3, true);
    c.value = t::bf16;
    c.src = t::s8;
    expect_equal(c, 4, true);
}

TEST(chain_in_blocks, is_for_short_groups_and_many_rows_and_columns) {
    if (!has_kernels()) GTEST_SKIP() << "no generated code";
    chain_case_t c;
    EXPECT_NE(kernel_of(c), in_blocks); // groups along the rows, to f32
    c.groups = {8, 1};
    EXPECT_EQ(kernel_of(c), in_blocks);
    c.groups = {17, 1};
    EXPECT_NE(kernel_of(c), in_blocks);
    c.groups = {1, 17};
    c.value = t::bf16;
    EXPECT_EQ(kernel_of(c), in_blocks);
    c.groups = {1, 33};
    EXPECT_NE(kernel_of(c), in_blocks);
    c.groups = {1, 8};
    c.dims = {127, 300};
    EXPECT_NE(kernel_of(c), in_blocks);
    c.dims = {300, 31};
    EXPECT_NE(kernel_of(c), in_blocks);
    c.dims = {0, 300};
    EXPECT_NE(kernel_of(c), in_blocks);
    // Rows of an odd number of nibbles share bytes.
    c = chain_case_t();
    c.groups = {7, 1};
    c.dims = {301, 2000};
    c.quantized = t::u4;
    EXPECT_NE(kernel_of(c), in_blocks);
    c.quantized = t::u8;
    EXPECT_EQ(kernel_of(c), in_blocks);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
