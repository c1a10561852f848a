// Weights that are constant, with oneDNN's constant tensor cache on: repacked
// once, multiplied to the same bits.

#include <gtest/gtest.h>

#include <cstdlib>

#include "e2e/constant_product.hpp"
#include "e2e/plugin.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;
using support::qtype_t;
bool repacks_here() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512vnni")
           && std::getenv("ONEDNN_MAX_CPU_ISA") == nullptr;
#else
    return false;
#endif
}

// Tiles of AMX are as fast by some weights as they lie.
bool is_repacked_in_any_case(const std::string &kernel) {
    return kernel.find("integer_matmul") != std::string::npos
           && kernel.find("amx") == std::string::npos;
}

bool is_repacked(const std::string &kernel) {
    return kernel.find("repacked") != std::string::npos;
}

matmul_case_t small_case() {
    matmul_case_t c;
    c.src = {2, 256};
    c.weights = {256, 200};
    c.group = 128;
    return c;
}

const quantized_src_t u8_src {t::u8, qtype_t::per_tensor, 0, true, false};

// The first execution makes it, the second finds it.
void check_bits(const matmul_case_t &c, const quantized_src_t &source) {
    constant_product_t plain(c, source);
    const std::string expected = plain.run();
    const constant_capacity_t on(64);
    constant_product_t kept(c, source);
    const dim_t most_rows = may_use_tiles() ? 12 : 48;
    if (repacks_here() && c.src[0] <= most_rows
            && is_repacked_in_any_case(plain.kernel())) {
        EXPECT_TRUE(is_repacked(kept.kernel())) << kept.kernel();
    }
    EXPECT_FALSE(is_repacked(plain.kernel()));
    // Integers that become bf16 have other sums than repacked ones.
    const bool are_bf16 = plain.kernel().find("amx_f32") != std::string::npos
                          && kept.kernel() != plain.kernel();
    const std::string first = kept.run();
    EXPECT_EQ(first == expected || are_bf16, true) << kept.kernel();
    EXPECT_EQ(kept.run() == first, true) << kept.kernel();
}

TEST(constant_weights, have_the_bits_of_others) {
    const quantized_src_t sources[]
            = {u8_src, {t::s8, qtype_t::per_tensor, 0, false, true},
                    {t::u8, qtype_t::per_channel, 0, true, true},
                    {t::s8, qtype_t::per_group, 32, true, false}};
    const dim_t some_rows[] = {1, 2, 3, 4, 6, 7, 9, 12, 13, 26, 33, 48, 49};
    const dim_t some_cols[] = {64, 10, 66, 198, 514};
    dim_t n = 0;
    for (const auto &source : sources)
        for (const auto &[depth, group] :
                std::vector<std::pair<dim_t, dim_t>> {{256, 128}, {384, 64},
                        {256, -1}, {96, 32}, {64, 16}, {130, 0}, {84, 28}})
            for (const t quantized : {t::u4, t::s4, t::u8, t::s8})
                for (const t zps : {t::undef, t::u8, t::s4})
                    for (const bool transposed : {false, true}) {
                        if (n++ % (3 * support::every())) continue;
                        matmul_case_t c;
                        c.src = {some_rows[n % 13], depth};
                        c.weights = {depth, some_cols[n % 5]};
                        c.quantized = quantized;
                        c.zps = zps;
                        c.group = group;
                        c.transpose_b = transposed;
                        c.seed = support::first_seed()
                                 + static_cast<uint64_t>(n);
                        SCOPED_TRACE(to_string(c) + ", source "
                                     + std::to_string(&source - sources));
                        check_bits(c, source);
                        if (HasFailure()) return;
                    }
}

// More panels than one thread takes, whatever the threads.
TEST(constant_weights_large, are_split_over_the_threads) {
    matmul_case_t c = small_case();
    c.src = {5, 1024};
    c.weights = {1024, 2050};
    for (const bool transposed : {false, true}) {
        c.transpose_b = transposed;
        check_bits(c, u8_src);
    }
}

TEST(constant_weights, are_repacked_where_the_user_asked_for_it) {
    size_t megabytes = 1;
    EXPECT_EQ(
            dnnl_graph_get_constant_tensor_cache_capacity(dnnl_cpu, &megabytes),
            dnnl_success);
    EXPECT_EQ(megabytes, 0u);
    EXPECT_FALSE(
            is_repacked(constant_product_t(small_case(), u8_src).kernel()));
    const constant_capacity_t on(3);
    EXPECT_EQ(dnnl::graph::get_constant_tensor_cache_capacity(
                      dnnl::engine::kind::cpu),
            3u);
    EXPECT_EQ(is_repacked(constant_product_t(small_case(), u8_src).kernel()),
            repacks_here());
    for (const auto property : {property_t::variable, property_t::undef})
        EXPECT_FALSE(is_repacked(
                constant_product_t(small_case(), u8_src, property).kernel()));
    dnnl::graph::set_constant_tensor_cache(0);
    EXPECT_FALSE(
            is_repacked(constant_product_t(small_case(), u8_src).kernel()));
    dnnl::graph::set_constant_tensor_cache(1);
    EXPECT_EQ(is_repacked(constant_product_t(small_case(), u8_src).kernel()),
            repacks_here());
}

// Constant weights stay as they were first. Setting the capacity, even to the
// same number, drops them.
TEST(constant_weights, are_kept_until_the_capacity_is_set) {
    const constant_capacity_t on(8);
    constant_product_t product(small_case(), u8_src);
    const std::string first = product.run();
    product.invert_weights();
    EXPECT_EQ(product.run() == first, repacks_here());
    set_constant_capacity(8);
    const std::string second = product.run();
    EXPECT_NE(second, first);
    set_constant_capacity(0);
    EXPECT_EQ(product.run(), second);
    product.invert_weights();
    EXPECT_EQ(product.run(), first);
}

TEST(constant_weights, are_known_by_where_they_lie) {
    const constant_capacity_t on(8);
    constant_product_t product(small_case(), u8_src);
    const std::string first = product.run();
    std::vector<unsigned char> others(product.weights_bytes(), 0x5a);
    const std::string second = product.run(others.data());
    EXPECT_NE(second, first);
    EXPECT_EQ(product.run(), first);
    EXPECT_EQ(product.run(others.data()), second);
}

// A compiled partition does not use what another one kept of the same address.
TEST(constant_weights, are_forgotten_with_the_compiled_partition) {
    const constant_capacity_t on(8);
    std::vector<unsigned char> place;
    std::string first;
    {
        constant_product_t product(small_case(), u8_src);
        place.assign(product.weights_bytes(), 0x21);
        first = product.run(place.data());
    }
    place.assign(place.size(), 0xd3);
    constant_product_t product(small_case(), u8_src);
    EXPECT_NE(product.run(place.data()), first);
}

// The capacity holds one of two values of 0.6 MB.
TEST(constant_weights, without_room_are_multiplied_as_others) {
    matmul_case_t c = small_case();
    c.src = {1, 1024};
    c.weights = {1024, 1100};
    constant_product_t plain(c, u8_src, property_t::undef);
    const std::string expected = plain.run();
    const constant_capacity_t on(1);
    constant_product_t one(c, u8_src), other(c, u8_src);
    for (constant_product_t *product : {&one, &other, &one, &other})
        EXPECT_EQ(product->run() == expected, true);
    other.invert_weights();
    EXPECT_EQ(other.run() == expected, false);
    one.invert_weights();
    EXPECT_EQ(one.run() == expected, repacks_here());
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
