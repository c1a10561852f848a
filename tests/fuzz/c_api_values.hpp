#ifndef FUZZ_C_API_VALUES_HPP
#define FUZZ_C_API_VALUES_HPP

#include <cstring>
#include <vector>

#include "dnnl_dequant/dnnl_dequant.h"
#include "fuzz/bytes.hpp"
#include "oneapi/dnnl/dnnl_graph.h"

namespace dnnl_dequant {
namespace fuzz {

using lt_t = dnnl_graph_logical_tensor_t;

// The values of a sequence of calls. One more value at the end of a table, or
// one more byte that is taken, gives the corpus another meaning.

constexpr int types[] = {dnnl_u4, dnnl_s8, dnnl_f32, dnnl_u8, dnnl_s4,
        dnnl_bf16, dnnl_f16, dnnl_s32, dnnl_dequant_data_type_u16,
        dnnl_dequant_data_type_s16, dnnl_dequant_data_type_u32,
        dnnl_dequant_data_type_u2, dnnl_dequant_data_type_f4_e2m1,
        dnnl_dequant_data_type_e8m0, dnnl_f8_e4m3, dnnl_f8_e5m2,
        dnnl_dequant_data_type_f8_e4m3fnuz, dnnl_dequant_data_type_s64,
        dnnl_data_type_undef, 0x7abc};
constexpr int kinds[] = {dnnl_graph_op_dynamic_dequantize,
        dnnl_dequant_op_DequantizeLinear,
        dnnl_dequant_op_ExtendedDequantizeLinear,
        dnnl_dequant_op_QuantizeLinear, dnnl_dequant_op_ExtendedQuantizeLinear,
        dnnl_dequant_op_DynamicQuantizeLinear, dnnl_graph_op_wildcard};
constexpr int next_kinds[] = {dnnl_graph_op_type_cast,
        dnnl_graph_op_static_transpose, dnnl_graph_op_static_reshape,
        dnnl_graph_op_relu, dnnl_graph_op_reorder};
constexpr const char *qtypes[]
        = {"per_tensor", "per_channel", "per_group", "per_anything", ""};

template <typename T, size_t count>
T pick(bytes_t &bytes, const T (&from)[count]) {
    return from[bytes.below(count)];
}

/// A logical tensor whose rows lie side by side.
inline lt_t dense(size_t id, int type, const std::vector<int64_t> &dims) {
    lt_t lt;
    std::memset(&lt, 0, sizeof(lt));
    lt.id = id;
    lt.data_type = static_cast<dnnl_data_type_t>(type);
    lt.ndims = static_cast<int>(dims.size());
    lt.layout_type = dnnl_graph_layout_type_strided;
    uint64_t stride = 1; // may wrap
    for (size_t d = dims.size(); d-- > 0;) {
        lt.dims[d] = dims[d];
        lt.layout.strides[d] = static_cast<int64_t>(stride);
        stride *= static_cast<uint64_t>(dims[d]);
    }
    return lt;
}

/// Makes a plausible tensor an odd one.
inline void spoil(bytes_t &bytes, lt_t &lt) {
    switch (bytes.below(7)) {
    case 0: lt.dims[bytes.below(4)] = bytes.number(); break;
    case 1: lt.layout.strides[bytes.below(4)] = bytes.number(); break;
    case 2:
        // -1 is unknown; the struct has room for DNNL_MAX_NDIMS.
        lt.ndims = static_cast<int>(bytes.below(DNNL_MAX_NDIMS + 2)) - 1;
        break;
    case 3:
        lt.data_type = static_cast<dnnl_data_type_t>(pick(bytes, types));
        break;
    case 4:
        lt.layout_type = static_cast<dnnl_graph_layout_type_t>(bytes.below(4));
        break;
    case 5: lt.id = static_cast<size_t>(bytes.number()); break;
    default:
        for (int64_t &dim : lt.dims)
            dim = bytes.number();
    }
}

} // namespace fuzz
} // namespace dnnl_dequant

#endif
