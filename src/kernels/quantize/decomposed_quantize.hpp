#ifndef KERNELS_QUANTIZE_DECOMPOSED_QUANTIZE_HPP
#define KERNELS_QUANTIZE_DECOMPOSED_QUANTIZE_HPP

#include <string>

#include "kernels/quantize/ranges.hpp"
#include "kernels/stage.hpp"

namespace dnnl_dequant {

/// A dynamic quantize by one range, whose arithmetic of scalars a graph spells
/// out; each operation rounded to f32, as its ops are one by one:
///   least   = min(the least of x, least)         likewise most
///   scale   = (most - least) / levels
///   rounded = round(clamp(origin - least / scale, 0, 255))
/// so that nothing but zeros has a scale of 0 and a zero point of 0. NaN in x
/// does not count. The zero point is `rounded`, as f32 or u8.
struct decomposed_quantize_t {
    static constexpr int none = -1;

    /// The range on either side of 0, and, where least is above 0 or most below
    /// it, the extremes that there are. src, scale, zero point, dst.
    std::shared_ptr<const kernel_t> ranges, extremes, quantize;
    /// The second pass reads the zero point as u8, else as f32.
    bool zero_point_is_u8 = false;
    /// Places among the buffers, of which x is the first and dst the last:
    /// scalars that are read (0 where there are none), parameters that are
    /// written.
    int least = none, most = none, levels = none, origin = none;
    int scale = none, rounded = none, zero_point = none;
    int dst = none;
    std::string name;

    struct parameters_t {
        float scale, rounded;
        unsigned char zero_point;
    };

    /// Whether x's range on either side of 0 tells all.
    bool bounds_hold_zero(void *const *buffers) const;
    parameters_t parameters_of(
            const range_t &range, void *const *buffers) const;
    /// Writes those parameters that are wanted.
    void give(const parameters_t &parameters, void *const *buffers) const;
};

/// @param bytes bytes_to_move() of the second pass
workload_t make_workload(
        const std::shared_ptr<const decomposed_quantize_t> &kernel,
        dim_t bytes);

} // namespace dnnl_dequant

#endif
