#ifndef EXEC_PARALLEL_HPP
#define EXEC_PARALLEL_HPP

#include "kernels/stage.hpp"

namespace dnnl_dequant {

/// The threads that a parallel region started here would get; 1 inside a
/// parallel region.
int available_threads();

/// Runs all units of a stage on as many threads as are available and of use.
/// @param own_bytes Each thread's own scratch memory; they follow each other
///     from memory.own on.
status_t run_stage(
        const stage_t &stage, const stage_memory_t &memory, dim_t own_bytes);

/// Runs the stages one after the other, in scratch memory that it takes for the
/// time.
/// @returns out_of_memory where there is none; then nothing is written. What
///     oneDNN says where a primitive of its fails.
result_t run_workload(const workload_t &workload, void *const *buffers);

} // namespace dnnl_dequant

#endif
