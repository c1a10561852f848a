// ONNX Runtime's threads for oneDNN's partitions. Its pool spins, so a second
// one (OpenMP's) would fight it for the cores.
#ifndef DNNL_DEQUANT_ORT_THREADS_HPP
#define DNNL_DEQUANT_ORT_THREADS_HPP

#include <atomic>
#include <cstddef>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "runtime.hpp"

namespace dnnl_dequant::ort {

// One a session. The pool has no getter for its size: the first run counts how
// many tasks are inside at once.
class threads_t {
public:
    size_t concurrency(const OrtApi &api, const OrtKernelContext *context);

private:
    std::atomic<size_t> concurrency_ {0};
};

// While it lives, this thread's oneDNN partitions run in the pool of
// `context`.
class pool_scope_t {
public:
    pool_scope_t(const OrtApi &api, const OrtKernelContext *context,
            threads_t &threads);
    pool_scope_t(const pool_scope_t &) = delete;
    pool_scope_t &operator=(const pool_scope_t &) = delete;

private:
    struct pool_t {
        const OrtApi &api;
        const OrtKernelContext *context;
    };
    static void run(void *pool, size_t count,
            void (*task)(void *argument, size_t index), void *argument);

    pool_t pool_;
    parallel_for_scope scope_;
};

} // namespace dnnl_dequant::ort

#endif
