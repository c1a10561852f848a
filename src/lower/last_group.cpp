#include "lower/last_group.hpp"

#include <algorithm>

#include "problem/make_problem.hpp"

namespace dnnl_dequant {

namespace {

// Elements that are a row by themselves where src is dense along them too.
constexpr dim_t long_row = 32;

class whole_and_last_t : public kernel_t {
public:
    using kernel_at_t = std::shared_ptr<const kernel_t>;
    whole_and_last_t(kernel_at_t whole, kernel_at_t last)
        : whole_(std::move(whole))
        , last_(std::move(last)) {}

    const char *name() const override { return whole_->name(); }
    // A unit has a share of both, whose own units differ in size.
    dim_t work_amount() const override {
        return std::max(whole_->work_amount(), last_->work_amount());
    }
    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override {
        for (const auto *kernel : {whole_.get(), last_.get()}) {
            const auto first = [&](dim_t unit) {
                return unit * kernel->work_amount() / work_amount();
            };
            if (first(begin) < first(end))
                kernel->run(buffers, first(begin), first(end));
        }
    }

private:
    const kernel_at_t whole_, last_;
};

class planner_t {
public:
    explicit planner_t(const problem_t &problem)
        : problem_(problem) {
        for (size_t l = 0; l < problem.loops.size(); ++l)
            if (problem.loops[l].parent >= 0) {
                group_ = l;
                outer_ = static_cast<size_t>(problem.loops[l].parent);
                ++count_;
            }
    }

    bool gains() const {
        return count_ == 1 && loop().last_extent != loop().extent
               && problem_.loops[outer_].extent > 1
               && bits_of(problem_.dst().type) >= 8 && is_transposed();
    }

    // The problem of the groups before the last one, or of that one.
    problem_t part(bool is_last) const {
        dims_t extents;
        for (const loop_t &loop : problem_.loops)
            extents.push_back(loop.extent);
        std::vector<operand_t> operands = problem_.operands;
        const dim_t before = extents[outer_] - 1;
        extents[outer_] = is_last ? 1 : before;
        if (is_last) {
            extents[group_] = loop().last_extent;
            for (operand_t &o : operands)
                o.offset += before * o.strides[outer_];
        }
        problem_t made = make_plain_problem(extents, operands, problem_.steps);
        made.parts = problem_.parts;
        return made;
    }

private:
    const loop_t &loop() const { return problem_.loops[group_]; }

    // Whether src has another order than dst, and not only its rows have.
    // Groups of columns stay together, since a last one of few columns would be
    // stored by itself.
    bool is_transposed() const {
        const dims_t &src = problem_.src().strides;
        const bool are_long_rows
                = src.back() == 1 && problem_.loops.back().extent >= long_row;
        return !are_long_rows && group_ + 1 != problem_.loops.size()
               && !std::is_sorted(src.rbegin(), src.rend());
    }

    const problem_t &problem_;
    size_t group_ = 0, outer_ = 0; // the loops in a group, and of groups
    int count_ = 0;                // of such loops
};

} // namespace

result_t make_last_group(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    const planner_t planner(problem);
    if (!has(isa, isa_avx2) || !planner.gains()) return refuse("");
    std::shared_ptr<const kernel_t> whole, last;
    result_t result = choose_kernel(planner.part(false), isa, whole);
    if (result.ok()) result = choose_kernel(planner.part(true), isa, last);
    if (result.ok())
        kernel = std::make_shared<whole_and_last_t>(
                std::move(whole), std::move(last));
    return result;
}

} // namespace dnnl_dequant
