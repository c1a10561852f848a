#ifndef E2E_RANGE_CASE_HPP
#define E2E_RANGE_CASE_HPP

#include "e2e/dequantize_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

using support::tensor_t;

enum : size_t { x_id, y_id, y_scale_id, y_zero_point_id };

/// One DynamicQuantizeLinear: everything but the values, which `seed` gives.
struct range_case_t {
    tensor_t x, y, scale, zero; // zero absent: symmetric
    dims_t groups;              // how much of each dimension shares a range
    dim_t axis = -9;            // said by axis, else by group_shape
    support::values_t values = support::values_t::ordinary;
    uint64_t seed = 1;

    size_t rank() const { return x.dims.size(); }
    bool per_tensor() const { return groups == x.dims; }
};

/// Returns a dense case with groups of the given size. y and zero have type
/// `y`; a symmetric case has no zero.
range_case_t make_case(const dims_t &dims, const dims_t &groups, data_type_t x,
        data_type_t y, bool symmetric);

/// Returns the op, with the shapes of its tensors or without.
op op_of(const range_case_t &c, bool shaped = true);

std::string text_of(const range_case_t &c);

/// Takes a case the whole way and compares it with the formula, written down a
/// second time. Returns what was wrong with an output or the kernel, or
/// nothing.
std::string check(const range_case_t &c);

} // namespace e2e
} // namespace dnnl_dequant

#endif
