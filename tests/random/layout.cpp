// Ops that move or convert elements, and the ones that only stand in a graph.

#include <algorithm>

#include "random/builder.hpp"

namespace dnnl_dequant {
namespace random_graphs {
namespace {

using k = op::kind;
using a = op::attr;

void type_cast(builder_t &b) {
    const size_t src = b.value();
    std::vector<type_t> types {type_t::f32, type_t::bf16, type_t::f16};
    types.erase(std::find(types.begin(), types.end(), b.type(src)));
    b.add(k::TypeCast, {src}, b.random.pick(types), b.dims(src));
}

void reorder(builder_t &b) {
    const size_t src = b.value();
    b.add(k::Reorder, {src}, b.type(src), b.dims(src));
}

void transpose(builder_t &b) {
    const size_t src = b.value();
    sizes_t order, dims;
    for (const size_t from : support::any_order(b.random, b.dims(src).size())) {
        order.push_back(static_cast<int64_t>(from));
        dims.push_back(b.dims(src)[from]);
    }
    if (b.one_in(4)) order.back() -= static_cast<int64_t>(order.size());
    b.add(k::StaticTranspose, {src}, b.type(src), dims);
    b.set(a::order, order);
}

void reshape(builder_t &b) {
    const size_t src = b.value();
    sizes_t dims = b.dims(src);
    if (dims.size() > 1 && b.one_in(2)) {
        dims[0] *= dims[1];
        dims.erase(dims.begin() + 1);
    } else if (dims[0] % 2 == 0) {
        dims[0] /= 2;
        dims.insert(dims.begin(), 2);
    } else {
        dims.insert(dims.begin(), 1);
    }
    sizes_t shape = dims;
    if (b.one_in(4)) shape[0] = -1;
    b.add(k::StaticReshape, {src}, b.type(src), dims);
    b.set(a::shape, shape);
    b.set(a::special_zero, b.one_in(3));
}

void concat(builder_t &b) {
    const size_t src = b.value();
    const size_t axis = static_cast<size_t>(
            b.random.between(0, static_cast<int64_t>(b.dims(src).size()) - 1));
    std::vector<size_t> inputs {src};
    sizes_t dims = b.dims(src);
    const int64_t others = b.random.between(b.one_in(8) ? 0 : 1, 2);
    for (int64_t n = 0; n < others; ++n) {
        sizes_t other = b.dims(src);
        if (b.one_in(2)) other[axis] = b.size();
        dims[axis] += other[axis];
        inputs.push_back(b.like(b.type(src), other));
    }
    b.add(k::Concat, inputs, b.type(src), dims);
    auto named = static_cast<int64_t>(axis);
    if (b.one_in(3)) named -= static_cast<int64_t>(dims.size());
    b.set(a::axis, named);
}

void end(builder_t &b) {
    const size_t src = b.value();
    b.spec().ops.push_back({k::End, {src}, {}});
}

void wildcard(builder_t &b) {
    const size_t src = b.value();
    b.add(k::Wildcard, {src}, b.type(src), b.dims(src));
}

} // namespace

const recipes_t &layout_recipes() {
    static const recipes_t recipes {{type_cast, 6}, {reorder, 4},
            {transpose, 5}, {reshape, 5}, {concat, 3}, {end, 1}, {wildcard, 1}};
    return recipes;
}

} // namespace random_graphs
} // namespace dnnl_dequant
