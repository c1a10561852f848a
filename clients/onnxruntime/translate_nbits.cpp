// com.microsoft MatMulNBits: weights of 2, 4 or 8 bits, [N, blocks, bytes of a
// block], so that a row has the depth padded to whole blocks. Scales are
// [N, blocks]. Zero points are either packed, a row padded to whole bytes, or
// floats.
#include <cmath>
#include <cstring>

#include "status.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

struct nbits_t {
    explicit nbits_t(const node_t &node)
        : bits(node.int_or("bits", 4))
        , block(node.int_or("block_size", 0))
        , depth(node.int_or("K", 0))
        , columns(node.int_or("N", 0))
        , blocks(block > 0 ? (depth + block - 1) / block : 0)
        , type(bits == 4      ? type_t::u4
                  : bits == 8 ? type_t::u8
                              : data_type::u2) {}

    int64_t bits, block, depth, columns, blocks;
    type_t type;

    int64_t padded_depth() const { return blocks * block; }
    // Elements between the zero points of two columns.
    int64_t zps_stride() const {
        const int64_t in_byte = 8 / bits;
        return (blocks + in_byte - 1) / in_byte * in_byte;
    }
};

// The middle of the range, for weights without zero points. Dense: rows that
// are padded to bytes take longer to unpack.
bytes_t middle_zps(const nbits_t &shape) {
    const uint8_t byte = shape.bits == 4 ? 0x88 : shape.bits == 8 ? 0x80 : 0xaa;
    const int64_t bits = shape.columns * shape.blocks * shape.bits;
    return bytes_t(static_cast<size_t>((bits + 7) / 8), byte);
}

float from_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, significand = bits & 1023;
    const float magnitude
            = exponent == 0 ? std::ldexp(static_cast<float>(significand), -24)
              : exponent == 31
                      ? (significand ? NAN : INFINITY)
                      : std::ldexp(static_cast<float>(significand + 1024),
                                exponent - 25);
    return bits >> 15 ? -magnitude : magnitude;
}

// A constant of floats, or of floats of 16 bits.
std::vector<float> floats_of(const value_t &constant, size_t count) {
    std::vector<float> result(count);
    const uint8_t *bytes = constant.content.data();
    if (constant.type() == type_t::f32) {
        std::memcpy(result.data(), bytes, count * sizeof(float));
        return result;
    }
    for (size_t i = 0; i < count; ++i) {
        uint16_t bits = 0;
        std::memcpy(&bits, bytes + i * sizeof(bits), sizeof(bits));
        result[i] = from_half(bits);
    }
    return result;
}

// -zero point * scale, a number a block, for zero points that are floats:
// (q - z) * s = q * s + (-z * s).
bytes_t offsets_of(const node_t &node, const nbits_t &shape) {
    const size_t count = static_cast<size_t>(shape.columns * shape.blocks);
    std::vector<float> scales = floats_of(*node.inputs[2], count);
    const std::vector<float> zps = floats_of(*node.inputs[3], count);
    for (size_t i = 0; i < count; ++i)
        scales[i] = -zps[i] * scales[i];
    bytes_t result(count * sizeof(float));
    std::memcpy(result.data(), scales.data(), result.size());
    return result;
}

bool has_float_zps(const node_t &node) {
    return node.input(3) != nullptr && is_float(node.inputs[3]->type());
}

// [N, depth] of f32 from packed weights and packed or no zero points.
tensor_t packed_weights(
        builder_t &builder, const node_t &node, const nbits_t &shape) {
    const tensor_t weights = builder.view(*node.inputs[1], shape.type,
            {shape.columns, shape.depth}, {shape.padded_depth(), 1});
    const dims_t groups {shape.columns, shape.blocks};
    const tensor_t scales
            = builder.view(*node.inputs[2], node.inputs[2]->type(), groups, {});
    const tensor_t zps
            = node.input(3) == nullptr
                      ? builder.constant(node.name + ".zps", shape.type, groups,
                                [&] { return middle_zps(shape); })
                      : builder.view(*node.inputs[3], shape.type, groups,
                                {shape.zps_stride(), 1});
    const tensor_t floats
            = builder.temporary(type_t::f32, {shape.columns, shape.depth});
    builder.op(op_kind::DequantizeLinear, {weights, scales, zps}, {floats})
            .set_attr<int64_t>(op_t::attr::axis, 1)
            .set_attr<int64_t>(attr::block_size, shape.block);
    return floats;
}

// The same where zero points are floats: block by block q * s + (-z * s).
tensor_t offset_weights(
        builder_t &builder, const node_t &node, const nbits_t &shape) {
    const dims_t blocked {shape.columns, shape.blocks, shape.block};
    const dims_t groups {shape.columns, shape.blocks, 1};
    const tensor_t weights
            = builder.view(*node.inputs[1], shape.type, blocked, {});
    const tensor_t scales
            = builder.view(*node.inputs[2], node.inputs[2]->type(), groups, {});
    const tensor_t products = builder.temporary(type_t::f32, blocked);
    op_t &dequantize = builder.op(
            op_t::kind::DynamicDequantize, {weights, scales}, {products});
    dequantize.set_attr<std::string>(op_t::attr::qtype, "per_group");
    dequantize.set_attr<dims_t>(op_t::attr::group_shape, {1, 1, shape.block});
    const tensor_t sums = builder.temporary(type_t::f32, blocked);
    builder.op(op_t::kind::Add,
            {products,
                    builder.constant(node.name + ".offsets", type_t::f32,
                            groups, [&] { return offsets_of(node, shape); })},
            {sums});
    const dims_t dims {shape.columns, shape.depth};
    const tensor_t floats = builder.temporary(type_t::f32, dims);
    op_t &reshape = builder.op(op_t::kind::StaticReshape, {sums}, {floats});
    reshape.set_attr<dims_t>(op_t::attr::shape, dims);
    reshape.set_attr<bool>(op_t::attr::special_zero, false);
    return floats;
}

bool is_level_4(const node_t &node, const settings_t &settings) {
    if (settings.accuracy_level >= 0) return settings.accuracy_level == 4;
    return node.int_or("accuracy_level", 0) == 4;
}

std::string shapes_refusal(const node_t &node, const nbits_t &shape) {
    const auto has_count = [&](size_t i, int64_t count) {
        return node.inputs[i]->has_rank
               && count_of(node.inputs[i]->dims) == count;
    };
    if (shape.depth <= 0 || shape.columns <= 0 || shape.block < 16
            || (shape.block & (shape.block - 1)) != 0)
        return "its attributes K, N or block_size are out of range";
    if (!has_count(1, shape.columns * shape.padded_depth() * shape.bits / 8))
        return "its weights do not have the size that K, N and bits say";
    if (!has_count(2, shape.columns * shape.blocks))
        return "it has not one scale a block";
    if (node.input(3) == nullptr) return std::string();
    const int64_t zps = has_float_zps(node) ? shape.columns * shape.blocks
                                            : shape.columns * shape.zps_stride()
                                                      * shape.bits / 8;
    return has_count(3, zps) ? std::string()
                             : "it has not one zero point a block";
}

} // namespace

std::string nbits_refusal(const node_t &node) {
    const nbits_t shape(node);
    if (shape.bits != 2 && shape.bits != 4 && shape.bits != 8)
        return "its attribute bits is " + std::to_string(shape.bits)
               + "; 2, 4 or 8 was expected";
    if (node.input(4) != nullptr) return "it has group indices (g_idx)";
    for (const size_t i : {size_t(0), size_t(2)}) {
        const type_t type = node.inputs.at(i)->type();
        if (type != type_t::f32 && type != type_t::f16)
            return std::string("its input has type ")
                   + name_of(node.inputs[i]->element)
                   + "; float or float16 was expected";
    }
    for (const size_t i : {size_t(1), size_t(2), size_t(3), size_t(5)}) {
        const value_t *value = node.input(i);
        if (value != nullptr && !value->is_constant)
            return "its input " + std::to_string(i) + " is no constant";
    }
    if (node.inputs[1]->type() != type_t::u8)
        return std::string("its weights have type ")
               + name_of(node.inputs[1]->element);
    if (!node.inputs[0]->has_rank) return "its first input has an unknown rank";
    if (has_float_zps(node)) {
        const type_t type = node.inputs[3]->type();
        if (type != type_t::f32 && type != type_t::f16)
            return std::string("its zero points have type ")
                   + name_of(node.inputs[3]->element);
        if (shape.depth != shape.padded_depth())
            return "its zero points are floats and its last block is short";
    }
    return shapes_refusal(node, shape);
}

namespace {

// A dequantize by one becomes a part of the product. A TypeCast in front of it
// would be a partition of oneDNN's, which runs in threads of its own.
tensor_t as_floats(builder_t &builder, const tensor_t &tensor) {
    if (tensor.get_data_type() == type_t::f32) return tensor;
    const tensor_t floats = builder.temporary(type_t::f32, tensor.get_dims());
    const tensor_t one = builder.constant("one", type_t::f32, {1}, [] {
        const float value = 1;
        bytes_t bytes(sizeof(value));
        std::memcpy(bytes.data(), &value, sizeof(value));
        return bytes;
    });
    builder.op(op_kind::ExtendedDequantizeLinear, {tensor, one}, {floats})
            .set_attr<int64_t>(op_t::attr::axis, 0);
    return floats;
}

} // namespace

void translate_nbits(
        builder_t &builder, const node_t &node, const settings_t &settings) {
    const nbits_t shape(node);
    const value_t &a = *node.inputs[0];
    const value_t &y = *node.outputs[0];
    dims_t dims = builder.dims(a);
    if (dims.empty() || dims.back() != shape.depth)
        fail(node, "its input has "
                           + std::to_string(dims.empty() ? 0 : dims.back())
                           + " columns, K is " + std::to_string(shape.depth)
                           + ".");
    const int64_t rows = rows_of(dims);
    tensor_t left = builder.view(a, a.type(), {rows, shape.depth}, {});
    left = is_level_4(node, settings)
                   ? quantize_activation(
                             builder, left, {rows, shape.depth}, shape.block)
                   : as_floats(builder, left);
    const tensor_t weights = has_float_zps(node)
                                     ? offset_weights(builder, node, shape)
                                     : packed_weights(builder, node, shape);
    dims.back() = shape.columns;
    const dims_t seen {rows, shape.columns};
    const value_t *bias = node.input(5);
    // Only the result is rounded to 16 bits, as in ONNX Runtime.
    const bool is_wide = y.type() == type_t::f32;
    const auto result = [&](bool is_last) {
        return is_last && is_wide ? builder.result(y, dims, seen)
                                  : builder.temporary(type_t::f32, seen);
    };
    tensor_t value = result(bias == nullptr);
    builder.op(op_t::kind::MatMul, {left, weights}, {value})
            .set_attr<bool>(op_t::attr::transpose_b, true);
    if (bias != nullptr) {
        const tensor_t sum = result(true);
        const tensor_t addend
                = builder.view(*bias, bias->type(), {shape.columns}, {});
        builder.op(op_t::kind::Add, {value, as_floats(builder, addend)}, {sum});
        value = sum;
    }
    if (!is_wide)
        builder.op(
                op_t::kind::TypeCast, {value}, {builder.result(y, dims, seen)});
}

} // namespace dnnl_dequant::ort
