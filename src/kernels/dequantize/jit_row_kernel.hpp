#ifndef KERNELS_DEQUANTIZE_JIT_ROW_KERNEL_HPP
#define KERNELS_DEQUANTIZE_JIT_ROW_KERNEL_HPP

#include <memory>

#include "base/data_type.hpp"
#include "base/isa.hpp"
#include "base/status.hpp"
#include "kernels/jit/io.hpp"

namespace dnnl_dequant {

/// The parameters that a row kernel is generated for; everything else is an
/// argument.
struct jit_row_desc_t {
    src_format_t src;
    data_type_t dst;
    // One value an element of the row, or one a row.
    bool scales_vary, zps_vary;
    bool has_zps; // else args.zps is one zero for all rows
    // This many neighbouring elements share one value of the parameters that
    // vary: a power of two up to 32; or three and more, by a table. Rows whose
    // groups are of 32 are whole groups, which may be two steps each. Without
    // masks rows are whole steps, and there is no table.
    uint32_t group_cols;
    // 2 or 4: so many rows share the loads of parameters that vary, which are
    // the same for all rows.
    uint32_t block_rows;
    // src and dst jump after args.group_rows rows. Parameters that vary are a
    // pitch further on then, with block_rows 4; the others jump too.
    bool in_groups;
    // Nibbles in the halves of bytes. A row of src gives two of dst: that of
    // the low halves and, args.dst_high on, that of the high ones. Rows share
    // the parameters that vary. Rows, and their pitch in dst, are counted in
    // src.
    bool both_halves;
    // Zero points beyond 2^22 are in two parts: see jit_params.hpp. A wide
    // source always has such ones.
    bool two_part_zps;
    // Stores past the caches; every row of dst begins at a multiple of 64
    // bytes.
    bool streaming;
    // The prefetch distance in src, in bytes, while dst goes past the caches;
    // 0: no prefetch.
    uint32_t stream_ahead;
    // Prefetches src and dst, at the distances of the arguments. If two rows
    // share loads, it prefetches the next two.
    bool prefetching;
    bool prefetches_dst_into_l2 = false; // where rows share no loads
    // Columns of every call; 0: each call says how many.
    dim_t cols;
    bool dot_products; // the machine has VNNI
    // Steps are in halves, see jit_io_t, and columns are not in groups.
    bool in_halves;
    // Rounds to bf16 by AVX512_BF16, since no scale is small. Halves only.
    bool bf16_conversion;
    // Results of bytes are looked up among all 256 (VBMI). The table is made
    // once a row or, if rows have one scale and zero point, once a call.
    bool byte_table = false;
    bool one_table_a_call = false;
    bool halves_vectors = false; // see machine_policy_t
    bool dense_rows = false;     // no gap is between two rows of src

    bool has_group_table() const {
        return (group_cols & (group_cols - 1)) != 0;
    }

    /// Short rows known beforehand need no loops: 1.2 times as fast at 32.
    bool is_unrolled(dim_t step) const {
        constexpr dim_t most_steps = 8;
        return cols > 0 && cols % step == 0 && cols <= most_steps * step;
    }
};

/// See jit_row_args_t::group_table: above what vpermps looks at.
constexpr int group_table_shift = 4;

/// The arguments. Pitches are in bytes. The kernel changes them as it goes.
struct jit_row_args_t {
    const void *src; // the first row begins at a whole byte
    void *dst;
    // Parameters that vary are ordered like jit_io_t's fields and padded to
    // whole steps, or are one float a group of columns. 16 floats more can be
    // read. Other parameters are one float.
    // With two_part_zps the high parts are zps_high_at bytes behind the zps.
    const float *scales, *zps;
    const float *reciprocals; // of scales, for kernels/quantize
    // With has_group_table(), in the order of parameters that vary: each
    // column's group less the first one of its step and, from bit
    // group_table_shift on, less the row's first one.
    const uint32_t *group_table;
    dim_t rows, cols;
    // With in_groups. The last group may have fewer rows. Jumps go from the end
    // of one group to the beginning of the next, in bytes.
    dim_t group_rows, src_jump, dst_jump, scales_jump, zps_jump;
    dim_t src_pitch, dst_pitch, scales_pitch, zps_pitch;
    dim_t src_ahead, dst_ahead; // where prefetching single rows, in bytes
    dim_t dst_high;             // with both_halves, in bytes
};

/// Rows of dst = (src - zps) * scales.
class jit_row_kernel_t {
public:
    virtual ~jit_row_kernel_t() = default;

    /// Touches no byte of src or dst outside the rows. The caller promises:
    /// - every row of src begins at a byte;
    /// - parameters that vary are in io's order and readable in whole steps;
    /// - no scale or zero point is a NaN with a payload.
    virtual void operator()(jit_row_args_t &args) const = 0;

    /// Elements of one step: what varies is ordered and padded by it.
    virtual dim_t width() const = 0;
    /// A step is in pairs, see jit_io_t.
    virtual bool is_paired() const = 0;
};

/// Generates the code for one of isa_avx512_core and isa_avx2. `name` stands
/// in the perf map.
result_t make_jit_row_kernel(const jit_row_desc_t &desc, isa_t isa,
        const char *name, std::unique_ptr<const jit_row_kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
