#include "types.hpp"

namespace dnnl_dequant::ort {

namespace {

struct row_t {
    int element;
    const char *name;
    type_t type;
    size_t bits;
};

const row_t rows[] = {
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, "float", type_t::f32, 32},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, "float16", type_t::f16, 16},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, "bfloat16", type_t::bf16, 16},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, "uint8", type_t::u8, 8},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, "int8", type_t::s8, 8},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, "uint16", data_type::u16, 16},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, "int16", data_type::s16, 16},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, "uint32", data_type::u32, 32},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, "int32", type_t::s32, 32},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, "uint4", type_t::u4, 4},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, "int4", type_t::s4, 4},
        {element_uint2, "uint2", data_type::u2, 2},
        {element_int2, "int2", data_type::s2, 2},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, "float8e4m3fn",
                type_t::f8_e4m3, 8},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, "float8e5m2",
                type_t::f8_e5m2, 8},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ, "float8e4m3fnuz",
                data_type::f8_e4m3fnuz, 8},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ, "float8e5m2fnuz",
                data_type::f8_e5m2fnuz, 8},
        {element_float4e2m1, "float4e2m1", data_type::f4_e2m1, 4},
        {element_float8e8m0, "float8e8m0", data_type::e8m0, 8},
        // known by name only: shapes and other inputs that no kernel reads
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, "int64", type_t::undef, 64},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, "double", type_t::undef, 64},
        {ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, "bool", type_t::undef, 8},
};

} // namespace

type_t type_of(element_t element) {
    for (const row_t &row : rows)
        if (row.element == static_cast<int>(element)) return row.type;
    return type_t::undef;
}

const char *name_of(element_t element) {
    for (const row_t &row : rows)
        if (row.element == static_cast<int>(element)) return row.name;
    return "no tensor of numbers";
}

size_t bits_of(type_t type) {
    for (const row_t &row : rows)
        if (row.type == type) return row.bits;
    return 0;
}

bool is_float(type_t type) {
    return type == type_t::f32 || type == type_t::f16 || type == type_t::bf16;
}

int64_t count_of(const dims_t &dims) {
    int64_t count = 1;
    for (const int64_t dim : dims)
        count *= dim;
    return count;
}

size_t bytes_of(type_t type, const dims_t &dims) {
    return (static_cast<size_t>(count_of(dims)) * bits_of(type) + 7) / 8;
}

} // namespace dnnl_dequant::ort
