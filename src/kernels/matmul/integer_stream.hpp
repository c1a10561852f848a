#ifndef KERNELS_MATMUL_INTEGER_STREAM_HPP
#define KERNELS_MATMUL_INTEGER_STREAM_HPP

#include "kernels/matmul/integer_kernel.hpp"

namespace dnnl_dequant {

/// What a few rows of integers are multiplied by. One of the factors is without
/// a sign for vpdpbusd, the other has one: src is taken as it is, the weights
/// are what it is not. AVX2's code takes integer_bias(), which leaves no sign.
struct integer_stream_weights_t {
    integer_format_t format; // has_src_zps: src has any, of its own
    bool is_src_signed = false;
    dim_t depth = 0;
    /// Depth that shares all scales and zero points; of the last group there
    /// may be less.
    dim_t group = 0;
    /// Of scales and zero points, in elements.
    dim_t scales_group_stride = 0, zps_group_stride = 0;

    dim_t groups() const { return div_up(depth, group); }
    /// What is added to the weights' integers, and to their zero points, by
    /// AVX-512's code.
    int vnni_bias() const;
};

/// A few rows times weights, which are read once and become bytes in registers
/// only. To the bits of integer_kernel_t.
class integer_stream_t {
public:
    /// Rows of src are in whole units, zeros at their ends.
    static constexpr dim_t src_unit = 128;
    /// c's rows are in as many columns, of which the last may be anything.
    static constexpr dim_t panel = 128;

    struct block_t {
        const uint8_t *a; // arranged
        dim_t a_pitch, rows;
        const row_group_t *row_groups; // of the first row, all of its groups
        dim_t row_groups_pitch;
        dim_t first_col, cols; // the first one even
        float *c;
        dim_t c_pitch;
        void *own; // own_bytes(), in lines
    };

    virtual ~integer_stream_t() = default;
    virtual const char *name() const = 0;
    /// Puts a row of src's integers in the order that is multiplied.
    virtual void arrange(uint8_t *row) const noexcept = 0;
    /// Scratch memory for a block.
    virtual dim_t own_bytes(dim_t rows, dim_t cols) const = 0;
    virtual void run(const void *weights, const void *scales, const void *zps,
            const block_t &block) const noexcept
            = 0;
};

/// unimplemented with a reason where no generated code (AVX-512 with VNNI, or
/// AVX2) takes the weights.
result_t make_integer_stream(const integer_stream_weights_t &weights, isa_t isa,
        std::shared_ptr<const integer_stream_t> &stream);

/// The same, of weights whose columns lie side by side, and of those whose
/// columns lie one after the other.
result_t make_integer_gemv(const integer_stream_weights_t &weights, isa_t isa,
        std::shared_ptr<const integer_stream_t> &stream);
result_t make_integer_dot(const integer_stream_weights_t &weights, isa_t isa,
        std::shared_ptr<const integer_stream_t> &stream);

} // namespace dnnl_dequant

#endif
