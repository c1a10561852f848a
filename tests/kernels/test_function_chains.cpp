// Chains with functions, of which vectors are computed side by side: values
// that are put aside, constants of the row, and types that need registers.

#include <gtest/gtest.h>

#include "kernels/chain_case.hpp"
#include "kernels/expect_as_ref.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace {

using support::chain_case_t;
using t = data_type_t;

// Some groups of vectors, some vectors and some lanes.
constexpr dim_t rows = 3, cols = 333;

step_t function_step(function_t function) {
    step_t step {step_kind_t::function};
    step.function = function;
    step.alpha = 0.7f;
    return step;
}

chain_case_t begin(t src) {
    chain_case_t c;
    c.dims = {rows, cols};
    c.groups = {1, 1};
    c.values = support::values_t::ordinary;
    c.tensors.push_back({src, {cols, 1}, false, 0});
    return c;
}

void add(chain_case_t &c, step_kind_t kind, t type, const dims_t &strides) {
    c.tensors.push_back({type, strides, false, 0});
    c.steps.push_back({kind, static_cast<int>(c.tensors.size()) - 1});
}

void end(chain_case_t &c, t dst) {
    c.tensors.push_back({dst, {cols, 1}, false, 0});
    expect_as_ref(c, "jit_", true);
}

constexpr t results[] = {t::f32, t::bf16, t::f16, t::u8};

// x * function(x), behind as many constants of the row.
TEST(function_chains, multiply_what_was_put_aside) {
    dim_t n = 0;
    for (const t src :
            {t::f32, t::u8, t::u4, t::bf16, t::f8_e5m2, t::f8_e4m3, t::f4_e2m1})
        for (const t dst : results)
            for (const int constants : {0, 3, 5, 9})
                for (const bool holds : {false, true}) {
                    if (++n % support::every() != 0) continue;
                    chain_case_t c = begin(src);
                    for (int i = 0; i < constants; ++i)
                        add(c,
                                i % 2 == 0 ? step_kind_t::multiply
                                           : step_kind_t::add,
                                t::f32, {1, 0});
                    if (holds) c.steps.push_back({step_kind_t::dup});
                    c.steps.push_back(function_step(function_t::gelu_erf));
                    if (holds) c.steps.push_back({step_kind_t::pop_multiply});
                    end(c, dst);
                    if (HasFailure()) return;
                }
}

TEST(function_chains, have_any_function) {
    for (const function_t function :
            {function_t::elu, function_t::exp, function_t::gelu_erf,
                    function_t::gelu_tanh, function_t::hard_swish,
                    function_t::sigmoid, function_t::sqrt, function_t::tanh})
        for (const t dst : results) {
            chain_case_t c = begin(t::s8);
            add(c, step_kind_t::multiply, t::f32, {1, 0});
            c.steps.push_back(function_step(function));
            add(c, step_kind_t::add, t::bf16, {0, 1});
            c.steps.push_back(function_step(function));
            end(c, dst);
            if (HasFailure()) return;
        }
}

// A sum with integers of 32 bits less their zero points, which are in two
// parts.
TEST(function_chains, add_dequantized_values) {
    for (const t other : {t::s32, t::u8})
        for (const t zps : {t::s32, t::u8})
            for (const t dst : results) {
                chain_case_t c = begin(t::f32);
                c.steps.push_back(function_step(function_t::gelu_erf));
                add(c, step_kind_t::push, other, {cols, 1});
                add(c, step_kind_t::subtract, zps, {0, 1});
                add(c, step_kind_t::multiply, t::f32, {0, 1});
                c.steps.push_back({step_kind_t::pop_add});
                end(c, dst);
                if (HasFailure()) return;
            }
}

} // namespace
} // namespace dnnl_dequant
