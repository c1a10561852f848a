// Ops of one and of two tensors, element by element, reductions among them.

#include <algorithm>

#include "random/builder.hpp"

namespace dnnl_dequant {
namespace random_graphs {
namespace {

using k = op::kind;
using a = op::attr;

void unary(builder_t &b) {
    const size_t src = b.value();
    const k kind = b.random.pick(kinds_t {k::Abs, k::Exp, k::GELU, k::HardSwish,
            k::Log, k::Mish, k::Reciprocal, k::ReLU, k::Round, k::Sigmoid,
            k::Sqrt, k::Square, k::Tanh});
    b.add(kind, {src}, b.type(src), b.dims(src));
}

void unary_with_attributes(builder_t &b) {
    const size_t src = b.value();
    const k kind = b.random.pick(kinds_t {k::Clamp, k::Elu, k::HardSigmoid,
            k::LeakyReLU, k::Pow, k::SoftPlus});
    b.add(kind, {src}, b.type(src), b.dims(src));
    const float some = b.random.pick(std::vector<float> {0.f, 0.5f, 1.f, 2.f});
    switch (kind) {
    case k::Clamp:
        b.set(a::min, -some);
        b.set(a::max, some);
        break;
    case k::Elu: b.set(a::alpha, some); break;
    case k::HardSigmoid:
        b.set(a::alpha, 0.2f);
        b.set(a::beta, some);
        break;
    case k::LeakyReLU: b.set(a::alpha, 0.25f); break;
    case k::Pow: b.set(a::beta, some); break;
    default:
        if (b.one_in(2)) b.set(a::beta, 2.f);
    }
}

// One that the value broadcasts to, or is broadcast by.
sizes_t broadcast_dims(builder_t &b, const sizes_t &dims) {
    if (b.one_in(2)) return dims;
    sizes_t smaller = dims;
    for (int64_t &size : smaller)
        if (b.one_in(2)) size = 1;
    if (b.one_in(3)) smaller.erase(smaller.begin());
    if (smaller.empty()) smaller = {1};
    return smaller;
}

void binary(builder_t &b) {
    const size_t src = b.value();
    const sizes_t dims = b.dims(src);
    const k kind = b.random.pick(
            kinds_t {k::Add, k::Add, k::Subtract, k::Multiply, k::Multiply,
                    k::Divide, k::Maximum, k::Minimum, k::SquaredDifference});
    const size_t other = b.like(b.type(src), broadcast_dims(b, dims));
    const bool swapped = b.one_in(4);
    b.add(kind,
            swapped ? std::vector<size_t> {other, src}
                    : std::vector<size_t> {src, other},
            b.type(src), dims);
    if (b.one_in(3)) b.set(a::auto_broadcast, std::string("numpy"));
    if (b.dims(other) == dims && b.one_in(8))
        b.set(a::auto_broadcast, std::string("none"));
}

size_t channel_of(builder_t &b, const sizes_t &dims, std::string &format) {
    format = b.one_in(2) ? "NCX" : "NXC";
    return format == "NCX" ? std::min<size_t>(1, dims.size() - 1)
                           : dims.size() - 1;
}

void bias_add(builder_t &b) {
    const size_t src = b.value(2);
    std::string format;
    const size_t channel = channel_of(b, b.dims(src), format);
    const size_t bias = b.like(b.type(src), {b.dims(src)[channel]});
    b.add(k::BiasAdd, {src, bias}, b.type(src), b.dims(src));
    b.set(a::data_format, format);
}

void prelu(builder_t &b) {
    const size_t src = b.value(2);
    std::string format;
    const size_t channel = channel_of(b, b.dims(src), format);
    const int64_t size = b.one_in(3) ? 1 : b.dims(src)[channel];
    const size_t slope = b.like(b.type(src), {size});
    b.add(k::PReLU, {src, slope}, b.type(src), b.dims(src));
    b.set(a::data_format, format);
    if (b.one_in(2)) b.set(a::per_channel_broadcast, b.one_in(2));
}

void reduce(builder_t &b) {
    const size_t src = b.value();
    const k kind
            = b.random.pick(kinds_t {k::ReduceL1, k::ReduceL2, k::ReduceMax,
                    k::ReduceMean, k::ReduceMin, k::ReduceProd, k::ReduceSum});
    const bool keeps = b.one_in(2);
    const sizes_t &from = b.dims(src);
    sizes_t axes, dims;
    for (size_t d = 0; d < from.size(); ++d) {
        const bool reduced = b.one_in(2) || (axes.empty() && !from[d + 0])
                             || (axes.empty() && d + 1 == from.size());
        const auto axis = static_cast<int64_t>(d);
        if (reduced)
            axes.push_back(b.one_in(3)
                                   ? axis - static_cast<int64_t>(from.size())
                                   : axis);
        if (reduced && keeps) dims.push_back(1);
        if (!reduced) dims.push_back(from[d]);
    }
    if (dims.empty()) dims = {1}; // oneDNN's own would be of rank 0
    b.add(kind, {src}, b.type(src), dims);
    b.set(a::axes, axes);
    b.set(a::keep_dims, keeps);
}

// A condition, and what it chooses between.
void select(builder_t &b) {
    const size_t src = b.value();
    const type_t type = b.type(src);
    const sizes_t dims = b.dims(src);
    size_t condition;
    if (b.onednn_minor >= 7 && b.one_in(2)) {
        condition = b.add(k::GreaterEqual, {src, b.like(type, dims)},
                type_t::boolean, dims);
    } else {
        condition = b.like(type_t::boolean, dims);
    }
    if (b.one_in(5)) return;
    b.add(k::Select, {condition, src, b.like(type, broadcast_dims(b, dims))},
            type, dims);
}

void gen_index(builder_t &b) {
    const size_t src = b.value();
    const auto rank = static_cast<int64_t>(b.dims(src).size());
    const size_t index = b.add(k::GenIndex, {src}, type_t::s32, b.dims(src));
    b.set(a::axis, b.random.between(-rank, rank - 1));
    if (b.one_in(2))
        b.add(k::GreaterEqual, {index, b.like(type_t::s32, b.dims(index))},
                type_t::boolean, b.dims(index));
}

} // namespace

const recipes_t &elementwise_recipes() {
    static const recipes_t recipes {{unary, 14}, {unary_with_attributes, 7},
            {binary, 16}, {bias_add, 3}, {prelu, 3}, {reduce, 6}, {select, 4},
            {gen_index, 2}};
    return recipes;
}

} // namespace random_graphs
} // namespace dnnl_dequant
