#ifndef EXEC_PARALLEL_HPP
#define EXEC_PARALLEL_HPP

#include "dnnl_dequant/dnnl_dequant.h"
#include "kernels/stage.hpp"

namespace dnnl_dequant {

/// Sets how the calling thread runs stages in parallel; OpenMP does where
/// `run` is null.
void set_parallel_for(const dnnl_dequant_parallel_for_t &parallel_for);

/// The calling thread's setting.
const dnnl_dequant_parallel_for_t &this_parallel_for();

/// The tasks that the caller runs at the same time; or the threads that a
/// parallel region of OpenMP would get here, which is 1 inside of one.
int available_threads();

/// Runs all units of a stage on as many threads as are available and of use.
/// @param own_bytes Each thread's own scratch memory; they follow each other
///     from memory.own on.
status_t run_stage(
        const stage_t &stage, const stage_memory_t &memory, dim_t own_bytes);

/// Runs the stages one after the other, in scratch memory that it takes for
/// this time.
/// @returns out_of_memory if there is none, and then nothing is written;
///     oneDNN's status if a primitive of its fails; runtime_error if the
///     caller's parallel-for did not run all tasks.
result_t run_workload(const workload_t &workload, void *const *buffers);

} // namespace dnnl_dequant

#endif
