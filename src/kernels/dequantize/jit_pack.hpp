#ifndef KERNELS_DEQUANTIZE_JIT_PACK_HPP
#define KERNELS_DEQUANTIZE_JIT_PACK_HPP

#include <algorithm>
#include <cstdint>

#include "base/isa.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// Sources that are not dense along the columns, brought into a tile of one
/// container byte an element whose rows are dense: tile[r * pitch + c]. For
/// 4-bit elements only the low nibble of a container counts, unless said
/// otherwise. Nothing outside the elements named is read.

/// A source that is dense along the rows: tile row r, column c is element
/// c * stride + r. Its columns may stand in groups instead, which have a stride
/// of their own. The first column is then column `first` of a group. Column c
/// begins at n / group * group_stride + n % group * stride, where n is
/// first + c.
struct transposed_src_t {
    const void *data;
    dim_t stride, rows, cols;
    dim_t group = 0, group_stride = 0, first = 0; // group 0: no groups

    /// From a column to one that comes about `count` later, in the strides'
    /// unit.
    dim_t columns_ahead(dim_t count) const {
        return group == 0 ? count * stride
                          : std::max(count / group, dim_t(1)) * group_stride;
    }

    /// Elements of at most 8 bits as the bytes that hold them: those of a
    /// column, which begin together, make one row.
    transposed_src_t as_bytes(int bits) const {
        transposed_src_t bytes = *this;
        bytes.stride = stride * bits / 8;
        bytes.group_stride = group_stride * bits / 8;
        bytes.rows = (rows * bits + 7) / 8;
        return bytes;
    }
};

/// Packs an 8-bit source that is dense along the rows. 4-bit elements are
/// packed two at a time: a row of the tile is then two rows of elements, the
/// first in the low nibbles. The prefetch distance is `ahead` bytes: by default
/// a line along the column, and nothing if src is `in_cache`.
constexpr dim_t next_line = 64, in_cache = 0;
void pack_transposed(uint8_t *tile, dim_t pitch, const transposed_src_t &src,
        isa_t isa, dim_t ahead = next_line);

/// Any source: tile row r, column c is element
/// first + r * row_stride + c * col_stride.
struct gathered_src_t {
    const void *data;
    int bits;
    dim_t first, row_stride, col_stride, rows, cols;
};

/// Packs a source of 4 or 8 bits.
void pack_gathered(void *tile, dim_t pitch, const gathered_src_t &src);

/// Packs 4-bit elements `first` to `first + cols - 1`, one row.
void pack_nibbles(uint8_t *tile, const void *src, dim_t first, dim_t cols);

} // namespace dnnl_dequant

#endif
