#ifndef KERNELS_MATMUL_INTEGER_REPACKED_HPP
#define KERNELS_MATMUL_INTEGER_REPACKED_HPP

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/matmul/integer_kernel.hpp"

namespace dnnl_dequant {

/// How weights lie that were repacked once: panel after panel of columns, in
/// each group after group, in the order in which they are read. A group is its
/// quads, as a packed format has them, and what follows them here; of a slice's
/// 32 columns whose nibbles share bytes, the even ones come first.
struct integer_repacked_t {
    integer_format_t format;   // packed
    std::vector<dim_t> quads;  // of each group, in whole units
    dim_t quad_bytes() const { // of a panel
        return integer_panel * bits_of(format.weights) / 2;
    }
    /// Of a group's scales and what corrects its sums: 64 f32, then either the
    /// integer_columns_t's 64 shorts or its zps and its sums.
    dim_t parameter_bytes() const {
        return integer_panel * (format.has_short_sums ? 8 : 12);
    }
    dim_t panel_bytes() const;
};

/// A panel in the making: writes group `g`, whose quads are there, its columns
/// in their own order but for the sums, which are made here.
void finish_repacked_group(const integer_repacked_t &layout, size_t g,
        integer_columns_t &columns, uint8_t *group) noexcept;

/// Some rows of src, interleaved, by a panel.
struct integer_repacked_tile_t {
    const uint8_t *weights;
    const dim_t *quads; // of each group
    dim_t group_count;
    const int8_t *a;
    dim_t a_quad_pitch, rows;      // bytes
    const row_group_t *row_groups; // of the first group
    dim_t row_groups_pitch;        // of rows
    float *c;
    dim_t c_pitch;
};

/// Multiplies as integer_kernel_t does, to the same bits.
class integer_repacked_kernel_t {
public:
    virtual ~integer_repacked_kernel_t() = default;
    virtual const char *name() const = 0;
    virtual void multiply(const integer_repacked_tile_t &tile) const noexcept
            = 0;
};

/// unimplemented with a reason where no generated code (AVX-512 with VNNI)
/// multiplies the format.
/// @param rows most likely of a tile
result_t make_integer_repacked(const integer_format_t &format, dim_t rows,
        isa_t isa, std::shared_ptr<const integer_repacked_kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
