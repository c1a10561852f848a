#ifndef KERNELS_INTEGER_GEMM_INTEGER_REPACKED_HPP
#define KERNELS_INTEGER_GEMM_INTEGER_REPACKED_HPP

#include <cstdint>
#include <memory>

#include "kernels/integer_gemm/integer_kernel.hpp"

namespace dnnl_dequant {

/// Some rows of src, interleaved, by a panel of repacked weights: the groups,
/// in the order in which they are read. A group is its k4 blocks, as a packed
/// format has them, and then its parameters. These are 64 f32 scales, and
/// either the 64 shorts of integer_columns_t or its zps and sums. If nibbles of
/// an nr block's 32 columns share bytes, the even columns come first.
struct integer_repacked_tile_t {
    const uint8_t *weights;
    const dim_t *k4_blocks; // of each group, in whole units
    dim_t group_count;
    const int8_t *a;
    dim_t a_k4_pitch, rows;        // bytes
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

/// Makes a kernel. Returns unimplemented with a reason if no generated code
/// (AVX-512 with VNNI) multiplies the format.
/// @param rows The usual number of rows of a tile.
result_t make_integer_repacked(const integer_format_t &format, dim_t rows,
        isa_t isa, std::shared_ptr<const integer_repacked_kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
