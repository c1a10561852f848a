// Tests what ONEDNN_VERBOSE switches on and what a line looks like. Each case
// is a process of its own: the environment is read once.

#include "base/log.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <regex>
#include <utility>
#include <vector>

#include "base/config.hpp"

namespace dnnl_dequant {
namespace {

using variables_t = std::vector<std::pair<const char *, const char *>>;

constexpr unsigned profile = log_profile_create | log_profile_exec;
constexpr unsigned all = log_check | log_dispatch | profile | log_info;

/// Returns what `body` prints in a child process of these variables only.
std::string printed_with(
        const variables_t &variables, const std::function<void()> &body) {
    std::array<int, 2> ends;
    if (pipe(ends.data()) != 0) return "no pipe";
    std::fflush(stdout); // or the child prints what waits there
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        clearenv();
        for (const auto &[name, value] : variables)
            setenv(name, value, 1);
        body();
        std::fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 256> some;
    for (ssize_t got; (got = read(ends[0], some.data(), some.size())) > 0;)
        text.append(some.data(), static_cast<size_t>(got));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? text : "the child failed: " + text;
}

void print_kinds() {
    unsigned kinds = 0;
    for (unsigned kind = 1; kind <= log_info; kind *= 2)
        if (log_enabled(static_cast<log_kind_t>(kind))) kinds |= kind;
    std::printf("%u", kinds);
}

void expect_kinds(const variables_t &variables, unsigned kinds) {
    EXPECT_EQ(printed_with(variables, print_kinds), std::to_string(kinds))
            << (variables.empty() ? "" : variables.front().second);
}

TEST(log, is_switched_on_by_words) {
    expect_kinds({}, 0);
    const std::vector<std::pair<const char *, unsigned>> cases {
            {"", 0},
            {"0", 0},
            {"none", 0},
            {"1", log_profile_exec | log_info},
            {"2", profile | log_info},
            {"all", all},
            {"-1", all},
            {"3", 0},
            {",check", log_check | log_info},
            {"info", log_info},
            {"check", log_check | log_info},
            {"dispatch", log_dispatch | log_info},
            {"profile", profile | log_info},
            {"profile_create", log_profile_create | log_info},
            {"profile_exec", log_profile_exec | log_info},
            {"check,dispatch", log_check | log_dispatch | log_info},
            {"check,unknown", log_check | log_info},
            {"unknown", 0},
            {"check,none", 0},
            {"check,0", 0},
            {"check,filter=graph", log_check | log_info},
            {"check,filter=^g.*h$", log_check | log_info},
            {"check,filter=matmul", 0},
            {"check,filter=[", log_check | log_info},
    };
    for (const auto &[value, kinds] : cases)
        expect_kinds({{"ONEDNN_VERBOSE", value}}, kinds);
}

TEST(log, follows_the_older_variable_where_the_newer_is_not_set) {
    expect_kinds({{"DNNL_VERBOSE", "check"}}, log_check | log_info);
    expect_kinds({{"DNNL_VERBOSE", "check"}, {"ONEDNN_VERBOSE", "dispatch"}},
            log_dispatch | log_info);
}

TEST(log, follows_the_last_level_that_was_set) {
    const auto with_level = [](int level) {
        return printed_with({{"ONEDNN_VERBOSE", "check"}}, [level] {
            set_verbose(level);
            print_kinds();
        });
    };
    EXPECT_EQ(with_level(0), "0");
    EXPECT_EQ(with_level(-1), "0");
    EXPECT_EQ(with_level(1), std::to_string(log_profile_exec | log_info));
    EXPECT_EQ(with_level(2), std::to_string(profile | log_info));
    EXPECT_EQ(with_level(3), std::to_string(profile | log_info));
}

TEST(log, prints_refusals_of_the_kinds_that_are_on) {
    const auto refuse = [] {
        log_refusal(log_check, "here", "a reason");
        log_refusal(log_dispatch, "there", "another");
    };
    const std::string check = "onednn_verbose,v1,graph,create:check,here,"
                              "a reason,dequant_backend\n";
    const std::string dispatch = "onednn_verbose,v1,graph,create:dispatch,"
                                 "there,another,dequant_backend\n";
    EXPECT_EQ(printed_with({{"ONEDNN_VERBOSE", "check"}}, refuse), check);
    EXPECT_EQ(printed_with({{"ONEDNN_VERBOSE", "dispatch"}}, refuse), dispatch);
    EXPECT_EQ(printed_with({{"ONEDNN_VERBOSE", "all"}}, refuse),
            check + dispatch);
    EXPECT_EQ(printed_with({{"ONEDNN_VERBOSE", "info"}}, refuse), "");
}

TEST(log, has_the_time_where_it_is_wanted) {
    const auto line = [] { log_line("text"); };
    const std::string bare = "onednn_verbose,v1,graph,text\n";
    EXPECT_EQ(printed_with({}, line), bare);
    EXPECT_EQ(printed_with({{"ONEDNN_VERBOSE_TIMESTAMP", "0"}}, line), bare);
    EXPECT_EQ(printed_with({{"ONEDNN_VERBOSE_TIMESTAMP", ""}}, line), bare);
    const std::regex timed("onednn_verbose,v1,[0-9]+[.][0-9]+,graph,text\n");
    for (const char *name :
            {"ONEDNN_VERBOSE_TIMESTAMP", "DNNL_VERBOSE_TIMESTAMP"})
        EXPECT_TRUE(std::regex_match(printed_with({{name, "1"}}, line), timed))
                << name;
}

TEST(log, loses_a_line_and_not_what_it_tells_of) {
    EXPECT_EQ(printed_with({},
                      [] {
        log_done([]() -> std::string { throw std::bad_alloc(); });
        log_done([] { return std::string("done"); });
    }),
            "onednn_verbose,v1,graph,done\n");
}

TEST(log, measures_in_milliseconds) {
    const double before = now_ms();
    usleep(20000);
    const double took = now_ms() - before;
    EXPECT_GE(took, 20);
    EXPECT_LT(took, 20000);
}

} // namespace
} // namespace dnnl_dequant
