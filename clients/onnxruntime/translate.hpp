// ONNX nodes as ops of oneDNN's graph.
#ifndef DNNL_DEQUANT_ORT_TRANSLATE_HPP
#define DNNL_DEQUANT_ORT_TRANSLATE_HPP

#include <string>

#include "builder.hpp"
#include "settings.hpp"

namespace dnnl_dequant::ort {

// Why the node has no translation; empty where it has one. Looks at the op,
// its attributes and types, not at shapes.
std::string translation_refusal(const node_t &node);

// Whether the op is one of Quark's, for which ONNX Runtime has no kernel.
bool is_quarks(const node_t &node);

// Throws a failure_t about the node: shapes or attributes that do not fit.
[[noreturn]] void fail(const node_t &node, const std::string &what);

// Adds the node's ops. Throws failure_t where shapes do not fit.
void translate(
        builder_t &builder, const node_t &node, const settings_t &settings);

// The functions of translate_*.cpp, one for each single op.
void translate_quantization(builder_t &builder, const node_t &node);
void translate_dynamic_quantize(builder_t &builder, const node_t &node);
void translate_transpose(builder_t &builder, const node_t &node);
void translate_reshape(builder_t &builder, const node_t &node);
void translate_cast(builder_t &builder, const node_t &node);
void translate_binary(builder_t &builder, const node_t &node);
void translate_unary(builder_t &builder, const node_t &node);
void translate_product(
        builder_t &builder, const node_t &node, const settings_t &settings);
void translate_nbits(
        builder_t &builder, const node_t &node, const settings_t &settings);

// An op of attention; what has no other meaning there, by translate().
void translate_attention(
        builder_t &builder, const node_t &node, const settings_t &settings);
// The same for keys and values.
void translate_cache(
        builder_t &builder, const node_t &node, const settings_t &settings);
// Whether the graph sees heads of the value in groups.
bool is_grouped(builder_t &builder, const value_t &value);

// The integers of a constant: a shape, or axes.
dims_t integers_of(const value_t &constant);
// The shape that Reshape gives: 0 keeps a dimension unless `keeps_zeros`, and
// -1 is what is left.
dims_t reshaped(const dims_t &dims, dims_t shape, bool keeps_zeros);

// Why an op cannot stand between the scores and Softmax.
std::string score_refusal(const node_t &node);
// Why an op cannot stand between dequantized keys or values and the product.
std::string cache_move_refusal(const node_t &node);
std::string quantization_refusal(const node_t &node);
std::string binary_refusal(const node_t &node);
std::string unary_refusal(const node_t &node);
std::string product_refusal(const node_t &node);
std::string nbits_refusal(const node_t &node);

// The accuracy level of a MatMul or Gemm whose weights `dequantize` makes: that
// of the settings; else, of weights of which ONNX Runtime makes MatMulNBits,
// its own; else 0.
int product_level(const node_t &dequantize, const settings_t &settings);

// Whether the activation of a MatMul or Gemm is quantized in the graph. Its
// weights then have to be f32.
bool quantizes_activation(const node_t &product, const settings_t &settings);

// Quantizes and dequantizes an activation of two dimensions in the graph, by
// groups along its second one; the product of the result with dequantized
// weights is then one of integers.
tensor_t quantize_activation(builder_t &builder, const tensor_t &activation,
        const dims_t &dims, int64_t group);

// An activation of any rank as one with two dimensions, by a view of an input.
tensor_t flat_activation(builder_t &builder, const value_t &value);
// The product of all dimensions but the last.
int64_t rows_of(const dims_t &dims);

} // namespace dnnl_dequant::ort

#endif
