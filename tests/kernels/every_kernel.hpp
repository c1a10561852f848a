#ifndef KERNELS_EVERY_KERNEL_HPP
#define KERNELS_EVERY_KERNEL_HPP

#include <functional>
#include <string>
#include <vector>

#include "kernels/kernel_rows.hpp"

namespace dnnl_dequant {

/// Gives cases to every kernel of a family that this machine can run, and
/// counts who took them. After a few failures a test has said enough.
class every_kernel_t {
public:
    struct case_t {
        problem_t problem;
        dim_t number = 0; // which DNNL_DEQUANT_TEST_CASE runs alone
        std::string text; // besides the problem; may be empty
    };

    /// Whether the kernel may refuse the problem.
    using may_refuse_t
            = std::function<bool(const kernel_row_t &, const problem_t &)>;
    /// Returns what is wrong with the kernel's results; empty if nothing is.
    using check_t = std::function<std::string(const kernel_t &)>;

    every_kernel_t(
            const std::vector<kernel_row_t> &rows, may_refuse_t may_refuse);

    void run(const case_t &c, const check_t &check);

    bool has_failed_enough() const { return failures_ >= 3; }

    /// Prints who took how many; where `all_take`, none may have taken none.
    void report(bool all_take) const;

private:
    struct entry_t {
        const kernel_row_t *row;
        dim_t taken = 0;
        dim_t refused = 0;
    };

    void run(entry_t &entry, const case_t &c, const check_t &check);
    void fail(const entry_t &entry, const case_t &c, const std::string &what);

    may_refuse_t may_refuse_;
    std::vector<entry_t> entries_;
    int failures_ = 0;
};

} // namespace dnnl_dequant

#endif
