#include "types.hpp"

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

struct type_row_t {
    type_t type;
    const char *name, *onnx;
    dim_t bits;
    bool is_signed;
    int fraction_bits = 0, bias = 0; // of floating types
};

const std::vector<type_row_t> &rows() {
    // f8_e4m3 is ONNX's "fn": no infinities.
    static const std::vector<type_row_t> all {
            {static_cast<type_t>(dnnl_f64), "f64", "DOUBLE", 64, true, 52,
                    1023},
            {type_t::f32, "f32", "FLOAT", 32, true, 23, 127},
            {type_t::bf16, "bf16", "BFLOAT16", 16, true, 7, 127},
            {type_t::f16, "f16", "FLOAT16", 16, true, 10, 15},
            {type_t::f8_e4m3, "f8_e4m3", "FLOAT8E4M3FN", 8, true, 3, 7},
            {type_t::f8_e5m2, "f8_e5m2", "FLOAT8E5M2", 8, true, 2, 15},
            {data_type::f8_e4m3fnuz, "f8_e4m3fnuz", "FLOAT8E4M3FNUZ", 8, true,
                    3, 8},
            {data_type::f8_e5m2fnuz, "f8_e5m2fnuz", "FLOAT8E5M2FNUZ", 8, true,
                    2, 16},
            {data_type::e8m0, "e8m0", "FLOAT8E8M0", 8, false, 0, 127},
            {data_type::f4_e2m1, "f4_e2m1", "FLOAT4E2M1", 4, true, 1, 1},
            {data_type::s64, "s64", "INT64", 64, true},
            {type_t::s32, "s32", "INT32", 32, true},
            {data_type::u32, "u32", "UINT32", 32, false},
            {data_type::s16, "s16", "INT16", 16, true},
            {data_type::u16, "u16", "UINT16", 16, false},
            {type_t::s8, "s8", "INT8", 8, true},
            {type_t::u8, "u8", "UINT8", 8, false},
            {type_t::s4, "s4", "INT4", 4, true},
            {type_t::u4, "u4", "UINT4", 4, false},
            {data_type::s2, "s2", "INT2", 2, true},
            {data_type::u2, "u2", "UINT2", 2, false},
            {type_t::boolean, "boolean", "BOOL", 8, false},
    };
    return all;
}

const type_row_t &row_of(type_t type) {
    static const type_row_t unknown {type_t::undef, "-", "UNDEFINED", 0, false};
    for (const auto &row : rows())
        if (row.type == type) return row;
    return unknown;
}

} // namespace

const std::vector<type_t> &known_types() {
    static const std::vector<type_t> all = [] {
        std::vector<type_t> types;
        for (const auto &row : rows())
            types.push_back(row.type);
        return types;
    }();
    return all;
}

const char *to_string(type_t type) {
    return row_of(type).name;
}

const char *onnx_name(type_t type) {
    return row_of(type).onnx;
}

dim_t bits_of(type_t type) {
    return row_of(type).bits;
}

bool is_floating(type_t type) {
    return row_of(type).bias > 0;
}

bool is_fnuz(type_t type) {
    return type == data_type::f8_e4m3fnuz || type == data_type::f8_e5m2fnuz;
}

bool is_signed(type_t type) {
    return row_of(type).is_signed;
}

int fraction_bits(type_t type) {
    return row_of(type).fraction_bits;
}

int exponent_bias(type_t type) {
    return row_of(type).bias;
}

size_t bytes_of(type_t type, dim_t count) {
    return static_cast<size_t>((count * bits_of(type) + 7) / 8);
}

dim_t product(const dims_t &dims) {
    dim_t result = 1;
    for (const dim_t dim : dims)
        result *= dim;
    return result;
}

} // namespace bench
} // namespace dnnl_dequant
