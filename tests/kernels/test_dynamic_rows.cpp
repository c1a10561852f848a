// Dynamic quantizes whose groups are rows, as on a machine that takes them so,
// against the formula, element by element.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/convert.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/on_machine.hpp"
#include "kernels/quantize/dynamic_quantize.hpp"
#include "kernels/quantize/jit_dynamic_rows.hpp"
#include "support/cross_product.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace {

struct result_values_t {
    std::vector<float> scales;
    std::vector<uint8_t> zps, dst;
};

// Numbers of one magnitude or, in every fourth row, of what is not ordinary.
std::vector<float> values_of(
        const dynamic_rows_t &c, support::random_t &random) {
    const float odd[] = {0.f, -0.f, 1e-45f, -1e-42f, 1e-38f, 3e38f, -3e38f,
            HUGE_VALF, -HUGE_VALF, std::nanf("")};
    std::vector<float> values(static_cast<size_t>(c.rows * c.cols));
    for (dim_t row = 0; row < c.rows; ++row) {
        const auto magnitude
                = std::ldexp(1.f, static_cast<int>(random.between(-20, 10)));
        const auto kind = random.between(0, 15);
        for (dim_t col = 0; col < c.cols; ++col) {
            float x = magnitude * static_cast<float>(random.between(-999, 999));
            if (kind == 0) x = 0;
            if (kind == 1) x = std::fabs(x);
            if (kind == 2) x = -std::fabs(x);
            if (kind == 3 && random.between(0, 40) == 0)
                x = odd[random.between(0, 9)];
            if (kind == 4 && col == row % c.cols) x = std::nanf("");
            // Near the ties of a row whose greatest magnitude is 127 or 254.
            if (kind >= 8)
                x = magnitude
                    * (static_cast<float>(random.between(-127, 126)) + .5f);
            if (kind >= 8 && col == 1) x = -127.f * magnitude;
            if (kind >= 12 && col == 2)
                x = static_cast<float>(random.between(64, 128)) * magnitude;
            values[static_cast<size_t>(row * c.cols + col)] = x;
        }
    }
    return values;
}

// Rounds x to src as it goes.
result_values_t formula(const dynamic_rows_t &c, const void *src) {
    result_values_t result;
    const auto rows = static_cast<size_t>(c.rows);
    const auto cols = static_cast<size_t>(c.cols);
    std::vector<range_t> ranges(rows);
    const auto x_of = [&](size_t at) {
        return load_f32(c.src, src, static_cast<dim_t>(at));
    };
    for (size_t at = 0; at < rows * cols; ++at) {
        range_t &range = ranges[at / cols];
        if (x_of(at) > range.above) range.above = x_of(at);
        if (-x_of(at) > range.below) range.below = -x_of(at);
    }
    result.scales.resize(rows);
    result.zps.resize(rows);
    result.dst.resize(rows * cols);
    const range_parameters_t parameters {c.dst, c.has_zps, {c.rows}, {1}, {1}};
    parameters.finish(ranges.data(), result.scales.data(),
            c.has_zps ? result.zps.data() : nullptr);
    int_range_t bounds = range_of(c.dst);
    if (c.dst == data_type_t::s8) bounds.lowest = -127;
    for (size_t at = 0; at < rows * cols; ++at) {
        const float quotient = x_of(at) / result.scales[at / cols];
        const int64_t zp = !c.has_zps ? 0
                                      : load_int(c.dst, result.zps.data(),
                                                static_cast<dim_t>(at / cols));
        const int64_t rounded
                = std::isnan(quotient) ? 0 : nearest_int(quotient);
        store_int(c.dst, result.dst.data(), static_cast<dim_t>(at),
                std::clamp(rounded + zp, bounds.lowest, bounds.highest));
    }
    return result;
}

// `place` of dst from a cache line on.
void expect_as_formula(const dynamic_rows_t &c, dim_t place) {
    support::random_t random(support::first_seed());
    const auto values = values_of(c, random);
    const auto src_bytes
            = static_cast<size_t>(bytes_of(c.src, c.rows * c.cols));
    const support::guarded_buffer_t src(src_bytes);
    for (size_t at = 0; at < values.size(); ++at)
        store_f32(c.src, src.data(), static_cast<dim_t>(at), values[at]);
    const result_values_t expected = formula(c, src.data());

    std::shared_ptr<const kernel_t> kernel;
    const result_t made = make_jit_dynamic_rows(c, isa_avx512_core, kernel);
    ASSERT_TRUE(made.ok()) << made.reason;
    // Its end is at a line, or at `place` of one.
    constexpr size_t line = 64;
    const support::guarded_buffer_t room(expected.dst.size(),
            support::guarded_buffer_t::edge_t::end,
            (line - static_cast<size_t>(place)) % line);
    auto *const dst = static_cast<uint8_t *>(room.data());
    result_values_t got;
    got.scales.resize(expected.scales.size());
    got.zps.resize(expected.zps.size());
    std::vector<void *> buffers {src.data(), got.scales.data()};
    if (c.has_zps) buffers.push_back(got.zps.data());
    buffers.push_back(dst);
    kernel->run(buffers.data(), 0, kernel->work_amount());

    for (size_t row = 0; row < expected.scales.size(); ++row)
        ASSERT_TRUE(std::memcmp(&got.scales[row], &expected.scales[row], 4) == 0
                    || (std::isnan(got.scales[row])
                            && std::isnan(expected.scales[row])))
                << "row " << row << ": " << got.scales[row] << " for "
                << expected.scales[row];
    ASSERT_EQ(got.zps, expected.zps);
    for (size_t at = 0; at < expected.dst.size(); ++at)
        ASSERT_EQ(int {dst[at]}, int {expected.dst[at]})
                << "x " << values[at] << " at " << at << " of rows of "
                << c.cols << " by " << got.scales[at / size_t(c.cols)];
    EXPECT_TRUE(room.intact());
    EXPECT_TRUE(src.intact());
}

TEST(dynamic_rows, equal_the_formula_in_the_caches_and_past_them) {
    if (!has(isa_of_machine(), isa_avx512_core))
        GTEST_SKIP() << "dynamic_rows needs AVX-512";
    // The policies have slabs of different sizes.
    const std::pair<const char *, dim_t> machines[] = {{"Zen 4", no_limit},
            {"Zen 4", no_cache_bytes}, {"Xeon with AMX", no_limit}};
    for (const auto &[policy, last_cache_bytes] : machines) {
        const on_machine_t on(
                {policy_named(policy), last_cache_bytes, 1 << 20});
        for (const auto src :
                {data_type_t::f32, data_type_t::bf16, data_type_t::f16})
            for (const auto dst : {data_type_t::u8, data_type_t::s8})
                for (const bool has_zps : {false, true})
                    for (const dim_t cols : {64, 128, 192, 1216, 8192})
                        for (const dim_t rows : {8, 13, 301, 2111}) {
                            if (!has_zps && dst == data_type_t::u8) continue;
                            // So many are more than a slab may have.
                            if (rows == 2111 && cols > 64) continue;
                            SCOPED_TRACE(testing::Message()
                                         << to_string(src) << " to "
                                         << to_string(dst) << ", " << rows
                                         << " x " << cols);
                            const dynamic_rows_t c {
                                    src, dst, has_zps, rows, cols};
                            for (const dim_t place : {0, 5})
                                expect_as_formula(c, place);
                            if (HasFatalFailure()) return;
                        }
    }
}

} // namespace
} // namespace dnnl_dequant
