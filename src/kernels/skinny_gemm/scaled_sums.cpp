#include "kernels/skinny_gemm/scaled_sums.hpp"

namespace dnnl_dequant {

float scaled_sums_t::number(dim_t k, dim_t column, int64_t zp) const noexcept {
    const skinny_weights_t &w = weights_;
    const dim_t place
            = w.by_column ? column * w.pitch + k : k * w.pitch + column;
    // Only integers have zero points.
    if (!has_zps()) return load_f32(w.type, buffers_[0], place);
    return static_cast<float>(load_int(w.type, buffers_[0], place) - zp);
}

float scaled_sums_t::rounded(float weight) const noexcept {
    float made = 0;
    store_f32(weights_.rounded, &made, 0, weight);
    return load_f32(weights_.rounded, &made, 0);
}

bool scaled_sums_t::has_nan_scale(dim_t column) const noexcept {
    for (dim_t group = 0; group < weights_.groups(); ++group)
        if (std::isnan(scale_of(group, column))) return true;
    return false;
}

} // namespace dnnl_dequant
