#ifndef KERNELS_MATMUL_MATMUL_HPP
#define KERNELS_MATMUL_MATMUL_HPP

#include <array>

#include "kernels/matmul/block_kernels.hpp"
#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/gemv.hpp"
#include "kernels/matmul/integer_product.hpp"
#include "kernels/matmul/narrow_gemm.hpp"
#include "kernels/stage.hpp"

namespace dnnl_dequant {

/// How a product is cut up. Everything is f32 in scratch memory (but what is
/// multiplied as bf16 or f16): src, once for all, packed where blocks are
/// multiplied; a block of weights (its rows along depth), and the sums of a
/// block of rows by one of columns, each thread its own.
struct matmul_plan_t {
    /// Rows of src that are multiplied by the same weights.
    struct row_block_t {
        dim_t first, rows;
        size_t outer; // index of the weights' outer axis
    };

    dim_t rows = 0, depth = 0;
    /// Makes rows of src, of src_type(); null where it has them already,
    /// src_pitch elements apart.
    std::shared_ptr<const kernel_t> src;
    dim_t src_pitch = 0;
    /// How many of the buffers are src's; the weights' come after them, and
    /// the rest is the result's.
    size_t src_operands = 0, weights_operands = 0;

    std::vector<row_block_t> row_blocks;
    std::vector<dim_t> depth_blocks, col_blocks; // sizes
    /// Blocks of columns that are multiplied in turns, block of depth by block
    /// of depth: their packed weights lie on the same pages. One of gemv's and
    /// narrow's.
    size_t cols_together = 1;
    dim_t pitch = 0;         // of both blocks
    block_kernels_t weights; // outer, depth, columns
    block_kernels_t result;  // row block, columns
    /// How the packed weights of a block lie, but for where they begin.
    read_ahead_t packed_weights;
    std::shared_ptr<const gemm_t> gemm;
    /// Multiplies blocks instead, of its own type and not packed.
    std::shared_ptr<const narrow_gemm_t> narrow;
    /// Does without blocks of weights; null where it does not take them, or
    /// there are more rows.
    std::shared_ptr<const gemv_t> gemv;
    /// Makes its scales and zero points, of a block of columns. Without
    /// operands there are none.
    struct parameters_t {
        block_kernels_t kernels; // columns
        size_t operand = 0;      // of the weights
    };
    std::array<parameters_t, 2> parameters; // scales, zero points
    dim_t groups = 0;
    /// Multiplies integers instead, in which src and weights are: src above,
    /// and blocks of weights, are not made then.
    std::shared_ptr<const integer_product_t> integers;

    /// Of src's rows as they are multiplied: f32, narrow's or gemv's.
    data_type_t src_type() const {
        if (narrow) return narrow->type();
        return gemv ? gemv->src_type() : data_type_t::f32;
    }
};

/// dst = steps(src * weights), the weights never whole in memory as floats.
/// Units of work are blocks of dst; each element is summed by one thread, over
/// depth in order, whatever the split.
class matmul_t {
public:
    explicit matmul_t(matmul_plan_t plan);

    const char *name() const {
        if (plan_.integers) return plan_.integers->name();
        if (plan_.narrow) return plan_.narrow->name();
        return plan_.gemv ? plan_.gemv->name() : plan_.gemm->name();
    }
    const matmul_plan_t &plan() const { return plan_; }
    /// Reads weights once, for few rows.
    bool is_stream() const {
        return plan_.gemv || (plan_.integers && plan_.integers->plan().stream);
    }

    dim_t work_amount() const;
    dim_t cols() const;
    /// Floats' room that all threads share: src's rows, and packed ones.
    dim_t shared_floats() const;
    /// Where plan().src makes src's rows, in it.
    float *rows_in(float *shared) const { return shared + packed_floats_; }
    /// Puts those rows in the order that is wanted, where there is one.
    bool arranges() const { return plan_.gemv && plan_.gemv->src_unit() > 1; }
    void arrange(float *shared) const noexcept;
    /// Packs parts [begin, end) of pack_amount() of src's rows, made in shared
    /// memory or the user's; there are none where they are not packed.
    dim_t pack_amount() const;
    void pack(void *const *buffers, dim_t begin, dim_t end,
            float *shared) const noexcept;
    /// Floats that each thread needs for itself.
    dim_t thread_floats() const { return thread_floats_; }

    /// Runs the units [begin, end). `shared` has src's rows where plan().src
    /// makes them, packed where there is something to pack. Allocates nothing
    /// (oneDNN may, where plan().narrow is its primitive).
    /// @returns what plan().narrow does; a unit that fails leaves dst as it is.
    status_t run(void *const *buffers, dim_t begin, dim_t end,
            const float *shared, float *own) const noexcept;

private:
    struct col_range_t {
        size_t begin, end; // blocks of columns
    };

    void note_packed();
    dim_t col_units() const;
    const void *src_rows(
            void *const *buffers, const float *shared) const noexcept;
    const void *src_row(const void *src, dim_t row) const noexcept;
    void multiply(void *const *weights_buffers, size_t row_block,
            const col_range_t &cols, const float *packed,
            float *own) const noexcept;
    status_t multiply_narrow(void *const *weights_buffers, size_t row_block,
            size_t col_block, const void *src, float *own) const noexcept;
    read_ahead_t weights_after(block_kernels_t::index_t block,
            const col_range_t &cols,
            void *const *weights_buffers) const noexcept;
    void multiply_few(void *const *weights_buffers, size_t row_block,
            size_t col_block, const void *src, float *sums) const noexcept;
    status_t run_unit(void *const *buffers, size_t row_block,
            const col_range_t &cols, const void *src,
            float *own) const noexcept;

    const matmul_plan_t plan_;
    /// Row blocks, no rows twice: of several batches they may be the same.
    std::vector<size_t> blocks_to_pack_;
    std::vector<dim_t> places_of_src_; // plan_.gemv's
    dim_t packed_floats_ = 0, weights_floats_ = 0, parameters_floats_ = 0,
          sums_floats_ = 0, narrow_scratch_at_ = 0, thread_floats_ = 0;
};

/// The stages of a product: src's rows as they are multiplied, then the
/// multiplication. Scratch memory is taken for the time of an execution, before
/// anything is written.
workload_t make_workload(const std::shared_ptr<const matmul_t> &matmul);

/// Repacks the weights of such a product, whose plan().integers has repacked
/// ones, to the shared memory.
stage_t make_repack_stage(const std::shared_ptr<const matmul_t> &matmul);

} // namespace dnnl_dequant

#endif
