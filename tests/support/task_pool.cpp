#include "support/task_pool.hpp"

#include <algorithm>

namespace dnnl_dequant {
namespace support {

task_pool_t::task_pool_t(size_t threads) {
    for (size_t t = 1; t < threads; ++t)
        threads_.emplace_back([this] { work(); });
}

task_pool_t::~task_pool_t() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    for (std::thread &thread : threads_)
        thread.join();
}

void task_pool_t::run(size_t count, task_t task, void *argument) {
    if (count == 0) return;
    job_t job {task, argument, count};
    std::unique_lock<std::mutex> lock(mutex_);
    jobs_.push_back(&job);
    changed_.notify_all();
    while (job.done < count)
        if (!run_one(lock)) changed_.wait(lock);
}

size_t task_pool_t::tasks_run() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return tasks_run_;
}

void task_pool_t::work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ends_)
        if (!run_one(lock)) changed_.wait(lock);
}

// The newest job first: the one that an unfinished task waits for.
bool task_pool_t::run_one(std::unique_lock<std::mutex> &lock) {
    if (jobs_.empty()) return false;
    job_t &job = *jobs_.back();
    const size_t index = job.next++;
    if (job.next == job.count) jobs_.pop_back();
    lock.unlock();
    job.task(job.argument, index);
    lock.lock();
    ++tasks_run_;
    if (++job.done == job.count) changed_.notify_all();
    return true;
}

} // namespace support
} // namespace dnnl_dequant
