#include "support/linear_cases.hpp"

#include <algorithm>

namespace dnnl_dequant {
namespace support {

namespace {

using op_t = dequantize_op_t;

bool can_say(op_t op, const dequantize_case_t &c) {
    if (!is_linear(op)) return true;
    if (c.qtype == qtype_t::per_channel) return c.zps.dims == c.scales.dims;
    if (c.qtype == qtype_t::per_tensor) return true;
    const auto cut = std::count_if(c.group_shape.begin(), c.group_shape.end(),
            [](dim_t group) { return group > 1; });
    return cut <= 1 && (op == op_t::linear || op == op_t::quantize_linear);
}

} // namespace

std::vector<dequantize_case_t> shapes_of(
        op_t op, const std::vector<dequantize_case_t> &shapes) {
    std::vector<dequantize_case_t> result;
    for (dequantize_case_t c : shapes) {
        if (!can_say(op, c)) continue;
        c.op = op;
        if (is_linear(op) && c.qtype == qtype_t::per_tensor) {
            c.scales.dims.assign(result.size() % 3, 1);
            c.zps.dims.assign(result.size() % 2, 1);
            c.scales.strides = dense_strides(c.scales.dims);
            c.zps.strides = dense_strides(c.zps.dims);
        }
        if (op == op_t::quantize_linear) c.saturate = result.size() % 4 != 0;
        result.push_back(c);
    }
    return result;
}

const std::vector<data_type_t> &quantized_types(op_t op) {
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
    case op_t::linear:
    case op_t::quantize_linear: return of_onnx;
    case op_t::extended_linear:
    case op_t::extended_quantize_linear: return of_quark;
    default: return of_onednn;
    }
}

const std::vector<data_type_t> &plain_types(op_t op) {
    using t = data_type_t;
    static const std::vector<t> floats {t::f32, t::bf16, t::f16};
    static const std::vector<t> with_s32 {t::f32, t::bf16, t::f16, t::s32};
    return op == op_t::quantize_linear ? with_s32 : floats;
}

std::vector<types_t> linear_combinations(
        op_t op, data_type_t quantized, data_type_t plain) {
    using t = data_type_t;
    std::vector<t> scales {t::f32};
    if (op != op_t::extended_linear)
        scales.insert(scales.end(), {t::bf16, t::f16});
    if (op != op_t::extended_linear && op != op_t::extended_quantize_linear)
        scales.push_back(t::e8m0);
    const bool to = is_quantize(op);
    std::vector<types_t> result;
    for (const auto type : scales)
        for (const auto zps : {t::undef, quantized})
            result.push_back({to ? plain : quantized, type, zps,
                    to ? quantized : plain});
    return result;
}

} // namespace support
} // namespace dnnl_dequant
