#ifndef KERNELS_INTEGER_GEMM_INTEGER_KERNEL_HPP
#define KERNELS_INTEGER_GEMM_INTEGER_KERNEL_HPP

#include <cstdint>
#include <memory>

#include "base/isa.hpp"
#include "base/status.hpp"
#include "problem/problem.hpp"

namespace dnnl_dequant {

/// A k4 block is so many bytes of one column, which an instruction multiplies
/// at once.
constexpr dim_t k4_depth = 4;
/// The columns that are computed together.
constexpr dim_t integer_panel = 64;

/// The layout of integers to multiply. src has signed bytes, in groups of
/// whole units down the depth. The weights have 4 or 8 bits.
struct integer_format_t {
    /// Set for few rows: nibbles stay two to a byte, and rows of src are
    /// interleaved.
    bool is_packed = false;
    /// [K,N] weights that become k4 blocks of bytes: two panels are unpacked at
    /// once, by AVX-512 VBMI, and later ones are prefetched while they are
    /// multiplied.
    bool unpacks_two = false;
    bool has_src_zps = false; // or src has a bias
    /// Packed [N,K] weights, if more rows than one call of the code takes need
    /// their sums: the first rows keep the sums for the others.
    bool keeps_sums = false;
    /// True if the sums of src and of the weights fit 16 bits in every group.
    bool has_short_sums = false;
    /// The k4 blocks that a tile of AMX multiplies at once; groups of src are
    /// padded with zeros to a multiple of them. 1: there are no tiles.
    dim_t k4_chunk = 1;
    data_type_t weights = data_type_t::undef;
    dim_t depth_stride = 0, col_stride = 0; // of the weights, in elements
    data_type_t scales = data_type_t::undef, zps = data_type_t::undef;
    dim_t scales_stride = 0, zps_stride = 0; // from column to column

    bool is_nibble() const { return bits_of(weights) == 4; }
    bool is_by_column() const { return depth_stride == 1; } // [N,K]
    /// True if both nibbles of a packed byte belong to one column, not to two.
    bool has_two_depths() const { return is_nibble() && is_by_column(); }
    bool has_two_columns() const { return is_nibble() && !is_by_column(); }
};

/// The bias makes the weights' integers unsigned bytes. It is added to their
/// zero points too.
int integer_bias(const integer_format_t &format);

/// The unit in which src's integers of a group lie. A short last unit is filled
/// with zeros. In units for [N,K] nibbles the even integers come first.
dim_t integer_unit(const integer_format_t &format);
dim_t whole_units(const integer_format_t &format, dim_t depth);
dim_t place_in_group(const integer_format_t &format, dim_t k);

/// True if kernels of this format multiply a group in parts. It gains where
/// reading [K,N] weights bounds the product: with tiles, and with few rows.
inline bool can_cut_group(const integer_format_t &format) {
    return !format.is_by_column() && !format.has_short_sums
           && (format.is_packed || format.unpacks_two || format.k4_chunk > 1);
}

/// One row of src in one group.
struct row_group_t {
    int32_t zp;  // of src
    int32_t sum; // of the row's integers less zp
    float scale;
    int16_t short_zp, short_sum; // if they fit 16 bits
};

row_group_t make_row_group(int32_t zp, int32_t sum, float scale);

/// The parameters of a panel's columns in one group.
struct integer_columns_t {
    int32_t sums[integer_panel]; // of the integers; only for zps of src
    int32_t zps[integer_panel];
    // Short sums: the negated sum and, in the upper half, the negated zero
    // point.
    uint32_t shorts[integer_panel];
    float scales[integer_panel];
};

/// Packs one element of `shorts`.
inline uint32_t integer_short(int32_t zp, int32_t sum) {
    return (static_cast<uint32_t>(-zp) << 16)
           | (static_cast<uint32_t>(-sum) & UINT16_MAX);
}

/// The places of scales and zero points of some groups: those of column 0, one
/// for each group.
struct integer_parameters_t {
    const void *scales, *zps;
    const dim_t *scale_places, *zp_places;
    dim_t first_col;
};

/// A panel of weights in one group, as k4 blocks of depth by columns. The bytes
/// of a block are in the kernel's order. Every integer and zero point has the
/// bias added.
struct integer_group_t {
    uint8_t *k4_blocks; // room for as many bytes as there are integers
    integer_columns_t *columns;
    dim_t place;    // the depth in a row of src that it begins at
    dim_t k4_count; // in whole units
};

/// Weights to prefetch while others are multiplied: steps of rows.
struct integer_prefetch_t {
    static constexpr dim_t step = 256; // bytes

    const uint8_t *at = nullptr, *end = nullptr; // of the row
    dim_t pitch = 0, width = 0;                  // of rows, bytes
    dim_t count = 0;                             // of steps
};

/// Some rows of src by a panel, in some consecutive groups.
struct integer_tile_t {
    const int8_t *a;
    dim_t a_pitch, a_k4_pitch, rows; // bytes: of rows, of k4 blocks
    const row_group_t *row_groups;   // of the first group
    dim_t row_groups_pitch;          // of rows
    const integer_group_t *groups = nullptr;
    dim_t group_count = 0;
    float *c;
    dim_t c_pitch;
    bool accumulates = false; // to c; else c is 0
    /// If can_cut_group(), a group may be multiplied in parts of its depth, if
    /// it is the only one. Between them c has its integer sums: those of the
    /// parts before, or those that the next part continues. The columns stay
    /// the same.
    bool continues = false, ends = true;
    bool has_sums = false;       // the columns have kept sums
    integer_prefetch_t prefetch; // unless unpack() prefetched rows
};

/// The place of a panel's weights.
struct integer_weights_t {
    const void *base;
    dim_t first;       // element
    dim_t begin;       // its depth in the group, whole units
    dim_t depth, cols; // how many there are
    dim_t ahead;       // elements to what is prefetched
};

/// A kernel that multiplies integers. For each row r and column n of a panel,
/// group by group,
///     dot = sum over a group of (a - zp of a) * (b - zp of b), exact
///     c[r][n] = fma(f32(dot) * scale of b, scale of a, c[r][n])
/// Every kernel computes the same bits.
class integer_kernel_t {
public:
    virtual ~integer_kernel_t() = default;
    virtual const char *name() const = 0;

    /// Unpacks the panel's integers of a part of the group. If sums are needed,
    /// parts come in order. Missing depth of the last unit is 0; missing
    /// columns are unspecified.
    virtual void unpack(const integer_weights_t &weights,
            const integer_group_t &group) const noexcept
            = 0;
    /// The same for two whole panels side by side, if the format asks for it
    /// and the depth has whole k4 blocks. `weights` are those of the first.
    virtual void unpack_two(const integer_weights_t & /*weights*/,
            const integer_group_t & /*first*/,
            const integer_group_t & /*second*/) const noexcept {}
    /// Loads the scales and zero points of `cols` columns, each group's into
    /// one of `columns`. Missing columns are unspecified.
    virtual void load_parameters(const integer_parameters_t &from, dim_t cols,
            dim_t groups, integer_columns_t *columns) const noexcept
            = 0;
    /// Runs after unpack() and load_parameters().
    virtual void multiply(const integer_tile_t &tile) const noexcept = 0;
};

/// Makes the fastest kernel. Returns unimplemented with a reason if no kernel
/// takes the format. Besides the plain C++ one there are kernels for AMX, if
/// the format has chunks, for AVX-512 with VNNI, and for AVX2, where nothing
/// stays packed.
result_t make_integer_kernel(const integer_format_t &format, isa_t isa,
        std::shared_ptr<const integer_kernel_t> &kernel);
result_t make_jit_integer_kernel(const integer_format_t &format, isa_t isa,
        std::shared_ptr<const integer_kernel_t> &kernel);
std::shared_ptr<const integer_kernel_t> make_ref_integer_kernel(
        const integer_format_t &format);

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

/// Some rows of src, interleaved, by sixteen columns of [N,K] nibbles as they
/// are stored, down some whole groups. A square, 64 bytes of each of the
/// columns, is transposed to k4 blocks in a ring of memory. While the squares
/// of the ring are multiplied, those that are `ahead` squares later are
/// transposed.
struct integer_squares_t {
    static constexpr dim_t cols = 16, depth = 128, bytes = 1024;

    const uint8_t *weights; // of the first square that is transposed
    const uint8_t *after;   // of the one that follows the columns' last one
    uint8_t *ring;          // 2 * ahead squares
    dim_t at;               // of the first square to multiply, bytes
    dim_t squares;          // to multiply
    const int8_t *a;
    const row_group_t *row_groups; // of the first group
    /// The integer_columns_t of the first group, less columns before these.
    const void *columns;
    float *c;
    dim_t c_pitch, rows;
    integer_prefetch_t prefetch; // advances, four steps for each square
};

/// The parameters that an integer_transposing_kernel_t is generated for.
struct integer_transposing_desc_t {
    integer_format_t format; // packed
    dim_t rows = 0;          // of src, interleaved
    dim_t block_rows = 0;    // of a block, at most
    dim_t depth = 0, group = 0;
};

/// Multiplies as integer_kernel_t does, to the same bits.
class integer_transposing_kernel_t {
public:
    virtual ~integer_transposing_kernel_t() = default;
    virtual const char *name() const = 0;
    /// Squares of the same columns that one call multiplies, and the distance
    /// to those that it transposes.
    virtual dim_t most_squares() const = 0;
    virtual dim_t ahead() const = 0;
    /// True if multiply() takes blocks of so many rows.
    virtual bool takes(dim_t rows) const = 0;
    /// Transposes `ahead` squares to the beginning of the ring.
    virtual void transpose(const integer_squares_t &squares) const noexcept = 0;
    virtual void multiply(integer_squares_t &squares) const noexcept = 0;
};

/// Makes a kernel. Returns unimplemented with a reason if no generated code
/// (AVX-512 with VNNI) multiplies the format.
result_t make_integer_transposing(const integer_transposing_desc_t &desc,
        isa_t isa, std::shared_ptr<const integer_transposing_kernel_t> &kernel);

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
