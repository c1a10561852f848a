#ifndef KERNELS_INTEGER_GEMM_INTEGER_PRODUCT_HPP
#define KERNELS_INTEGER_GEMM_INTEGER_PRODUCT_HPP

#include <vector>

#include "kernels/integer_gemm/integer_kernel.hpp"
#include "kernels/kernel.hpp"

namespace dnnl_dequant {

/// Scales or zero points of a factor: element `first[i] + group[g]` for row i
/// of src. The weights leave `first` empty; their format has the column stride.
struct integer_parameter_t {
    data_type_t type = data_type_t::undef; // undef: there are none
    size_t operand = 0;                    // of the factor
    std::vector<dim_t> first, group;
};

/// A product of integers: where they are and what scales them.
struct integer_plan_t {
    /// A part of the depth that shares all scales and zero points.
    struct group_t {
        dim_t begin, size;
    };
    std::vector<group_t> groups;
    integer_format_t format;
    /// The depth that is computed together, unless a group is deeper.
    dim_t block_depth = 256;
    /// Panels of [K,N] weights are unpacked by turns, so many rows of each.
    dim_t k_chunk = 64;
    /// The part of a core's caches that unpacked weights may fill. A panel is
    /// unpacked in any case.
    dim_t most_part_bytes = 0;
    // If false, 128 is subtracted from src and its zero points; streams do not.
    bool is_src_signed = false;

    dim_t rows = 0, depth = 0, cols = 0;
    /// Makes the integers of src, dense. Null if they are operand 0, at
    /// first[row] + k * depth_stride.
    std::shared_ptr<const kernel_t> quantize;
    size_t quantize_operands = 0;
    std::vector<dim_t> first;
    dim_t depth_stride = 1;
    integer_parameter_t src_scales, src_zps, weights_scales, weights_zps;
    /// Multiplies, or unpacks the weights to repack. Null if there is a stream.
    std::shared_ptr<const integer_kernel_t> kernel;
    /// Multiplies few rows, unless null.
    std::shared_ptr<const integer_stream_t> stream;
    dim_t stream_rows = 0; // of a block, at most
    /// Multiplies by [N,K] nibbles that it transposes, unless null. The format
    /// is packed then.
    std::shared_ptr<const integer_transposing_kernel_t> transposing;
    /// Multiplies by repacked weights, unless null. The format is packed then.
    std::shared_ptr<const integer_repacked_kernel_t> repacked;
};

/// Runs a plan in scratch memory of the caller. A block of groups by panels of
/// weights is unpacked to bytes, then multiplied by all rows.
class integer_product_t {
public:
    explicit integer_product_t(integer_plan_t plan);

    const char *name() const {
        if (plan_.repacked) return plan_.repacked->name();
        if (plan_.transposing) return plan_.transposing->name();
        return plan_.stream ? plan_.stream->name() : plan_.kernel->name();
    }
    const integer_plan_t &plan() const { return plan_; }

    /// The memory that threads share has the integers of src and the rows of
    /// its groups. Each thread's own memory has some panels in some groups.
    dim_t shared_bytes() const { return shared_bytes_; }
    /// @param block_cols The most columns of a block.
    dim_t own_bytes(dim_t block_cols) const;

    /// Returns the buffer that plan().quantize writes to.
    void *quantized(void *shared) const { return shared; }
    /// Arranges the rows [begin, end) of src. `buffers` are src's operands.
    void pack_src(void *const *buffers, dim_t begin, dim_t end,
            void *shared) const noexcept;

    /// A block begins with a panel's first column. If weights are [N,K] and not
    /// repacked, its panels are unpacked together.
    struct block_t {
        dim_t first_row, rows, first_col, cols;
        float *c; // rows of whole panels
        dim_t c_pitch;
    };
    /// `buffers` are the weights' operands. With plan().repacked, the first one
    /// is what repack() made and the others may be missing.
    void run(void *const *buffers, const block_t &block, const void *shared,
            void *own) const noexcept;

    /// Repacks the panels [begin, end) of repacked_panels() of the weights,
    /// whose operands are `buffers`, to their places in repacked_bytes().
    dim_t repacked_panels() const;
    dim_t repacked_bytes() const {
        return repacked_panels() * repacked_panel_bytes();
    }
    void repack(void *const *buffers, dim_t begin, dim_t end,
            void *to) const noexcept;

private:
    // The most groups that are computed together.
    static constexpr size_t most_block_groups = 32;

    // A group, or a part of the only group if that is deeper than a block.
    struct piece_t {
        dim_t begin, size;
        dim_t place, unpacked; // in a row of src, in the depth of a block
        dim_t k4_count;        // in whole units
    };
    struct piece_block_t {
        size_t first, count;
    };
    class parts_t;       // runs a block in parts
    class transposing_t; // runs a block by plan().transposing

    void place_groups();
    void place_memory();
    bool is_by_column() const { return plan_.format.is_by_column(); }
    dim_t weight(dim_t k, dim_t col) const {
        return k * plan_.format.depth_stride + col * plan_.format.col_stride;
    }
    /// True if what is known of columns is kept from a block's first piece to
    /// its last one. Parameters of [N,K] weights are read for all groups at
    /// once, and sums add up from piece to piece of a group.
    bool keeps_columns() const { return is_by_column() || cuts_group_; }

    void pack_src_row(void *const *buffers, dim_t row, void *shared) const;
    row_group_t make_group_of_row(void *const *buffers, dim_t row, size_t group,
            const uint8_t *values) const;
    integer_tile_t make_tile(const block_t &block, const void *shared) const;
    void run_stream(void *const *buffers, const block_t &block,
            const void *shared, void *own) const;
    void run_transposing(void *const *buffers, const block_t &block,
            const void *shared, void *own) const;
    dim_t repacked_panel_bytes() const;
    void repack_panel(void *const *buffers, dim_t panel, uint8_t *to) const;
    void run_repacked(void *const *buffers, const block_t &block,
            const void *shared) const;

    const integer_plan_t plan_;
    const bool cuts_group_;
    std::vector<dim_t> places_;    // of groups in rows of src
    std::vector<dim_t> k4_blocks_; // of groups
    std::vector<piece_t> pieces_;
    std::vector<piece_block_t> blocks_;
    dim_t row_end_ = 0, deepest_ = 0; // of rows of src, of blocks
    // Bytes of a row of src, of an unpacked panel, and of what is known of its
    // columns.
    dim_t row_bytes_ = 0, panel_bytes_ = 0, columns_bytes_ = 0;
    // Bytes of shared memory in front of rows of src, of those rows
    // interleaved, and of what is known of their groups.
    dim_t rows_at_ = 0, interleaved_at_ = 0, groups_at_ = 0, shared_bytes_ = 0;
    dim_t part_panels_ = 1;
};

} // namespace dnnl_dequant

#endif
