// Processes made by fork(), before and after the library was used.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "e2e/dequantize_graph.hpp"

namespace dnnl_dequant {
namespace stress {
namespace {

using namespace e2e;

dequantize_case_t small() {
    return per_group(dense_case({3, 20}, data_type_t::u4, data_type_t::f32,
                             data_type_t::u4),
            {1, 8});
}

// 0 if the child's case was right. A child that used no OpenMP region before
// the fork may; GNU's OpenMP has none after a fork from one that did.
int in_child(const dequantize_case_t &c) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        const std::string wrong = check_case(c);
        if (!wrong.empty()) std::fprintf(stderr, "%s\n", wrong.c_str());
        _exit(wrong.empty() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

// CTest runs each test in a process of its own: this is the first use.
TEST(stress_processes, fork_before_the_first_use) {
    EXPECT_EQ(in_child(small()), 0);
    EXPECT_EQ(check_case(small()), "");
}

TEST(stress_processes, fork_after_use) {
    EXPECT_EQ(check_case(small()), "");
    EXPECT_EQ(in_child(small()), 0);
    const auto compiled
            = partition_of(op_of(small()))
                      .compile(inputs_of(small()),
                              {strided(dst_id, small().dst)}, cpu_engine());
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(check_execution(small(), compiled).empty() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(stress_processes, children_of_children) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(in_child(small()) == 0 && check_case(small()).empty() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

} // namespace
} // namespace stress
} // namespace dnnl_dequant
