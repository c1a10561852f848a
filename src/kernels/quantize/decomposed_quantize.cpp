#include "kernels/quantize/decomposed_quantize.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace dnnl_dequant {

namespace {

float scalar(void *const *buffers, int place) {
    float value = 0;
    if (place != decomposed_quantize_t::none)
        std::memcpy(&value, buffers[place], sizeof(value));
    return value;
}

template <typename T>
void write(void *const *buffers, int place, T value) {
    if (place != decomposed_quantize_t::none)
        std::memcpy(buffers[place], &value, sizeof(value));
}

// Clamps like the op Clamp: NaN becomes the lower bound.
float clamp(float value, float lower, float upper) {
    const float least = value > lower ? value : lower;
    return least < upper ? least : upper;
}

} // namespace

bool decomposed_quantize_t::bounds_hold_zero(void *const *buffers) const {
    return scalar(buffers, least) <= 0.f && scalar(buffers, most) >= 0.f;
}

decomposed_quantize_t::parameters_t decomposed_quantize_t::parameters_of(
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

void decomposed_quantize_t::give(
        const parameters_t &parameters, void *const *buffers) const {
    write(buffers, scale, parameters.scale);
    write(buffers, rounded, parameters.rounded);
    write(buffers, zero_point, parameters.zero_point);
}

namespace {

// The state that the passes share.
struct shared_t {
    range_t range;
    decomposed_quantize_t::parameters_t parameters;
};

shared_t &shared_in(const stage_memory_t &memory) {
    return *static_cast<shared_t *>(memory.shared);
}

// Over a range that does not hold 0 one thread finds the extremes.
stage_t make_range_stage(
        const std::shared_ptr<const decomposed_quantize_t> &kernel,
        dim_t bytes) {
    stage_t stage = make_stage(kernel->ranges, bytes);
    stage.run = [kernel](const stage_memory_t &memory, dim_t begin, dim_t end) {
        void *const buffers[] = {memory.buffers[0], &shared_in(memory).range};
        if (kernel->bounds_hold_zero(memory.buffers))
            kernel->ranges->run(buffers, begin, end);
        else if (begin == 0)
            kernel->extremes->run(buffers, 0, kernel->extremes->work_amount());
        return status_t::success;
    };
    return stage;
}

} // namespace

workload_t make_workload(
        const std::shared_ptr<const decomposed_quantize_t> &kernel,
        dim_t bytes) {
    const auto begin = [kernel](const stage_memory_t &memory) {
        range_t &range = shared_in(memory).range;
        range = {};
        if (!kernel->bounds_hold_zero(memory.buffers))
            range.above = range.below = -std::numeric_limits<float>::infinity();
    };
    const auto finish = [kernel](const stage_memory_t &memory) {
        shared_t &shared = shared_in(memory);
        shared.parameters = kernel->parameters_of(shared.range, memory.buffers);
        kernel->give(shared.parameters, memory.buffers);
    };
    const auto of_quantize
            = [kernel](const stage_memory_t &memory, void **buffers) {
        auto &parameters = shared_in(memory).parameters;
        buffers[0] = memory.buffers[0];
        buffers[1] = &parameters.scale;
        buffers[2] = kernel->zero_point_is_u8
                             ? static_cast<void *>(&parameters.zero_point)
                             : &parameters.rounded;
        buffers[3] = memory.buffers[kernel->dst];
    };
    return {{sizeof(shared_t), 0},
            {make_serial_stage(begin), make_range_stage(kernel, bytes),
                    make_serial_stage(finish),
                    make_stage(kernel->quantize, bytes, of_quantize)}};
}

} // namespace dnnl_dequant
