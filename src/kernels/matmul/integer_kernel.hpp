#ifndef KERNELS_MATMUL_INTEGER_KERNEL_HPP
#define KERNELS_MATMUL_INTEGER_KERNEL_HPP

#include <cstdint>
#include <memory>

#include "base/isa.hpp"
#include "base/status.hpp"
#include "problem/problem.hpp"

namespace dnnl_dequant {

/// Integers that are multiplied: those of src are bytes, in groups of whole
/// quads down the depth (zeros follow a short one); those of the weights are of
/// 4 or 8 bits.
struct integer_format_t {
    bool is_src_signed = false;
    bool has_src_zps = false;
    data_type_t weights = data_type_t::undef;
    dim_t depth_stride = 0, col_stride = 0; // of the weights, in elements
    data_type_t scales = data_type_t::undef, zps = data_type_t::undef;
    dim_t scales_stride = 0, zps_stride = 0; // from column to column
};

/// Columns that are done together.
constexpr dim_t integer_panel = 64;

/// One row of src in one group.
struct row_group_t {
    int32_t zp;  // of src
    int32_t sum; // of the row's integers less zp
    float scale;
};

/// A panel of weights in one group: quads of depth by columns, each four bytes
/// of one column. To every integer and zero point a bias is added, so that the
/// integers of one factor are signed and those of the other not.
struct integer_panel_t {
    int8_t *quads;
    int32_t *sums, *zps; // of each column; the sums only for zps of src
    float *scales;       // room for 16 more than the columns
};

struct integer_tile_t {
    const uint8_t *a;
    dim_t a_pitch, rows;
    const row_group_t *row_groups; // of the group, row_groups_pitch apart
    dim_t row_groups_pitch, quads;
    integer_panel_t b;
    float *c;
    dim_t c_pitch;
    bool accumulates; // to c; else c is 0
};

/// What multiplies integers. For each row r and column n of a panel
///   dot = sum over a group of (a - zp of a) * (b - zp of b), exact
///   c[r][n] = fma(f32(dot) * scale of b, scale of a, c[r][n])
/// in f32, which is the same on every kernel.
class integer_kernel_t {
public:
    virtual ~integer_kernel_t() = default;
    virtual const char *name() const = 0;

    /// The panel's integers: `depth` by `cols` of them from element `first`
    /// on. Columns that are missing are zeros.
    virtual void unpack(const void *base, dim_t first, dim_t depth, dim_t cols,
            const integer_panel_t &panel) const noexcept
            = 0;
    /// Its scales and zero points, of `cols` columns from those elements on.
    virtual void load_parameters(const void *scales, dim_t first_scale,
            const void *zps, dim_t first_zp, dim_t cols,
            const integer_panel_t &panel) const noexcept
            = 0;
    virtual void multiply(const integer_tile_t &tile) const noexcept = 0;
};

/// Depth of a group as it lies in rows of src.
constexpr dim_t whole_quads(dim_t depth) {
    return (depth + 3) / 4 * 4;
}

/// What is added to the weights' integers and to their zero points.
int integer_bias(const integer_format_t &format);

/// unimplemented with a reason where no kernel takes the format. Kernels other
/// than the plain C++ one are for AVX-512 with VNNI.
result_t make_integer_kernel(const integer_format_t &format, isa_t isa,
        std::shared_ptr<const integer_kernel_t> &kernel);
result_t make_integer_kernel_vnni(const integer_format_t &format, isa_t isa,
        std::shared_ptr<const integer_kernel_t> &kernel);
std::shared_ptr<const integer_kernel_t> make_portable_integer_kernel(
        const integer_format_t &format);

} // namespace dnnl_dequant

#endif
