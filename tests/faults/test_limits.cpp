// Limits of the system, as ulimit sets them: no memory beyond what the process
// has, and no thread.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>

#include <omp.h>

#include "faults/scenario.hpp"

namespace dnnl_dequant {
namespace faults {
namespace {

constexpr size_t enough = size_t(1) << 22;

// How the child that runs `body` ended; 0 where it returned true.
int in_child(const std::function<bool()> &body) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(body() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

void limit(__rlimit_resource_t resource, rlim_t value) {
    rlimit limits {};
    getrlimit(resource, &limits);
    limits.rlim_cur = std::min(value, limits.rlim_max);
    setrlimit(resource, &limits);
}

// All memory that malloc has, but `left` bytes; until it is destroyed.
class shortage_t {
public:
    explicit shortage_t(size_t left) {
        // Or the compiler would know that nobody looks at it.
        void *volatile reserve = std::malloc(left);
        long pages = 0;
        if (FILE *const file = std::fopen("/proc/self/statm", "r")) {
            if (std::fscanf(file, "%ld", &pages) != 1) std::abort();
            std::fclose(file);
        }
        limit(RLIMIT_AS, static_cast<rlim_t>(pages)
                                 * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)));
        for (size_t size = size_t(1) << 22; size >= sizeof(block_t); size /= 2)
            while (void *const block = std::malloc(size))
                taken_ = new (block) block_t {taken_};
        std::free(reserve);
    }
    ~shortage_t() {
        limit(RLIMIT_AS, RLIM_INFINITY);
        while (taken_) {
            block_t *const block = taken_;
            taken_ = block->next;
            std::free(block);
        }
    }
    shortage_t(const shortage_t &) = delete;
    shortage_t &operator=(const shortage_t &) = delete;

private:
    struct block_t {
        block_t *next;
    };
    block_t *taken_ = nullptr;
};

bool succeeds(const scenario_t &scenario) {
    attempt_t attempt(scenario);
    return attempt.run() == scenario.compile_status && attempt.dst_is_right();
}

// An attempt that finds `left` bytes, in a process that has made one before or
// has not; one after it finds as many as it wants.
bool survives(const scenario_t &scenario, size_t left, bool warm) {
    engine();
    stream();
    if (warm && !succeeds(scenario)) return false;
    clear_caches();
    attempt_t attempt(scenario);
    dnnl_status_t status = dnnl_success;
    {
        const shortage_t shortage(left);
        status = attempt.run();
    }
    const bool whole = status == scenario.compile_status;
    if (!attempt.dst_is_right() || !(whole || status == dnnl_out_of_memory)) {
        std::printf("%d after %s\n", status, attempt.last_call());
        return false;
    }
    // Nothing works without any memory, and a few megabytes are enough.
    if (left <= 64 ? whole : left >= enough && !whole) return false;
    return succeeds(scenario);
}

TEST(faults_of_limits, too_little_memory_is_a_status) {
    for (const scenario_t &scenario : scenarios())
        for (const bool warm : {false, true})
            for (size_t left = 1; left <= enough; left *= 2)
                EXPECT_EQ(in_child([&] {
                    return survives(scenario, left, warm);
                }),
                        0)
                        << scenario.name << ", " << left << " bytes left, "
                        << (warm ? "warm" : "cold");
}

// 300 KB of dst: worth several threads.
scenario_t large() {
    return {"large",
            {dense(0, dnnl_s8, {150, 1000}), dense(1, dnnl_f32, {1}),
                    dense(2, dnnl_bf16, {150, 1000})},
            {{dnnl_graph_op_dynamic_dequantize, {0, 1}, {2}, "per_tensor", 0,
                    {}}},
            {0, 1}, 2, 0x40404040, {0x40, 0x43, 0x40, 0x43}};
}

// The process as a user who may start no thread. Root may always.
void forbid_threads() {
    if (geteuid() == 0 && setuid(65534) != 0) std::abort();
    limit(RLIMIT_NPROC, 0);
}

TEST(faults_of_limits, where_no_thread_may_start_one_is_enough) {
    EXPECT_EQ(in_child([] {
        forbid_threads();
        omp_set_num_threads(1);
        return succeeds(scenarios().front()) && succeeds(large());
    }),
            0);
}

// Small executions have no parallel region. Others have: then libgomp itself
// ends the process, with a sentence of its own, and hangs or crashes nothing.
TEST(faults_of_limits, threads_that_openmp_cannot_start_end_in_its_words) {
    EXPECT_EQ(in_child([] {
        forbid_threads();
        omp_set_num_threads(4);
        return succeeds(scenarios().front());
    }),
            0);
    const int status = in_child([] {
        forbid_threads();
        omp_set_num_threads(4);
        return succeeds(large());
    });
    EXPECT_TRUE(WIFEXITED(status)) << status;
}

} // namespace
} // namespace faults
} // namespace dnnl_dequant
