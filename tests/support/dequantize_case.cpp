#include "support/dequantize_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <sstream>

#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace support {

dim_t tensor_t::count() const {
    dim_t product = 1;
    for (const dim_t d : dims)
        product *= d;
    return product;
}

dim_t tensor_t::span() const {
    if (count() == 0) return 0;
    dim_t last = offset;
    for (size_t d = 0; d < dims.size(); ++d)
        last += (dims[d] - 1) * strides[d];
    return last + 1;
}

dims_t dense_strides(const dims_t &dims) {
    return padded_strides(dims, 0);
}

dims_t padded_strides(const dims_t &dims, dim_t gap) {
    dims_t strides(dims.size());
    // Unsigned: some tests want sizes that wrap.
    uint64_t next = 1;
    for (size_t d = dims.size(); d-- > 0;) {
        strides[d] = static_cast<dim_t>(next);
        next = next * static_cast<uint64_t>(std::max<dim_t>(dims[d], 1))
               + static_cast<uint64_t>(gap);
    }
    return strides;
}

dims_t permuted_strides(const dims_t &dims, const std::vector<size_t> &order) {
    dims_t strides(dims.size());
    dim_t next = 1;
    for (size_t i = order.size(); i-- > 0;) {
        strides[order[i]] = next;
        next *= std::max<dim_t>(dims[order[i]], 1);
    }
    return strides;
}

namespace {

std::string to_string(const dims_t &dims) {
    std::string text;
    for (size_t d = 0; d < dims.size(); ++d)
        text += (d ? "x" : "") + std::to_string(dims[d]);
    return dims.empty() ? "scalar" : text;
}

std::string to_string(const tensor_t &tensor) {
    if (!tensor.present()) return "none";
    const std::string offset
            = tensor.offset ? ":offset:" + std::to_string(tensor.offset) : "";
    return std::string(dnnl_dequant::to_string(tensor.type)) + ':'
           + to_string(tensor.dims) + ":strides:" + to_string(tensor.strides)
           + offset;
}

} // namespace

bool is_quantize(dequantize_op_t op) {
    return op >= dequantize_op_t::dynamic_quantize;
}

bool is_linear(dequantize_op_t op) {
    return op != dequantize_op_t::dynamic
           && op != dequantize_op_t::dynamic_quantize;
}

const char *to_string(dequantize_op_t op) {
    switch (op) {
    case dequantize_op_t::linear: return "DequantizeLinear";
    case dequantize_op_t::extended_linear: return "ExtendedDequantizeLinear";
    case dequantize_op_t::dynamic_quantize: return "DynamicQuantize";
    case dequantize_op_t::quantize_linear: return "QuantizeLinear";
    case dequantize_op_t::extended_quantize_linear:
        return "ExtendedQuantizeLinear";
    default: return "DynamicDequantize";
    }
}

std::string to_string(const dequantize_case_t &c) {
    std::string text
            = to_string(c.op) + std::string(" src:") + to_string(c.src);
    text += " scales:" + to_string(c.scales);
    text += " zps:" + to_string(c.zps) + " dst:" + to_string(c.dst);
    switch (c.qtype) {
    case qtype_t::per_tensor: text += " per_tensor"; break;
    case qtype_t::per_channel:
        text += " per_channel axis:" + std::to_string(c.axis);
        break;
    case qtype_t::per_group:
        text += " per_group group_shape:" + to_string(c.group_shape);
        break;
    }
    if (!c.saturate) text += " not saturated";
    return text + " seed:" + std::to_string(c.seed);
}

size_t axis_dimension(const dequantize_case_t &c) {
    const size_t rank = c.src.dims.size();
    if (c.qtype != qtype_t::per_group)
        return static_cast<size_t>(
                c.axis < 0 ? c.axis + static_cast<dim_t>(rank) : c.axis);
    for (size_t d = 0; d < rank; ++d)
        if (c.group_shape[d] > 1) return d;
    return rank - 1;
}

dims_t scales_dims_of(const dequantize_case_t &c) {
    switch (c.qtype) {
    case qtype_t::per_channel: return {c.src.dims[axis_dimension(c)]};
    case qtype_t::per_group: {
        dims_t dims = c.src.dims;
        for (size_t d = 0; d < dims.size(); ++d)
            dims[d] = (dims[d] + c.group_shape[d] - 1) / c.group_shape[d];
        return dims;
    }
    default: return {1};
    }
}

namespace {

// Kernels of quantize have a way of their own for integers of 22 bits.
void fill_near_zero(const tensor_t &tensor, void *data, random_t &random) {
    for (dim_t i = 0; i < tensor.span(); ++i) {
        dim_t value = random.between(-300, 300);
        if (random.one_in(8)) value = value < 0 ? -(1 << 22) : 1 << 22;
        put_bits(tensor.type, data, i, static_cast<uint32_t>(value));
    }
}

// Quotients on both sides of dst's range, ties among them.
void fill_for_ties(
        const dequantize_case_t &c, void *src, void *scales, random_t &random) {
    static const std::vector<double> divisors {
            0.125, 0.25, 0.5, 1, 3, 0.75, 0.1, -0.25, 0.3125};
    const int wide = std::max(bits_of(c.dst.type), 8) - 8;
    const auto put = [](const tensor_t &tensor, void *data, dim_t i, double v) {
        if (is_floating(tensor.type))
            put_bits(tensor.type, data, i, round_to(format_of(tensor.type), v));
        else
            put_bits(tensor.type, data, i,
                    static_cast<uint32_t>(static_cast<int64_t>(v)));
    };
    for (dim_t i = 0; i < c.src.span(); ++i)
        put(c.src, src, i,
                static_cast<double>(random.between(-1200, 1200))
                        * (random.one_in(3) ? std::ldexp(0.125, wide) : 0.125));
    for (dim_t i = 0; i < c.scales.span(); ++i)
        if (c.scales.type == data_type_t::e8m0)
            put_bits(c.scales.type, scales, i,
                    static_cast<uint32_t>(random.between(122, 130)));
        else put(c.scales, scales, i, random.pick(divisors));
}

// The op wants its zero points to be zero.
bool is_without_zero_point(const dequantize_case_t &c) {
    return (c.op == dequantize_op_t::linear
                   || c.op == dequantize_op_t::quantize_linear)
           && is_floating(c.zps.type);
}

} // namespace

void fill(const dequantize_case_t &c, void *src, void *scales, void *zps) {
    random_t random(c.seed);
    const auto fill_tensor = [&](const tensor_t &tensor, void *data) {
        if (is_floating(tensor.type))
            fill_floats(tensor.type, data, tensor.bytes(), c.values, random);
        else fill_integers(tensor.type, data, tensor.bytes(), random);
    };
    fill_tensor(c.src, src);
    fill_tensor(c.scales, scales);
    if (is_quantize(c.op) && c.values != values_t::extreme)
        fill_for_ties(c, src, scales, random);
    if (!c.zps.present()) return;
    if (is_without_zero_point(c)) std::memset(zps, 0, c.zps.bytes());
    else if (is_quantize(c.op) && c.zps.type == data_type_t::s32
             && c.values == values_t::ordinary)
        fill_near_zero(c.zps, zps, random);
    else fill_tensor(c.zps, zps);
}

namespace {

// The difference of two 64-bit integers needs 65 bits.
__extension__ typedef __int128 wide_t;

dim_t element_of(const tensor_t &tensor, const dims_t &index) {
    dim_t element = tensor.offset;
    for (size_t d = 0; d < tensor.dims.size(); ++d)
        element += index[d] * tensor.strides[d];
    return element;
}

// Returns the element of the scale or zero point of the point `index`.
dim_t parameter_of(const dequantize_case_t &c, const tensor_t &tensor,
        const dims_t &index) {
    if (tensor.count() == 1) return tensor.offset;
    if (c.qtype == qtype_t::per_channel)
        return tensor.offset + index[axis_dimension(c)] * tensor.strides[0];
    dim_t element = tensor.offset;
    for (size_t d = 0; d < index.size(); ++d)
        element += index[d] / c.group_shape[d] * tensor.strides[d];
    return element;
}

// src - zps: exact and then one f32 for integers, of f32 for floats.
float difference_at(const dequantize_case_t &c, const void *src,
        const void *zps, const dims_t &index) {
    const dim_t element = element_of(c.src, index);
    const dim_t zp = c.zps.present() ? parameter_of(c, c.zps, index) : 0;
    if (is_floating(c.src.type)) {
        const auto x = static_cast<float>(float_at(c.src.type, src, element));
        if (!c.zps.present()) return x;
        return x - static_cast<float>(float_at(c.zps.type, zps, zp));
    }
    wide_t wide = integer_at(c.src.type, src, element);
    if (c.zps.present()) wide -= integer_at(c.zps.type, zps, zp);
    return static_cast<float>(wide);
}

double number_at(const tensor_t &tensor, const void *data, dim_t element) {
    return is_floating(tensor.type) ? float_at(tensor.type, data, element)
                                    : static_cast<double>(integer_at(
                                              tensor.type, data, element));
}

// The quotient of two f32 rounds in double as if it were exact.
uint32_t quantized_at(const dequantize_case_t &c, const void *src,
        const void *scales, const void *zps, const dims_t &index) {
    const format_t &f32 = format_of(data_type_t::f32);
    const auto as_f32
            = [&f32](double v) { return value_of(f32, round_to(f32, v)); };
    const double x = as_f32(number_at(c.src, src, element_of(c.src, index)));
    const double scale = as_f32(
            number_at(c.scales, scales, parameter_of(c, c.scales, index)));
    const double zp = c.zps.present() ? number_at(c.zps, zps,
                                                parameter_of(c, c.zps, index))
                                      : 0;
    // Without a zero point -0 stays what it is.
    const double quotient = as_f32(x / scale);
    const double none = std::signbit(quotient) ? -0.0 : 0.0;
    return quantized_bits(c.dst.type, quotient, c.zps.present() ? zp : none,
            c.saturate || c.dst.type == data_type_t::f4_e2m1);
}

uint32_t value_at(const dequantize_case_t &c, const void *src,
        const void *scales, const void *zps, const dims_t &index) {
    if (is_quantize(c.op)) return quantized_at(c, src, scales, zps, index);
    const double difference = difference_at(c, src, zps, index);
    const double scale
            = float_at(c.scales.type, scales, parameter_of(c, c.scales, index));
    // Two f32 numbers: their product is exact in double.
    const format_t &f32 = format_of(data_type_t::f32);
    const double product = value_of(f32, round_to(f32, difference * scale));
    return round_to(format_of(c.dst.type), product);
}

// To the next index in row-major order; false after the last.
bool advance(dims_t &index, const dims_t &dims) {
    for (size_t d = dims.size(); d-- > 0;) {
        if (++index[d] < dims[d]) return true;
        index[d] = 0;
    }
    return false;
}

} // namespace

void reference(const dequantize_case_t &c, const void *src, const void *scales,
        const void *zps, void *dst) {
    if (c.src.count() == 0) return;
    dims_t index(c.src.dims.size(), 0);
    do {
        put_bits(c.dst.type, dst, element_of(c.dst, index),
                value_at(c, src, scales, zps, index));
    } while (advance(index, c.src.dims));
}

namespace {

bool is_nan(data_type_t type, const void *data, dim_t index) {
    return is_floating(type) && std::isnan(float_at(type, data, index));
}

void print_element(
        std::ostream &text, data_type_t type, const void *data, dim_t index) {
    text << "0x" << std::hex << bits_at(type, data, index) << std::dec << " ("
         << (is_floating(type) ? float_at(type, data, index)
                               : static_cast<double>(
                                         integer_at(type, data, index)))
         << ')';
}

} // namespace

std::string difference(
        data_type_t type, const void *expected, const void *got, dim_t count) {
    std::ostringstream text;
    const dim_t per_byte = std::max(8 / bits_of(type), 1);
    const dim_t end = round_up(count, per_byte);
    dim_t differ = 0;
    for (dim_t i = 0; i < end; ++i) {
        if (bits_at(type, expected, i) == bits_at(type, got, i)
                || (is_nan(type, expected, i) && is_nan(type, got, i)))
            continue;
        if (differ++ != 0) continue;
        text << "element " << i << " of " << count << ": expected ";
        print_element(text, type, expected, i);
        text << ", got ";
        print_element(text, type, got, i);
    }
    if (differ > 1) text << "; " << differ << " elements differ";
    return text.str();
}

} // namespace support
} // namespace dnnl_dequant
