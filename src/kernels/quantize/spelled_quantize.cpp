#include "kernels/quantize/spelled_quantize.hpp"

#include <cmath>
#include <cstring>

namespace dnnl_dequant {

namespace {

float scalar(void *const *buffers, int place) {
    float value = 0;
    if (place != spelled_quantize_t::none)
        std::memcpy(&value, buffers[place], sizeof(value));
    return value;
}

template <typename T>
void write(void *const *buffers, int place, T value) {
    if (place != spelled_quantize_t::none)
        std::memcpy(buffers[place], &value, sizeof(value));
}

// As a Clamp: NaN becomes the lower bound.
float clamp(float value, float lower, float upper) {
    const float least = value > lower ? value : lower;
    return least < upper ? least : upper;
}

} // namespace

bool spelled_quantize_t::bounds_hold_zero(void *const *buffers) const {
    return scalar(buffers, least) <= 0.f && scalar(buffers, most) >= 0.f;
}

spelled_quantize_t::parameters_t spelled_quantize_t::parameters_of(
        const range_t &range, void *const *buffers) const {
    const float lower = scalar(buffers, least), upper = scalar(buffers, most);
    const float low = -range.below < lower ? -range.below : lower;
    const float high = range.above > upper ? range.above : upper;
    parameters_t result;
    result.scale = (high - low) / scalar(buffers, levels);
    result.rounded = std::nearbyint(
            clamp(scalar(buffers, origin) - low / result.scale, 0.f, 255.f));
    result.zero_point = static_cast<unsigned char>(result.rounded);
    return result;
}

void spelled_quantize_t::give(
        const parameters_t &parameters, void *const *buffers) const {
    write(buffers, scale, parameters.scale);
    write(buffers, rounded, parameters.rounded);
    write(buffers, zero_point, parameters.zero_point);
}

} // namespace dnnl_dequant
