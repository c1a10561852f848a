// Attention over quantized keys or values: one partition whatever the variant,
// near what its ops give one by one in double.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/attention_graph.hpp"
#include "e2e/host_scalar.hpp"
#include "e2e/plugin.hpp"
#include "oneapi/dnnl/dnnl.h"
#include "support/cross_product.hpp"
#include "support/pairs.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;
using kind = op::kind;

// --- all variants

const std::vector<cache_t> caches {
        {t::undef, t::undef, t::undef},
        {t::s8, t::undef, t::f32},
        {t::s8, t::s8, t::f32},
        {t::s8, t::s32, t::f16},
        {t::u8, t::undef, t::f16},
        {t::u8, t::u8, t::bf16},
        {t::s4, t::undef, t::f16},
        {t::s4, t::s4, t::f32},
        {t::u4, t::undef, t::f32},
        {t::u4, t::u4, t::f32},
        {t::u4, t::u8, t::bf16},
        {t::f8_e4m3, t::undef, t::bf16},
        {t::s8, t::undef, t::f32, kind::Dequantize},
        {t::u8, t::undef, t::f32, kind::Dequantize},
        {t::u8, t::u8, t::f16, op_kind::DequantizeLinear},
        {t::f8_e5m2, t::undef, t::f32, op_kind::DequantizeLinear},
        {t::f4_e2m1, t::undef, t::f32, op_kind::DequantizeLinear},
        {t::u2, t::u2, t::f32, op_kind::DequantizeLinear},
        {t::u16, t::undef, t::f32, op_kind::ExtendedDequantizeLinear},
        {t::u16, t::u16, t::f32, op_kind::ExtendedDequantizeLinear},
};

const std::vector<granularity_t> granularities {granularity_t::whole,
        granularity_t::token, granularity_t::group, granularity_t::ragged,
        granularity_t::head_channel, granularity_t::token_channel,
        granularity_t::head_group};

const std::vector<stored_t> ways_to_store {stored_t::rows, stored_t::strided,
        stored_t::columns, stored_t::transposed, stored_t::turned,
        stored_t::reshaped, stored_t::cast};

// Takes one value of each choice, in turns.
class chooser_t {
public:
    // Notes how many values each choice has.
    chooser_t() = default;
    explicit chooser_t(const support::choices_t &chosen)
        : chosen_(&chosen) {}

    template <typename T>
    const T &of(const std::vector<T> &values) {
        sizes_.push_back(values.size());
        return values[chosen_ == nullptr ? 0 : (*chosen_)[sizes_.size() - 1]];
    }
    bool flag() { return of<int>({0, 1}) != 0; }

    const std::vector<size_t> &sizes() const { return sizes_; }

private:
    const support::choices_t *chosen_ = nullptr;
    std::vector<size_t> sizes_;
};

cache_t choose_cache(chooser_t &choose) {
    cache_t cache = choose.of(caches);
    cache.granularity = choose.of(granularities);
    cache.stored = choose.of(ways_to_store);
    cache.padded = choose.flag();
    cache.scaled = choose.flag();
    return cache;
}

void choose_masks(chooser_t &choose, attention_case_t &c) {
    c.addend = choose.of<extent_t>(
            {extent_t::none, extent_t::list, extent_t::tokens, extent_t::rows,
                    extent_t::heads, extent_t::full, extent_t::strided});
    c.select = choose.of<select_t>(
            {select_t::none, select_t::keeps, select_t::fills, select_t::causal,
                    select_t::not_causal, select_t::bottom_right});
    c.condition = choose.of<extent_t>({extent_t::tokens, extent_t::rows,
            extent_t::full, extent_t::strided});
    c.selects_first = choose.flag();
    c.fill = choose.of<double>({-2, -10000, -INFINITY});
}

// A kernel takes no more, with dst.
constexpr size_t most_inputs = 15;

// Returns the nearest case whose parts can stand together.
attention_case_t possible(attention_case_t c) {
    if (c.keys.type == t::undef && c.values.type == t::undef) {
        c.values.type = t::s8;
        c.values.scales = t::f32;
    }
    c.keys.scaled = c.keys.scaled && c.keys.type != t::undef;
    c.values.scaled = c.values.scaled && c.values.type != t::undef;
    for (bool *const option : {&c.keys.scaled, &c.values.scaled, &c.capped})
        if (input_count(graph_of(c)) > most_inputs) *option = false;
    return c;
}

// The abilities that this oneDNN's ops may lack, each with the least case that
// shows it.
struct onednn_t {
    bool has_modes, has_wide_scores, has_integer_sums, has_host_scalars;

    onednn_t() {
        attention_case_t c;
        c.mode = "inf_as_zero";
        has_modes = is_accepted(c);
        c.mode = "";
        c.select = select_t::bottom_right;
        has_integer_sums = is_accepted(c);
        c.select = select_t::none;
        c.type = t::f16;
        c.wide_scores = true;
        has_wide_scores = is_accepted(c);
        has_host_scalars = onednn_has_host_scalars();
    }

    // The case without what is lacking.
    attention_case_t nearest(attention_case_t c) const {
        if (!has_modes) c.mode = "";
        if (!has_wide_scores && !c.casts_scores) c.wide_scores = false;
        if (!has_integer_sums && c.select == select_t::bottom_right)
            c.select = select_t::causal;
        if (!has_host_scalars) c.on_host = false;
        if (!has_host_scalars && c.scale == extent_t::host)
            c.scale = extent_t::scalar;
        return c;
    }
};

attention_case_t choose_case(chooser_t &choose) {
    attention_case_t c;
    c.heads = choose.of<heads_t>(
            {heads_t::equal, heads_t::one, heads_t::grouped});
    c.batches = choose.of<dim_t>({1, 2, 6});
    c.rows = choose.of<dim_t>({1, 2, 7, 33, 65});
    c.tokens = choose.of<dim_t>({1, 5, 33, 129, 300, 1100});
    c.head = choose.of<dim_t>({1, 5, 16, 40, 64, 80, 128});
    c.cols = choose.of<dim_t>({1, 5, 16, 40, 64, 80, 128});
    c.type = choose.of<t>({t::f32, t::bf16, t::f16});
    c.wide_scores = choose.flag();
    c.casts_weights = choose.flag();
    c.keys = choose_cache(choose);
    c.values = choose_cache(choose);
    c.scale = choose.of<extent_t>(
            {extent_t::none, extent_t::scalar, extent_t::host, extent_t::one,
                    extent_t::list, extent_t::rows, extent_t::full});
    c.divides = choose.flag();
    c.capped = choose.flag();
    choose_masks(choose, c);
    c.says_rank = choose.flag();
    c.mode = choose.of<std::string>({"", "none", "inf_as_zero"});
    c.on_host = choose.flag();
    c.tail = choose.of<tail_t>({tail_t::none, tail_t::cast, tail_t::transpose,
            tail_t::reshape, tail_t::reorder, tail_t::quantize});
    c.padded = choose.flag();
    return possible(c);
}

std::vector<attention_case_t> all_cases() {
    chooser_t sizes;
    choose_case(sizes);
    std::vector<attention_case_t> cases;
    for (const auto &chosen :
            support::pairs_of(sizes.sizes(), support::first_seed())) {
        chooser_t choose(chosen);
        cases.push_back(choose_case(choose));
        cases.back().seed = support::first_seed() + cases.size();
    }
    return cases;
}

// Each step between the products by itself.
TEST(attention, is_one_partition_with_each_step) {
    const onednn_t onednn;
    attention_case_t plain;
    plain.keys.zps = t::s8;
    std::vector<attention_case_t> cases(9, plain);
    cases[0].capped = true;
    cases[1].scale = extent_t::one;
    cases[1].divides = true;
    cases[2].addend = extent_t::rows;
    cases[3].select = select_t::fills;
    cases[4].select = select_t::bottom_right;
    cases[5].type = t::bf16;
    cases[5].wide_scores = true;
    cases[6] = cases[7] = cases[5];
    cases[6].casts_scores = cases[7].casts_scores = true;
    cases[7].type = t::f16;
    cases[8].select = select_t::causal;
    cases[8].selects_twice = true;
    for (const auto &c : cases)
        EXPECT_EQ(check(onednn.nearest(c)), "") << to_string(c);
}

TEST(attention, is_one_partition_and_right_in_all_variants) {
    const onednn_t onednn;
    if (!onednn.has_modes) std::cout << "left out: modes of SoftMax\n";
    if (!onednn.has_wide_scores) std::cout << "left out: 16 bits to f32\n";
    if (!onednn.has_integer_sums) std::cout << "left out: s32 sums\n";
    if (!onednn.has_host_scalars) std::cout << "left out: host scalars\n";
    const auto cases = all_cases();
    for (dim_t n = 0; n < static_cast<dim_t>(cases.size()); ++n) {
        if (support::only_case() >= 0 ? support::only_case() != n
                                      : n % support::every() != 0)
            continue;
        const auto c = onednn.nearest(cases[static_cast<size_t>(n)]);
        EXPECT_EQ(check(c), "") << n << ": " << to_string(c);
    }
}

// Keys are read once, not made f32 block by block. (Who multiplies values has
// no name.)
TEST(attention, reads_keys_whose_tokens_share_scales_as_they_lie) {
    if (!cpu_has(dnnl_cpu_isa_avx2)) GTEST_SKIP() << "no kernels of few rows";
    const char *const expected = cpu_has(dnnl_cpu_isa_avx512_core_vnni)
                                         ? "jit_digits"
                                         : "k_lanes_column_groups";
    for (const t type : {t::s8, t::u4})
        for (const dim_t tokens : {100, 320, 1101}) {
            attention_case_t c;
            c.rows = 1;
            c.tokens = tokens;
            c.head = c.cols = 128;
            c.keys.type = c.values.type = type;
            c.keys.granularity = granularity_t::head_group;
            const attention_graph_t g = graph_of(c);
            const std::string kernel
                    = run(g.ops, only_partition(g.ops), values_of(c, g));
            EXPECT_NE(kernel.find(expected), std::string::npos)
                    << kernel << ": " << to_string(c);
        }
}

// Keys and values whose tokens share scales, of which the last group may be
// short, and rows that share them.
TEST(attention, is_right_where_tokens_share_scales) {
    const onednn_t onednn;
    dim_t number = 0;
    for (const granularity_t granularity : {granularity_t::head_group,
                 granularity_t::head_block, granularity_t::head_channel})
        for (const cache_t &cache : caches)
            for (const dim_t tokens : {31, 64, 160, 192, 300, 1101})
                for (const dim_t rows : {1, 2, 4}) {
                    if (cache.type == t::undef
                            || number++ % support::every() != 0)
                        continue;
                    attention_case_t c;
                    const t types[] = {t::bf16, t::f32, t::f16};
                    c.type = types[number % 3];
                    c.rows = rows;
                    c.tokens = tokens;
                    c.head = number % 2 ? 64 : 128;
                    c.cols = c.head + (number % 5 == 0 ? 16 : 0);
                    c.keys = c.values = cache;
                    c.keys.granularity = granularity;
                    (number % 4 == 0 ? c.keys : c.values).granularity
                            = granularity;
                    if (number % 4 == 1)
                        c.values.granularity = granularity_t::group;
                    c.seed = static_cast<uint64_t>(number);
                    EXPECT_EQ(check(onednn.nearest(possible(c))), "")
                            << to_string(c);
                }
}

// Heads that are no whole vectors, or no power of two of them, by the kernels
// that read numbers as they lie.
TEST(attention, is_right_for_heads_of_any_size) {
    const onednn_t onednn;
    dim_t number = 0;
    for (const granularity_t granularity :
            {granularity_t::token, granularity_t::group, granularity_t::ragged})
        for (const t type : {t::s8, t::u8, t::s4, t::u4})
            for (const dim_t head : {36, 40, 72, 80, 96, 112, 160, 192})
                for (const dim_t rows : {1, 4, 9}) {
                    if (number++ % support::every() != 0) continue;
                    attention_case_t c;
                    const t types[] = {t::bf16, t::f32, t::f16};
                    c.type = types[number / 3 % 3];
                    c.rows = rows;
                    c.tokens = number % 2 ? 600 : 15;
                    c.head = c.cols = head;
                    c.keys.type = c.values.type = type;
                    c.keys.zps = c.values.zps
                            = number % 4 == 0 ? t::undef : t::s8;
                    c.keys.granularity = c.values.granularity = granularity;
                    c.seed = static_cast<uint64_t>(number);
                    EXPECT_EQ(check(onednn.nearest(possible(c))), "")
                            << to_string(c);
                }
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
