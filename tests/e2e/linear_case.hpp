#ifndef E2E_LINEAR_CASE_HPP
#define E2E_LINEAR_CASE_HPP

#include <vector>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/bad_input.hpp"

namespace dnnl_dequant {
namespace e2e {

inline logical_tensor dense(size_t id, logical_tensor::data_type type,
        const logical_tensor::dims &shape) {
    return logical_tensor(
            id, type, shape, logical_tensor::layout_type::strided);
}

/// One of the ONNX-shaped dequantize ops, to be changed; 3x5 u16 per tensor.
struct linear_case_t {
    using type = logical_tensor::data_type;
    op::kind kind = op_kind::DequantizeLinear;
    logical_tensor x = dense(0, data_type::u16, {3, 5});
    logical_tensor scale = dense(1, type::f32, logical_tensor::dims {1});
    logical_tensor zero = dense(2, data_type::u16, logical_tensor::dims {1});
    logical_tensor y = dense(3, type::f32, {3, 5});
    int64_t axis = 1, block_size = 0;

    /// Makes the op, with the shapes of its tensors or without.
    op make(bool shaped = true) const;
    std::vector<partition> partitions(bool shaped = true) const;
    void run(void *x_data, void *scale_data, void *zero_data,
            float *y_data) const;
};

} // namespace e2e
} // namespace dnnl_dequant

#endif
