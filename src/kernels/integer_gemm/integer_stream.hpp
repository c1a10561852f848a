#ifndef KERNELS_INTEGER_GEMM_INTEGER_STREAM_HPP
#define KERNELS_INTEGER_GEMM_INTEGER_STREAM_HPP

#include "kernels/integer_gemm/integer_kernel.hpp"

namespace dnnl_dequant {

/// The weights of a skinny integer GEMM.
struct integer_stream_weights_t {
    integer_format_t format; // has_src_zps: src has any, of its own
    bool is_src_signed = false;
    dim_t depth = 0;
    /// The depth that shares all scales and zero points; the last group may be
    /// shorter.
    dim_t group = 0;
    /// The strides of scales and zero points from group to group, in elements.
    dim_t scales_group_stride = 0, zps_group_stride = 0;

    dim_t groups() const { return div_up(depth, group); }
};

/// A skinny integer GEMM. Weights are read once and become bytes in registers
/// only. The results have the bits of integer_kernel_t.
class integer_stream_t {
public:
    /// Rows of src are padded with zeros to a multiple of this unit.
    static constexpr dim_t src_unit = 128;
    /// Rows of c have a multiple of this number of columns; the last ones are
    /// unspecified.
    static constexpr dim_t panel = 128;

    struct block_t {
        const uint8_t *a; // arranged
        dim_t a_pitch, rows;
        const row_group_t *row_groups; // of the first row, all of its groups
        dim_t row_groups_pitch;
        dim_t first_col, cols; // the first one even
        float *c;
        dim_t c_pitch;
        void *own; // own_bytes(), aligned to cache lines
    };

    virtual ~integer_stream_t() = default;
    virtual const char *name() const = 0;
    /// Puts a row of src's integers into the order in which they are
    /// multiplied.
    virtual void arrange(uint8_t *row) const noexcept = 0;
    /// Returns the scratch memory that a block needs, in bytes.
    virtual dim_t own_bytes(dim_t rows, dim_t cols) const = 0;
    virtual void run(const void *weights, const void *scales, const void *zps,
            const block_t &block) const noexcept
            = 0;
};

/// Makes a kernel. Returns unimplemented with a reason if no generated code
/// (AVX-512 with VNNI, or AVX2) takes the weights.
result_t make_integer_stream(const integer_stream_weights_t &weights, isa_t isa,
        std::shared_ptr<const integer_stream_t> &stream);

} // namespace dnnl_dequant

#endif
