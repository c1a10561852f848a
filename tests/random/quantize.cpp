// Quantizing and dequantizing, with parameters in attributes and in tensors.

#include <algorithm>

#include "random/builder.hpp"
#include "random/quantized.hpp"

namespace dnnl_dequant {
namespace random_graphs {

using k = op::kind;
using a = op::attr;

type_t any_quantized_type(builder_t &b) {
    return b.one_in(2) ? type_t::u8 : type_t::s8;
}

void set_quantization(
        builder_t &b, const sizes_t &dims, bool has_zps, int64_t channel) {
    const bool per_channel = channel >= 0;
    const size_t count
            = per_channel
                      ? static_cast<size_t>(dims[static_cast<size_t>(channel)])
                      : 1;
    std::vector<float> scales(count);
    sizes_t zps(count);
    for (float &scale : scales)
        scale = b.random.pick(
                std::vector<float> {0.5f, 0.25f, 0.1f, 0.03f, 0.0625f});
    for (int64_t &zp : zps)
        zp = has_zps ? b.random.between(0, 12) : 0;
    b.set(a::scales, scales);
    b.set(a::zps, zps);
    b.set(a::qtype, std::string(per_channel ? "per_channel" : "per_tensor"));
    if (per_channel) b.set(a::axis, channel);
}

int64_t any_channel(builder_t &b, const sizes_t &dims) {
    if (b.one_in(2)) return -1;
    return b.random.between(0, static_cast<int64_t>(dims.size()) - 1);
}

size_t dequantized(
        builder_t &b, const sizes_t &dims, type_t type, int64_t channel) {
    const size_t src = b.input(type, dims);
    const bool has_zps = b.one_in(2);
    const size_t dst = b.add(k::Dequantize, {src}, type_t::f32, dims);
    set_quantization(b, dims, has_zps, channel);
    return dst;
}

size_t quantized(builder_t &b, size_t src, type_t type, int64_t channel) {
    const size_t dst = b.add(k::Quantize, {src}, type, b.dims(src));
    set_quantization(b, b.dims(src), b.one_in(2), channel);
    return dst;
}

namespace {

sizes_t any_dims(builder_t &b) {
    sizes_t dims(static_cast<size_t>(b.random.between(1, 4)));
    for (int64_t &size : dims)
        size = b.size();
    while (count_of(dims) > 4096)
        *std::max_element(dims.begin(), dims.end()) /= 2;
    return dims;
}

size_t as_f32(builder_t &b, size_t src) {
    if (b.type(src) == type_t::f32) return src;
    return b.add(k::TypeCast, {src}, type_t::f32, b.dims(src));
}

void dequantize(builder_t &b) {
    const sizes_t dims = any_dims(b);
    dequantized(b, dims, any_quantized_type(b), any_channel(b, dims));
}

void quantize(builder_t &b) {
    const size_t src = as_f32(b, b.value());
    const int64_t channel = any_channel(b, b.dims(src));
    const size_t dst = quantized(b, src, any_quantized_type(b), channel);
    if (b.one_in(2)) return;
    b.add(k::Dequantize, {dst}, type_t::f32, b.dims(dst));
    set_quantization(b, b.dims(dst), b.one_in(2), channel);
}

void dynamic_quantize(builder_t &b) {
    const size_t src = as_f32(b, b.value());
    const sizes_t dims = b.dims(src);
    const int64_t channel = any_channel(b, dims);
    const sizes_t scales {channel < 0 ? 1 : dims[static_cast<size_t>(channel)]};
    const type_t type = any_quantized_type(b);
    std::vector<size_t> inputs {src, b.input(type_t::f32, scales)};
    if (b.one_in(2))
        inputs.push_back(b.input(b.one_in(2) ? type : type_t::s32, scales));
    b.add(k::DynamicQuantize, inputs, type, dims);
    b.set(a::qtype, std::string(channel < 0 ? "per_tensor" : "per_channel"));
    if (channel >= 0) b.set(a::axis, channel);
}

void dynamic_dequantize(builder_t &b) {
    dynamically_dequantized(b, any_dims(b), b.floating());
}

} // namespace

size_t dynamically_dequantized(
        builder_t &b, const sizes_t &dims, type_t floating) {
    using t = type_t;
    const t type
            = b.random.pick(std::vector<t> {t::u8, t::s8, t::s8, t::u4, t::s4});
    const size_t src = b.input(type, dims);
    const int64_t channel = any_channel(b, dims);
    const bool grouped = dims.size() >= 2 && b.one_in(3);
    sizes_t scales {channel < 0 ? 1 : dims[static_cast<size_t>(channel)]};
    sizes_t groups(dims.size(), 1);
    if (grouped) {
        scales = dims;
        const size_t cut = dims.size() - (b.one_in(2) ? 1 : 2);
        if (dims[cut] % 2 == 0) groups[cut] = 2;
        scales[cut] /= groups[cut];
    }
    std::vector<size_t> inputs {src, b.scales(floating, scales)};
    if (b.one_in(2)) inputs.push_back(b.input(type, scales));
    const size_t dst = b.add(k::DynamicDequantize, inputs, floating, dims);
    b.set(a::qtype, std::string(grouped       ? "per_group"
                                : channel < 0 ? "per_tensor"
                                              : "per_channel"));
    if (grouped) b.set(a::group_shape, groups);
    else if (channel >= 0) b.set(a::axis, channel);
    return dst;
}

const recipes_t &quantize_recipes() {
    static const recipes_t recipes {{dequantize, 5}, {quantize, 5},
            {dynamic_quantize, 2}, {dynamic_dequantize, 6}};
    return recipes;
}

} // namespace random_graphs
} // namespace dnnl_dequant
