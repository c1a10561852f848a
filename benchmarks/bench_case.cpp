#include "bench_case.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

std::string joined(const dims_t &dims) {
    std::string text;
    for (const dim_t dim : dims)
        text += (text.empty() ? "" : "x") + std::to_string(dim);
    return text;
}

} // namespace

const char *to_string(op_t op) {
    switch (op) {
    case op_t::dequantize_linear: return "DequantizeLinear";
    case op_t::extended_dequantize_linear: return "ExtendedDequantizeLinear";
    case op_t::quantize_linear: return "QuantizeLinear";
    case op_t::extended_quantize_linear: return "ExtendedQuantizeLinear";
    case op_t::dynamic_quantize_linear: return "DynamicQuantizeLinear";
    default: return "DynamicDequantize";
    }
}

bool quantizes(op_t op) {
    return op >= op_t::quantize_linear;
}

type_t bench_case_t::scales() const {
    switch (op) {
    case op_t::dynamic_dequantize:
    case op_t::dequantize_linear: return dst;
    case op_t::quantize_linear: return src;
    default: return type_t::f32;
    }
}

bool bench_case_t::has_two_passes() const {
    return op == op_t::dynamic_quantize_linear
           && granularity == granularity_t::per_tensor;
}

dims_t bench_case_t::shared() const {
    if (granularity == granularity_t::per_group) return group;
    dims_t all = dims;
    if (granularity == granularity_t::per_channel)
        all[static_cast<size_t>(axis)] = 1;
    return all;
}

dims_t bench_case_t::scale_grid() const {
    dims_t grid = shared();
    for (size_t i = 0; i < dims.size(); i++)
        grid[i] = (dims[i] + grid[i] - 1) / grid[i];
    return grid;
}

size_t bench_case_t::scales_bytes() const {
    return bytes_of(scales(), product(scale_grid()));
}

size_t bench_case_t::zps_bytes() const {
    return bytes_of(zps, product(scale_grid()));
}

size_t bench_case_t::bytes() const {
    return src_bytes() * (has_two_passes() ? 2 : 1) + scales_bytes()
           + zps_bytes() + dst_bytes();
}

std::string bench_case_t::granularity_name() const {
    const bool linear = op != op_t::dynamic_dequantize;
    switch (granularity) {
    case granularity_t::per_tensor: return "tensor";
    case granularity_t::per_channel:
        return (linear ? "axis_" : "channel_") + std::to_string(axis);
    default:
        return linear ? "block_" + std::to_string(group.back())
                      : "group_" + joined(group);
    }
}

std::string bench_case_t::shape_name() const {
    return joined(dims);
}

const char *bench_case_t::layout_name() const {
    return transposed ? "transposed" : "dense";
}

std::string bench_case_t::name() const {
    const std::string zps_name = zps == type_t::undef ? "none" : to_string(zps);
    const std::string op_name = op == op_t::dynamic_dequantize
                                        ? ""
                                        : to_string(op) + std::string("/");
    return op_name + to_string(src) + "/" + to_string(dst) + "/"
           + granularity_name() + "/zps_" + zps_name + "/" + layout_name() + "/"
           + shape_name() + "/t" + std::to_string(threads);
}

std::optional<double> bench_case_t::target() const {
    constexpr dim_t in_registers = 1024, in_l2 = 128 * 1024;
    if (elements() <= in_registers) return std::nullopt;
    // There the division takes longer than moving the bytes.
    if (elements() <= in_l2 && quantizes(op)) return std::nullopt;
    if (elements() <= in_l2)
        return dst == type_t::bf16 && bits_of(src) == 8 ? 2.2 : 1.5;
    return transposed ? 1.35 : 1.10;
}

} // namespace bench
} // namespace dnnl_dequant
