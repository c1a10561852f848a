// Products of integers by repacked weights have the bits of those by weights as
// they lie. So have products by streams, and those that are cut otherwise.
// Cases are random; scratch memory, repacked weights and c end at inaccessible
// pages.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <sstream>

#include "kernels/integer_gemm/integer_product.hpp"
#include "kernels/kernel_rows.hpp"
#include "support/cross_product.hpp"
#include "support/guarded_buffer.hpp"
#include "support/numbers.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;
using support::guarded_buffer_t;
using support::random_t;

size_t size_of(t type, dim_t count) {
    return static_cast<size_t>(bytes_of(type, count));
}

std::string text_of(const integer_plan_t &plan) {
    std::ostringstream out;
    out << (plan.is_src_signed ? "s8" : "u8") << " by "
        << to_string(plan.format.weights) << ", zps "
        << to_string(plan.format.zps)
        << (plan.format.depth_stride == 1 ? ", by column" : ", by row")
        << ", rows " << plan.rows << ", depth " << plan.depth << " in "
        << plan.groups.size() << " groups, columns " << plan.cols;
    return out.str();
}

// One group after the other, each of another size.
void cut_groups(integer_plan_t &plan, random_t &random) {
    const dim_t most = random.pick(std::vector<dim_t> {32, 128, 400});
    for (dim_t k = 0; k < plan.depth;) {
        const dim_t size
                = std::min(plan.depth - k, 2 * random.between(8, most / 2));
        plan.groups.push_back({k, size});
        plan.format.has_short_sums = plan.format.has_short_sums && size <= 128;
        const auto g = static_cast<dim_t>(plan.groups.size()) - 1;
        plan.src_scales.group.push_back(0);
        plan.src_zps.group.push_back(0);
        plan.weights_scales.group.push_back(g * plan.cols);
        plan.weights_zps.group.push_back(g * plan.cols);
        k += size;
    }
}

integer_plan_t random_plan(random_t &random) {
    integer_plan_t plan;
    plan.rows = random.between(1, random.one_in(3) ? 50 : 13);
    plan.depth = 2 * random.between(8, random.one_in(4) ? 400 : 100);
    plan.cols = random.between(1, random.one_in(4) ? 300 : 70);
    plan.is_src_signed = random.one_in(2);
    integer_format_t &format = plan.format;
    format.is_packed = format.has_short_sums = true;
    format.weights = random.pick(std::vector<t> {t::u4, t::s4, t::u8, t::s8});
    format.scales = random.pick(std::vector<t> {t::f32, t::bf16});
    format.zps = random.pick(std::vector<t> {t::undef, t::u4, t::s8});
    format.scales_stride = format.zps_stride = 1;
    const bool by_column = random.one_in(2);
    format.depth_stride = by_column ? 1 : (plan.cols + 1) / 2 * 2;
    format.col_stride = by_column ? plan.depth : 1;
    plan.src_scales = {t::f32, 1, {}, {}};
    plan.src_zps = {t::undef, 2, {}, {}};
    if (!plan.is_src_signed || random.one_in(2))
        plan.src_zps.type = plan.is_src_signed ? t::s8 : t::u8;
    format.has_src_zps = !plan.is_src_signed || plan.src_zps.type != t::undef;
    plan.weights_scales = {format.scales, 1, {}, {}};
    plan.weights_zps = {format.zps, 2, {}, {}};
    for (dim_t r = 0; r < plan.rows; ++r) {
        plan.first.push_back(r * plan.depth);
        plan.src_scales.first.push_back(r);
        plan.src_zps.first.push_back(r);
    }
    cut_groups(plan, random);
    return plan;
}

// Weights with their scales and zero points, or src with its own.
struct factor_t {
    factor_t(t type, dim_t count, t scales, t zps, dim_t parameters,
            random_t &random)
        : values(size_of(type, count))
        , of_scales(size_of(scales, parameters))
        , of_zps(zps == t::undef ? 1 : size_of(zps, parameters)) {
        support::fill_integers(type, values.data(), values.size(), random);
        support::fill_floats(scales, of_scales.data(), of_scales.size(),
                support::values_t::ordinary, random);
        if (zps != t::undef)
            support::fill_integers(zps, of_zps.data(), of_zps.size(), random);
        buffers = {values.data(), of_scales.data(), of_zps.data()};
    }

    guarded_buffer_t values, of_scales, of_zps;
    std::array<void *, 3> buffers;
};

// @param block Columns that are multiplied by one call.
// @param rows The same of rows; 0: all.
std::string run(const integer_product_t &product, void *const *src,
        void *const *weights, dim_t block, dim_t rows = 0) {
    const integer_plan_t &plan = product.plan();
    const guarded_buffer_t shared(static_cast<size_t>(product.shared_bytes())),
            own(static_cast<size_t>(
                    product.own_bytes(std::min(block, plan.cols))));
    product.pack_src(src, 0, plan.rows, shared.data());
    const dim_t panel = plan.stream ? +integer_stream_t::panel : integer_panel;
    const dim_t pitch = round_up(plan.cols, panel);
    const guarded_buffer_t c(size_of(t::f32, plan.rows * pitch));
    auto *const floats = static_cast<float *>(c.data());
    if (rows == 0) rows = plan.rows;
    for (dim_t r = 0; r < plan.rows; r += rows)
        for (dim_t n = 0; n < plan.cols; n += block)
            product.run(weights,
                    {r, std::min(rows, plan.rows - r), n,
                            std::min(block, plan.cols - n),
                            floats + r * pitch + n, pitch},
                    shared.data(), own.data());
    EXPECT_TRUE(c.intact() && shared.intact() && own.intact());
    std::string result;
    for (dim_t r = 0; r < plan.rows; ++r)
        result.append(reinterpret_cast<const char *>(floats + r * pitch),
                size_of(t::f32, plan.cols));
    return result;
}

// Calls check(random) for a sample of so many cases, until one fails.
template <typename check_t>
void for_cases(dim_t count, check_t &&check) {
    for (dim_t n = 0; n < count; ++n) {
        if (support::only_case() >= 0 ? support::only_case() != n
                                      : n % support::every())
            continue;
        random_t random(support::first_seed() + static_cast<uint64_t>(n));
        SCOPED_TRACE("case " + std::to_string(n));
        check(random);
        if (testing::Test::HasFailure()) return;
    }
}

struct factors_t {
    factors_t(const integer_plan_t &plan, random_t &random)
        : src(t::u8, plan.rows * plan.depth, t::f32, plan.src_zps.type,
                  plan.rows, random)
        , weights(plan.format.weights,
                  (plan.depth - 1) * plan.format.depth_stride
                          + (plan.cols - 1) * plan.format.col_stride + 1,
                  plan.format.scales, plan.format.zps,
                  static_cast<dim_t>(plan.groups.size()) * plan.cols, random) {}

    factor_t src, weights;
};

dim_t usual_block(const integer_plan_t &plan) {
    return plan.format.depth_stride == 1 ? integer_panel : plan.cols;
}

void check(integer_plan_t plan, random_t &random) {
    const factors_t factors(plan, random);
    void *const *const src = factors.src.buffers.data();
    void *const *const weights = factors.weights.buffers.data();
    const isa_t isa = isa_of_machine();
    ASSERT_TRUE(make_integer_kernel(plan.format, isa, plan.kernel).ok());
    const std::string expected
            = run(integer_product_t(plan), src, weights, usual_block(plan));
    ASSERT_TRUE(
            make_integer_repacked(plan.format, plan.rows, isa, plan.repacked)
                    .ok());
    const integer_product_t product(plan);
    const guarded_buffer_t packed(
            static_cast<size_t>(product.repacked_bytes()));
    product.repack(weights, 0, product.repacked_panels(), packed.data());
    EXPECT_TRUE(packed.intact());
    void *const only = packed.data();
    EXPECT_EQ(run(product, src, &only, usual_block(plan)) == expected, true);
}

TEST(integer_repacked, has_the_bits_of_weights_as_they_lie) {
    if (!has(isa_of_machine(), isa_avx512_core_vnni))
        GTEST_SKIP() << "this machine lacks AVX-512 VNNI";
    for_cases(600, [&](random_t &random) {
        const integer_plan_t plan = random_plan(random);
        SCOPED_TRACE(text_of(plan));
        check(plan, random);
    });
}

// One group or several, in blocks of any size, by the plain kernel whole and by
// the machine's in pieces.
void check_cuts(integer_plan_t plan, random_t &random) {
    integer_format_t &format = plan.format;
    format.is_packed = false;
    const factors_t factors(plan, random);
    void *const *const src = factors.src.buffers.data();
    void *const *const weights = factors.weights.buffers.data();
    plan.block_depth = plan.depth;
    plan.kernel = make_ref_integer_kernel(format);
    const std::string expected
            = run(integer_product_t(plan), src, weights, usual_block(plan));
    const isa_t isa = isa_of_machine();
    const bool has_tiles = has(isa, isa_amx_bf16) && random.one_in(2);
    if (has_tiles) format.k4_chunk = random.pick(std::vector<dim_t> {8, 16});
    // Weights of more rows are not packed if they are cut.
    constexpr dim_t most_packed_rows = 12;
    format.is_packed = !has_tiles && has(isa, isa_avx512_core_vnni)
                       && plan.rows <= most_packed_rows && random.one_in(2);
    format.keeps_sums = format.is_packed && format.is_by_column()
                        && format.has_src_zps && random.one_in(2);
    format.unpacks_two = !has_tiles && !format.is_packed
                         && has(isa, isa_avx512_core_vbmi)
                         && !format.is_by_column() && random.one_in(2);
    plan.block_depth = random.pick(std::vector<dim_t> {64, 128, 1024});
    plan.k_chunk = random.pick(std::vector<dim_t> {16, 64});
    plan.most_part_bytes = random.pick(std::vector<dim_t> {0, 32768, 1 << 20});
    ASSERT_TRUE(make_integer_kernel(format, isa, plan.kernel).ok());
    const dim_t block = integer_panel * random.between(1, 5);
    EXPECT_EQ(
            run(integer_product_t(plan), src, weights, block) == expected, true)
            << plan.kernel->name() << ", blocks " << plan.block_depth << " x "
            << block << ", parts of " << plan.most_part_bytes << " bytes"
            << (format.unpacks_two ? ", two panels at once" : "");
}

// The last group may be shorter.
void make_equal_groups(integer_plan_t &plan, dim_t size) {
    const auto count = static_cast<size_t>(div_up(plan.depth, size));
    plan.groups.clear();
    for (dim_t k = 0; k < plan.depth; k += size)
        plan.groups.push_back({k, std::min(size, plan.depth - k)});
    plan.format.has_short_sums = size <= 128;
    for (auto *of : {&plan.src_scales, &plan.src_zps})
        of->group.assign(count, 0);
    for (auto *of : {&plan.weights_scales, &plan.weights_zps}) {
        of->group.resize(count);
        for (size_t g = 0; g < count; ++g)
            of->group[g] = static_cast<dim_t>(g) * plan.cols;
    }
}

TEST(integer_product, has_the_same_bits_however_it_is_cut) {
    if (!has(isa_of_machine(), isa_avx2))
        GTEST_SKIP() << "this machine lacks AVX2";
    if (!has(isa_of_machine(), isa_amx_bf16))
        std::cout << "left out: tiles of AMX\n";
    for_cases(900, [&](random_t &random) {
        integer_plan_t plan = random_plan(random);
        if (random.one_in(2)) make_equal_groups(plan, plan.depth);
        SCOPED_TRACE(text_of(plan));
        check_cuts(plan, random);
    });
}

// Nibbles that are transposed while others are multiplied, against the plain
// kernel.
void check_transposing(integer_plan_t plan, random_t &random) {
    const factors_t factors(plan, random);
    void *const *const src = factors.src.buffers.data();
    void *const *const weights = factors.weights.buffers.data();
    plan.kernel = make_ref_integer_kernel(plan.format);
    const std::string expected
            = run(integer_product_t(plan), src, weights, usual_block(plan));
    integer_transposing_desc_t desc;
    desc.format = plan.format;
    desc.rows = plan.rows;
    // Rows that no code was made for, as a shorter last block has them, are
    // multiplied one by one.
    desc.block_rows
            = random.one_in(2) ? plan.rows : random.between(1, plan.rows);
    desc.depth = plan.depth;
    desc.group = plan.groups[0].size;
    const isa_t isa = isa_of_machine();
    const result_t result
            = make_integer_transposing(desc, isa, plan.transposing);
    ASSERT_TRUE(result.ok() || (desc.block_rows >= 16 && desc.group > 512))
            << result.reason;
    if (!result.ok()) return;
    const dim_t block = integer_panel * random.between(1, 3);
    EXPECT_EQ(run(integer_product_t(plan), src, weights, block, desc.block_rows)
                      == expected,
            true)
            << "blocks of " << desc.block_rows << " x " << block;
}

TEST(integer_product, has_the_same_bits_if_nibbles_are_transposed) {
    if (!has(isa_of_machine(), isa_avx512_core_vnni))
        GTEST_SKIP() << "this machine lacks AVX-512 VNNI";
    for_cases(300, [&](random_t &random) {
        integer_plan_t plan = random_plan(random);
        integer_format_t &format = plan.format;
        format.weights = random.one_in(2) ? t::u4 : t::s4;
        const dim_t group
                = random.pick(std::vector<dim_t> {32, 64, 128, 256, 1024});
        plan.depth = std::max<dim_t>(group, 128) * random.between(1, 6);
        plan.cols = integer_squares_t::cols * random.between(1, 12);
        format.depth_stride = 1;
        format.col_stride = plan.depth + 64 * random.between(0, 2);
        for (dim_t r = 0; r < plan.rows; ++r)
            plan.first[static_cast<size_t>(r)] = r * plan.depth;
        make_equal_groups(plan, group);
        SCOPED_TRACE(text_of(plan));
        check_transposing(plan, random);
    });
}

// A few rows by a stream, against the plain kernel.
void check_stream(integer_plan_t plan, random_t &random,
        std::vector<std::string> &refused) {
    plan.format.is_packed = false;
    plan.kernel = make_ref_integer_kernel(plan.format);
    const factors_t factors(plan, random);
    void *const *const src = factors.src.buffers.data();
    void *const *const weights = factors.weights.buffers.data();
    const std::string expected
            = run(integer_product_t(plan), src, weights, usual_block(plan));
    integer_stream_weights_t of;
    of.format = plan.format;
    of.format.has_src_zps = plan.src_zps.type != t::undef;
    of.is_src_signed = plan.is_src_signed;
    of.depth = plan.depth;
    of.group = plan.groups[0].size;
    of.scales_group_stride = of.zps_group_stride = plan.cols;
    plan.stream_rows
            = random.one_in(2) ? plan.rows : random.between(1, plan.rows);
    const result_t result
            = make_integer_stream(of, isa_of_machine(), plan.stream);
    if (!result.ok()) return refused.push_back(result.reason);
    const dim_t block = integer_stream_t::panel * random.between(1, 3);
    EXPECT_EQ(
            run(integer_product_t(plan), src, weights, block, plan.stream_rows)
                    == expected,
            true)
            << plan.stream->name() << ", blocks " << plan.stream_rows << " x "
            << block;
}

TEST(integer_product, has_the_same_bits_by_stream) {
    if (!has(isa_of_machine(), isa_avx2))
        GTEST_SKIP() << "this machine lacks AVX2";
    std::vector<std::string> refused;
    for_cases(300, [&](random_t &random) {
        integer_plan_t plan = random_plan(random);
        plan.rows = std::min<dim_t>(plan.rows, 7);
        make_equal_groups(plan,
                random.pick(std::vector<dim_t> {32, 64, 128, plan.depth}));
        SCOPED_TRACE(text_of(plan));
        check_stream(plan, random, refused);
    });
    // [K,N] weights whose depth is not in whole k4 blocks.
    EXPECT_LT(refused.size(), 100u) << refused.front();
}

} // namespace
} // namespace dnnl_dequant
