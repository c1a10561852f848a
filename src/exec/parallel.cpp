#include "exec/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <new>

#include <omp.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace dnnl_dequant {

namespace {

constexpr dim_t scratch_alignment = 64;
constexpr std::align_val_t scratch_align {scratch_alignment};

// So much scratch memory is on the stack: malloc takes as long as a product of
// one row by 64 x 64 weights.
constexpr dim_t stack_bytes = 12 * 1024;

struct aligned_delete_t {
    void operator()(char *bytes) const {
        ::operator delete[](bytes, scratch_align);
    }
};

// The first unit of thread `index` of `count`; shares differ by one at most.
dim_t split(dim_t amount, dim_t index, dim_t count) {
    return amount / count * index + std::min(index, amount % count);
}

// A barrier that the thread sanitizer sees, since it does not see libgomp's.
// All work before reached() happens before the work after passed().
class barrier_t {
public:
#ifdef __SANITIZE_THREAD__
    void reached() { __tsan_release(this); }
    void passed() { __tsan_acquire(this); }
#else
    void reached() {}
    void passed() {}
#endif
};

// Initial-exec, so that no access asks the loader for memory.
[[gnu::tls_model("initial-exec")]] thread_local dnnl_dequant_parallel_for_t
        parallel_for {};

// oneDNN's primitives have threads of OpenMP. While the caller's threads are
// used they get none besides the one that calls.
class omp_guard_t {
public:
    omp_guard_t()
        : threads_(parallel_for.run ? omp_get_max_threads() : 0) {
        if (threads_ > 1) omp_set_num_threads(1);
    }
    ~omp_guard_t() {
        if (threads_ > 1) omp_set_num_threads(threads_);
    }
    omp_guard_t(const omp_guard_t &) = delete;
    omp_guard_t &operator=(const omp_guard_t &) = delete;

private:
    const int threads_;
};

} // namespace

void set_parallel_for(const dnnl_dequant_parallel_for_t &set) {
    parallel_for = set;
}

const dnnl_dequant_parallel_for_t &this_parallel_for() {
    return parallel_for;
}

int available_threads() {
    if (parallel_for.run)
        return static_cast<int>(std::min<size_t>(
                parallel_for.concurrency, std::numeric_limits<int>::max()));
    return omp_in_parallel() ? 1 : omp_get_max_threads();
}

namespace {

// The shares of one stage as tasks of the caller's.
template <typename share_t>
struct tasks_t {
    share_t &share;
    const dim_t amount, count;
    std::atomic<dim_t> done {0};

    static void run(void *argument, size_t index) {
        auto &tasks = *static_cast<tasks_t *>(argument);
        const auto task = static_cast<dim_t>(index);
        tasks.share(static_cast<int>(index),
                split(tasks.amount, task, tasks.count),
                split(tasks.amount, task + 1, tasks.count));
        tasks.done.fetch_add(1, std::memory_order_release);
    }
};

template <typename share_t>
bool split_over_tasks(int threads, dim_t amount, share_t &share) {
    tasks_t<share_t> tasks {share, amount, threads};
    parallel_for.run(parallel_for.context, static_cast<size_t>(threads),
            tasks_t<share_t>::run, &tasks);
    return tasks.done.load(std::memory_order_acquire) == threads;
}

// Calls share(index, begin, end) on up to `threads` threads, which part
// `amount` units evenly. False where the caller's parallel-for did not call
// all shares.
template <typename share_t>
bool split_over(int threads, dim_t amount, share_t &&share) {
    if (threads <= 1) {
        share(0, dim_t(0), amount);
        return true;
    }
    if (parallel_for.run) return split_over_tasks(threads, amount, share);
    barrier_t begin, end;
    begin.reached();
#pragma omp parallel num_threads(threads)
    {
        begin.passed();
        // The runtime may give fewer threads than asked for.
        const dim_t index = omp_get_thread_num();
        const dim_t count = omp_get_num_threads();
        share(static_cast<int>(index), split(amount, index, count),
                split(amount, index + 1, count));
        end.reached();
    }
    end.passed();
    return true;
}

// Turns that each thread should have at least, so that those who become free
// early find work.
constexpr dim_t turns_a_thread = 4;

// The same, some units after the other as threads become free: units that take
// long, and cores that are not as fast or have others to serve.
template <typename share_t>
bool take_units(
        int threads, dim_t amount, dim_t at_once, const share_t &share) {
    if (threads <= 1) return split_over(threads, amount, share);
    const dim_t step = std::max<dim_t>(
            std::min(at_once, amount / (threads * turns_a_thread)), 1);
    std::atomic<dim_t> next {0};
    return split_over(threads, threads, [&](int index, dim_t, dim_t) {
        dim_t unit;
        while ((unit = next.fetch_add(step, std::memory_order_relaxed))
                < amount)
            share(index, unit, std::min(unit + step, amount));
    });
}

int useful_threads(const stage_t &stage) {
    return static_cast<int>(
            std::min<dim_t>(available_threads(), stage.most_threads));
}

} // namespace

status_t run_stage(
        const stage_t &stage, const stage_memory_t &memory, dim_t own_bytes) {
    std::atomic<status_t> failed {status_t::success};
    const auto share = [&](int thread, dim_t begin, dim_t end) {
        stage_memory_t of_thread = memory;
        of_thread.own = static_cast<char *>(memory.own) + own_bytes * thread;
        const status_t status = stage.run(of_thread, begin, end);
        if (status != status_t::success) failed = status;
    };
    const int threads = useful_threads(stage);
    const bool all_ran
            = stage.takes_turns
                      ? take_units(threads, stage.amount, stage.at_once, share)
                      : split_over(threads, stage.amount, share);
    return all_ran ? failed.load() : status_t::runtime_error;
}

result_t run_workload(const workload_t &workload, void *const *buffers) {
    int threads = 1;
    for (const stage_t &stage : workload.stages)
        threads = std::max(threads, useful_threads(stage));
    const dim_t shared = round_up(workload.scratch.shared, scratch_alignment);
    const dim_t own = round_up(workload.scratch.own, scratch_alignment);
    const dim_t bytes = shared + own * threads;
    alignas(scratch_alignment) char few[stack_bytes];
    std::unique_ptr<char[], aligned_delete_t> many;
    if (bytes > stack_bytes) {
        many.reset(new (
                scratch_align, std::nothrow) char[static_cast<size_t>(bytes)]);
        if (!many) return {status_t::out_of_memory, "no memory to work in"};
    }
    char *const scratch = many ? many.get() : few;
    const omp_guard_t one_thread_of_omp;
    for (const stage_t &stage : workload.stages) {
        const status_t status
                = run_stage(stage, {buffers, scratch, scratch + shared}, own);
        if (status == status_t::runtime_error && parallel_for.run)
            return {status,
                    "the caller's parallel-for did not call every task, or a "
                    "primitive of oneDNN's failed"};
        if (status != status_t::success)
            return {status, "a primitive of oneDNN's failed"};
    }
    return {};
}

} // namespace dnnl_dequant
