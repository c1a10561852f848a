// Memory that the user's own allocator gives, or does not.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "faults/scenario.hpp"

namespace dnnl_dequant {
namespace faults {
namespace {

struct allocator_t {
    int asked = 0, held = 0;
    int fails_at = 0; // 0: at none
} allocator;

void *allocate(size_t size, size_t alignment) {
    if (++allocator.asked == allocator.fails_at) return nullptr;
    void *memory = nullptr;
    if (posix_memalign(&memory, std::max<size_t>(alignment, 64), size + 1))
        return nullptr;
    ++allocator.held;
    return memory;
}

void release(void *memory) {
    if (memory == nullptr) return;
    --allocator.held;
    std::free(memory);
}

// An engine whose memory is the allocator's, and a stream on it.
class engine_scope_t {
public:
    engine_scope_t() {
        dnnl_graph_allocator_t made = nullptr;
        dnnl_graph_allocator_create(&made, allocate, release);
        dnnl_graph_make_engine_with_allocator(&engine, dnnl_cpu, 0, made);
        dnnl_graph_allocator_destroy(made);
        dnnl_stream_create(&stream, engine, 0);
    }
    ~engine_scope_t() {
        dnnl_stream_destroy(stream);
        dnnl_engine_destroy(engine);
    }
    engine_scope_t(const engine_scope_t &) = delete;
    engine_scope_t &operator=(const engine_scope_t &) = delete;

    dnnl_engine_t engine = nullptr;
    dnnl_stream_t stream = nullptr;
};

// The requests of one attempt, of which one fails (0: none).
int requests_of(const scenario_t &scenario, int fails_at) {
    const engine_scope_t scope;
    allocator = {0, 0, fails_at};
    {
        attempt_t attempt(scenario, scope.engine, scope.stream);
        const dnnl_status_t status = attempt.run();
        EXPECT_EQ(
                status, fails_at ? dnnl_out_of_memory : scenario.compile_status)
                << scenario.name << ", after " << attempt.last_call()
                << ", request " << fails_at;
        EXPECT_TRUE(attempt.dst_is_right()) << scenario.name;
    }
    EXPECT_EQ(allocator.held, 0) << scenario.name << ", request " << fails_at;
    return allocator.asked;
}

TEST(faults_of_the_users_allocator, end_the_call_that_asked) {
    for (const scenario_t &scenario : scenarios()) {
        const int count = requests_of(scenario, 0);
        for (int n = 1; n <= count; ++n)
            requests_of(scenario, n);
        // Every tensor of ours that came to an execution is the allocator's.
        if (scenario.compile_status == dnnl_success) {
            EXPECT_GE(count, static_cast<int>(scenario.inputs.size()) + 1);
        }
        EXPECT_EQ(requests_of(scenario, 0), count);
    }
}

} // namespace
} // namespace faults
} // namespace dnnl_dequant
