#include "random/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "e2e/plugin.hpp"
#include "support/dequantize_case.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace random_graphs {
namespace {

using k = op::kind;
using a = op::attr;

data_type_t data_type_of(const spec_tensor_t &t) {
    if (t.type == type_t::boolean) return data_type_t::u8;
    return static_cast<data_type_t>(t.type);
}

template <typename T>
T attribute_of(const spec_op_t &node, a name, T otherwise) {
    for (const auto &attribute : node.attributes)
        if (attribute.first == name) return std::get<T>(attribute.second);
    return otherwise;
}

// Finds the scale of an element of the value.
class scale_place_t {
public:
    scale_place_t(const spec_t &spec, const spec_op_t &node)
        : dims_(spec.tensors[node.inputs[0]].dims)
        , scales_(spec.tensors[node.inputs[1]].dims)
        , qtype_(attribute_of<std::string>(node, a::qtype, "per_tensor"))
        , axis_(attribute_of<int64_t>(node, a::axis, 1))
        , groups_(attribute_of<std::vector<int64_t>>(
                  node, a::group_shape, {})) {
        if (axis_ < 0) axis_ += static_cast<int64_t>(dims_.size());
    }

    // Whether scales, and zero points as many, are as the op wants them.
    bool fits() const {
        if (qtype_ == "per_tensor") return scales_ == std::vector<int64_t> {1};
        if (qtype_ == "per_channel")
            return axis_ >= 0 && axis_ < static_cast<int64_t>(dims_.size())
                   && scales_
                              == std::vector<int64_t> {
                                      dims_[static_cast<size_t>(axis_)]};
        bool fit = scales_.size() == dims_.size()
                   && groups_.size() == dims_.size();
        for (size_t d = 0; fit && d < dims_.size(); ++d)
            fit = groups_[d] > 0
                  && (dims_[d] + groups_[d] - 1) / groups_[d] == scales_[d];
        return fit;
    }

    dim_t operator()(const std::vector<int64_t> &position) const {
        if (qtype_ == "per_tensor") return 0;
        if (qtype_ == "per_channel")
            return position[static_cast<size_t>(axis_)];
        dim_t place = 0;
        for (size_t d = 0; d < dims_.size(); ++d)
            place = place * scales_[d] + position[d] / groups_[d];
        return place;
    }

private:
    std::vector<int64_t> dims_, scales_;
    std::string qtype_;
    int64_t axis_;
    std::vector<int64_t> groups_;
};

dim_t offset_of(const spec_tensor_t &t, const std::vector<int64_t> &position) {
    dim_t offset = 0;
    for (size_t d = 0; d < position.size(); ++d)
        offset += position[d] * t.strides[d];
    return offset;
}

bool next(const std::vector<int64_t> &dims, std::vector<int64_t> &position) {
    for (size_t d = dims.size(); d-- > 0;) {
        if (++position[d] < dims[d]) return true;
        position[d] = 0;
    }
    return false;
}

bool run_formula(const spec_t &spec, const spec_op_t &node, values_t &values) {
    const auto tensor
            = [&](size_t input) { return spec.tensors[node.inputs[input]]; };
    const auto buffer = [&](size_t input) {
        return values.at(node.inputs[input]).data();
    };
    const spec_tensor_t src = tensor(0), scales = tensor(1),
                        dst = spec.tensors[node.outputs[0]];
    const bool has_zps = node.inputs.size() > 2;
    const scale_place_t place_of(spec, node);
    std::vector<int64_t> position(src.dims.size());
    if (src.dims != dst.dims || !place_of.fits()) return false;
    if (bytes_of(src) == 0) return true;
    do {
        const dim_t from = offset_of(src, position), at = place_of(position);
        int64_t x = support::integer_at(data_type_of(src), buffer(0), from);
        // Scales of more than one dimension may have strides.
        dim_t in_scales = at, in_zps = at;
        if (has_zps && tensor(2).dims == std::vector<int64_t> {1}) in_zps = 0;
        if (scales.dims.size() > 1) {
            std::vector<int64_t> of_scale(scales.dims.size());
            dim_t left = at;
            for (size_t d = of_scale.size(); d-- > 0;) {
                of_scale[d] = left % scales.dims[d];
                left /= scales.dims[d];
            }
            in_scales = offset_of(scales, of_scale);
            if (has_zps) in_zps = offset_of(tensor(2), of_scale);
        }
        if (has_zps)
            x -= support::integer_at(
                    data_type_of(tensor(2)), buffer(2), in_zps);
        const float product
                = static_cast<float>(x)
                  * static_cast<float>(support::float_at(
                          data_type_of(scales), buffer(1), in_scales));
        const data_type_t to = data_type_of(dst);
        support::put_bits(to, values.at(node.outputs[0]).data(),
                offset_of(dst, position),
                support::round_to(support::format_of(to), product));
    } while (next(src.dims, position));
    return true;
}

// The same elements, densely: oneDNN (3.7.2, 3.12.1) reads some tensors wrongly
// whose dimensions lie in another order.
void make_dense(spec_tensor_t &t, buffer_t &buffer) {
    const spec_tensor_t from = t;
    t.strides = support::dense_strides(t.dims);
    if (t.strides == from.strides || bytes_of(t) == 0) return;
    buffer_t dense(bytes_of(t));
    std::vector<int64_t> position(t.dims.size());
    do
        support::put_bits(data_type_of(t), dense.data(), offset_of(t, position),
                support::bits_at(data_type_of(t), buffer.data(),
                        offset_of(from, position)));
    while (next(t.dims, position));
    buffer = std::move(dense);
}

bool run_alone(const spec_t &spec, size_t id, values_t &values) {
    steps_t steps("/dev/null", 0, {});
    spec_t plain;
    plain.ops.resize(id + 1);
    plain.ops[id] = spec.ops[id];
    plain.tensors = spec.tensors;
    for (spec_tensor_t &t : plain.tensors)
        t.described = described_t::fully;
    values_t dense;
    for (const size_t input : spec.ops[id].inputs) {
        if (dense.count(input)) continue;
        const buffer_t &from = values.at(input);
        const auto made = dense.emplace(input, buffer_t(from.size()));
        std::memcpy(made.first->second.data(), from.data(), from.size());
        make_dense(plain.tensors[input], made.first->second);
    }
    for (const size_t output : spec.ops[id].outputs)
        dense.emplace(output, buffer_t(bytes_of(plain.tensors[output])));
    ports_t ports;
    traced_partition_t traced;
    const auto whole = [&] {
        dnnl::graph::graph g(dnnl::engine::kind::cpu);
        g.add_op(op_of(plain, id));
        g.finalize();
        const auto partitions = g.get_partitions();
        if (partitions.size() != 1 || !partitions[0].is_supported()) return;
        run(plain, partitions[0], steps, ports, dense, traced);
    };
    e2e::set_plugin_enabled(false);
    const int status = status_of(whole);
    e2e::set_plugin_enabled(true);
    if (status != dnnl_success || traced.executed != dnnl_success) return false;
    for (const size_t output : spec.ops[id].outputs)
        std::memcpy(values.at(output).data(), dense.at(output).data(),
                bytes_of(plain.tensors[output]));
    return true;
}

bool has(const spec_t &spec, const std::vector<uint64_t> &ops,
        const std::vector<k> &kinds) {
    return std::any_of(ops.begin(), ops.end(), [&](uint64_t id) {
        const k kind = spec.ops[id].kind;
        return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    });
}

} // namespace

bool run_one_by_one(const spec_t &spec, const std::vector<uint64_t> &ops,
        values_t &values) {
    std::vector<uint64_t> in_order = ops;
    std::sort(in_order.begin(), in_order.end());
    for (const uint64_t id : in_order) {
        const spec_op_t &node = spec.ops[id];
        const bool right = node.kind == k::DynamicDequantize
                                   ? run_formula(spec, node, values)
                                   : run_alone(spec, id, values);
        if (!right) return false;
    }
    return true;
}

namespace {

double largest_of(const spec_tensor_t &t, const buffer_t &buffer) {
    double largest = 0;
    const data_type_t type = data_type_of(t);
    const auto count = static_cast<dim_t>(
            bytes_of(t) / static_cast<size_t>(bytes_of(type, 1)));
    for (dim_t i = 0; i < count; ++i) {
        const double value = support::float_at(type, buffer.data(), i);
        if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    }
    return largest;
}

// Errors of either sign add up like the square root of their number.
double sums_of(const spec_t &spec, const std::vector<uint64_t> &ops,
        const values_t &values) {
    double sums = 0;
    for (const uint64_t id : ops) {
        const spec_op_t &node = spec.ops[id];
        if (node.kind != k::MatMul) continue;
        const spec_tensor_t &src = spec.tensors[node.inputs[0]],
                            &weights = spec.tensors[node.inputs[1]];
        const double depth = static_cast<double>(
                *std::max_element(src.dims.begin(), src.dims.end()));
        sums = std::max(
                sums, largest_of(src, values.at(node.inputs[0]))
                              * largest_of(weights, values.at(node.inputs[1]))
                              * std::sqrt(depth));
    }
    return sums;
}

} // namespace

bound_t bound_of(const spec_t &spec, const std::vector<uint64_t> &ops,
        const values_t &values) {
    // Each element of these is rounded as the page of numerics says, by oneDNN
    // as by us.
    static const std::vector<k> exact {k::Abs, k::Add, k::Clamp, k::Dequantize,
            k::DynamicDequantize, k::DynamicQuantize, k::Maximum, k::Minimum,
            k::Multiply, k::Quantize, k::ReLU, k::Reorder, k::StaticReshape,
            k::StaticTranspose, k::Subtract, k::TypeCast};
    const bool multiplies = has(spec, ops, {k::MatMul, k::SoftMax});
    bound_t bound;
    for (const uint64_t id : ops) {
        const k kind = spec.ops[id].kind;
        if (std::find(exact.begin(), exact.end(), kind) == exact.end())
            bound.relative = multiplies ? 1e-5 : 2e-6;
    }
    if (bound.relative == 0) return bound;
    bound.steps = 1;
    // Products of 16 bits where the graph has them, or allows them.
    bound.sums = sums_of(spec, ops, values);
    bound.relative_to_sums = 1e-6;
    const auto widen = [&](double relative) {
        bound.relative = std::max(bound.relative, relative);
        bound.relative_to_sums = bound.relative / 5;
    };
    using mode = dnnl::fpmath_mode;
    if (multiplies && spec.fpmath != mode::strict)
        widen(spec.fpmath == mode::f16 ? 2e-3 : 2e-2);
    for (const uint64_t id : ops)
        for (const size_t output : spec.ops[id].outputs) {
            const type_t type = spec.tensors[output].type;
            if (type == type_t::f16) widen(2e-3);
            if (type == type_t::bf16) widen(2e-2);
        }
    return bound;
}

namespace {

bool is_floating(const spec_tensor_t &t) {
    return t.type == type_t::f32 || t.type == type_t::bf16
           || t.type == type_t::f16;
}

// NaN has no other bits that mean something, and 0 is 0.
bool is_same(double one, double other) {
    return one == other || (std::isnan(one) && std::isnan(other));
}

std::string difference_of_integers(const spec_tensor_t &t, const void *expected,
        const void *got, int64_t steps, bool &exact) {
    const data_type_t type = data_type_of(t);
    const int64_t count = static_cast<int64_t>(
            bytes_of(t) / static_cast<size_t>(bytes_of(type, 1)));
    for (int64_t i = 0; i < count; ++i) {
        const int64_t want = support::integer_at(type, expected, i),
                      is = support::integer_at(type, got, i);
        if (want != is) exact = false;
        if (std::abs(want - is) <= steps) continue;
        std::ostringstream out;
        out << "element " << i << " is " << is << " instead of " << want;
        return out.str();
    }
    return "";
}

} // namespace

std::string difference(const spec_tensor_t &t, const void *expected,
        const void *got, const bound_t &bound, bool &exact) {
    exact = true;
    if (!is_floating(t))
        return difference_of_integers(t, expected, got, bound.steps, exact);
    const data_type_t type = data_type_of(t);
    const auto count = static_cast<dim_t>(
            bytes_of(t) / (type == data_type_t::f32 ? 4 : 2));
    double largest = 0, off = 0;
    std::ostringstream out;
    for (dim_t i = 0; i < count; ++i) {
        const double want = support::float_at(type, expected, i),
                     is = support::float_at(type, got, i);
        if (std::isfinite(want)) largest = std::max(largest, std::fabs(want));
        if (is_same(want, is)) continue;
        exact = false;
        if (std::isnan(want) != std::isnan(is)
                || (bound.relative == 0 && out.str().empty()))
            out << "element " << i << " is " << is << " instead of " << want;
        if (std::isfinite(want) && std::isfinite(is))
            off = std::max(off, std::fabs(want - is));
    }
    const double most = std::max(
            largest * bound.relative, bound.sums * bound.relative_to_sums);
    if (bound.relative > 0 && off > most)
        out << "off by " << off << " where the largest is " << largest
            << " and " << most << " may be lost";
    return out.str();
}

} // namespace random_graphs
} // namespace dnnl_dequant
