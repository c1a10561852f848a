#include "kernels/expect_as_ref.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/elementwise/elementwise.hpp"
#include "kernels/kernel_rows.hpp"

namespace dnnl_dequant {

using support::chain_case_t;

namespace {

std::vector<std::vector<unsigned char>> buffers_of(const chain_case_t &c) {
    std::vector<std::vector<unsigned char>> buffers;
    for (size_t i = 0; i < c.tensors.size(); ++i) {
        buffers.emplace_back(c.bytes(c.tensors[i]) + 64, 0x5a);
        if (i + 1 < c.tensors.size()) support::fill(c, i, buffers[i].data());
    }
    return buffers;
}

void run(const kernel_t &kernel,
        std::vector<std::vector<unsigned char>> &buffers) {
    std::vector<void *> operands;
    for (auto &buffer : buffers) {
        // Vectors of their own would begin 16 bytes after a line.
        const auto place = reinterpret_cast<uintptr_t>(buffer.data());
        const bool is_dst = &buffer == &buffers.back();
        operands.push_back(
                buffer.data() + (is_dst ? (64 - place % 64) % 64 : 0));
    }
    const dim_t units = kernel.work_amount();
    kernel.run(operands.data(), 0, units / 3);
    kernel.run(operands.data(), units / 3, units);
    auto &dst = buffers.back();
    const auto offset
            = static_cast<const unsigned char *>(operands.back()) - dst.data();
    std::memmove(dst.data(), operands.back(),
            dst.size() - static_cast<size_t>(offset));
}

} // namespace

void expect_as_ref(const chain_case_t &c, const char *prefix, bool any_nan) {
    const problem_t problem = problem_of(c);
    std::shared_ptr<const kernel_t> ref;
    ASSERT_TRUE(make_ref_elementwise(problem, isa_none, ref).ok());
    auto expected = buffers_of(c);
    run(*ref, expected);
    const kernel_row_t rows[] = {
#define X(name, isa, factory) {#name, isa, factory},
#include "kernels/elementwise/kernels.def"
#undef X
    };
    for (const auto &row : rows) {
        if (!runs_here(row) || row.name.find(prefix) != 0) continue;
        std::shared_ptr<const kernel_t> kernel;
        const result_t made = row.factory(problem, row.isa, kernel);
        ASSERT_TRUE(made.ok()) << made.reason;
        auto got = buffers_of(c);
        run(*kernel, got);
        const void *const bits = expected.back().data();
        if (any_nan)
            EXPECT_EQ(support::difference(c, bits, got.back().data()), "")
                    << row.name << ' ' << to_string(problem);
        else
            EXPECT_EQ(0, std::memcmp(bits, got.back().data(), c.bytes(c.dst())))
                    << row.name << ' ' << to_string(problem);
    }
}

} // namespace dnnl_dequant
