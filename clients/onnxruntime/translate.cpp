#include "translate.hpp"

#include "status.hpp"

namespace dnnl_dequant::ort {

namespace {

using refusal_t = std::string (*)(const node_t &);
using translate_t = void (*)(builder_t &, const node_t &);

constexpr const char *microsoft = "com.microsoft";
constexpr const char *quark = "com.amd.quark";
constexpr const char *vitis = "com.vai.quantize";

std::string no_refusal(const node_t &) {
    return std::string();
}

std::string reshape_refusal(const node_t &node) {
    const value_t *shape = node.input(1);
    if (shape == nullptr || shape->content.empty())
        return "its shape is no constant";
    return std::string();
}

std::string cast_refusal(const node_t &node) {
    if (!is_float(node.inputs.at(0)->type())
            || !is_float(node.outputs.at(0)->type()))
        return "it casts other types than float, float16 and bfloat16";
    return std::string();
}

struct row_t {
    const char *op_type, *domain;
    refusal_t refusal;
    translate_t translate;
};

const row_t rows[] = {
        {"DequantizeLinear", "", quantization_refusal, translate_quantization},
        {"QuantizeLinear", "", quantization_refusal, translate_quantization},
        {"DequantizeLinear", microsoft, quantization_refusal,
                translate_quantization},
        {"QuantizeLinear", microsoft, quantization_refusal,
                translate_quantization},
        {"ExtendedDequantizeLinear", quark, quantization_refusal,
                translate_quantization},
        {"ExtendedQuantizeLinear", quark, quantization_refusal,
                translate_quantization},
        {"VitisDequantizeLinear", vitis, quantization_refusal,
                translate_quantization},
        {"VitisQuantizeLinear", vitis, quantization_refusal,
                translate_quantization},
        {"DynamicQuantizeLinear", "", no_refusal, translate_dynamic_quantize},
        {"Transpose", "", no_refusal, translate_transpose},
        {"Reshape", "", reshape_refusal, translate_reshape},
        {"Cast", "", cast_refusal, translate_cast},
        {"Add", "", binary_refusal, translate_binary},
        {"Mul", "", binary_refusal, translate_binary},
        {"Relu", "", unary_refusal, translate_unary},
        {"Sigmoid", "", unary_refusal, translate_unary},
        {"Tanh", "", unary_refusal, translate_unary},
        {"Elu", "", unary_refusal, translate_unary},
        {"LeakyRelu", "", unary_refusal, translate_unary},
        {"HardSwish", "", unary_refusal, translate_unary},
        {"Gelu", "", unary_refusal, translate_unary},
        {"Gelu", microsoft, unary_refusal, translate_unary},
};

const row_t *row_of(const node_t &node) {
    for (const row_t &row : rows)
        if (node.is(row.op_type, row.domain)) return &row;
    return nullptr;
}

bool is_product(const node_t &node) {
    return node.is("MatMul") || node.is("Gemm");
}

} // namespace

bool is_quarks(const node_t &node) {
    return node.domain == quark || node.domain == vitis;
}

std::string translation_refusal(const node_t &node) {
    if (node.input(0) == nullptr || node.outputs.empty()
            || node.outputs[0] == nullptr)
        return "its first input or output is absent";
    if (is_product(node)) return product_refusal(node);
    if (node.is("MatMulNBits", microsoft)) return nbits_refusal(node);
    const row_t *row = row_of(node);
    return row == nullptr ? "it has no translation" : row->refusal(node);
}

[[noreturn]] void fail(const node_t &node, const std::string &what) {
    throw failure_t("dnnl_dequant: " + node.title() + ": " + what,
            ORT_INVALID_ARGUMENT);
}

void translate(
        builder_t &builder, const node_t &node, const settings_t &settings) {
    if (is_product(node)) return translate_product(builder, node, settings);
    if (node.is("MatMulNBits", microsoft))
        return translate_nbits(builder, node, settings);
    const row_t *row = row_of(node);
    if (row == nullptr)
        throw failure_t(
                "dnnl_dequant: " + node.title() + " has no translation.");
    row->translate(builder, node);
}

} // namespace dnnl_dequant::ort
