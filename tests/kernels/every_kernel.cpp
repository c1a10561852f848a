#include "kernels/every_kernel.hpp"

#include <gtest/gtest.h>

#include <iostream>

#include "support/cross_product.hpp"

namespace dnnl_dequant {

every_kernel_t::every_kernel_t(
        const std::vector<kernel_row_t> &rows, may_refuse_t may_refuse)
    : may_refuse_(std::move(may_refuse)) {
    for (const auto &row : rows)
        if (runs_here(row)) entries_.push_back({&row});
}

void every_kernel_t::run(const case_t &c, const check_t &check) {
    for (auto &entry : entries_)
        run(entry, c, check);
}

void every_kernel_t::run(
        entry_t &entry, const case_t &c, const check_t &check) {
    std::shared_ptr<const kernel_t> kernel;
    const auto &row = *entry.row;
    const result_t made = row.factory(c.problem, row.isa, kernel);
    if (!made.ok()) {
        ++entry.refused;
        if (made.status != status_t::unimplemented || made.reason.empty())
            fail(entry, c, "refused without a reason");
        if (!may_refuse_(row, c.problem))
            fail(entry, c, "refused: " + made.reason);
        return;
    }
    ++entry.taken;
    const std::string name = kernel->name();
    // One kernel, and rows more for what it does where there is VNNI, BF16 or
    // VBMI.
    if (row.name != name
            && row.name.compare(0, name.size() + 1, name + '_') != 0)
        fail(entry, c, "is named " + name);
    const std::string wrong = check(*kernel);
    if (!wrong.empty()) fail(entry, c, wrong);
}

void every_kernel_t::fail(
        const entry_t &entry, const case_t &c, const std::string &what) {
    const auto *const test
            = ::testing::UnitTest::GetInstance()->current_test_info();
    ++failures_;
    ADD_FAILURE() << entry.row->name << ": " << what
                  << (c.text.empty() ? "" : "\n  case: ") << c.text
                  << "\n  problem: " << to_string(c.problem)
                  << "\n  alone: DNNL_DEQUANT_TEST_SEED="
                  << support::first_seed()
                  << " DNNL_DEQUANT_TEST_CASE=" << c.number
                  << " test_kernels --gtest_filter=" << test->test_suite_name()
                  << '.' << test->name();
}

void every_kernel_t::report(bool all_take) const {
    for (const auto &entry : entries_) {
        std::cout << entry.row->name << ": took " << entry.taken << ", refused "
                  << entry.refused << '\n';
        EXPECT_TRUE(entry.taken > 0 || !all_take) << entry.row->name;
    }
}

} // namespace dnnl_dequant
