#include "stress/together.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace dnnl_dequant {
namespace stress {

std::string together(int count, const std::function<std::string(int)> &body) {
    std::atomic<int> waiting {count};
    std::mutex mutex;
    std::string wrong;
    const auto run = [&](int t) {
        --waiting;
        while (waiting > 0)
            std::this_thread::yield();
        std::string mine;
        try {
            mine = body(t);
        } catch (const std::exception &error) {
            mine = std::string("threw: ") + error.what();
        }
        const std::lock_guard<std::mutex> lock(mutex);
        if (wrong.empty()) wrong = mine;
    };
    std::vector<std::thread> running;
    for (int t = 0; t < count; ++t)
        running.emplace_back(run, t);
    for (auto &thread : running)
        thread.join();
    return wrong;
}

} // namespace stress
} // namespace dnnl_dequant
