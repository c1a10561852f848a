#include "kernels/chain_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "base/convert.hpp"
#include "kernels/elementwise/function.hpp"
#include "problem/make_problem.hpp"
#include "support/dequantize_case.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace support {

namespace {

// The difference of two 64-bit integers needs 65 bits.
__extension__ typedef __int128 wide_t;

dim_t index_along(const chain_case_t &c, const chain_tensor_t &tensor, size_t d,
        dim_t i) {
    return tensor.grouped ? i / c.groups[d] : i;
}

dim_t element_of(const chain_case_t &c, const chain_tensor_t &tensor,
        const dims_t &index) {
    dim_t element = tensor.offset;
    for (size_t d = 0; d < index.size(); ++d)
        element += index_along(c, tensor, d, index[d]) * tensor.strides[d];
    return element;
}

float to_f32(double value) {
    const format_t &f32 = format_of(data_type_t::f32);
    return static_cast<float>(value_of(f32, round_to(f32, value)));
}

// An integer stays one until something is computed with it.
struct number_t {
    bool is_integer = false;
    wide_t integer = 0;
    float real = 0;

    float f32() const {
        return is_integer ? static_cast<float>(integer) : real;
    }
};

number_t number_of(float value) {
    number_t number;
    number.real = value;
    return number;
}

number_t read(data_type_t type, const void *data, dim_t element) {
    number_t number;
    number.is_integer = is_integer(type);
    if (number.is_integer) number.integer = integer_at(type, data, element);
    else number.real = static_cast<float>(float_at(type, data, element));
    return number;
}

number_t difference_of(const number_t &a, const number_t &b) {
    if (a.is_integer && b.is_integer)
        return number_of(static_cast<float>(a.integer - b.integer));
    return number_of(to_f32(static_cast<double>(a.f32()) - b.f32()));
}

float clamp(const step_t &step, float value) {
    if (!(value > step.lower)) value = step.lower;
    return value < step.upper ? value : step.upper;
}

float round_as(data_type_t type, float value) {
    const format_t &format = format_of(type);
    return static_cast<float>(value_of(format, round_to(format, value)));
}

// The nearest integer within the range of an integer type.
number_t nearest_of(data_type_t type, float value) {
    const int bits = bits_of(type);
    const bool is_signed = family_of(type) == type_family_t::signed_int;
    const double highest = std::exp2(is_signed ? bits - 1 : bits) - 1;
    const double lowest = is_signed ? -highest - 1 : 0;
    number_t number;
    number.is_integer = true;
    if (std::isnan(value)) return number;
    const double nearest = std::nearbyint(static_cast<double>(value));
    number.integer
            = static_cast<wide_t>(std::min(std::max(nearest, lowest), highest));
    return number;
}

struct registers_t {
    number_t value, pushed;
};

void apply(const step_t &step, const number_t &operand, registers_t &r) {
    const double value = r.value.f32();
    switch (step.kind) {
    case step_kind_t::subtract:
        r.value = difference_of(r.value, operand);
        break;
    case step_kind_t::multiply:
        r.value = number_of(to_f32(value * operand.f32()));
        break;
    case step_kind_t::multiply_reciprocal:
        r.value = number_of(to_f32(value * to_f32(1. / operand.f32())));
        break;
    case step_kind_t::divide:
        r.value = number_of(to_f32(value / operand.f32()));
        break;
    case step_kind_t::saturate:
        // A value inside the bounds stays as it is, the sign of a zero
        // included.
        if (value < step.lower) r.value = number_of(step.lower);
        if (value > step.upper) r.value = number_of(step.upper);
        break;
    case step_kind_t::offset:
        r.value = nearest_of(data_type_t::s64, r.value.f32());
        r.value.integer += operand.integer;
        break;
    case step_kind_t::add:
        r.value = number_of(to_f32(value + operand.f32()));
        break;
    case step_kind_t::clamp:
        r.value = number_of(clamp(step, r.value.f32()));
        break;
    case step_kind_t::nearest:
        r.value = number_of(std::nearbyint(r.value.f32()));
        break;
    case step_kind_t::round:
        r.value = is_integer(step.type)
                          ? nearest_of(step.type, r.value.f32())
                          : number_of(round_as(step.type, r.value.f32()));
        break;
    case step_kind_t::push:
        r.pushed = r.value;
        r.value = operand;
        break;
    case step_kind_t::pop_add:
        r.value = number_of(to_f32(r.pushed.f32() + value));
        break;
    case step_kind_t::dup: r.pushed = r.value; break;
    case step_kind_t::pop_multiply:
        r.value = number_of(to_f32(r.pushed.f32() * value));
        break;
    // Its bits are the program's, which test_function.cpp holds to a bound.
    case step_kind_t::function:
        r.value = number_of(evaluate(make_function(step), r.value.f32()));
        break;
    }
}

number_t value_at(const chain_case_t &c, const std::vector<void *> &buffers,
        const dims_t &index) {
    const auto read_tensor = [&](size_t t) {
        return read(c.tensors[t].type, buffers[t],
                element_of(c, c.tensors[t], index));
    };
    registers_t r;
    r.value = read_tensor(0);
    for (const step_t &step : c.steps) {
        number_t operand;
        if (has_operand(step.kind))
            operand = read_tensor(static_cast<size_t>(step.operand));
        apply(step, operand, r);
    }
    return r.value;
}

uint32_t stored_as(data_type_t type, const number_t &value) {
    if (is_floating(type) && bits_of(type) <= 8)
        return quantized_bits(type, value.f32(), -0., false);
    if (is_floating(type)) return round_to(format_of(type), value.f32());
    number_t nearest = value;
    if (!value.is_integer) nearest = nearest_of(type, value.f32());
    const auto range = range_of(type);
    return static_cast<uint32_t>(std::min<wide_t>(
            std::max<wide_t>(nearest.integer, range.lowest), range.highest));
}

// An element of `bits` bits, bit by bit.
void copy_bits(int bits, const void *from, dim_t from_element, void *to,
        dim_t to_element) {
    const auto *in = static_cast<const unsigned char *>(from);
    auto *out = static_cast<unsigned char *>(to);
    for (dim_t b = 0; b < bits; ++b) {
        const dim_t i = from_element * bits + b, o = to_element * bits + b;
        const int bit = in[i / 8] >> (i % 8) & 1;
        const int mask = 1 << (o % 8);
        out[o / 8] = static_cast<unsigned char>(
                bit ? out[o / 8] | mask : out[o / 8] & ~mask);
    }
}

bool advance(dims_t &index, const dims_t &dims) {
    for (size_t d = dims.size(); d-- > 0;) {
        if (++index[d] < dims[d]) return true;
        index[d] = 0;
    }
    return false;
}

} // namespace

bool chain_case_t::copies() const {
    return steps.empty() && dst().type == tensors.front().type;
}

dim_t chain_case_t::count() const {
    dim_t product = 1;
    for (const dim_t d : dims)
        product *= d;
    return product;
}

dim_t chain_case_t::span(const chain_tensor_t &tensor) const {
    if (count() == 0) return 0;
    dim_t last = tensor.offset;
    for (size_t d = 0; d < dims.size(); ++d)
        last += index_along(*this, tensor, d, dims[d] - 1) * tensor.strides[d];
    return last + 1;
}

size_t chain_case_t::bytes(const chain_tensor_t &tensor) const {
    return static_cast<size_t>(bytes_of(tensor.type, span(tensor)));
}

problem_t problem_of(const chain_case_t &c) {
    std::vector<tensor_view_t> views;
    for (const auto &tensor : c.tensors)
        views.push_back({tensor.type, tensor.strides, tensor.grouped});
    problem_t problem = make_problem(c.dims, c.groups, views, c.steps);
    for (size_t t = 0; t < c.tensors.size(); ++t)
        problem.operands[t].offset = c.tensors[t].offset;
    return problem;
}

void fill(const chain_case_t &c, size_t t, void *data) {
    random_t random(c.seed * 31 + t);
    const auto &tensor = c.tensors[t];
    if (is_floating(tensor.type))
        fill_floats(tensor.type, data, c.bytes(tensor), c.values, random);
    else fill_integers(tensor.type, data, c.bytes(tensor), random);
}

void reference(const chain_case_t &c, const std::vector<void *> &buffers) {
    if (c.count() == 0) return;
    const data_type_t type = c.dst().type;
    dims_t index(c.dims.size(), 0);
    do {
        const dim_t to = element_of(c, c.dst(), index);
        if (c.copies())
            copy_bits(bits_of(type), buffers.front(),
                    element_of(c, c.tensors[0], index), buffers.back(), to);
        else
            put_bits(type, buffers.back(), to,
                    stored_as(type, value_at(c, buffers, index)));
    } while (advance(index, c.dims));
}

std::string difference(
        const chain_case_t &c, const void *expected, const void *got) {
    if (!c.copies())
        return difference(c.dst().type, expected, got, c.span(c.dst()));
    const auto *want = static_cast<const unsigned char *>(expected);
    const auto *have = static_cast<const unsigned char *>(got);
    for (size_t i = 0; i < c.bytes(c.dst()); ++i)
        if (want[i] != have[i]) {
            std::ostringstream text;
            text << "byte " << i << " of " << c.bytes(c.dst()) << std::hex
                 << ": expected 0x" << int {want[i]} << ", got 0x"
                 << int {have[i]};
            return text.str();
        }
    return "";
}

} // namespace support
} // namespace dnnl_dequant
