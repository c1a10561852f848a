#include "e2e/range_case.hpp"

#include <cmath>
#include <cstring>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/plugin.hpp"
#include "support/guarded_buffer.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {

using support::guarded_buffer_t;

range_case_t make_case(const dims_t &dims, const dims_t &groups, data_type_t x,
        data_type_t y, bool symmetric) {
    range_case_t c;
    c.groups = groups;
    c.x = {x, dims, support::dense_strides(dims)};
    c.y = {y, dims, support::dense_strides(dims)};
    dims_t grid;
    for (size_t d = 0; d < dims.size() && !c.per_tensor(); ++d)
        grid.push_back((dims[d] + groups[d] - 1) / groups[d]);
    c.scale = {data_type_t::f32, grid, support::dense_strides(grid)};
    c.zero = {symmetric ? data_type_t::undef : y, grid,
            support::dense_strides(grid)};
    return c;
}

op op_of(const range_case_t &c, bool shaped) {
    op result(3, op_kind::DynamicQuantizeLinear, "dequantize_under_test");
    const auto declared = [shaped](size_t id, const tensor_t &t) {
        return shaped ? strided(id, t) : of_type_only(id, t);
    };
    result.add_input(declared(x_id, c.x));
    result.add_outputs({declared(y_id, c.y), declared(y_scale_id, c.scale)});
    if (c.zero.present()) result.add_output(declared(y_zero_point_id, c.zero));
    if (c.per_tensor()) return result;
    const bool by_axis = c.axis > -9;
    result.set_attr<std::string>(
            op::attr::qtype, by_axis ? "per_channel" : "per_group");
    if (by_axis) result.set_attr<int64_t>(op::attr::axis, c.axis);
    else result.set_attr<std::vector<int64_t>>(op::attr::group_shape, c.groups);
    return result;
}

namespace {

struct found_t {
    double above = 0, below = 0;
};

float as_f32(double value) {
    return static_cast<float>(value);
}

// To scale and zero point, a rounding each step.
void parameters_of(const range_case_t &c, const found_t &found, float &scale,
        double &zero) {
    zero = 0;
    if (!c.zero.present()) {
        const double most = std::fmax(found.above, found.below);
        scale = most == 0 ? 1.f : as_f32(most / 127);
        return;
    }
    const bool u8 = c.y.type == data_type_t::u8;
    const double lowest = u8 ? 0 : -127, highest = u8 ? 255 : 127;
    const double width = as_f32(found.above + found.below);
    scale = width == 0 ? 1.f : as_f32(width / (highest - lowest));
    const double quotient = as_f32(found.below / static_cast<double>(scale));
    const double initial = as_f32(lowest + quotient);
    zero = std::isnan(initial) ? 0
                               : std::nearbyint(std::fmin(
                                         std::fmax(initial, lowest), highest));
}

dim_t element_of(const tensor_t &t, const dims_t &index, const dims_t &groups) {
    dim_t element = 0;
    if (t.dims.size() == index.size())
        for (size_t d = 0; d < index.size(); ++d)
            element += index[d] / groups[d] * t.strides[d];
    else if (t.dims.size() == 1 && t.dims[0] > 1) // along the one axis
        for (size_t d = 0; d < index.size(); ++d)
            if (groups[d] == 1) element += index[d] * t.strides[0];
    return element;
}

template <typename Body>
void for_each_index(const dims_t &dims, const Body &body) {
    dims_t index(dims.size(), 0);
    for (bool more = true; more;) {
        body(index);
        more = false;
        for (size_t d = dims.size(); !more && d-- > 0;) {
            more = ++index[d] < dims[d];
            if (!more) index[d] = 0;
        }
    }
}

struct buffers_t {
    guarded_buffer_t x, y, scale, zero;

    buffers_t(const range_case_t &c, guarded_buffer_t::edge_t edge)
        : x(c.x.bytes(), edge)
        , y(c.y.bytes(), edge)
        , scale(c.scale.bytes(), edge)
        , zero(c.zero.present() ? c.zero.bytes() : 0, edge) {}
};

void reference(const range_case_t &c, const buffers_t &b) {
    const dims_t ones(c.rank(), 1);
    std::vector<found_t> ranges(static_cast<size_t>(c.scale.span()) + 1);
    const auto range_at = [&](const dims_t &index) -> found_t & {
        return ranges[static_cast<size_t>(
                element_of(c.scale, index, c.groups))];
    };
    for_each_index(c.x.dims, [&](const dims_t &index) {
        const double x = support::float_at(
                c.x.type, b.x.data(), element_of(c.x, index, ones));
        if (x > 0) range_at(index).above = std::fmax(range_at(index).above, x);
        if (x < 0) range_at(index).below = std::fmax(range_at(index).below, -x);
    });
    for_each_index(c.x.dims, [&](const dims_t &index) {
        float scale;
        double zero;
        parameters_of(c, range_at(index), scale, zero);
        uint32_t bits;
        std::memcpy(&bits, &scale, sizeof(bits));
        support::put_bits(data_type_t::f32, b.scale.data(),
                element_of(c.scale, index, c.groups), bits);
        const auto put_byte = [](const tensor_t &t, const guarded_buffer_t &to,
                                      dim_t at, double value) {
            support::put_bits(t.type, to.data(), at,
                    static_cast<uint32_t>(static_cast<int>(value)) & 0xffu);
        };
        if (c.zero.present())
            put_byte(c.zero, b.zero, element_of(c.zero, index, c.groups), zero);
        const double x = support::float_at(
                c.x.type, b.x.data(), element_of(c.x, index, ones));
        const double quotient = as_f32(x / static_cast<double>(scale));
        double value = std::isnan(quotient) ? 0 : std::nearbyint(quotient);
        const bool u8 = c.y.type == data_type_t::u8;
        value = std::fmin(
                std::fmax(value + zero, u8 ? 0 : -127), u8 ? 255 : 127);
        put_byte(c.y, b.y, element_of(c.y, index, ones), value);
    });
}

} // namespace

std::string text_of(const range_case_t &c) {
    std::string text = to_string(c.x.type);
    for (size_t d = 0; d < c.rank(); ++d)
        text += ' ' + std::to_string(c.x.dims[d]) + '/'
                + std::to_string(c.groups[d]) + '@'
                + std::to_string(c.x.strides[d]);
    return text + " -> " + to_string(c.y.type)
           + (c.zero.present() ? "" : " symmetric") + " axis "
           + std::to_string(c.axis) + " seed " + std::to_string(c.seed);
}

std::string check(const range_case_t &c) {
    const auto edge = c.seed % 2 ? guarded_buffer_t::edge_t::end
                                 : guarded_buffer_t::edge_t::start;
    const buffers_t expected(c, edge), got(c, edge);
    support::random_t random(c.seed);
    support::fill_floats(
            c.x.type, expected.x.data(), c.x.bytes(), c.values, random);
    std::memcpy(got.x.data(), expected.x.data(), c.x.bytes());
    reference(c, expected);

    auto p = partition_of(op_of(c));
    std::vector<logical_tensor> outputs {
            strided(y_id, c.y), strided(y_scale_id, c.scale)};
    const auto &cpu = cpu_engine();
    std::vector<tensor> tensors {{outputs[0], cpu, got.y.data()},
            {outputs[1], cpu, got.scale.data()}};
    if (c.zero.present()) {
        outputs.push_back(strided(y_zero_point_id, c.zero));
        tensors.emplace_back(outputs[2], cpu, got.zero.data());
    }
    const auto x = strided(x_id, c.x);
    const auto compiled = p.compile({x}, outputs, cpu);
    if (kernel_of(compiled).find("dynamic_quantize") == std::string::npos)
        return "ran " + kernel_of(compiled);
    compiled.execute(cpu_stream(), {{x, cpu, got.x.data()}}, tensors);
    for (const auto *b : {&got.x, &got.y, &got.scale, &got.zero})
        if (!b->intact()) return "wrote outside a buffer";
    std::string wrong = support::difference(data_type_t::f32,
            expected.scale.data(), got.scale.data(), c.scale.span());
    if (!wrong.empty()) return "scales: " + wrong;
    if (c.zero.present())
        wrong = support::difference(c.zero.type, expected.zero.data(),
                got.zero.data(), c.zero.span());
    if (!wrong.empty()) return "zero points: " + wrong;
    return support::difference(
            c.y.type, expected.y.data(), got.y.data(), c.y.span());
}

} // namespace e2e
} // namespace dnnl_dequant
