// Sequences of ops that oneDNN fuses, or that the plugin does.

#include "random/builder.hpp"
#include "random/quantized.hpp"

namespace dnnl_dequant {
namespace random_graphs {
namespace {

using k = op::kind;
using a = op::attr;

// Products of integers: both sides dequantized, and maybe quantized again.
void integer_matmul(builder_t &b) {
    const int64_t rows = b.size(), depth = b.size(), columns = b.size();
    const bool transposed = b.one_in(3);
    const size_t src = dequantized(b, {rows, depth}, any_quantized_type(b), -1);
    const sizes_t dims
            = transposed ? sizes_t {columns, depth} : sizes_t {depth, columns};
    const size_t weights = dequantized(
            b, dims, type_t::s8, b.one_in(2) ? -1 : (transposed ? 0 : 1));
    size_t dst = b.add(k::MatMul, {src, weights}, type_t::f32, {rows, columns});
    b.set(a::transpose_b, transposed);
    if (b.one_in(3)) dst = b.add(k::ReLU, {dst}, type_t::f32, b.dims(dst));
    if (b.one_in(2)) quantized(b, dst, any_quantized_type(b), -1);
}

void integer_convolution(builder_t &b) {
    const int64_t channels = b.size(), outputs = b.size();
    const sizes_t dims {b.random.between(1, 2), channels, 5, 5};
    const size_t src = dequantized(b, dims, any_quantized_type(b), -1);
    const size_t weights = dequantized(
            b, {outputs, channels, 3, 3}, type_t::s8, b.one_in(2) ? -1 : 0);
    size_t dst = b.add(k::Convolution, {src, weights}, type_t::f32,
            {dims[0], outputs, 3, 3});
    b.set(a::strides, sizes_t {1, 1});
    b.set(a::pads_begin, sizes_t {0, 0});
    b.set(a::pads_end, sizes_t {0, 0});
    b.set(a::dilations, sizes_t {1, 1});
    b.set(a::groups, int64_t {1});
    b.set(a::data_format, std::string("NCX"));
    b.set(a::weights_format, std::string("OIX"));
    if (b.one_in(3)) dst = b.add(k::ReLU, {dst}, type_t::f32, b.dims(dst));
    if (b.one_in(2)) quantized(b, dst, any_quantized_type(b), -1);
}

size_t product(builder_t &b, size_t src, size_t weights, bool transposed) {
    sizes_t dims = b.dims(src);
    const sizes_t &of_weights = b.dims(weights);
    dims.back() = of_weights[of_weights.size() - (transposed ? 2 : 1)];
    const size_t dst = b.add(k::MatMul, {src, weights}, b.type(src), dims);
    if (transposed) b.set(a::transpose_b, true);
    return dst;
}

// Keys, values or weights: floats, or integers to be dequantized.
size_t factor(builder_t &b, const sizes_t &dims, bool plain) {
    if (plain || b.one_in(3)) return b.input(b.floating(), dims);
    return dynamically_dequantized(b, dims, b.floating());
}

void attention(builder_t &b) {
    const bool plain = b.one_in(2);
    const int64_t rows = b.size(), tokens = b.size(), width = 8;
    const type_t type = b.floating();
    const sizes_t batch {b.random.between(1, 2), b.random.between(1, 2)};
    const auto with = [&](int64_t one, int64_t two) {
        return sizes_t {batch[0], batch[1], one, two};
    };
    const size_t query = b.like(type, with(rows, width));
    const size_t keys = factor(b, with(tokens, width), plain);
    const size_t values = factor(b, with(tokens, width), plain);
    size_t scores = product(b, query, keys, true);
    const sizes_t dims = b.dims(scores);
    if (b.one_in(2))
        scores = b.add(b.one_in(2) ? k::Divide : k::Multiply,
                {scores, b.input(type, {1})}, type, dims);
    if (b.one_in(2))
        scores = b.add(k::Add, {scores, b.input(type, {1, 1, rows, tokens})},
                type, dims);
    const size_t weights = b.add(k::SoftMax, {scores}, type, dims);
    b.set(a::axis, int64_t {-1});
    size_t dst = product(b, weights, values, false);
    if (b.one_in(2)) return;
    const sizes_t heads = b.dims(dst);
    dst = b.add(k::StaticTranspose, {dst}, type,
            {heads[0], heads[2], heads[1], heads[3]});
    b.set(a::order, sizes_t {0, 2, 1, 3});
    if (b.one_in(2)) b.add(k::Reorder, {dst}, type, b.dims(dst));
}

// down((activation(src gate) * (src up)), with weights of one kind each.
void gated_mlp(builder_t &b) {
    const bool plain = b.one_in(3);
    const int64_t rows = b.size(), width = 8, inner = 16;
    const type_t type = b.floating();
    const size_t src = b.like(type, {rows, width});
    const size_t gate
            = product(b, src, factor(b, {width, inner}, plain), false);
    const size_t up = product(b, src, factor(b, {width, inner}, plain), false);
    const sizes_t dims = b.dims(gate);
    size_t active = b.add(k::Sigmoid, {gate}, type, dims);
    if (b.one_in(2)) active = b.add(k::Multiply, {gate, active}, type, dims);
    const size_t both = b.add(k::Multiply, {active, up}, type, dims);
    product(b, both, factor(b, {inner, width}, plain), false);
}

// A product with dequantized weights, and what often follows.
void dequantized_matmul(builder_t &b) {
    const size_t src = b.value(2, 3);
    const int64_t depth = b.dims(src).back(), columns = b.size();
    const bool transposed = b.one_in(2);
    const size_t weights = dynamically_dequantized(b,
            transposed ? sizes_t {columns, depth} : sizes_t {depth, columns},
            b.type(src));
    const size_t dst = product(b, src, weights, transposed);
    if (b.one_in(2))
        b.add(k::Add, {dst, b.input(b.type(dst), {columns})}, b.type(dst),
                b.dims(dst));
}

} // namespace

const recipes_t &pattern_recipes() {
    static const recipes_t recipes {{integer_matmul, 3},
            {integer_convolution, 2}, {attention, 4}, {gated_mlp, 2},
            {dequantized_matmul, 4}};
    return recipes;
}

} // namespace random_graphs
} // namespace dnnl_dequant
