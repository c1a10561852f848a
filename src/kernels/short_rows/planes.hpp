#ifndef KERNELS_SHORT_ROWS_PLANES_HPP
#define KERNELS_SHORT_ROWS_PLANES_HPP

#include <vector>

#include "kernels/kernel.hpp"
#include "kernels/short_rows/interleave.hpp"

namespace dnnl_dequant {

/// A problem whose src or dst has a few planes as points, side by side, and the
/// other one as planes. Blocks of points are planes in memory on the stack
/// between the kernel and the copy.
struct points_and_planes_t {
    /// Loops around planes and points: extents, and for each operand the
    /// strides in bytes.
    dims_t outer;
    std::vector<dims_t> outer_bytes;
    /// Bytes of each operand from block to block. 0 for the one on the stack.
    dims_t block_bytes;
    size_t operands = 0, stacked = 0; // the one on the stack: src, or dst
    planes_t planes;
    dim_t points = 0, block = 0; // of all, of a block
    /// The bytes of points from block to block, and of the stacked operand's
    /// first point.
    dim_t point_bytes = 0, first_byte = 0;
    std::shared_ptr<const interleave_t> interleave;
    /// If nothing is to be computed, no kernel is there and nothing is on the
    /// stack. The other operand's first plane, and the bytes from one to the
    /// next.
    dim_t first_plane_byte = 0, plane_bytes = 0;
    /// Short rows of points that are copied at once, such as those of tiles,
    /// and the bytes from one to the next.
    struct copied_rows_t {
        dim_t count = 1, planes_bytes = 0, points_bytes = 0;
    } rows;
    /// The kernels of a block, and of the last one if it is shorter; or null.
    std::shared_ptr<const kernel_t> whole, rest;

    /// The bytes of a block on the stack, and of one that is only copied.
    static constexpr dim_t most_bytes = 6 * 1024, most_copied = 64 * 1024;
    static constexpr dim_t short_row_bytes = 1024;
};

std::shared_ptr<const kernel_t> make_points_and_planes(
        points_and_planes_t plan);

} // namespace dnnl_dequant

#endif
