#ifndef EXEC_PARALLEL_HPP
#define EXEC_PARALLEL_HPP

#include "kernels/kernel.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/quantize/dynamic_quantize.hpp"
#include "kernels/quantize/spelled_quantize.hpp"

namespace dnnl_dequant {

/// The threads that a parallel region started here would get; 1 inside a
/// parallel region.
int available_threads();

/// Runs all units of `kernel`, split evenly over threads. Serial where the
/// problem moves so few bytes that starting threads costs more.
/// @param bytes bytes_to_move() of the kernel's problem
void run_parallel(const kernel_t &kernel, void *const *buffers, dim_t bytes);

/// Runs a dynamic quantize: slab by slab, or one pass after the other.
void run_dynamic(
        const dynamic_quantize_t &kernel, void *const *buffers, dim_t bytes);

/// Runs a dynamic quantize that ops spell out, one pass after the other.
void run_spelled(
        const spelled_quantize_t &kernel, void *const *buffers, dim_t bytes);

/// Repacks the weights of a product, whose operands are `buffers`.
void run_repack(const integer_product_t &product, void *const *buffers,
        void *to) noexcept;

/// Runs a product, in memory that it takes for the time.
/// @returns out_of_memory where there is none; then nothing is written. What
///     oneDNN says, where its primitive multiplies and fails.
result_t run_matmul(const matmul_t &matmul, void *const *buffers);

} // namespace dnnl_dequant

#endif
