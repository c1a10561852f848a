#ifndef SUPPORT_TASK_POOL_HPP
#define SUPPORT_TASK_POOL_HPP

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace dnnl_dequant {
namespace support {

/// A thread pool as a framework has one. The thread that calls run() takes
/// tasks too, so that run() may be called inside of a task.
class task_pool_t {
public:
    using task_t = void (*)(void *argument, size_t index);

    explicit task_pool_t(size_t threads);
    ~task_pool_t();
    task_pool_t(const task_pool_t &) = delete;
    task_pool_t &operator=(const task_pool_t &) = delete;

    /// Runs task(argument, 0), ..., task(argument, count - 1).
    void run(size_t count, task_t task, void *argument);

    /// All tasks that were run so far.
    size_t tasks_run() const;

private:
    struct job_t {
        task_t task;
        void *argument;
        size_t count, next = 0, done = 0;
    };

    void work();
    bool run_one(std::unique_lock<std::mutex> &lock);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<job_t *> jobs_; // those with tasks that nobody has taken
    size_t tasks_run_ = 0;
    bool ends_ = false;
    std::vector<std::thread> threads_;
};

} // namespace support
} // namespace dnnl_dequant

#endif
