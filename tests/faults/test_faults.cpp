// The n-th request for memory fails, for n = 1, 2, 3, ...

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "faults/interposer.hpp"
#include "faults/scenario.hpp"

namespace dnnl_dequant {
namespace faults {
namespace {

// More than any scenario asks for; the walk ends where nothing fails any more.
constexpr int most_requests = 20000;

struct report_t {
    bool reached; // the n-th request was made
    char wrong[400];
};

void say(report_t &report, const std::string &what) {
    if (report.wrong[0] == '\0')
        std::snprintf(report.wrong, sizeof(report.wrong), "%s", what.c_str());
}

struct outcome_t {
    bool reached = false; // the n-th request was made
    std::string where;
    // The kernel that ran although a request failed that was not for pages.
    std::string kernel;
};

// One attempt whose n-th request fails (0: none).
outcome_t attempt(const scenario_t &scenario, int n, report_t &report) {
    attempt_t attempt(scenario);
    fail_request(n);
    watch(true);
    const dnnl_status_t status = attempt.run();
    const bool reached = request_failed(), of_pages = pages_failed();
    fail_request(0);
    const std::string where = std::string("after ") + attempt.last_call()
                              + ", request " + std::to_string(n) + ": ";
    const bool whole = status == scenario.compile_status;
    if (!whole && !(reached && status == dnnl_out_of_memory))
        say(report, where + "status " + std::to_string(status));
    if (!attempt.dst_is_right()) say(report, where + "dst is wrong");
    return {reached, where, of_pages ? "" : attempt.kernel()};
}

held_t held_after_one(const scenario_t &scenario, report_t &report,
        std::string *kernel = nullptr) {
    const outcome_t outcome = attempt(scenario, 0, report);
    if (kernel) *kernel = outcome.kernel;
    clear_caches();
    return held();
}

// A slower kernel would be kept when there is memory again.
void check_kernel(
        const outcome_t &outcome, const std::string &usual, report_t &report) {
    if (!outcome.kernel.empty() && outcome.kernel != usual)
        say(report, outcome.where + outcome.kernel + " ran, not " + usual);
}

// In a process that has not used the library yet: the failure meets the first
// use, then, everything being warm, it is met again and nothing may be lost.
void walk_one(const scenario_t &scenario, int n, report_t &report) {
    engine();
    stream();
    const outcome_t cold = attempt(scenario, n, report);
    clear_caches();
    std::string usual;
    held_after_one(scenario, report, &usual);
    const held_t before = held_after_one(scenario, report);
    const outcome_t warm = attempt(scenario, n, report);
    clear_caches();
    const held_t after = held_after_one(scenario, report);
    watch(false);
    report.reached = cold.reached || warm.reached;
    check_kernel(cold, usual, report);
    check_kernel(warm, usual, report);
    if (before.plugin != after.plugin || before.onednn != after.onednn
            || before.mappings != after.mappings)
        say(report, warm.where + "lost "
                            + std::to_string(after.plugin - before.plugin)
                            + " of the plugin's, "
                            + std::to_string(after.onednn - before.onednn)
                            + " of oneDNN's, "
                            + std::to_string(after.mappings - before.mappings)
                            + " mappings");
}

// body(report) in a child; what it says, or how it died.
template <typename Body>
std::string in_child(const char *verbose, bool &reached, const Body &body) {
    auto *const report = static_cast<report_t *>(mmap(nullptr, sizeof(report_t),
            PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        if (verbose) {
            setenv("ONEDNN_VERBOSE", verbose, 1);
            if (!std::freopen("/dev/null", "w", stdout)) _exit(3);
        }
        body(*report);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::string wrong = report->wrong;
    reached = report->reached;
    if (status != 0)
        wrong += " the process ended with status " + std::to_string(status);
    munmap(report, sizeof(report_t));
    return wrong;
}

// Returns how many requests were made to fail, every `step`-th.
int walk(const scenario_t &scenario, const char *verbose, int step) {
    int wrongs = 0;
    for (int n = 1; n < most_requests; n += step) {
        bool reached = false;
        const std::string wrong = in_child(verbose, reached,
                [&](report_t &report) { walk_one(scenario, n, report); });
        if (!wrong.empty()) {
            ADD_FAILURE() << scenario.name << ", request " << n << ": "
                          << wrong;
            if (++wrongs == 20) return n / step;
        }
        if (!reached) return n / step;
    }
    ADD_FAILURE() << "the walk does not end";
    return most_requests;
}

int every() {
    const char *const value = std::getenv("DNNL_DEQUANT_TEST_EVERY");
    return value ? std::max(std::atoi(value), 1) : 1;
}

class faults : public ::testing::TestWithParam<size_t> {
protected:
    const scenario_t &scenario() const { return scenarios()[GetParam()]; }
};

std::string name_of(const ::testing::TestParamInfo<size_t> &info) {
    return scenarios()[info.param].name;
}

TEST_P(faults, every_request_fails_once) {
    const int count = walk(scenario(), nullptr, every() * scenario().step);
    std::printf("%s: %d requests failed in turn\n", scenario().name, count);
    EXPECT_GT(count, 50 / every());
}

TEST_P(faults, every_eleventh_fails_while_it_is_told_of) {
    const int count = walk(scenario(), "all", 11 * every() * scenario().step);
    std::printf("%s: %d requests failed in turn\n", scenario().name, count);
    EXPECT_GT(count, 20 / every());
}

INSTANTIATE_TEST_SUITE_P(
        all, faults, ::testing::Range<size_t>(0, scenarios().size()), name_of);

dnnl_graph_logical_tensor_t tensor_of(size_t id, dnnl_data_type_t type) {
    dnnl_graph_logical_tensor_t lt = {};
    dnnl_graph_logical_tensor_init(&lt, id, type, 1,
            dnnl_graph_layout_type_strided, dnnl_graph_tensor_property_undef);
    return lt;
}

// An op that could not take a tensor takes it the next time, and once.
TEST(faults_of_ops, leave_an_op_without_the_tensor) {
    const auto src = tensor_of(0, dnnl_f32), dst = tensor_of(1, dnnl_f32);
    int failed = 0;
    for (bool reached = true; reached;) {
        dnnl_graph_op_t op = nullptr;
        ASSERT_EQ(dnnl_graph_op_create(&op, 0, dnnl_graph_op_relu, "op"),
                dnnl_success);
        watch(true);
        fail_request(failed + 1);
        const dnnl_status_t status = dnnl_graph_op_add_input(op, &src);
        reached = request_failed();
        fail_request(0);
        watch(false);
        if (reached) {
            ++failed;
            ASSERT_EQ(status, dnnl_out_of_memory);
            ASSERT_EQ(dnnl_graph_op_add_input(op, &src), dnnl_success);
        }
        ASSERT_EQ(dnnl_graph_op_add_output(op, &dst), dnnl_success);
        dnnl_graph_graph_t graph = nullptr;
        ASSERT_EQ(dnnl_graph_graph_create(&graph, dnnl_cpu), dnnl_success);
        EXPECT_EQ(dnnl_graph_add_op(graph, op), dnnl_success)
                << "after request " << failed;
        EXPECT_EQ(dnnl_graph_graph_destroy(graph), dnnl_success);
        EXPECT_EQ(dnnl_graph_op_destroy(op), dnnl_success);
    }
    EXPECT_GT(failed, 0);
}

TEST(faults_of_jit, ref_serves_where_no_memory_may_be_executable) {
    ::testing::internal::CaptureStdout();
    const pid_t child = fork();
    if (child == 0) {
        setenv("ONEDNN_VERBOSE", "dispatch", 1);
        clear_caches(); // of what tests before this one compiled
        forbid_executable_memory(true);
        bool right = true;
        for (const scenario_t &scenario : scenarios()) {
            attempt_t attempt(scenario);
            const dnnl_status_t status = attempt.run();
            const std::string kernel = attempt.kernel();
            const bool is_plain = kernel.find("ref_") != std::string::npos
                                  || status != dnnl_success;
            std::printf("%s: %d after %s, %s\n", scenario.name, status,
                    attempt.last_call(), kernel.c_str());
            right &= status == scenario.compile_status && is_plain
                     && attempt.dst_is_right();
        }
        std::fflush(stdout);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    const std::string said = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(status, 0) << said;
#if defined(__x86_64__)
    EXPECT_NE(said.find("no executable memory"), std::string::npos) << said;
#endif
}

TEST(faults_of_jit, asks_for_no_memory_both_writable_and_executable) {
    for (const scenario_t &scenario : scenarios()) {
        attempt_t attempt(scenario);
        EXPECT_EQ(attempt.run(), scenario.compile_status);
    }
    EXPECT_EQ(writable_and_executable_requests(), 0);
}

} // namespace
} // namespace faults
} // namespace dnnl_dequant
