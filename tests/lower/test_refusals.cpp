// Sentences on products and attention that an implementation does not take. The
// reasons are whole here, so that each has what was found and what was
// expected.

#include <gtest/gtest.h>

#include "kernels/on_machine.hpp"
#include "lower/attention_products.hpp"
#include "lower/integer_product.hpp"
#include "lower/low_precision_gemm.hpp"
#include "lower/not_taken.hpp"
#include "lower/product_ways.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;
using view_t = chain_t::view_t;

// Returns why make() does not take implementations, a line each.
template <typename make_t>
std::string said_by(make_t &&make) {
    std::string said;
    const not_taken_scope_t scope(said);
    const result_t made = make();
    EXPECT_TRUE(made.ok()) << made.reason;
    return "\n" + said;
}

void expect_says(const std::string &said, const std::string &sentence) {
    EXPECT_NE(said.find("\n" + sentence + "\n"), std::string::npos)
            << sentence << "\nis not in:" << said;
}

// A tensor of numbers by scales.
chain_t scaled(
        t type, const dims_t &shape, const dims_t &strides, const view_t &by) {
    chain_t chain;
    chain.begin(type, shape, strides);
    const result_t result = chain.apply(step_kind_t::multiply, by);
    EXPECT_TRUE(result.ok()) << result.reason;
    return chain;
}

// Heads of 64 numbers and 64 tokens, or what another shape says.
struct factor_case_t {
    const char *sentence;
    dim_t rows = 1;
    t type = t::u8;
    dims_t shape = {64, 64};
    dims_t strides = {1, 64};
    view_t scales = {t::f32, {{}, {1, 1}}};
    isa_t isa = isa_none;
    t compute_type = t::f32;

    attention_cut_t cut(dim_t tokens) const {
        attention_cut_t cut {isa, rows, {rows}, tokens, 64, 64};
        cut.compute_type = compute_type;
        return cut;
    }
    chain_t chain() const { return scaled(type, shape, strides, scales); }
};

TEST(attention_refusals, say_what_keys_are_expected) {
    const view_t in_squares {t::f32, {{1, 16}, {4, 16}}};
    const factor_case_t cases[] = {
            {"attention_digits: blocks have 13 rows; expected 12 at most", 13},
            {"attention_stream: blocks have 13 rows; expected 12 at most", 13},
            {"attention_digits: a block of u4 begins at bit 4 of a byte; "
             "expected bit 0",
                    1, t::u4, {2, 64, 64}, {4097, 1, 64},
                    {t::f32, {{}, {}, {1, 1}}}},
            {"attention_digits: numbers of several tokens are side by side; "
             "expected those of one token",
                    1, t::u8, {64, 64}, {64, 1}},
            {"attention_digits: numbers are of type s2; expected 4 or 8 bits "
             "each",
                    1, t::s2},
            {"attention_digits: tokens are 65 elements of u4 apart; expected "
             "whole bytes",
                    1, t::u4, {64, 64}, {1, 65}},
            {"attention_digits: keys are of type f8_e4m3; expected integers", 1,
                    t::f8_e4m3},
            {"attention_digits: groups have 16 tokens and 16 numbers; expected "
             "1 token or 1 number",
                    1, t::u8, {64, 64}, {1, 64}, in_squares},
            {"attention_low_precision_blocks: both factors are multiplied as "
             "f32; expected bf16"},
    };
    for (const factor_case_t &c : cases)
        expect_says(said_by([&c] {
            std::shared_ptr<const keys_product_t> keys;
            return make_attention_keys(c.chain(), c.cut(c.shape.back()), keys);
        }),
                c.sentence);
}

// Tokens are the first dimension of values, and their numbers the last.
TEST(attention_refusals, say_what_values_are_expected) {
    const view_t by_token {t::f32, {{1, 1}, {}}};
    const view_t in_halves {t::f32, {{2, 1}, {1, 32}}};
    const view_t by_tokens {t::f32, {{64, 8}, {1, 1}}};
    const view_t by_columns {t::f32, {{8, 1}, {1, 8}}};
    const factor_case_t cases[] = {
            {"attention_weighted_sum: a token has 2 groups; expected 1", 1,
                    t::u8, {64, 64}, {64, 1}, in_halves},
            {"attention_weighted_sum: a token has 1 group; expected 2 or more",
                    1, t::u8, {64, 64}, {64, 1}, by_token},
            {"attention_weighted_sum: groups have 8 tokens; expected 1", 1,
                    t::u8, {64, 64}, {64, 1}, by_tokens},
            {"attention_weighted_sum: 1 row by 64 numbers of u4 is faster "
             "without lookups; expected more rows, or no multiple of 32 "
             "numbers",
                    1, t::u4, {64, 64}, {64, 1}, by_token},
            {"attention_weighted_sum: 1 row by 64 numbers of u4 is faster "
             "without lookups; expected more rows, or groups of less than 64",
                    1, t::u4, {64, 128}, {128, 1}, {t::f32, {{2, 1}, {1, 64}}}},
            {"attention_value_digits: values are of type f8_e4m3; expected "
             "integers",
                    1, t::f8_e4m3, {64, 64}, {64, 1}, by_token, isa_avx2},
            {"attention_value_digits: no AVX-512 VNNI", 1, t::u8, {64, 64},
                    {64, 1}, by_token, isa_avx2},
            {"attention_stream: groups have 8 tokens; expected 1", 1, t::u8,
                    {64, 64}, {64, 1}, by_tokens},
            {"attention_stream: the last group has 18 numbers; expected 32", 1,
                    t::u8, {64, 50}, {50, 1}, in_halves},
            {"attention_token_groups: numbers of several tokens are side by "
             "side; expected those of one token",
                    1, t::u8, {64, 64}, {1, 64}, by_token},
            {"attention_token_groups: groups have 8 columns; expected 1", 1,
                    t::u8, {64, 64}, {64, 1}, by_columns},
    };
    for (const factor_case_t &c : cases)
        expect_says(said_by([&c] {
            std::shared_ptr<const values_product_t> values;
            return make_attention_values(
                    c.chain(), c.cut(c.shape.front()), values);
        }),
                c.sentence);
}

TEST(bf16_gemm_refusals, say_what_is_expected) {
    const auto reason = [](isa_t isa, dim_t rows) {
        std::shared_ptr<const gemm_t> gemm;
        return make_bf16_gemm(isa, rows, false, gemm).reason;
    };
    EXPECT_EQ(reason(isa_avx512_core, 16),
            "neither AVX512_BF16 nor AMX for bf16 is available");
    machine_t machine = this_machine();
    machine.policy.most_pair_rows = 2;
    const on_machine_t few_pairs(machine);
    EXPECT_EQ(reason(isa_avx512_core_bf16, 16),
            "blocks have 16 rows; expected 2 at most, as f32 is faster than "
            "pairs of bf16 beyond");
}

composition_t factor_of(chain_t chain) {
    composition_t factor;
    factor.chain = std::move(chain);
    factor.dequantizes = true;
    return factor;
}

// Rows of src by weights [K,N].
struct product_case_t {
    const char *sentence;
    chain_t src, weights;
};

chain_t rows_of(dim_t depth, dim_t group) {
    return scaled(t::u8, {1, depth}, {depth, 1}, {t::f32, {{}, {1, group}}});
}
chain_t weights_of(dim_t depth, dim_t group) {
    return scaled(t::s8, {depth, 8}, {8, 1}, {t::f32, {{8, group}, {1, 1}}});
}

// src by steps of one operand for all of it.
chain_t rows_by(const std::vector<step_kind_t> &steps) {
    chain_t chain;
    chain.begin(t::u8, {1, 64}, {64, 1});
    for (const step_kind_t step : steps) {
        const bool is_zps = step == step_kind_t::subtract;
        const result_t result
                = chain.apply(step, {is_zps ? t::u8 : t::f32, {{}, {}}});
        EXPECT_TRUE(result.ok()) << result.reason;
    }
    return chain;
}

// Two parts of 32 numbers, with a gap of eight between them.
chain_t rows_with_gaps() {
    chain_t chain
            = scaled(t::u8, {1, 2, 32}, {80, 40, 1}, {t::f32, {{}, {}, {}}});
    const result_t result = chain.reshape({1, 64});
    EXPECT_TRUE(result.ok()) << result.reason;
    return chain;
}

chain_t weights_with_gaps() {
    chain_t chain
            = scaled(t::s8, {2, 32, 8}, {264, 8, 1}, {t::f32, {{}, {}, {}}});
    const result_t result = chain.reshape({64, 8});
    EXPECT_TRUE(result.ok()) << result.reason;
    return chain;
}

// Scales of two parts of four columns, with a gap of two between them.
chain_t scales_with_gaps() {
    chain_t chain = scaled(
            t::s8, {64, 2, 4}, {8, 4, 1}, {t::f32, {{}, {6, 1}, {1, 1}}});
    const result_t result = chain.reshape({64, 8});
    EXPECT_TRUE(result.ok()) << result.reason;
    return chain;
}

std::vector<product_case_t> product_cases() {
    constexpr auto zps = step_kind_t::subtract, scales = step_kind_t::multiply;
    const chain_t src = rows_of(64, 64), weights = weights_of(64, 64);
    const view_t by_four {t::f32, {{}, {1, 4}}};
    return {
            {"integer_matmul: src takes the step div; expected zero points and "
             "scales alone",
                    rows_by({scales, step_kind_t::divide}), weights},
            {"integer_matmul: src has zero points after scales; expected zero "
             "points, then scales",
                    rows_by({scales, zps}), weights},
            {"integer_matmul: src has zero points after zero points; expected "
             "zero points, then scales",
                    rows_by({zps, zps}), weights},
            {"integer_matmul: src has zero points alone; expected scales",
                    rows_by({zps}), weights},
            {"integer_matmul: src has no zero points or scales; expected "
             "scales",
                    rows_by({}), weights},
            {"integer_matmul: weights have a depth of 0; expected 1 or more",
                    rows_of(0, 1), weights_of(0, 1)},
            {"integer_matmul: src is cut along its depth: number 32 has offset "
             "40; expected 32",
                    rows_with_gaps(), weights},
            {"integer_matmul: weights are cut along their depth: row 32 has "
             "offset 264; expected 256",
                    src, weights_with_gaps()},
            {"integer_matmul: columns share scales: that of column 4 has "
             "offset 1; expected 0",
                    src, scaled(t::s8, {64, 8}, {8, 1}, by_four)},
            {"integer_matmul: scales have a gap: that of column 4 has offset "
             "6; expected 4",
                    src, scales_with_gaps()},
            {"integer_matmul: a depth of 64 has 8 groups; expected 5 at most",
                    src, weights_of(64, 8)},
            {"integer_matmul: a group has 20000 products; expected 14336 at "
             "most, whose sum has 32 bits",
                    rows_of(20000, 20000), weights_of(20000, 20000)},
            {"integer_matmul: a group of s4 begins at depth 33; expected an "
             "even depth",
                    src,
                    scaled(t::s4, {64, 8}, {1, 64},
                            {t::f32, {{8, 33}, {1, 1}}})},
            {"integer_stream: group 2 begins at depth 48; expected 64",
                    rows_of(96, 48), weights_of(96, 32)},
            {"integer_stream: src cuts groups of the weights: the scale of "
             "group 2 has offset 8; expected 0",
                    rows_of(128, 32), weights_of(128, 64)},
    };
}

TEST(integer_refusals, say_what_is_expected) {
    for (const product_case_t &c : product_cases())
        expect_says(said_by([&c] {
            std::shared_ptr<const integer_product_t> product;
            return make_integers(factor_of(c.src), factor_of(c.weights),
                    isa_none, 1, product);
        }),
                c.sentence);
}

TEST(integer_refusals, say_that_a_row_has_one_scale) {
    scaled_integers_t integers;
    EXPECT_EQ(split_row_scales(factor_of(rows_of(64, 32)), integers).reason,
            "a row of src has another scale from number 32 on; expected one "
            "scale");
}

TEST(integer_refusals, say_where_batches_begin) {
    product_t product;
    product.shape = {2, 1, 5};
    product.weights.chain
            = scaled(t::u4, {2, 3, 5}, {15, 5, 1}, {t::f32, {{}, {}, {}}});
    product_cut_t cut {product, {isa_none, 1}, product.shape, chain_t()};
    cut.batched = true;
    EXPECT_EQ(find_batches(cut).reason,
            "a batch of u4 begins at bit 4 of a byte; expected bit 0");
}

} // namespace
} // namespace dnnl_dequant
