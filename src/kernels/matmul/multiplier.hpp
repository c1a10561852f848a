#ifndef KERNELS_MATMUL_MULTIPLIER_HPP
#define KERNELS_MATMUL_MULTIPLIER_HPP

#include <array>

#include "kernels/integer_gemm/integer_product.hpp"
#include "kernels/matmul/block_kernels.hpp"
#include "kernels/matmul/gemm.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"
#include "kernels/stage.hpp"

namespace dnnl_dequant {

/// The blocks of a product, which are the same for every way to multiply.
struct product_blocks_t {
    /// Rows of src that are multiplied by the same weights.
    struct row_block_t {
        dim_t first, rows;
        size_t outer; // index of the weights' outer axis
    };

    dim_t rows = 0, depth = 0;
    /// The number of buffers that belong to src. The weights' buffers come
    /// after them, and the rest belongs to the result.
    size_t src_operands = 0, weights_operands = 0;
    std::vector<row_block_t> row_blocks;
    std::vector<dim_t> depth_blocks, col_blocks; // sizes
    dim_t pitch = 0; // of a block's sums, and of its weights as floats
    /// Each batch of weights begins here, in bytes: one place for each of their
    /// operands, batch after batch. Empty if there is one batch, or if nobody
    /// asked.
    std::vector<dim_t> batch_places;

    dim_t cols() const;
    /// Returns the floats that a block's sums need.
    dim_t sums_floats() const;
    void *const *weights_of(void *const *buffers) const {
        return buffers + src_operands;
    }
    size_t batches() const {
        return batch_places.empty() ? 1
                                    : batch_places.size() / weights_operands;
    }
    /// Returns a buffer of the weights, or all of them, at the beginning of a
    /// batch.
    void *weights_operand(
            void *const *buffers, size_t batch, size_t operand) const;
    std::array<void *, max_operands> weights_of_batch(
            void *const *buffers, size_t batch) const;
};

/// A block of rows by the blocks of columns [begin, end).
struct product_unit_t {
    size_t row_block, begin, end;
};

/// One way to multiply. Its scratch memory's `own` is next to the sums.
class multiplier_t : public std::enable_shared_from_this<multiplier_t> {
public:
    explicit multiplier_t(product_blocks_t blocks)
        : blocks_(std::move(blocks))
        , sums_floats_(blocks_.sums_floats()) {}
    virtual ~multiplier_t() = default;

    virtual const char *name() const = 0;
    /// True if weights are read once for a block of rows, and each thread has
    /// one part of them.
    virtual bool is_stream() const { return false; }
    /// Returns the blocks of columns in a unit. They are multiplied in turns,
    /// depth block by depth block, because their packed weights share pages.
    virtual size_t cols_together() const { return 1; }
    virtual scratch_size_t scratch() const = 0;
    /// Returns the stages before the multiplication, by up to `threads`
    /// threads. They arrange src's rows in shared memory.
    virtual std::vector<stage_t> prepare(dim_t threads) const = 0;

    /// Computes the sums of a unit, block of columns after block of columns,
    /// sums_floats() apart. It allocates nothing, though oneDNN's primitive
    /// may.
    /// @returns what oneDNN's primitive does
    virtual status_t run(const product_unit_t &unit,
            const stage_memory_t &memory, float *sums) const noexcept
            = 0;

    const product_blocks_t &blocks() const { return blocks_; }
    /// Equals blocks().sums_floats().
    dim_t sums_floats() const { return sums_floats_; }

private:
    const product_blocks_t blocks_;
    const dim_t sums_floats_;
};

/// Rows of src in the kernel's layout.
struct src_rows_t {
    /// Makes the rows; null if the user's memory has them already.
    std::shared_ptr<const kernel_t> kernel;
    size_t operands = 0; // of the kernel, the first ones of src
    data_type_t type = data_type_t::f32;
    dim_t pitch = 0; // elements
    /// The user's row pitch if the kernel only copies; else 0.
    dim_t copied_pitch = 0; // elements

    dim_t bytes(dim_t rows) const { return bytes_of(type, rows * pitch); }
    /// Adds the stage that makes the rows, `offset` bytes into the shared
    /// memory.
    void add_stage(
            dim_t rows, dim_t offset, std::vector<stage_t> &stages) const;
    /// Returns where row 0 is.
    const void *find(const stage_memory_t &memory, dim_t offset) const;
    const void *find(
            const stage_memory_t &memory, dim_t offset, dim_t row) const;
};

/// Blocks of weights become gemm->type() in scratch memory and are multiplied
/// by rows of src.
struct float_blocks_t {
    src_rows_t src;
    std::shared_ptr<const gemm_t> gemm;
    block_kernels_t weights; // outer, depth, columns
    /// Elements from row to row of a block's weights as floats, or from column
    /// to column if gemm->takes_nk().
    dim_t ldb = 0;
    /// The layout of a block's packed weights, without their beginning.
    read_ahead_t packed_weights;
    size_t cols_together = 1;
};
std::shared_ptr<const multiplier_t> make_multiplier(
        product_blocks_t blocks, float_blocks_t plan);

/// A skinny GEMM whose weights are numbers in registers only.
struct skinny_plan_t {
    /// Makes scales or zero points of a block of columns. Without operands
    /// there are none.
    struct parameters_t {
        block_kernels_t kernels; // columns
        size_t operand = 0;      // of the weights
        /// True without kernels: the user's memory has them as f32 already.
        bool are_in_place = false;
    };

    /// The same for parameters that are made once.
    struct shared_parameters_t {
        /// Null if the user's memory has them as f32 already.
        std::shared_ptr<const kernel_t> kernel;
        bool exist = false;
        size_t operand = 0; // of the weights
    };

    /// The scale of each row of src, an element of an operand, if they are
    /// applied to sums.
    struct row_scales_t {
        data_type_t type = data_type_t::undef;
        size_t operand = 0;        // of src
        std::vector<dim_t> places; // one a row; empty: there are none
    };

    src_rows_t src;
    row_scales_t row_scales;
    std::shared_ptr<const skinny_gemm_t> skinny_gemm;
    std::array<parameters_t, 2> parameters; // scales, zero points
    dim_t groups = 0;
    /// Parameters that columns share: those of all columns at once, groups of
    /// rows by groups of columns.
    std::array<shared_parameters_t, 2> shared;
    dim_t col_groups = 0; // 0: columns have their own
};
std::shared_ptr<const multiplier_t> make_multiplier(
        product_blocks_t blocks, skinny_plan_t plan);

/// The way to multiply integers, if src and weights are integers.
std::shared_ptr<const multiplier_t> make_multiplier(product_blocks_t blocks,
        std::shared_ptr<const integer_product_t> product);

} // namespace dnnl_dequant

#endif
