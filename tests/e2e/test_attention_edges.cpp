// Attention over values that are not ordinary, and by any number of threads.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <tuple>

#include "e2e/attention_graph.hpp"
#include "support/cross_product.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;

constexpr double infinity = std::numeric_limits<double>::infinity();

void put(const attention_graph_t &g, const chain_values_t &values, size_t id,
        dim_t at, double value) {
    const t type = g.ops.tensors[id].type;
    support::put_bits(type, values[id].data(), at,
            is_floating(type)
                    ? support::round_to(support::format_of(type), value)
                    : static_cast<uint32_t>(static_cast<int64_t>(value)));
}

// One in as many as the environment says, and the first.
class sample_t {
public:
    bool takes_next() { return n_++ % support::every() == 0; }

private:
    dim_t n_ = 0;
};

// SoftMax's modes that this oneDNN has.
const std::vector<std::string> &modes() {
    static const auto accepted = [] {
        std::vector<std::string> result;
        for (const char *const mode : {"", "none", "inf_as_zero"}) {
            attention_case_t c;
            c.mode = mode;
            if (is_accepted(c)) result.emplace_back(mode);
            else std::cout << "left out: SoftMax's mode " << mode << '\n';
        }
        return result;
    }();
    return accepted;
}

// --- masks

TEST(attention_masks, that_leave_nothing_of_rows) {
    sample_t sample;
    for (const std::string &mode : modes())
        for (const dim_t tokens : {1, 5, 300, 1100})
            for (const t type : {t::f32, t::bf16}) {
                if (!sample.takes_next()) continue;
                attention_case_t c = plain_attention();
                c.mode = mode;
                c.type = type;
                c.tokens = tokens;
                c.addend = extent_t::rows;
                const auto mask = [&](const attention_graph_t &g,
                                          const chain_values_t &values) {
                    // All, all but the last, the first half of tokens.
                    const size_t id = g.tensor(role_t::addend);
                    for (dim_t i = 0; i < tokens; ++i) {
                        put(g, values, id, 3 * tokens + i, -infinity);
                        put(g, values, id, 32 * tokens + i, -infinity);
                        if (i + 1 < tokens)
                            put(g, values, id, 4 * tokens + i, -infinity);
                        if (i < tokens / 2)
                            put(g, values, id, 5 * tokens + i, -infinity);
                    }
                };
                EXPECT_EQ(check(c, mask), "") << to_string(c);
            }
}

TEST(attention_masks, that_leave_nothing_are_as_each_mode_says) {
    for (const std::string &mode : modes()) {
        attention_case_t c = plain_attention();
        c.mode = mode;
        c.rows = 2;
        c.tokens = 5;
        c.addend = extent_t::rows;
        const auto mask
                = [](const attention_graph_t &g, const chain_values_t &values) {
            for (dim_t i = 0; i < 5; ++i)
                put(g, values, g.tensor(role_t::addend), 5 + i, -infinity);
        };
        EXPECT_EQ(check(c, mask), "") << to_string(c);
    }
}

TEST(attention_masks, of_which_select_puts_all_in) {
    sample_t sample;
    for (const std::string &mode : modes())
        for (const auto select : {select_t::keeps, select_t::fills})
            for (const double fill : {-infinity, -1e4, 0., 3.}) {
                if (!sample.takes_next()) continue;
                attention_case_t c = plain_attention();
                c.mode = mode;
                c.tokens = 1100;
                c.select = select;
                c.condition = extent_t::rows;
                c.fill = fill;
                const auto mask = [&](const attention_graph_t &g,
                                          const chain_values_t &values) {
                    const size_t id = g.tensor(role_t::condition);
                    for (dim_t i = 0; i < c.tokens; ++i) {
                        put(g, values, id, i, 0);
                        put(g, values, id, c.tokens + i, 1);
                    }
                };
                EXPECT_EQ(check(c, mask), "") << to_string(c);
            }
}

TEST(attention_masks, whose_bytes_are_true_but_not_1) {
    attention_case_t c = plain_attention();
    c.select = select_t::keeps;
    c.condition = extent_t::full;
    const auto mask
            = [](const attention_graph_t &g, const chain_values_t &values) {
        const size_t id = g.tensor(role_t::condition);
        for (dim_t i = 0; i < g.ops.tensors[id].span(); ++i)
            if (i % 3 == 0) put(g, values, id, i, i % 2 == 0 ? 2 : 255);
    };
    EXPECT_EQ(check(c, mask), "");
}

// More rows than tokens, and fewer, by all ways to say causal.
TEST(attention_masks, causal_of_any_lengths) {
    sample_t sample;
    for (const std::string &mode : modes())
        for (const auto select : {select_t::causal, select_t::not_causal,
                     select_t::bottom_right})
            for (const double fill : {-infinity, -2., -1e4})
                for (const auto &[rows, tokens, type] :
                        std::vector<std::tuple<dim_t, dim_t, t>> {
                                {1, 1100, t::f32}, {65, 33, t::f32},
                                {65, 1, t::bf16}, {300, 300, t::f32},
                                {130, 1100, t::f32}, {300, 320, t::bf16},
                                {130, 1100, t::bf16}}) {
                    if (!sample.takes_next()) continue;
                    attention_case_t c = plain_attention();
                    c.type = type;
                    c.mode = mode;
                    c.select = select;
                    c.fill = fill;
                    c.rows = rows;
                    c.tokens = tokens;
                    if (!is_accepted(c)) continue;
                    EXPECT_EQ(check(c), "") << to_string(c);
                }
}

// Offsets that put the first token that counts anywhere, and nowhere.
TEST(attention_masks, causal_moved_beyond_all_tokens) {
    sample_t sample;
    attention_case_t c = plain_attention();
    c.select = select_t::bottom_right;
    if (!is_accepted(c)) GTEST_SKIP() << "this oneDNN has no sums of s32";
    for (const double fill : {-infinity, -2.})
        for (const double by : {-1e9, -1000., -1., 0., 1., 1000., 1e9}) {
            if (!sample.takes_next()) continue;
            c.fill = fill;
            const auto move = [&](const attention_graph_t &g,
                                      const chain_values_t &values) {
                put(g, values, g.tensor(role_t::token_count), 0, by);
                put(g, values, g.tensor(role_t::row_count), 0, 0);
            };
            EXPECT_EQ(check(c, move), "") << to_string(c) << " by " << by;
        }
}

// --- scores

TEST(attention_scores, that_are_large_give_finite_results) {
    for (const dim_t tokens : {33, 300, 1100}) {
        attention_case_t c = plain_attention();
        c.tokens = tokens;
        const attention_graph_t g = graph_of(c);
        const chain_values_t values = values_of(c, g);
        const size_t query = g.tensor(role_t::query);
        for (dim_t i = 0; i < g.ops.tensors[query].span(); ++i)
            put(g, values, query, i, i % 5 == 0 ? 4e3 : i % 3 == 0 ? 0 : -6e3);
        graph built(dnnl::engine::kind::cpu);
        build(g.ops, built);
        run(g.ops, built.get_partitions().at(0), values);
        const auto got
                = numbers_of(g.ops.tensors[g.dst()], values[g.dst()].data());
        const auto answer = answer_of(g, values);
        for (size_t i = 0; i < got.size(); ++i) {
            ASSERT_TRUE(std::isfinite(got[i])) << i;
            // An error of 1e-7 of scores of 1e5.
            EXPECT_NEAR(got[i], answer.dst[i], 0.05) << i;
        }
    }
}

// ALiBi makes weights of whole stretches of tokens as good as 0.
TEST(attention_scores, that_fall_with_the_distance) {
    for (const dim_t rows : {1, 4})
        for (const t type : {t::f32, t::bf16})
            for (const double slope : {0.05, 0.25, 0.5}) {
                attention_case_t c = plain_attention();
                c.rows = rows;
                c.type = type;
                c.tokens = 700;
                c.addend = extent_t::tokens;
                const auto change = [&](const attention_graph_t &g,
                                            const chain_values_t &values) {
                    for (dim_t i = 0; i < c.tokens; ++i)
                        put(g, values, g.tensor(role_t::addend), i,
                                slope * static_cast<double>(i - c.tokens));
                };
                EXPECT_EQ(check(c, change), "") << to_string(c) << slope;
            }
}

// One token has nearly all attention, and adds nothing to dst.
TEST(attention_scores, of_which_one_is_far_above_the_others) {
    for (const dim_t rows : {1, 4})
        for (const t type : {t::f32, t::bf16, t::f16}) {
            attention_case_t c = plain_attention();
            c.rows = rows;
            c.type = type;
            c.tokens = 300;
            c.values.zps = t::undef;
            c.addend = extent_t::tokens;
            const auto change = [&](const attention_graph_t &g,
                                        const chain_values_t &values) {
                for (dim_t i = 0; i < c.tokens; ++i)
                    put(g, values, g.tensor(role_t::addend), i,
                            i == 40 ? 12 : 0);
                size_t of_values = 0;
                for (size_t id = 0; id < g.roles.size(); ++id)
                    if (g.roles[id] == role_t::quantized) of_values = id;
                const dim_t head = c.tokens * c.cols;
                const dim_t heads = g.ops.tensors[of_values].span() / head;
                for (dim_t h = 0; h < heads; ++h)
                    for (dim_t n = 0; n < c.cols; ++n)
                        put(g, values, of_values, h * head + 40 * c.cols + n,
                                0);
            };
            EXPECT_EQ(check(c, change), "") << to_string(c);
        }
}

TEST(attention_scores, that_are_nan_spoil_their_row_only) {
    sample_t sample;
    for (const auto heads : {heads_t::equal, heads_t::one, heads_t::grouped})
        for (const auto select : {select_t::none, select_t::causal})
            for (const dim_t tokens : {5, 1100})
                for (const std::string &mode : modes()) {
                    if (!sample.takes_next()) continue;
                    attention_case_t c = plain_attention();
                    c.heads = heads;
                    c.select = select;
                    c.fill = -infinity;
                    c.rows = 7;
                    c.tokens = tokens;
                    c.mode = mode;
                    const auto spoil = [&](const attention_graph_t &g,
                                               const chain_values_t &values) {
                        const size_t query = g.tensor(role_t::query);
                        for (const dim_t row : {0, 9, 20})
                            put(g, values, query, row * c.head + 5, NAN);
                    };
                    EXPECT_EQ(check(c, spoil), "") << to_string(c);
                }
}

// --- sizes

// Without tokens dst is 0. If tokens have no numbers, dst is the mean.
TEST(attention_sizes, of_zero) {
    for (dim_t attention_case_t::*const size : {&attention_case_t::rows,
                 &attention_case_t::tokens, &attention_case_t::head,
                 &attention_case_t::cols, &attention_case_t::batches}) {
        attention_case_t c = plain_attention();
        c.*size = 0;
        EXPECT_EQ(check(c), "") << to_string(c);
        c.addend = extent_t::rows;
        c.select = select_t::causal;
        EXPECT_EQ(check(c), "") << to_string(c);
    }
}

// A few rows may take blocks of 1024 tokens where units of work are left: of
// many heads, or of many tokens. Others, and most CPUs, have blocks of 512.
TEST(attention_sizes, of_blocks_of_many_tokens) {
    sample_t sample;
    for (const auto &[batches, tokens] :
            std::vector<std::tuple<dim_t, dim_t>> {{6, 1500}, {1, 12000}})
        for (const dim_t rows : {1, 4})
            for (const t stored : {t::s8, t::u8, t::u4})
                for (const t type : {t::bf16, t::f32, t::f16}) {
                    if (!sample.takes_next()) continue;
                    attention_case_t c = plain_attention();
                    c.batches = batches;
                    c.heads = rows == 1 ? heads_t::equal : heads_t::grouped;
                    c.rows = rows;
                    c.tokens = tokens;
                    c.head = c.cols = 64;
                    c.type = type;
                    c.keys.type = c.values.type = stored;
                    c.keys.zps = stored == t::u8 ? t::undef : t::s8;
                    EXPECT_EQ(check(c), "") << to_string(c);
                }
}

// --- buffers

// A block of the query, or of dst, that is dense f32 is used as it lies.
TEST(attention_buffers, at_any_byte) {
    for (const t type : {t::f32, t::bf16})
        for (const dim_t rows : {1, 7, 40}) {
            attention_case_t c = plain_attention();
            c.type = type;
            c.rows = rows;
            c.cols = 64;
            const attention_graph_t g = graph_of(c);
            const partition p = only_partition(g.ops);
            const chain_values_t expected = values_of(c, g);
            run(g.ops, p, expected);
            for (const size_t slack : {1u, 2u, 3u}) {
                const chain_values_t odd = copies_of(values_of(c, g), slack);
                run(g.ops, p, odd);
                EXPECT_EQ(support::difference(type, expected[g.dst()].data(),
                                  odd[g.dst()].data(),
                                  g.ops.tensors[g.dst()].span()),
                        "")
                        << to_string(c) << ", " << slack << " bytes";
                for (const auto &buffer : odd)
                    EXPECT_TRUE(buffer.intact());
            }
        }
}

// --- threads

// Finds a function of OpenMP, whichever runtime the library brings.
template <typename function_t>
function_t openmp(const char *name) {
    return reinterpret_cast<function_t>(dlsym(RTLD_DEFAULT, name));
}

TEST(attention_threads, are_as_many_afterwards) {
    const auto max_threads = openmp<int (*)()>("omp_get_max_threads");
    const auto set_threads = openmp<void (*)(int)>("omp_set_num_threads");
    const int before = max_threads();
    set_threads(3);
    EXPECT_EQ(check(plain_attention()), "");
    EXPECT_EQ(max_threads(), 3);
    set_threads(before);
}

TEST(attention_threads, change_no_bit) {
    const auto set_threads = openmp<void (*)(int)>("omp_set_num_threads");
    const int before = openmp<int (*)()>("omp_get_max_threads")();
    for (const auto &[rows, tokens, type] :
            std::vector<std::tuple<dim_t, dim_t, t>> {{1, 5000, t::f32},
                    {1, 12000, t::f32}, {4, 12000, t::bf16}, {33, 1100, t::f32},
                    {130, 300, t::f32}, {600, 1100, t::f32},
                    {600, 1088, t::bf16}}) {
        attention_case_t c = plain_attention();
        c.type = type;
        c.rows = rows;
        c.tokens = tokens;
        c.addend = extent_t::tokens;
        const attention_graph_t g = graph_of(c);
        graph built(dnnl::engine::kind::cpu);
        build(g.ops, built);
        const auto p = built.get_partitions().at(0);
        const auto run_by = [&](int threads) {
            set_threads(threads);
            chain_values_t values = values_of(c, g);
            run(g.ops, p, values);
            return values;
        };
        const auto first = run_by(1);
        for (const int threads : {2, 3, 7, 16, 2})
            EXPECT_EQ(support::difference(type, first[g.dst()].data(),
                              run_by(threads)[g.dst()].data(),
                              g.ops.tensors[g.dst()].span()),
                    "")
                    << to_string(c) << ", " << threads << " threads";
    }
    set_threads(before);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
