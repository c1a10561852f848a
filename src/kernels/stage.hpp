#ifndef KERNELS_STAGE_HPP
#define KERNELS_STAGE_HPP

#include <functional>
#include <memory>
#include <vector>

#include "kernels/kernel.hpp"

namespace dnnl_dequant {

/// Scratch memory of an execution in bytes: `shared` by all threads, and each
/// thread's `own`. Both begin at multiples of 64 bytes.
struct scratch_size_t {
    dim_t shared = 0, own = 0;
};

/// The memory that a thread runs on.
struct stage_memory_t {
    void *const *buffers; // one an operand of the partition
    void *shared, *own;   // scratch memory
};

/// A step of an execution, which is over before the next one begins.
struct stage_t {
    using run_t = std::function<status_t(
            const stage_memory_t &memory, dim_t begin, dim_t end)>;

    /// Units of work. They may run in any order and at the same time.
    dim_t amount = 1;
    /// Further threads would cost more than they bring; below 2 it is serial.
    dim_t most_threads = 1;
    /// A thread takes one unit after the other as it becomes free. Otherwise
    /// the threads have equal shares.
    bool takes_turns = false;
    /// Runs the units [begin, end); throws nothing and allocates nothing.
    run_t run;
    /// Units that cost less next to each other: a thread that takes turns takes
    /// up to so many at once, as long as there are enough for all.
    dim_t at_once = 1;
};

/// All that an execution does.
struct workload_t {
    scratch_size_t scratch;
    std::vector<stage_t> stages;
};

/// A parallel region costs a few microseconds, in which one core moves about
/// this many bytes within its caches.
constexpr dim_t bytes_per_thread = 64 * 1024;

/// The operands of a kernel that is a part of a larger execution.
using stage_buffers_t
        = std::function<void(const stage_memory_t &memory, void **buffers)>;

/// Makes a stage of all work items of a kernel. It runs on the partition's
/// buffers, or on those that `buffers_of` writes to an array of max_operands.
/// @param bytes bytes_to_move() of the kernel's problem
stage_t make_stage(std::shared_ptr<const kernel_t> kernel, dim_t bytes);
stage_t make_stage(std::shared_ptr<const kernel_t> kernel, dim_t bytes,
        stage_buffers_t buffers_of);

/// Makes a stage that one thread runs at once.
stage_t make_serial_stage(
        std::function<void(const stage_memory_t &memory)> run);

} // namespace dnnl_dequant

#endif
