// Compiles random shapes and executes them for a given time, on two threads,
// more shapes than the cache holds. Fails where a result is wrong, the heap,
// resident memory or mappings grow after the warm-up, or executions become
// slower.
// usage: soak SECONDS

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "e2e/dequantize_graph.hpp"
#include "stress/process_memory.hpp"
#include "stress/together.hpp"

namespace dnnl_dequant {
namespace stress {
namespace {

using namespace e2e;
using support::random_t;
using clock_t = std::chrono::steady_clock;

constexpr int thread_count = 2;
constexpr int window_count = 5; // the first is the warm-up
constexpr int cache_capacity = 64;
constexpr int executions_a_compile = 20;
constexpr size_t executions_kept = 400000;

// Times of calls; of a window's the first so many are kept.
class times_t {
public:
    explicit times_t(size_t most)
        : values_(most, 0) {}

    void clear() { count_ = kept_ = 0; }
    void add(double us) {
        keep(us);
        ++count_;
    }
    void add(const times_t &other) {
        for (size_t n = 0; n < other.kept_; ++n)
            keep(other.values_[n]);
        count_ += other.count_;
    }
    size_t count() const { return count_; }
    // Puts the times into another order.
    double quantile(double q) {
        if (kept_ == 0) return 0;
        const auto at = [this](double n) {
            return values_.begin() + static_cast<std::ptrdiff_t>(n);
        };
        const auto last = static_cast<double>(kept_ - 1);
        std::nth_element(values_.begin(), at(q * last), at(last + 1));
        return *at(q * last);
    }

private:
    void keep(double us) {
        if (kept_ < values_.size()) values_[kept_++] = us;
    }

    size_t count_ = 0, kept_ = 0;
    std::vector<double> values_;
};

struct calls_t {
    explicit calls_t(size_t most)
        : compile_us(most)
        , execute_us(most) {}

    void clear() {
        compile_us.clear();
        execute_us.clear();
    }
    void add(const calls_t &other) {
        compile_us.add(other.compile_us);
        execute_us.add(other.execute_us);
    }

    times_t compile_us, execute_us;
};

// Every window writes its times here. The memory is taken once, before the
// first window, so that the process does not grow by its own figures.
struct figures_t {
    std::vector<calls_t> of_thread {
            thread_count, calls_t(executions_kept / thread_count)};
    calls_t of_all {executions_kept};
};

// The figures of a window that are kept when the next one begins.
struct window_t {
    double execute_p99_us = 0;
    process_memory_t memory;
};

dequantize_case_t any_case(random_t &random) {
    const std::vector<data_type_t> sources {data_type_t::u4, data_type_t::s4,
            data_type_t::u8, data_type_t::s8, data_type_t::u16};
    const std::vector<data_type_t> results {
            data_type_t::f32, data_type_t::bf16, data_type_t::f16};
    const dims_t dims {random.between(1, 4), random.between(1, 40),
            random.between(1, 300)};
    const data_type_t src = random.pick(sources);
    auto c = dense_case(dims, src, random.pick(results), src);
    c.seed = random.bits();
    if (random.one_in(3)) return per_channel(c, random.between(0, 2));
    return per_group(c, {1, 1, random.between(1, 64)});
}

double us_since(clock_t::time_point start) {
    return std::chrono::duration<double, std::micro>(clock_t::now() - start)
            .count();
}

// The executions of one compiled partition, the first looked at if `check`.
// Not in guarded buffers: the pool that those keep would count as growth.
std::string execute(const dequantize_case_t &c,
        const compiled_partition &compiled, bool check, times_t &times) {
    std::vector<char> src(c.src.bytes()), scales(c.scales.bytes()),
            zps(c.zps.bytes()), dst(c.dst.bytes());
    const std::vector<tensor> inputs {
            {strided(src_id, c.src), cpu_engine(), src.data()},
            {strided(scales_id, c.scales), cpu_engine(), scales.data()},
            {strided(zps_id, c.zps), cpu_engine(), zps.data()}};
    const std::vector<tensor> outputs {
            {strided(dst_id, c.dst), cpu_engine(), dst.data()}};
    if (check) {
        std::vector<char> expected(c.dst.bytes());
        support::fill(c, src.data(), scales.data(), zps.data());
        support::reference(
                c, src.data(), scales.data(), zps.data(), expected.data());
        compiled.execute(cpu_stream(), inputs, outputs);
        const std::string wrong = support::difference(
                c.dst.type, expected.data(), dst.data(), c.dst.span());
        if (!wrong.empty()) return wrong;
    }
    for (int n = 0; n < executions_a_compile; ++n) {
        const auto start = clock_t::now();
        compiled.execute(cpu_stream(), inputs, outputs);
        times.add(us_since(start));
    }
    return "";
}

std::string run_window(double seconds, int number, figures_t &figures) {
    std::string wrong = together(thread_count, [&](int t) -> std::string {
        random_t random(static_cast<uint64_t>(number * thread_count + t));
        const auto begin = clock_t::now();
        calls_t &mine = figures.of_thread[static_cast<size_t>(t)];
        mine.clear();
        for (int n = 0; us_since(begin) < seconds * 1e6; ++n) {
            const auto c = any_case(random);
            const auto p = partition_of(op_of(c));
            const auto start = clock_t::now();
            const auto compiled = p.compile(
                    inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
            mine.compile_us.add(us_since(start));
            const std::string bad
                    = execute(c, compiled, n % 16 == 0, mine.execute_us);
            if (!bad.empty()) return bad;
        }
        return "";
    });
    figures.of_all.clear();
    for (const calls_t &calls : figures.of_thread)
        figures.of_all.add(calls);
    return wrong;
}

window_t print(int number, calls_t &calls) {
    const window_t window {calls.execute_us.quantile(0.99), process_memory()};
    std::printf("%-8s %8zu %8.0f %8.0f %9zu %8.1f %8.1f %9ld %9ld %8ld %8ld\n",
            number == 0 ? "warm-up" : std::to_string(number).c_str(),
            calls.compile_us.count(), calls.compile_us.quantile(0.5),
            calls.compile_us.quantile(0.99), calls.execute_us.count(),
            calls.execute_us.quantile(0.5), window.execute_p99_us,
            window.memory.resident_kib, window.memory.heap_kib,
            window.memory.mappings, window.memory.executable);
    std::fflush(stdout);
    return window;
}

// Compares with the first window after the warm-up. Other work on the machine
// shows in p99, so only the best of the later windows counts. The comparison
// looks for what grows with every compile; it is no measure of speed.
std::string judge(const std::vector<window_t> &windows) {
    const process_memory_t &first = windows[1].memory;
    const process_memory_t &last = windows.back().memory;
    if (last.heap_kib > first.heap_kib + 512) return "the heap has grown";
    if (last.resident_kib > first.resident_kib + 4096)
        return "resident memory has grown";
    // Every compiled partition in the cache has a mapping of code.
    if (last.mappings > first.mappings + 40) return "mappings have grown";
    double best = 1e30;
    for (size_t w = 2; w < windows.size(); ++w)
        best = std::min(best, windows[w].execute_p99_us);
    if (best > 2 * windows[1].execute_p99_us)
        return "executions have become slower";
    return "";
}

int soak(double seconds) {
    dnnl_graph_set_compiled_partition_cache_capacity(cache_capacity);
    std::printf("%-8s %8s %8s %8s %9s %8s %8s %9s %9s %8s %8s\n", "window",
            "compiles", "p50 us", "p99 us", "executes", "p50 us", "p99 us",
            "RSS KiB", "heap KiB", "mappings", "of code");
    figures_t figures;
    std::vector<window_t> windows;
    std::string wrong;
    for (int n = 0; n < window_count && wrong.empty(); ++n) {
        wrong = run_window(seconds / window_count, n, figures);
        windows.push_back(print(n, figures.of_all));
    }
    if (wrong.empty()) wrong = judge(windows);
    std::printf("%s\n", wrong.empty() ? "flat" : wrong.c_str());
    return wrong.empty() ? 0 : 1;
}

} // namespace
} // namespace stress
} // namespace dnnl_dequant

int main(int argc, char **argv) {
    const double seconds = argc == 2 ? std::atof(argv[1]) : 0;
    if (!(seconds > 0)) {
        std::fprintf(stderr, "usage: soak SECONDS\n");
        return 2;
    }
    return dnnl_dequant::stress::soak(seconds);
}
