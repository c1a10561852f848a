#ifndef KERNELS_QUANTIZE_DYNAMIC_QUANTIZE_HPP
#define KERNELS_QUANTIZE_DYNAMIC_QUANTIZE_HPP

#include <string>
#include <vector>

#include "kernels/quantize/ranges.hpp"
#include "kernels/stage.hpp"

namespace dnnl_dequant {

/// How ranges become scales and zero points:
///   u8                scale = (above + below) / 255
///                     zp    = round(clip(0 + below / scale, 0, 255))
///   s8                likewise, from -127 to 127
///   s8, symmetric     scale = max(above, below) / 127, no zero point
/// each operation rounded to f32; scale 1 and the zero point of an empty range
/// where there is nothing but zeros; zero point 0 for a NaN (an infinite
/// range).
struct range_parameters_t {
    data_type_t type = data_type_t::u8; // of dst
    bool has_zps = false;
    /// Groups along each dimension, and the elements between neighbours.
    dims_t grid, scale_strides, zps_strides;

    dim_t count() const;
    /// ranges  count() of them, row-major over the grid
    /// zps     null where there are none
    void finish(const range_t *ranges, float *scales, void *zps) const;

private:
    /// The innermost dimensions whose parameters are evenly apart, as one.
    struct row_t {
        size_t dimension = 0; // the first of them
        dim_t count = 1, scale_step = 0, zp_step = 0;
    };
    row_t innermost_row() const;
};

/// The name of a dynamic quantize, from the kernel of its second pass:
/// "jit_dynamic_quantize_avx2" from "jit_quantize_avx2".
std::string dynamic_name_of(const std::string &kernel);

/// Finds ranges, makes parameters of them, quantizes by those. Buffers: src,
/// scales[, zps], dst. If the groups lie in slabs that fit a core's cache, a
/// work item is a slab, and the second pass reads what the first left in cache.
/// Otherwise make_workload() makes the passes stages, each over everything, and
/// run() must not be called.
class dynamic_quantize_t : public kernel_t {
public:
    static constexpr dim_t most_groups = 2048; // of one slab

    /// Runs one slab, or everything.
    struct part_t {
        std::shared_ptr<const kernel_t> ranges, quantize;
        range_parameters_t parameters;
    };

    /// slabs      of `whole`, but for the last where there is a `rest`
    /// slab_bytes of each buffer from one slab to the next
    dynamic_quantize_t(part_t whole, part_t rest, dim_t slabs,
            std::vector<dim_t> slab_bytes);

    const char *name() const override { return name_.c_str(); }
    dim_t work_amount() const override { return slabs_; }
    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override;

    bool in_slabs() const { return slabs_ > 1; }
    const part_t &whole() const { return whole_; }
    /// Writes scales and zero points.
    void finish(const range_t *ranges, void *const *buffers) const {
        finish(whole_, ranges, buffers);
    }

private:
    static void finish(
            const part_t &part, const range_t *ranges, void *const *buffers);

    const part_t whole_, rest_;
    const dim_t slabs_;
    const std::vector<dim_t> slab_bytes_;
    const std::string name_;
};

/// @param bytes bytes_to_move() of the second pass over everything
workload_t make_workload(
        const std::shared_ptr<const dynamic_quantize_t> &kernel, dim_t bytes);

} // namespace dnnl_dequant

#endif
