#include "threads.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include "status.hpp"

namespace dnnl_dequant::ort {

namespace {

using steady_t = std::chrono::steady_clock;
using task_t = void (*)(void *argument, size_t index);

#ifdef __SANITIZE_THREAD__
// The thread sanitizer does not see how ONNX Runtime's pool, which is not
// instrumented, hands tasks over and waits for them.
struct handed_t {
    task_t task;
    void *argument;

    static void run(void *handed, size_t index) {
        __tsan_acquire(handed);
        const auto &self = *static_cast<const handed_t *>(handed);
        self.task(self.argument, index);
        __tsan_release(handed);
    }
};
#endif

OrtStatus *run_in_pool(const OrtApi &api, const OrtKernelContext *context,
        size_t count, task_t task, void *argument) {
#ifdef __SANITIZE_THREAD__
    handed_t handed {task, argument};
    __tsan_release(&handed);
    OrtStatus *const status = api.KernelContext_ParallelFor(
            context, handed_t::run, count, 0, &handed);
    __tsan_acquire(&handed);
    return status;
#else
    return api.KernelContext_ParallelFor(context, task, count, 0, argument);
#endif
}

// Each round waits this long for the pool's threads. A thread that sleeps wakes
// within the first, mostly. While another pool spins on the same cores, a
// thread may wait for a scheduler's slice of some milliseconds.
constexpr std::chrono::microseconds patience[] {
        std::chrono::microseconds(500), std::chrono::milliseconds(8)};

struct count_t {
    size_t limit;
    std::chrono::microseconds patience;
    std::atomic<size_t> inside {0}, most {0};
    std::atomic<bool> is_over {false};
};

// Waits inside until all are here or somebody has waited long enough.
void count_task(void *argument, size_t) {
    auto &count = *static_cast<count_t *>(argument);
    const size_t inside = ++count.inside;
    size_t most = count.most;
    while (most < inside && !count.most.compare_exchange_weak(most, inside)) {
    }
    const auto end = steady_t::now() + count.patience;
    while (count.most < count.limit && !count.is_over) {
        if (steady_t::now() > end) count.is_over = true;
        std::this_thread::yield();
    }
    --count.inside;
}

size_t count_threads(const OrtApi &api, const OrtKernelContext *context) {
    const size_t limit = std::max(1u, std::thread::hardware_concurrency());
    size_t most = 1;
    for (const auto time : patience) {
        count_t count;
        count.limit = limit;
        count.patience = time;
        check(api, run_in_pool(api, context, limit, count_task, &count));
        most = std::max(most, count.most.load());
        if (most == limit) break;
    }
    return most;
}

} // namespace

size_t threads_t::concurrency(
        const OrtApi &api, const OrtKernelContext *context) {
    size_t result = concurrency_;
    if (result == 0) {
        result = count_threads(api, context);
        concurrency_ = result;
    }
    return result;
}

void pool_scope_t::run(void *pool, size_t count,
        void (*task)(void *argument, size_t index), void *argument) {
    const auto &self = *static_cast<const pool_t *>(pool);
    // The library notices tasks that were not called.
    OrtStatus *status
            = run_in_pool(self.api, self.context, count, task, argument);
    if (status != nullptr) self.api.ReleaseStatus(status);
}

pool_scope_t::pool_scope_t(
        const OrtApi &api, const OrtKernelContext *context, threads_t &threads)
    : pool_ {api, context}
    , scope_({threads.concurrency(api, context), run, &pool_}) {}

} // namespace dnnl_dequant::ort
