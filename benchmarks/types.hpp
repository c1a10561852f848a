#ifndef BENCHMARKS_TYPES_HPP
#define BENCHMARKS_TYPES_HPP

#include <cstddef>

#include <vector>

#include "oneapi/dnnl/dnnl_graph.hpp"

namespace dnnl_dequant {
namespace bench {

using lt_t = dnnl::graph::logical_tensor;
using type_t = lt_t::data_type;
using dim_t = lt_t::dim;
using dims_t = lt_t::dims;

/// All that the benchmark knows.
const std::vector<type_t> &known_types();

/// "u4"; "-" for undef and for what the benchmark does not know.
const char *to_string(type_t type);
/// ONNX's name of the type: "UINT4".
const char *onnx_name(type_t type);
/// Bits of one element of a type that the benchmark knows.
dim_t bits_of(type_t type);
bool is_floating(type_t type);
bool is_signed(type_t type);
/// True for a floating type without infinities and -0, whose code is the only
/// NaN.
bool is_fnuz(type_t type);
/// Return the bits of the fraction and the bias of the exponent of a floating
/// type.
int fraction_bits(type_t type);
int exponent_bias(type_t type);
/// Returns the bytes of `count` elements stored densely.
size_t bytes_of(type_t type, dim_t count);
dim_t product(const dims_t &dims);

} // namespace bench
} // namespace dnnl_dequant

#endif
