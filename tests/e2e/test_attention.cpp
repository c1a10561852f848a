// Attention over a cache of keys and values that are quantized: one partition,
// and within f32's roundings of what double gives.

#include <gtest/gtest.h>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "e2e/attention_graph.hpp"
#include "e2e/chain_graph.hpp"
#include "e2e/plugin.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;
using c_t = attention_case_t;

// What one rounding of a type is, at 1.
double step_of(t type) {
    return type == t::f32 ? 1e-7 : type == t::bf16 ? 1. / 256 : 1. / 2048;
}

// oneDNN 3.7 has no mode of SoftMax, adds no integers, and no scores are f32
// whose factors have 16 bits.
bool onednn_knows(const attention_case_t &c) {
    const dnnl_version_t *version = dnnl_version();
    const bool is_old = version->major == 3 && version->minor < 8;
    return !is_old
           || (!c.masked_rows_are_zero && c.scores == c.type
                   && c.mask != c_t::mask_t::bottom_right);
}

void check(const attention_case_t &c) {
    SCOPED_TRACE(to_string(c));
    attention_graph_t g(c);
    const auto partitions = g.partitions();
    ASSERT_EQ(partitions.size(), 1u);
    ASSERT_TRUE(is_ours(partitions[0]));
    EXPECT_EQ(partitions[0].get_ops_num(), g.op_count());
    EXPECT_TRUE(g.run(partitions[0]));
    const auto expected = g.reference(), got = g.result();
    ASSERT_EQ(expected.size(), got.size());
    double largest = 0, off = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(std::isnan(expected[i]), std::isnan(got[i])) << i;
        if (std::isnan(got[i])) continue;
        largest = std::max(largest, std::fabs(expected[i]));
        off = std::max(off, std::fabs(expected[i] - got[i]));
    }
    // A score is off by a rounding of its own type, where it is one of 16
    // bits; dst by one of its.
    const t dst = c.tail == c_t::tail_t::cast && c.type == t::f32 ? t::bf16
                                                                  : c.type;
    const double tolerance = 2e-5
                             + 16 * (c.scores == t::f32 ? 0 : step_of(c.scores))
                             + 2 * (dst == t::f32 ? 0 : step_of(dst))
                             + (c.type == t::f32 ? 0 : step_of(c.type));
    EXPECT_LE(off, tolerance * largest);
}

attention_case_t any_case(uint64_t seed) {
    support::random_t random(seed);
    attention_case_t c;
    const auto one_of = [&](auto last) {
        return static_cast<decltype(last)>(
                random.between(0, static_cast<dim_t>(last)));
    };
    c.type = random.pick<t>({t::f32, t::f32, t::bf16, t::f16});
    c.scores = random.one_in(3) ? t::f32 : c.type;
    const std::vector<t> cached {t::s8, t::u8, t::s4, t::u4};
    c.keys = random.pick(cached);
    c.values = random.pick(cached);
    if (random.one_in(6)) (random.one_in(2) ? c.keys : c.values) = c.type;
    c.has_zps = random.one_in(2);
    c.granularity = one_of(c_t::granularity_t::channel);
    c.cache = one_of(c_t::cache_t::padded);
    c.is_grouped = random.one_in(2);
    c.batch = random.between(1, 2);
    c.heads = random.between(1, 3);
    c.group = c.is_grouped ? random.between(1, 5) : 1;
    c.rows = random.pick<dim_t>({1, 1, 2, 7, 33, 65});
    c.tokens = random.pick<dim_t>({1, 5, 33, 64, 129, 300, 513});
    c.head = random.pick<dim_t>({2, 16, 32, 40, 64, 80, 128});
    c.cols = random.one_in(3) ? random.pick<dim_t>({2, 16, 32, 64, 96, 128})
                              : c.head;
    c.scale = one_of(c_t::scale_t::of_all);
    c.caps = random.one_in(4);
    c.mask = one_of(c_t::mask_t::bottom_right);
    c.masked_rows_are_zero = random.one_in(3);
    c.tail = one_of(c_t::tail_t::transpose);
    c.seed = seed;
    return c;
}

// Elements that share a byte would be two dimensions' of one.
bool is_possible(const attention_case_t &c) {
    const bool is_small = bits_of(c.keys) < 8 || bits_of(c.values) < 8;
    return !is_small || c.cache != c_t::cache_t::dense || c.tokens % 2 == 0;
}

TEST(attention, is_one_partition_and_right) {
    const uint64_t cases = 20 + 380 / static_cast<uint64_t>(support::every());
    for (uint64_t n = 0; n < cases; ++n) {
        const auto c = any_case(support::first_seed() + n);
        if (is_possible(c) && onednn_knows(c)) check(c);
        if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
}

// One query over caches whose tokens are split, in streams and in blocks.
TEST(attention, of_a_long_cache_is_right) {
    for (const t cached : {t::s8, t::u4})
        for (const auto granularity :
                {c_t::granularity_t::token, c_t::granularity_t::ragged})
            for (const dim_t tokens : {1024, 1025, 1100}) {
                attention_case_t c;
                c.keys = c.values = cached;
                c.granularity = granularity;
                c.tokens = tokens;
                c.head = c.cols = 64;
                c.is_grouped = true;
                c.group = 4;
                c.seed = support::first_seed();
                check(c);
                if (HasFailure()) return;
            }
}

TEST(attention, has_the_same_bits_on_any_number_of_threads) {
    attention_case_t c;
    c.tokens = 1100;
    c.head = c.cols = 64;
    c.group = 3;
    c.is_grouped = true;
    const int threads = omp_get_max_threads();
    std::vector<unsigned char> first;
    for (const int count : {1, 2, 3, 7, 16}) {
        omp_set_num_threads(count);
        attention_graph_t g(c);
        ASSERT_TRUE(g.run(g.partitions().at(0)));
        if (first.empty()) first = g.bits();
        EXPECT_EQ(g.bits(), first) << count << " threads";
    }
    omp_set_num_threads(threads);
}

// A row all of whose tokens are masked.
TEST(attention, of_masked_rows_is_what_the_mode_says) {
    for (const bool is_zero : {false, true}) {
        attention_case_t c;
        c.rows = 3;
        c.mask = c_t::mask_t::all;
        c.masked_rows_are_zero = is_zero;
        if (!onednn_knows(c)) continue;
        attention_graph_t g(c);
        auto *const mask = static_cast<float *>(g.mask().buffer->data());
        for (dim_t s = 0; s < c.tokens; ++s)
            mask[c.tokens + s] = -INFINITY;
        mask[0] = -INFINITY;
        ASSERT_TRUE(g.run(g.partitions().at(0)));
        const auto got = g.result(), expected = g.reference();
        for (size_t i = 0; i < static_cast<size_t>(3 * c.cols); ++i) {
            const bool is_masked = i / static_cast<size_t>(c.cols) == 1;
            if (!is_masked) EXPECT_NEAR(got[i], expected[i], 1e-5);
            else if (is_zero) EXPECT_EQ(got[i], 0);
            else EXPECT_TRUE(std::isnan(got[i]));
        }
    }
}

TEST(attention, of_large_scores_is_finite_and_keeps_nan_in_its_row) {
    attention_case_t c;
    c.rows = 3;
    attention_graph_t g(c);
    auto *const query = static_cast<float *>(g.query().buffer->data());
    for (dim_t d = 0; d < c.head; ++d)
        query[d] *= 1e4f;
    query[c.head] = NAN;
    ASSERT_TRUE(g.run(g.partitions().at(0)));
    const auto got = g.result();
    for (size_t i = 0; i < static_cast<size_t>(3 * c.cols); ++i)
        EXPECT_EQ(std::isnan(got[i]), i / static_cast<size_t>(c.cols) == 1)
                << i;
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
