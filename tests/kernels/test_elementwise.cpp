// Every kernel of the elementwise family against the reference, over the cross
// product of chains, types, granularities, layouts and sizes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/convert.hpp"
#include "kernels/chain_case.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/every_kernel.hpp"
#include "kernels/on_machine.hpp"
#include "support/cross_product.hpp"
#include "support/guarded_buffer.hpp"

namespace dnnl_dequant {
namespace {

using edge_t = support::guarded_buffer_t::edge_t;
using support::chain_case_t;

const std::vector<kernel_row_t> &elementwise_rows() {
    static const std::vector<kernel_row_t> rows {
#define X(name, isa, factory) {#name, isa, factory},
#include "kernels/elementwise/kernels.def"
#undef X
    };
    return rows;
}

bool is_copy(const problem_t &problem) {
    return problem.steps.empty() && problem.src().type == problem.dst().type;
}

bool stores_one_after_the_other(const problem_t &problem) {
    return problem.loops.empty() || problem.dst().strides.back() == 1;
}

// True if JIT kernels must take the problem: it computes with numbers of at
// most 32 bits.
bool is_for_jit(const problem_t &problem) {
    for (const auto &operand : problem.operands)
        if (bits_of(operand.type) > 32) return false;
    return !is_copy(problem) && bits_of(problem.dst().type) >= 8
           && stores_one_after_the_other(problem);
}

// True if copying kernels must take the problem: it moves whole bytes.
bool is_for_copy(const problem_t &problem) {
    const int bits = bits_of(problem.dst().type);
    return is_copy(problem) && bits >= 8 && bits <= 32
           && stores_one_after_the_other(problem);
}

bool may_refuse(const kernel_row_t &row, const problem_t &problem) {
    if (row.isa == isa_none) return false;
    if (row.name.find("jit_") == 0) return !is_for_jit(problem);
    return !is_for_copy(problem);
}

// One buffer a tensor, at one end of its pages.
class buffers_t {
public:
    buffers_t(const chain_case_t &c, edge_t edge, size_t slack) {
        for (const auto &tensor : c.tensors)
            buffers_.emplace_back(c.bytes(tensor), edge, slack);
        for (const auto &buffer : buffers_)
            operands_.push_back(buffer.data());
        for (size_t t = 0; t + 1 < c.tensors.size(); ++t)
            support::fill(c, t, operands_[t]);
    }
    const std::vector<void *> &operands() const { return operands_; }
    void *dst() const { return operands_.back(); }
    bool intact() const {
        for (const auto &buffer : buffers_)
            if (!buffer.intact()) return false;
        return true;
    }

private:
    std::vector<support::guarded_buffer_t> buffers_;
    std::vector<void *> operands_;
};

struct setting_t {
    const char *name;
    bool one_by_one;
    edge_t edge;
    size_t slack;
};

std::string check_setting(const kernel_t &kernel, const chain_case_t &c,
        const buffers_t &expected, const setting_t &setting) {
    const buffers_t got(c, setting.edge, setting.slack);
    const dim_t units = kernel.work_amount();
    if (setting.one_by_one)
        for (dim_t u = units; u-- > 0;)
            kernel.run(got.operands().data(), u, u + 1);
    else kernel.run(got.operands().data(), 0, units);
    const std::string differs
            = support::difference(c, expected.dst(), got.dst());
    if (!differs.empty()) return std::string(setting.name) + ": " + differs;
    if (!got.intact())
        return std::string(setting.name) + ": wrote outside a buffer";
    return "";
}

// In buffers at either end of their pages and misaligned.
std::string check(const kernel_t &kernel, const chain_case_t &c,
        const buffers_t &expected) {
    static const setting_t settings[]
            = {{"all units at once, end of page", false, edge_t::end, 0},
                    {"unit by unit, start of page", true, edge_t::start, 0},
                    {"all at once, misaligned", false, edge_t::end, 1}};
    for (const auto &setting : settings) {
        const std::string wrong = check_setting(kernel, c, expected, setting);
        if (!wrong.empty()) return wrong;
    }
    return "";
}

class elementwise_kernels : public ::testing::TestWithParam<data_type_t> {
protected:
    // Runs one of every `sample` cases.
    void run(bool wide, dim_t sample) {
        every_kernel_t kernels(elementwise_rows(), may_refuse);
        const dim_t count = support::chain_case_count(wide);
        for (dim_t n = 0; n < count && !kernels.has_failed_enough(); ++n) {
            if (support::only_case() >= 0
                            ? support::only_case() != n
                            : n % (sample * support::every()) != 0)
                continue;
            const auto c = support::make_chain_case(GetParam(), wide, n,
                    support::first_seed() + static_cast<uint64_t>(n));
            const buffers_t expected(c, edge_t::start, 0);
            support::reference(c, expected.operands());
            kernels.run({problem_of(c), n, ""}, [&](const kernel_t &kernel) {
                return check(kernel, c, expected);
            });
        }
        kernels.report(false);
    }
};

TEST_P(elementwise_kernels, equal_reference_on_small_odd_shapes) {
    run(false, 1);
}

// Primes: from one chain to the next other layouts and shapes are left out.
TEST_P(elementwise_kernels, equal_reference_about_multiples_of_vectors) {
    run(true, 19);
}

TEST_P(elementwise_kernels, equal_reference_where_dst_leaves_the_caches) {
    for (const auto &policy : machine_policies()) {
        const on_machine_t machine({policy, no_cache_bytes, no_cache_bytes});
        run(false, 31);
        run(true, 211);
    }
}

const std::vector<data_type_t> every_type {
#define X(name, value, bits, family) data_type_t::name,
#include "base/data_type.def"
#undef X
};

INSTANTIATE_TEST_SUITE_P(every, elementwise_kernels,
        ::testing::ValuesIn(every_type), [](const auto &param_info) {
            return std::string(to_string(param_info.param));
        });

} // namespace
} // namespace dnnl_dequant
