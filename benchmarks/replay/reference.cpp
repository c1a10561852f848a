#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

template <typename T>
T attribute_or(const graph_op_t &op, const char *name, const T &otherwise) {
    const auto found = op.attributes.find(name);
    if (found == op.attributes.end()) return otherwise;
    const T *value = std::get_if<T>(&found->second);
    return value != nullptr ? *value : otherwise;
}

dims_t strides_of(const graph_value_t &value) {
    const lt_t lt = value.concrete();
    return value.dims.empty() ? dims_t() : lt.get_strides();
}

// How many of x's elements share one of a list of scales, by dimension; more
// than x has where all share it.
dims_t shared_by(const graph_op_t &op, const graph_value_t &x,
        const graph_value_t &scales) {
    const size_t rank = x.dims.size();
    dims_t shared = x.dims;
    if (product(scales.dims) == 1) return shared;
    const dim_t axis = attribute_or<int64_t>(op, "axis", 1);
    const size_t at = static_cast<size_t>(
            axis < 0 ? axis + static_cast<dim_t>(rank) : axis);
    const auto group = attribute_or<dims_t>(op, "group_shape", {});
    const dim_t block = attribute_or<int64_t>(op, "block_size", 0);
    if (attribute_or<std::string>(op, "qtype", "") == "per_group") return group;
    if (block > 0 && scales.dims.size() == rank) {
        shared.assign(rank, 1);
        shared[at] = block;
        return shared;
    }
    shared[at] = 1;
    return shared;
}

// Finds the scale of an element: by all dimensions, or by the one that has
// several.
class scale_walk_t {
public:
    scale_walk_t(const graph_op_t &op, const graph_value_t &x,
            const graph_value_t &scales)
        : shared_(shared_by(op, x, scales))
        , strides_(x.dims.size(), 0) {
        const dims_t own = strides_of(scales);
        if (scales.dims.size() == x.dims.size() && product(scales.dims) > 1) {
            strides_ = own;
            return;
        }
        for (size_t d = 0; d < x.dims.size(); d++)
            if (shared_[d] < x.dims[d] && !own.empty()) strides_[d] = own[0];
    }

    dim_t step(size_t dimension, dim_t position) const {
        return position / shared_[dimension] * strides_[dimension];
    }

private:
    dims_t shared_, strides_;
};

} // namespace

check_t check_dequantize(const graph_op_t &op,
        const std::map<size_t, graph_value_t> &values,
        const std::function<const void *(size_t value)> &memory, size_t most) {
    const graph_value_t &x = values.at(op.inputs.at(0));
    const graph_value_t &scales = values.at(op.inputs.at(1));
    const graph_value_t &dst = values.at(op.outputs.at(0));
    const bool has_zps = op.inputs.size() > 2;
    const graph_value_t &zps = has_zps ? values.at(op.inputs[2]) : scales;
    const scale_walk_t scale_walk(op, x, scales), zp_walk(op, x, zps);
    const dims_t x_strides = strides_of(x), dst_strides = strides_of(dst);
    const size_t n = static_cast<size_t>(product(x.dims));
    const size_t step = n <= most ? 1 : (n / most) | 1u;
    check_t check;
    for (size_t i = 0; i < n; i += step) {
        dim_t at_x = 0, at_dst = 0, at_scale = 0, at_zp = 0;
        dim_t rest = static_cast<dim_t>(i);
        for (size_t d = x.dims.size(); d-- > 0; rest /= x.dims[d]) {
            const dim_t position = rest % x.dims[d];
            at_x += position * x_strides[d];
            at_dst += position * dst_strides[d];
            at_scale += scale_walk.step(d, position);
            at_zp += zp_walk.step(d, position);
        }
        const float difference = difference_of({x.type, memory(x.id), at_x},
                {has_zps ? zps.type : type_t::undef, memory(zps.id), at_zp});
        const float scale
                = value_of({scales.type, memory(scales.id), at_scale});
        count_bits(check, dst.type, bits_at({dst.type, memory(dst.id), at_dst}),
                round_to(dst.type, difference * scale));
    }
    return check;
}

namespace {

// Blocks that are equal byte by byte, which nearly all are, are passed over.
constexpr dim_t block_bytes = 4096;

void compare_block(difference_t &result, element_t a, element_t b, dim_t end) {
    for (; a.index < end; a.index++, b.index++) {
        const double x = static_cast<double>(value_of(a));
        const double y = static_cast<double>(value_of(b));
        if (bits_at(a) == bits_at(b) || (std::isnan(x) && std::isnan(y)))
            continue;
        result.different++;
        const double apart = std::fabs(x - y);
        result.largest = std::isnan(apart) ? static_cast<double>(INFINITY)
                                           : std::max(result.largest, apart);
    }
}

double greatest_of(type_t type, const void *base, dim_t count) {
    double greatest = 0;
    const dim_t step = (count >> 16) | 1;
    for (dim_t i = 0; i < count; i += step) {
        const double value = static_cast<double>(value_of({type, base, i}));
        if (std::isfinite(value))
            greatest = std::max(greatest, std::fabs(value));
    }
    return greatest;
}

} // namespace

difference_t compare_bytes(
        type_t type, const void *a, const void *b, size_t size) {
    difference_t result;
    const dim_t bits = bits_of(type);
    if (bits > 32 || bits == 0) return result;
    const dim_t count = static_cast<dim_t>(size) * 8 / bits;
    const dim_t block = block_bytes * 8 / bits;
    for (dim_t i = 0; i < count; i += block) {
        const dim_t end = std::min(count, i + block);
        const size_t at = bytes_of(type, i), length = bytes_of(type, end - i);
        if (std::memcmp(static_cast<const char *>(a) + at,
                    static_cast<const char *>(b) + at, length)
                != 0)
            compare_block(result, {type, a, i}, {type, b, i}, end);
    }
    result.compared = static_cast<size_t>(count);
    result.greatest = greatest_of(type, b, count);
    return result;
}

} // namespace bench
} // namespace dnnl_dequant
