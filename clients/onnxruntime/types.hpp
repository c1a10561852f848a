// ONNX's element types in oneDNN's words.
#ifndef DNNL_DEQUANT_ORT_TYPES_HPP
#define DNNL_DEQUANT_ORT_TYPES_HPP

#include <cstdint>
#include <vector>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "onnxruntime_c_api.h"

namespace dnnl_dequant::ort {

using type_t = dnnl::graph::logical_tensor::data_type;
using dims_t = std::vector<int64_t>;
using element_t = ONNXTensorElementDataType;

// ONNX Runtime's values that the oldest headers lack.
constexpr int element_float4e2m1 = 23;
constexpr int element_uint2 = 24;
constexpr int element_int2 = 25;
constexpr int element_float8e8m0 = 26;

// undef where neither oneDNN nor the plugin has it.
type_t type_of(element_t element);
// ONNX's names: "float", "uint4".
const char *name_of(element_t element);
size_t bits_of(type_t type);
bool is_float(type_t type);

int64_t count_of(const dims_t &dims);
size_t bytes_of(type_t type, const dims_t &dims);

} // namespace dnnl_dequant::ort

#endif
