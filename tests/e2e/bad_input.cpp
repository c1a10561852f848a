#include "e2e/bad_input.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

namespace dnnl_dequant {
namespace e2e {

namespace {

bool verbose_check() {
    const char *const verbose = std::getenv("ONEDNN_VERBOSE");
    return verbose && std::strstr(verbose, "check");
}

} // namespace

void expect_failure(const std::function<void()> &call, dnnl_status_t expected,
        const words_t &words) {
    ::testing::internal::CaptureStdout();
    const dnnl_status_t status = status_of(call);
    const std::string printed = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(status, expected);
    if (!verbose_check()) {
        if (!std::getenv("ONEDNN_VERBOSE")) {
            EXPECT_EQ(printed, "");
        }
        return;
    }
    std::istringstream lines(printed);
    for (std::string line; std::getline(lines, line);) {
        bool all = line.find("dequantize_under_test") != std::string::npos;
        for (const auto &word : words)
            if (line.find(word) == std::string::npos) all = false;
        if (all) return;
    }
    ADD_FAILURE() << "no line has the op's name and "
                  << ::testing::PrintToString(words) << " in:\n"
                  << printed;
}

dequantize_case_t plain() {
    return dense_case(
            {4, 6}, data_type_t::s8, data_type_t::f32, data_type_t::s8);
}

dequantize_case_t grouped() {
    return per_group(dense_case({4, 20}, data_type_t::u4, data_type_t::f32,
                             data_type_t::u4),
            {1, 8});
}

} // namespace e2e
} // namespace dnnl_dequant
