#ifndef KERNELS_SHORT_ROWS_REORDERED_BLOCKS_HPP
#define KERNELS_SHORT_ROWS_REORDERED_BLOCKS_HPP

#include <array>
#include <vector>

#include "kernels/kernel.hpp"

namespace dnnl_dequant {

/// A problem whose src is dense in another order than dst. A kernel computes a
/// block in the order of src, which is that of scales and zero points too, to
/// memory on the stack. A copy brings it into the order of dst.
struct reordered_blocks_t {
    /// A loop over blocks.
    struct cut_t {
        dim_t blocks = 1;
        /// The bytes of each operand from a block to the next.
        std::array<dim_t, max_operands> bytes {};
        size_t last_pass = 0; // added to the pass of the last block
    };
    /// The kernels of blocks of one shape.
    struct pass_t {
        std::shared_ptr<const kernel_t> compute, copy;
    };
    /// The rows that a whole block reads of src, in bytes; none if they do not
    /// have one pitch.
    struct src_rows_t {
        dim_t offset = 0, bytes = 0, rows = 0, pitch = 0;
    };

    size_t operands = 0;     // of the problem
    std::vector<cut_t> cuts; // the outermost first
    /// The first is that of whole blocks. Along at most two loops the last
    /// block may be shorter.
    std::array<pass_t, 4> passes;
    src_rows_t src;

    /// A block has so many elements at most, and bytes on the stack.
    static constexpr dim_t most_elements = 16 * 1024,
                           most_bytes = 4 * most_elements;
};

std::shared_ptr<const kernel_t> make_reordered_blocks(reordered_blocks_t plan);

} // namespace dnnl_dequant

#endif
