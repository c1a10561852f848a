// Training computes these from an op's input or output and a gradient.

#include <algorithm>

#include "random/builder.hpp"

namespace dnnl_dequant {
namespace random_graphs {
namespace {

using k = op::kind;
using a = op::attr;

void elementwise(builder_t &b) {
    const size_t src = b.value();
    const size_t gradient = b.like(b.type(src), b.dims(src));
    const k kind = b.random.pick(kinds_t {k::AbsBackward, k::ClampBackward,
            k::EluBackward, k::GELUBackward, k::HardSigmoidBackward,
            k::HardSwishBackward, k::MishBackward, k::ReLUBackward,
            k::SigmoidBackward, k::SoftPlusBackward, k::SqrtBackward,
            k::TanhBackward});
    b.add(kind, {src, gradient}, b.type(src), b.dims(src));
    const kinds_t from_dst {k::ClampBackward, k::EluBackward, k::ReLUBackward,
            k::SigmoidBackward, k::SqrtBackward, k::TanhBackward};
    if (std::count(from_dst.begin(), from_dst.end(), kind) && b.one_in(2))
        b.set(a::use_dst, b.one_in(2));
    if (kind == k::ClampBackward) {
        b.set(a::min, -0.5f);
        b.set(a::max, 1.f);
    }
    if (kind == k::EluBackward || kind == k::HardSigmoidBackward)
        b.set(a::alpha, 0.5f);
    if (kind == k::HardSigmoidBackward) b.set(a::beta, 0.5f);
}

void softmax(builder_t &b) {
    const size_t dst = b.value();
    const size_t gradient = b.like(b.type(dst), b.dims(dst));
    const k kind = b.one_in(2) ? k::SoftMaxBackward : k::LogSoftmaxBackward;
    b.add(kind, {gradient, dst}, b.type(dst), b.dims(dst));
    b.set(a::axis, int64_t {b.one_in(2) ? 0 : -1});
}

void bias(builder_t &b) {
    const size_t gradient = b.value(2);
    const bool first = b.one_in(2);
    const sizes_t &dims = b.dims(gradient);
    b.add(k::BiasAddBackward, {gradient}, b.type(gradient),
            {first ? dims[1] : dims.back()});
    b.set(a::data_format, std::string(first ? "NCX" : "NXC"));
}

void prelu(builder_t &b) {
    const size_t src = b.value(2);
    const bool first = b.one_in(2);
    const sizes_t dims = b.dims(src);
    const size_t slope = b.like(b.type(src), {first ? dims[1] : dims.back()});
    const size_t gradient = b.like(b.type(src), dims);
    b.add(k::PReLUBackward, {src, slope, gradient}, b.type(src), dims);
    b.also(b.type(src), b.dims(slope));
    b.set(a::data_format, std::string(first ? "NCX" : "NXC"));
}

void layer_norm(builder_t &b) {
    const size_t src = b.value(2);
    const sizes_t dims = b.dims(src);
    const sizes_t rows(dims.begin(), dims.end() - 1), row {dims.back()};
    const type_t type = b.type(src);
    std::vector<size_t> inputs {src, b.like(type, dims),
            b.input(type_t::f32, rows), b.input(type_t::f32, rows)};
    const bool affine = !b.one_in(3);
    if (affine) {
        inputs.push_back(b.like(type_t::f32, row));
        inputs.push_back(b.like(type_t::f32, row));
    }
    b.add(k::LayerNormBackward, inputs, type, dims);
    if (affine) {
        b.also(type_t::f32, row);
        b.also(type_t::f32, row);
    }
    b.set(a::use_affine, affine);
}

void batch_norm(builder_t &b) {
    const size_t src = b.value(4, 4);
    const bool first = b.one_in(2);
    const sizes_t dims = b.dims(src);
    const sizes_t channels {first ? dims[1] : dims.back()};
    const type_t type = b.type(src);
    std::vector<size_t> inputs {src, b.like(type, dims),
            b.input(type_t::f32, channels), b.input(type_t::f32, channels)};
    const bool affine = !b.one_in(3);
    if (affine) inputs.push_back(b.like(type_t::f32, channels));
    b.add(k::BatchNormTrainingBackward, inputs, type, dims);
    if (affine) {
        b.also(type_t::f32, channels);
        b.also(type_t::f32, channels);
    }
    b.set(a::epsilon, 1e-3f);
    b.set(a::data_format, std::string(first ? "NCX" : "NXC"));
}

} // namespace

const recipes_t &backward_recipes() {
    static const recipes_t recipes {{elementwise, 5}, {softmax, 2}, {bias, 1},
            {prelu, 1}, {layer_norm, 1}, {batch_norm, 1}};
    return recipes;
}

} // namespace random_graphs
} // namespace dnnl_dequant
