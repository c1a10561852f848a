#ifndef KERNELS_MATMUL_MATMUL_HPP
#define KERNELS_MATMUL_MATMUL_HPP

#include "kernels/matmul/multiplier.hpp"

namespace dnnl_dequant {

/// Computes dst = steps(src * weights); the weights are never whole in memory
/// as floats. Units of work are blocks of dst. One thread sums each element
/// over depth in order, whatever the split.
class matmul_t {
public:
    /// @param result Makes dst from the sums: row block, columns.
    matmul_t(std::shared_ptr<const multiplier_t> multiplier,
            block_kernels_t result);

    const char *name() const { return multiplier_->name(); }
    const multiplier_t &multiplier() const { return *multiplier_; }
    /// Returns the multiplier's scratch memory and, behind its own part, the
    /// sums.
    scratch_size_t scratch() const;

    dim_t work_amount() const;
    /// Runs the units [begin, end), after multiplier().prepare().
    /// @returns what multiplier().run() does; a unit that fails leaves dst as
    ///     it is.
    status_t run(const stage_memory_t &memory, dim_t begin,
            dim_t end) const noexcept;

private:
    dim_t col_units() const;
    status_t run_unit(const product_unit_t &unit,
            const stage_memory_t &memory) const noexcept;

    const std::shared_ptr<const multiplier_t> multiplier_;
    const block_kernels_t result_;
    const dim_t sums_at_; // in each thread's own memory, bytes
};

/// The stages of a product: arrange the rows of src, then multiply. An
/// execution takes its scratch memory before it writes anything.
workload_t make_workload(const std::shared_ptr<const matmul_t> &matmul);

/// Repacks the weights of a product to the shared memory.
stage_t make_repack_stage(
        const std::shared_ptr<const integer_product_t> &product,
        size_t src_operands);

} // namespace dnnl_dequant

#endif
