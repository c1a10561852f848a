#ifndef BENCHMARKS_PROGRESS_HPP
#define BENCHMARKS_PROGRESS_HPP

#include <chrono>
#include <cstddef>
#include <string>

namespace dnnl_dequant {
namespace bench {

/// From now on an interrupt (Ctrl-C) is only taken note of.
void watch_interrupts();
bool is_interrupted();

/// A bar with the time left, in one line on a terminal; nothing anywhere else.
class progress_t {
public:
    explicit progress_t(size_t total);

    /// `done` of the total are behind us and `name` is next.
    void show(size_t done, const std::string &name) const;
    /// Makes way for other output.
    void clear() const;

private:
    size_t total_;
    bool shown_;
    std::chrono::steady_clock::time_point start_;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
