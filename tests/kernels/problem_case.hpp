#ifndef KERNELS_PROBLEM_CASE_HPP
#define KERNELS_PROBLEM_CASE_HPP

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "kernels/dequantize/dequantize.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "support/cross_product.hpp"
#include "support/guarded_buffer.hpp"
#include "support/isa_of_machine.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {

using t = data_type_t;
using edge_t = support::guarded_buffer_t::edge_t;

struct operand_case_t {
    t type;
    dims_t strides;
};

// (src - zps) * scales, or src * scales + addend where `zps` is a float.
inline problem_t problem_of(const dims_t &extents, const operand_case_t &src,
        const operand_case_t &scales, const operand_case_t &zps,
        const operand_case_t &dst) {
    problem_t problem;
    for (const dim_t extent : extents)
        problem.loops.push_back({extent});
    const auto add = [&](const operand_case_t &o) {
        problem.operands.push_back({o.type, 0, o.strides});
        return static_cast<int>(problem.operands.size()) - 1;
    };
    add(src);
    const auto step = [&](step_kind_t kind, const operand_case_t &of) {
        step_t made {};
        made.kind = kind;
        made.operand = add(of);
        problem.steps.push_back(made);
    };
    const bool has_zps = zps.type != t::undef, adds = is_floating(zps.type);
    if (has_zps && !adds) step(step_kind_t::subtract, zps);
    step(step_kind_t::multiply, scales);
    if (has_zps && adds) step(step_kind_t::add, zps);
    add(dst);
    return problem;
}

inline dim_t elements_of(const problem_t &problem, const operand_t &operand) {
    dim_t last = operand.offset;
    for (size_t l = 0; l < problem.loops.size(); ++l) {
        const loop_t &loop = problem.loops[l];
        const dim_t extent = loop.parent < 0 ? loop.extent : loop.last_extent;
        last += (extent - 1) * operand.strides[l];
    }
    return last + 1;
}

// Buffers of the operands, with the same values each time.
class buffers_t {
public:
    buffers_t(const problem_t &problem, edge_t edge) {
        support::random_t random(7);
        for (const operand_t &operand : problem.operands) {
            const auto bytes = static_cast<size_t>(
                    bytes_of(operand.type, elements_of(problem, operand)));
            buffers_.emplace_back(bytes, edge);
            void *const data = buffers_.back().data();
            if (is_floating(operand.type))
                support::fill_floats(operand.type, data, bytes,
                        support::values_t::ordinary, random);
            else support::fill_integers(operand.type, data, bytes, random);
            at_.push_back(data);
        }
        std::memset(at_.back(), 0x5a, buffers_.back().size());
    }
    void *const *at() const { return at_.data(); }
    const support::guarded_buffer_t &dst() const { return buffers_.back(); }

private:
    std::vector<support::guarded_buffer_t> buffers_;
    std::vector<void *> at_;
};

inline void expect_equal(const problem_t &problem, const kernel_t &kernel,
        const kernel_t &plain) {
    const buffers_t expected(problem, edge_t::end);
    plain.run(expected.at(), 0, plain.work_amount());
    for (const edge_t edge : {edge_t::start, edge_t::end})
        for (const bool one_by_one : {false, true}) {
            const buffers_t got(problem, edge);
            const dim_t units = kernel.work_amount();
            if (one_by_one)
                for (dim_t unit = units; unit-- > 0;)
                    kernel.run(got.at(), unit, unit + 1);
            else kernel.run(got.at(), 0, units);
            ASSERT_TRUE(got.dst().intact());
            ASSERT_EQ(std::memcmp(expected.dst().data(), got.dst().data(),
                              got.dst().size()),
                    0)
                    << to_string(problem);
        }
}

// Makes what is to be tested.
using make_t = result_t (*)(
        const problem_t &, isa_t, std::shared_ptr<const kernel_t> &);

// Compares kernels of every instruction set from `least` on with plain C++.
inline void check(
        const problem_t &problem, make_t make, isa_t least = isa_none) {
    std::shared_ptr<const kernel_t> plain;
    const bool adds = problem.steps.back().kind == step_kind_t::add;
    ASSERT_TRUE((adds ? make_ref_elementwise : make_ref_dequantize)(
            problem, isa_none, plain)
                    .ok());
    const isa_t machine = support::isa_of_machine();
    for (const isa_t isa : {isa_none, isa_avx2, isa_avx512_core, machine}) {
        if (!has(machine, isa) || !has(isa, least)) continue;
        std::shared_ptr<const kernel_t> kernel;
        const result_t made = make(problem, isa, kernel);
        ASSERT_TRUE(made.ok()) << made.reason << " " << to_string(problem);
        expect_equal(problem, *kernel, *plain);
        if (testing::Test::HasFatalFailure()) return;
    }
}

// Expects that problems are left to another kernel.
inline void expect_refused(const std::vector<problem_t> &problems, make_t make,
        const std::vector<isa_t> &isas
        = {isa_none, support::isa_of_machine()}) {
    for (const problem_t &problem : problems)
        for (const isa_t isa : isas) {
            std::shared_ptr<const kernel_t> kernel;
            EXPECT_EQ(
                    make(problem, isa, kernel).status, status_t::unimplemented)
                    << to_string(problem);
            EXPECT_EQ(kernel, nullptr);
        }
}

struct parameters_t {
    t scales, zps;
};
constexpr parameters_t all_parameters[] = {{t::f32, t::undef}, {t::f32, t::u8},
        {t::bf16, t::s32}, {t::f16, t::u4}, {t::f32, t::f32}};

// The strides of a tensor that is dense in that order, the outermost first.
inline dims_t strides_of(
        const dims_t &extents, const std::vector<size_t> &order) {
    dims_t strides(extents.size());
    dim_t stride = 1;
    for (auto l = order.rbegin(); l != order.rend(); ++l) {
        strides[*l] = stride;
        stride *= extents[*l];
    }
    return strides;
}

// Calls use(src, dst, parameters) for a sample of all types.
template <typename use_t>
void for_types(const std::vector<t> &sources, use_t &&use) {
    dim_t n = 0;
    for (const t src : sources)
        for (const t dst : {t::f32, t::bf16, t::f16})
            for (const parameters_t &parameters : all_parameters) {
                if (++n % support::every() != 0) continue;
                use(src, dst, parameters);
                if (testing::Test::HasFailure()) return;
            }
}

} // namespace dnnl_dequant

#endif
