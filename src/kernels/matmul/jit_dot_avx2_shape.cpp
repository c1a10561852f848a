#include "kernels/matmul/jit_dot_avx2_code.hpp"

namespace dnnl_dequant {

jit_dot_avx2_shape_t dot_avx2_shape_of(const gemv_weights_t &weights) {
    // The only group's sums are added up so often, and as much of src stays in
    // the first cache; or of weights that are transposed.
    const dim_t longest_part = weights.by_column ? 1024 : 256;
    const bool is_nibble = bits_of(weights.type) == 4;
    const bool one_group = weights.group >= weights.depth;
    jit_dot_avx2_shape_t shape;
    shape.step = is_nibble ? 32 : 16;
    shape.piece = one_group ? longest_part : weights.group;
    shape.pieces = weights.depth / shape.piece;
    shape.rest = weights.depth % shape.piece;
    shape.scales_sums = weights.rounded == data_type_t::f32;
    if (is_nibble && !shape.scales_sums && weights.rounded != data_type_t::bf16)
        shape.planes = 4;
    return shape;
}

} // namespace dnnl_dequant
