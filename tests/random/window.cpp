// Convolutions and poolings, forward and backward: all that moves a window over
// spatial dimensions. Padding and dilation keep a window that fits, since
// oneDNN 3.7 crashes on some that do not.

#include "random/builder.hpp"

namespace dnnl_dequant {
namespace random_graphs {
namespace {

using k = op::kind;
using a = op::attr;

// The dimensions of images by name, whatever their order.
struct image_t {
    int64_t batch, channels;
    sizes_t spatial;
};

std::string data_format(bool channels_last) {
    return channels_last ? "NXC" : "NCX";
}

image_t image_of(const sizes_t &dims, bool channels_last) {
    image_t image;
    image.batch = dims[0];
    image.channels = channels_last ? dims.back() : dims[1];
    const size_t first = channels_last ? 1 : 2;
    for (size_t d = first; d < first + dims.size() - 2; ++d)
        image.spatial.push_back(dims[d]);
    return image;
}

sizes_t dims_of(const image_t &image, bool channels_last) {
    sizes_t dims {image.batch};
    if (!channels_last) dims.push_back(image.channels);
    dims.insert(dims.end(), image.spatial.begin(), image.spatial.end());
    if (channels_last) dims.push_back(image.channels);
    return dims;
}

struct window_t {
    sizes_t kernel, strides, before, after, dilations;

    int64_t out(size_t d, int64_t size) const {
        const int64_t reach = (kernel[d] - 1) * dilations[d] + 1;
        return (size + before[d] + after[d] - reach) / strides[d] + 1;
    }
    int64_t transposed_out(size_t d, int64_t size) const {
        const int64_t reach = (kernel[d] - 1) * dilations[d] + 1;
        return (size - 1) * strides[d] + reach - before[d] - after[d];
    }
};

window_t any_window(builder_t &b, const sizes_t &spatial, bool dilates) {
    window_t w;
    for (const int64_t size : spatial) {
        const int64_t kernel = b.random.between(1, size < 3 ? size : 3);
        w.kernel.push_back(kernel);
        w.strides.push_back(b.random.between(1, 2));
        w.before.push_back(b.random.between(0, kernel - 1));
        w.after.push_back(b.random.between(0, kernel - 1));
        w.dilations.push_back(
                dilates && b.one_in(4) && (kernel - 1) * 2 + 1 <= size ? 2 : 1);
    }
    return w;
}

void set_window(builder_t &b, const window_t &w, bool dilates = true) {
    b.set(a::strides, w.strides);
    b.set(a::pads_begin, w.before);
    b.set(a::pads_end, w.after);
    if (dilates) b.set(a::dilations, w.dilations);
}

image_t moved_over(const image_t &src, const window_t &w, bool transposed) {
    image_t dst = src;
    for (size_t d = 0; d < src.spatial.size(); ++d)
        dst.spatial[d] = transposed ? w.transposed_out(d, src.spatial[d])
                                    : w.out(d, src.spatial[d]);
    return dst;
}

// Everything that the six convolutions have in common.
struct convolution_t {
    bool transposed, channels_last, outputs_last;
    int64_t groups;
    image_t src, dst;
    window_t window;
    sizes_t weights;
    type_t type;
    size_t src_id;
};

convolution_t any_convolution(builder_t &b, bool transposed) {
    convolution_t c;
    c.transposed = transposed;
    c.src_id = b.value(3, 4);
    c.type = b.type(c.src_id);
    c.channels_last = b.one_in(2);
    c.outputs_last = b.one_in(3);
    c.src = image_of(b.dims(c.src_id), c.channels_last);
    c.window = any_window(b, c.src.spatial, true);
    c.dst = moved_over(c.src, c.window, transposed);
    c.groups = c.src.channels % 2 == 0 && b.one_in(3) ? 2 : 1;
    if (b.one_in(8)) c.groups = c.src.channels; // depthwise
    c.dst.channels = c.groups * b.random.between(1, 4);
    if (transposed) c.dst.channels = c.groups * b.random.between(1, 3);
    const int64_t outputs = transposed ? c.src.channels : c.dst.channels;
    const int64_t inputs
            = (transposed ? c.dst.channels : c.src.channels) / c.groups;
    c.weights = c.window.kernel;
    if (c.outputs_last) {
        c.weights.push_back(inputs);
        c.weights.push_back(outputs);
    } else {
        c.weights.insert(c.weights.begin(), {outputs, inputs});
    }
    return c;
}

void set_convolution(builder_t &b, const convolution_t &c) {
    set_window(b, c.window);
    b.set(a::groups, c.groups);
    b.set(a::data_format, data_format(c.channels_last));
    const std::string weights = c.transposed ? (c.outputs_last ? "XOI" : "IOX")
                                             : (c.outputs_last ? "XIO" : "OIX");
    b.set(a::weights_format, weights);
}

bool is_possible(const convolution_t &c) {
    for (const int64_t size : c.dst.spatial)
        if (size < 1) return false;
    return true;
}

void convolution(builder_t &b) {
    const bool transposed = b.one_in(4);
    const auto c = any_convolution(b, transposed);
    if (!is_possible(c)) return;
    std::vector<size_t> inputs {c.src_id, b.like(c.type, c.weights)};
    if (b.one_in(3)) inputs.push_back(b.like(c.type, {c.dst.channels}));
    b.add(transposed ? k::ConvTranspose : k::Convolution, inputs, c.type,
            dims_of(c.dst, c.channels_last));
    set_convolution(b, c);
}

void convolution_backward_data(builder_t &b) {
    const bool transposed = b.one_in(3);
    const auto c = any_convolution(b, transposed);
    if (!is_possible(c)) return;
    const sizes_t dims = dims_of(c.src, c.channels_last);
    const size_t gradient = b.like(c.type, dims_of(c.dst, c.channels_last));
    b.add(transposed ? k::ConvTransposeBackwardData
                     : k::ConvolutionBackwardData,
            {gradient, b.like(c.type, c.weights)}, c.type, dims);
    set_convolution(b, c);
    if (!transposed) b.set(a::dst_shape, dims);
}

void convolution_backward_weights(builder_t &b) {
    const bool transposed = b.one_in(3);
    const auto c = any_convolution(b, transposed);
    if (!is_possible(c)) return;
    const size_t gradient = b.like(c.type, dims_of(c.dst, c.channels_last));
    b.add(transposed ? k::ConvTransposeBackwardWeights
                     : k::ConvolutionBackwardWeights,
            {c.src_id, gradient}, c.type, c.weights);
    set_convolution(b, c);
    b.set(a::weights_shape, c.weights);
}

void pool(builder_t &b) {
    const size_t src = b.value(3, 4);
    const bool channels_last = b.one_in(2), largest = b.one_in(2);
    const image_t image = image_of(b.dims(src), channels_last);
    const window_t w = any_window(b, image.spatial, false);
    const sizes_t dims = dims_of(moved_over(image, w, false), channels_last);
    const type_t type = b.type(src);
    const bool backward = b.one_in(4);
    if (backward) {
        const size_t gradient = b.like(type, dims);
        const sizes_t of_src = b.dims(src);
        if (largest) b.add(k::MaxPoolBackward, {src, gradient}, type, of_src);
        else b.add(k::AvgPoolBackward, {gradient}, type, of_src);
        if (!largest) b.set(a::src_shape, of_src);
    } else {
        b.add(largest ? k::MaxPool : k::AvgPool, {src}, type, dims);
        if (b.one_in(3)) b.set(a::rounding_type, std::string("floor"));
    }
    set_window(b, w, false);
    b.set(a::kernel, w.kernel);
    if (!largest) b.set(a::exclude_pad, b.one_in(2));
    b.set(a::data_format, data_format(channels_last));
}

void interpolate(builder_t &b) {
    const size_t src = b.value(3, 4);
    const bool channels_last = b.one_in(2), backward = b.one_in(4);
    image_t image = image_of(b.dims(src), channels_last);
    for (int64_t &size : image.spatial)
        size = b.random.between(1, 6);
    const type_t type = b.type(src);
    const sizes_t larger = dims_of(image, channels_last), own = b.dims(src);
    if (backward)
        b.add(k::InterpolateBackward, {src, b.like(type, larger)}, type, own);
    else b.add(k::Interpolate, {src}, type, larger);
    const bool linear = b.one_in(2);
    b.set(a::mode, std::string(!linear           ? "nearest"
                               : own.size() == 3 ? "linear"
                                                 : "bilinear"));
    b.set(a::sizes, image.spatial);
    b.set(a::data_format, data_format(channels_last));
    if (b.one_in(2))
        b.set(a::coordinate_transformation_mode,
                std::string(b.one_in(3) ? "align_corners" : "half_pixel"));
}

} // namespace

const recipes_t &window_recipes() {
    static const recipes_t recipes {{convolution, 10},
            {convolution_backward_data, 2}, {convolution_backward_weights, 2},
            {pool, 5}, {interpolate, 2}};
    return recipes;
}

} // namespace random_graphs
} // namespace dnnl_dequant
