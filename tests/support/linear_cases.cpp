#include "support/linear_cases.hpp"

#include <algorithm>

namespace dnnl_dequant {
namespace support {

namespace {

bool can_say(dequantize_op_t op, const dequantize_case_t &c) {
    if (c.qtype == qtype_t::per_channel) return c.zps.dims == c.scales.dims;
    if (c.qtype == qtype_t::per_tensor) return true;
    const auto cut = std::count_if(c.group_shape.begin(), c.group_shape.end(),
            [](dim_t group) { return group > 1; });
    return cut <= 1 && op == dequantize_op_t::linear;
}

} // namespace

std::vector<dequantize_case_t> linear_shapes(
        dequantize_op_t op, const std::vector<dequantize_case_t> &shapes) {
    std::vector<dequantize_case_t> result;
    for (dequantize_case_t c : shapes) {
        if (!can_say(op, c)) continue;
        c.op = op;
        if (c.qtype == qtype_t::per_tensor) {
            c.scales.dims.assign(result.size() % 3, 1);
            c.zps.dims.assign(result.size() % 2, 1);
            c.scales.strides = dense_strides(c.scales.dims);
            c.zps.strides = dense_strides(c.zps.dims);
        }
        result.push_back(c);
    }
    return result;
}

const std::vector<data_type_t> &sources_of(dequantize_op_t op) {
    using t = data_type_t;
    static const std::vector<t> of_onnx {t::u8, t::s8, t::s32, t::s16, t::u16,
            t::s4, t::u4, t::s2, t::u2, t::f8_e4m3, t::f8_e5m2, t::f8_e4m3fnuz,
            t::f8_e5m2fnuz, t::f4_e2m1};
    static const std::vector<t> of_quark {t::s32, t::s16, t::s8, t::u32, t::u16,
            t::u8, t::f16, t::bf16, t::f32};
    static const std::vector<t> of_onednn {t::s8, t::u8, t::s4, t::u4, t::s16,
            t::u16, t::s32, t::u32, t::s2, t::u2, t::f8_e4m3, t::f8_e5m2,
            t::f8_e4m3fnuz, t::f8_e5m2fnuz, t::f4_e2m1};
    switch (op) {
    case dequantize_op_t::linear: return of_onnx;
    case dequantize_op_t::extended_linear: return of_quark;
    default: return of_onednn;
    }
}

std::vector<types_t> linear_combinations(
        dequantize_op_t op, data_type_t src, data_type_t dst) {
    std::vector<data_type_t> scales {data_type_t::f32};
    if (op == dequantize_op_t::linear)
        scales.insert(scales.end(),
                {data_type_t::bf16, data_type_t::f16, data_type_t::e8m0});
    std::vector<types_t> result;
    for (const auto type : scales)
        for (const auto zps : {data_type_t::undef, src})
            result.push_back({src, type, zps, dst});
    return result;
}

} // namespace support
} // namespace dnnl_dequant
