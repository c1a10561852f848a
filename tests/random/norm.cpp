// Norms and softmaxes, and the product of matrices.

#include <algorithm>

#include "random/builder.hpp"

namespace dnnl_dequant {
namespace random_graphs {
namespace {

using k = op::kind;
using a = op::attr;

void softmax(builder_t &b) {
    const size_t src = b.value();
    const auto rank = static_cast<int64_t>(b.dims(src).size());
    const bool logarithm = b.one_in(4);
    b.add(logarithm ? k::LogSoftmax : k::SoftMax, {src}, b.type(src),
            b.dims(src));
    b.set(a::axis, b.one_in(2) ? -1 : b.random.between(-rank, rank - 1));
    if (!logarithm && b.onednn_minor >= 8 && b.one_in(4))
        b.set(a::mode, std::string("inf_as_zero"));
}

void batch_norm_inference(builder_t &b) {
    const size_t src = b.value(2, 4);
    const bool first = b.one_in(2);
    const sizes_t dims = b.dims(src);
    const sizes_t channels {first ? dims[1] : dims.back()};
    std::vector<size_t> inputs {src};
    for (int n = 0; n < 4; ++n)
        inputs.push_back(b.input(type_t::f32, channels));
    b.add(k::BatchNormInference, inputs, b.type(src), dims);
    b.set(a::epsilon, 1e-3f);
    b.set(a::data_format, std::string(first ? "NCX" : "NXC"));
}

void batch_norm_training(builder_t &b) {
    const size_t src = b.value(4, 4);
    const bool first = b.one_in(2);
    const sizes_t dims = b.dims(src);
    const sizes_t channels {first ? dims[1] : dims.back()};
    std::vector<size_t> inputs {src};
    const int parameters = b.one_in(3) ? 2 : 4;
    for (int n = 0; n < parameters; ++n)
        inputs.push_back(b.input(type_t::f32, channels));
    b.add(k::BatchNormForwardTraining, inputs, b.type(src), dims);
    for (int n = 0; n < 4; ++n)
        b.also(type_t::f32, channels);
    b.set(a::epsilon, 1e-3f);
    if (b.one_in(2)) b.set(a::momentum, 0.5f);
    b.set(a::data_format, std::string(first ? "NCX" : "NXC"));
}

void layer_norm(builder_t &b) {
    const size_t src = b.value(2);
    const sizes_t dims = b.dims(src);
    const sizes_t rows(dims.begin(), dims.end() - 1), row {dims.back()};
    std::vector<size_t> inputs {src};
    const bool affine = !b.one_in(3), keeps = b.one_in(2);
    if (affine) {
        inputs.push_back(b.like(type_t::f32, row));
        inputs.push_back(b.like(type_t::f32, row));
    }
    b.add(k::LayerNorm, inputs, b.type(src), dims);
    if (keeps) {
        b.also(type_t::f32, rows);
        b.also(type_t::f32, rows);
    }
    b.set(a::keep_stats, keeps);
    b.set(a::use_affine, affine);
    if (b.one_in(2)) b.set(a::epsilon, 1e-3f);
}

void group_norm(builder_t &b) {
    const size_t src = b.value(3, 4);
    const bool first = b.one_in(2);
    const sizes_t dims = b.dims(src);
    const sizes_t channels {first ? dims[1] : dims.back()};
    const int64_t groups = channels[0] % 2 == 0 && b.one_in(2) ? 2 : 1;
    std::vector<size_t> inputs {src};
    const bool affine = !b.one_in(3), keeps = b.one_in(2);
    if (affine) {
        inputs.push_back(b.like(type_t::f32, channels));
        inputs.push_back(b.like(type_t::f32, channels));
    }
    b.add(k::GroupNorm, inputs, b.type(src), dims);
    if (keeps) {
        b.also(type_t::f32, {dims[0], groups});
        b.also(type_t::f32, {dims[0], groups});
    }
    b.set(a::groups, groups);
    b.set(a::keep_stats, keeps);
    b.set(a::use_affine, affine);
    b.set(a::data_format, std::string(first ? "NCX" : "NXC"));
}

void matmul(builder_t &b) {
    const size_t src = b.value(2, 4);
    const sizes_t dims = b.dims(src);
    const size_t rank = dims.size();
    const bool transpose_a = b.one_in(4), transpose_b = b.one_in(3);
    const int64_t rows = transpose_a ? dims[rank - 1] : dims[rank - 2],
                  depth = transpose_a ? dims[rank - 2] : dims[rank - 1],
                  columns = b.size();
    sizes_t weights(dims.begin(), dims.end() - 2);
    if (b.one_in(2)) weights.clear();
    weights.insert(weights.end(),
            {transpose_b ? columns : depth, transpose_b ? depth : columns});
    std::vector<size_t> inputs {src, b.like(b.type(src), weights)};
    if (b.one_in(4)) inputs.push_back(b.like(b.type(src), {columns}));
    sizes_t dst = dims;
    dst[rank - 2] = rows;
    dst[rank - 1] = columns;
    b.add(k::MatMul, inputs, b.type(src), dst);
    if (transpose_a || b.one_in(4)) b.set(a::transpose_a, transpose_a);
    if (transpose_b || b.one_in(4)) b.set(a::transpose_b, transpose_b);
}

// Newer versions have one op more, called so in their headers: 86,
// with epsilon and axes like those of LayerNorm.
void rms_norm(builder_t &b) {
    if (b.onednn_minor < 12) return;
    const size_t src = b.value(2);
    const sizes_t dims = b.dims(src);
    std::vector<size_t> inputs {src};
    if (b.one_in(2)) inputs.push_back(b.like(type_t::f32, {dims.back()}));
    b.add(static_cast<k>(86), inputs, b.type(src), dims);
    if (b.one_in(2)) b.set(a::epsilon, 1e-3f);
}

} // namespace

const recipes_t &norm_recipes() {
    static const recipes_t recipes {{softmax, 4}, {batch_norm_inference, 3},
            {batch_norm_training, 1}, {layer_norm, 3}, {group_norm, 2},
            {rms_norm, 1}, {matmul, 12}};
    return recipes;
}

} // namespace random_graphs
} // namespace dnnl_dequant
