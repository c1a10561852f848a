// Attention whose query and scales are far from 1. Some ways to multiply scale
// sums, or the query, instead of keys. If these overflow, a score that is
// finite by keys that are scaled first must be right nevertheless.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/attention_graph.hpp"
#include "support/cross_product.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;

constexpr double largest = std::numeric_limits<float>::max();

void put(const attention_graph_t &g, const chain_values_t &values, size_t id,
        dim_t at, double value) {
    const t type = g.ops.tensors[id].type;
    support::put_bits(type, values[id].data(), at,
            support::round_to(support::format_of(type), value));
}

// Replaces the floats of the first tensor of a role.
template <typename Change>
void change(const attention_graph_t &g, const chain_values_t &values,
        role_t role, const Change &change) {
    const size_t id = g.tensor(role);
    const support::tensor_t &tensor = g.ops.tensors[id];
    for (dim_t i = 0; i < tensor.span(); ++i)
        put(g, values, id, i,
                change(i,
                        support::float_at(tensor.type, values[id].data(), i)));
}

void multiply(const attention_graph_t &g, const chain_values_t &values,
        double query, double scales) {
    change(g, values, role_t::query,
            [query](dim_t, double x) { return x * query; });
    change(g, values, role_t::cache_scale,
            [scales](dim_t, double x) { return x * scales; });
}

// Replaces an element of each token's keys, which are bits.
void put_in_keys(const attention_case_t &c, const attention_graph_t &g,
        const chain_values_t &values, dim_t element, uint32_t bits) {
    const size_t id = g.tensor(role_t::quantized);
    const support::tensor_t &tensor = g.ops.tensors[id];
    for (dim_t i = element; i < tensor.span(); i += c.head)
        support::put_bits(tensor.type, values[id].data(), i, bits);
}

const std::vector<granularity_t> of_tokens {granularity_t::whole,
        granularity_t::token, granularity_t::group, granularity_t::ragged};
const std::vector<granularity_t> of_numbers {granularity_t::head_channel,
        granularity_t::head_group, granularity_t::head_block};

// Checks the ways to multiply the query by keys of which so many share scales.
using change_case_t = std::function<void(const attention_case_t &,
        const attention_graph_t &, const chain_values_t &)>;
void check_ways(const std::vector<granularity_t> &granularities,
        const change_case_t &change_case) {
    dim_t number = 0;
    for (const granularity_t granularity : granularities)
        for (const t type : {t::s8, t::u8, t::s4, t::u4, t::f8_e4m3, t::f8_e5m2,
                     t::f4_e2m1})
            for (const dim_t rows : {1, 3, 11, 40}) {
                if (number++ % support::every() != 0) continue;
                attention_case_t c;
                c.rows = rows;
                c.tokens = number % 2 == 0 ? 300 : 600;
                c.head = c.cols = number % 4 < 2 ? 64 : 128;
                c.keys.type = type;
                c.keys.granularity = granularity;
                if (!is_integer(type)) c.keys.kind = op_kind::DequantizeLinear;
                else if (number % 3 != 0) c.keys.zps = type;
                c.seed = static_cast<uint64_t>(number);
                EXPECT_EQ(check(c,
                                  [&](const attention_graph_t &g,
                                          const chain_values_t &values) {
                    change_case(c, g, values);
                }),
                        "")
                        << to_string(c);
            }
}

void check_all_ways(const change_case_t &change_case) {
    check_ways(of_tokens, change_case);
    check_ways(of_numbers, change_case);
}

TEST(attention_overflow, of_sums_before_they_are_scaled) {
    for (const int exponent : {122, -115})
        check_all_ways([&](const attention_case_t &, const attention_graph_t &g,
                               const chain_values_t &values) {
            multiply(g, values, std::ldexp(1, exponent),
                    std::ldexp(1, -exponent));
        });
}

TEST(attention_overflow, of_sums_whose_scores_are_large) {
    check_all_ways([](const attention_case_t &, const attention_graph_t &g,
                           const chain_values_t &values) {
        multiply(g, values, 3e37, 1e-4);
    });
}

// The largest number of a row meets 0 and -1 alone.
TEST(attention_overflow, of_sums_of_the_largest_number) {
    check_ways(
            of_tokens, [](const attention_case_t &c, const attention_graph_t &g,
                               const chain_values_t &values) {
        multiply(g, values, std::ldexp(1, 119), std::ldexp(1, -120));
        change(g, values, role_t::query, [&](dim_t i, double x) {
            return i % c.head != 3 ? x : i / c.head % 2 ? largest : -largest;
        });
        put_in_keys(c, g, values, 3, 0);
        if (c.keys.zps != t::undef) {
            const size_t zps = g.tensor(role_t::cache_zp);
            for (dim_t i = 0; i < g.ops.tensors[zps].span(); ++i)
                support::put_bits(c.keys.zps, values[zps].data(), i,
                        static_cast<uint32_t>(i % 2));
        }
    });
}

// A key that is its zero point is 0, whatever scales multiply the query.
TEST(attention_overflow, of_the_query_that_is_scaled) {
    for (const bool scales_are_large : {false, true})
        check_ways(of_numbers,
                [&](const attention_case_t &c, const attention_graph_t &g,
                        const chain_values_t &values) {
            const double factor = scales_are_large ? 4096 : 1;
            multiply(g, values, 1 / factor, factor);
            change(g, values, role_t::query, [&](dim_t i, double x) {
                return i % c.head != 5 ? x : scales_are_large ? 1e38 : 1e20;
            });
            change(g, values, role_t::cache_scale, [&](dim_t i, double x) {
                return i % c.head != 5 || scales_are_large ? x : 1e30;
            });
            const bool has_zps = c.keys.zps != t::undef;
            put_in_keys(c, g, values, 5, has_zps ? 3 : 0);
            if (!has_zps) return;
            const size_t zps = g.tensor(role_t::cache_zp);
            for (dim_t i = 0; i < g.ops.tensors[zps].span(); ++i)
                support::put_bits(c.keys.zps, values[zps].data(), i, 3);
        });
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
