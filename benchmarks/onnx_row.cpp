#include <algorithm>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "peer.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

// ONNX's blocks lie along one dimension.
size_t block_axis(const bench_case_t &c) {
    const auto is_long = [](dim_t size) { return size > 1; };
    const auto first = std::find_if(c.group.begin(), c.group.end(), is_long);
    if (std::count_if(c.group.begin(), c.group.end(), is_long) != 1)
        throw std::invalid_argument("ONNX's blocks lie along one dimension");
    return static_cast<size_t>(first - c.group.begin());
}

bool is_quark(const bench_case_t &c) {
    return c.op == op_t::extended_dequantize_linear
           || c.op == op_t::extended_quantize_linear;
}

void check_dynamic(const bench_case_t &c) {
    if (c.granularity != granularity_t::per_tensor || c.src != type_t::f32
            || c.dst != type_t::u8 || c.zps != c.dst)
        throw std::invalid_argument(
                "ONNX's DynamicQuantizeLinear is of f32 to u8, per tensor");
}

// The first opset that has the row's type, and blocks.
int opset_of(const bench_case_t &c) {
    constexpr int blocked = 21, float4 = 23, two_bits = 25;
    const type_t narrow = quantizes(c.op) ? c.dst : c.src;
    if (is_quark(c)) return 1;
    if (bits_of(narrow) == 2) return two_bits;
    if (bits_of(narrow) == 4 && is_floating(narrow)) return float4;
    return blocked;
}

} // namespace

std::string onnx_row(const bench_case_t &c) {
    if (c.transposed)
        throw std::invalid_argument("ONNX's tensors are dense alone");
    const bool quantizing = quantizes(c.op);
    if (c.zps != type_t::undef && c.zps != (quantizing ? c.dst : c.src))
        throw std::invalid_argument(quantizing
                                            ? "ONNX's zero point is of y's type"
                                            : "ONNX's zero point is of x's "
                                              "type");
    if (c.op == op_t::dynamic_quantize_linear) check_dynamic(c);
    const bool dynamic = c.op == op_t::dynamic_dequantize;
    nlohmann::json row {
            {"op_type", to_string(dynamic ? op_t::dequantize_linear : c.op)},
            {"domain", is_quark(c) ? "com.amd.quark" : ""},
            {"opset", opset_of(c)}, {"x", onnx_name(c.src)},
            {"scale", onnx_name(c.scales())}, {"zero_point", nullptr},
            {"y", onnx_name(c.dst)}, {"shape", c.dims},
            {"scale_shape", dims_t {}}, {"axis", c.axis}, {"block_size", 0},
            {"threads", c.threads}};
    if (c.zps != type_t::undef) row["zero_point"] = onnx_name(c.zps);
    if (c.granularity == granularity_t::per_channel)
        row["scale_shape"] = dims_t {product(c.scale_grid())};
    if (c.granularity == granularity_t::per_group) {
        const size_t axis = block_axis(c);
        row["axis"] = axis;
        row["block_size"] = c.group[axis];
        row["scale_shape"] = c.scale_grid();
    }
    return row.dump();
}

} // namespace bench
} // namespace dnnl_dequant
