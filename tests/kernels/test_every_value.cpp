// Every value that a source of 16 bits or fewer can have, and the ends of what
// 32 bits can, through every kernel of the family.

#include <cmath>
#include <gtest/gtest.h>

#include <functional>

#include "base/convert.hpp"
#include "kernels/dequantize/dequantize.hpp"
#include "kernels/kernel_rows.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace {

__extension__ typedef __int128 wide_t;

class every_value : public ::testing::TestWithParam<size_t> {
protected:
    const kernel_row_t &row() const { return dequantize_rows()[GetParam()]; }

    void SetUp() override {
        if (!runs_here(row()))
            GTEST_SKIP() << "this machine lacks the ISA of " << row().name;
    }

    void run(const problem_t &problem, const std::vector<void *> &buffers) {
        std::shared_ptr<const kernel_t> kernel;
        const result_t made = row().factory(problem, row().isa, kernel);
        ASSERT_TRUE(made.ok()) << made.reason;
        kernel->run(buffers.data(), 0, kernel->work_amount());
    }
    // `operands` are all but dst, which has `count` elements.
    void expect_as_ref(const problem_t &problem,
            const std::vector<const void *> &operands, dim_t count) {
        std::vector<float> want(static_cast<size_t>(count)), got = want;
        std::vector<void *> buffers;
        for (const void *operand : operands)
            buffers.push_back(const_cast<void *>(operand));
        buffers.push_back(got.data());
        run(problem, buffers);
        std::shared_ptr<const kernel_t> ref;
        const result_t made = make_ref_dequantize(problem, isa_none, ref);
        ASSERT_TRUE(made.ok()) << made.reason;
        buffers.back() = want.data();
        ref->run(buffers.data(), 0, ref->work_amount());
        EXPECT_EQ(support::difference(
                          problem.dst().type, want.data(), got.data(), count),
                "")
                << to_string(problem);
    }
};

// All codes in the order of their bits; of types below a byte, all bytes.
std::vector<uint8_t> codes_of(data_type_t type) {
    std::vector<uint8_t> bytes;
    if (bits_of(type) == 16) {
        for (int code = 0; code < 1 << 16; ++code) {
            bytes.push_back(static_cast<uint8_t>(code));
            bytes.push_back(static_cast<uint8_t>(code >> 8));
        }
    } else {
        for (int code = 0; code < 256; ++code)
            bytes.push_back(static_cast<uint8_t>(code));
    }
    return bytes;
}

void check_products(float scale, data_type_t type, data_type_t to,
        const std::function<void(
                const problem_t &, const std::vector<void *> &)> &run) {
    auto src = codes_of(type);
    const auto count = static_cast<dim_t>(src.size()) * 8 / bits_of(type);
    std::vector<float> want(static_cast<size_t>(count)), got = want;
    run({{{count, -1, 0}},
                {{type, 0, {1}}, {data_type_t::f32, 0, {0}}, {to, 0, {1}}},
                {{step_kind_t::multiply, 1}}},
            {src.data(), &scale, got.data()});
    for (dim_t i = 0; i < count; ++i)
        store_f32(to, want.data(), i, load_f32(type, src.data(), i) * scale);
    EXPECT_EQ(support::difference(to, want.data(), got.data(), count), "")
            << to_string(type) << " to " << to_string(to) << " by " << scale;
}

// A scale of 1 gives the number itself. The other scales often give the middle
// of two bf16, with the even one above and below.
TEST_P(every_value, of_at_most_16_bits_is_multiplied) {
    using t = data_type_t;
    for (const auto type : {t::u16, t::s16, t::f16, t::bf16, t::f8_e4m3,
                 t::f8_e5m2, t::f8_e4m3fnuz, t::f8_e5m2fnuz, t::f4_e2m1, t::s2,
                 t::u2, t::u4, t::s4, t::u8, t::s8})
        for (const auto to : {t::f32, t::bf16, t::f16})
            for (const float scale : {1.f, 285.f / 256, -287.f / 256, 1.5f})
                check_products(scale, type, to,
                        [this](const problem_t &problem,
                                const std::vector<void *> &buffers) {
                    run(problem, buffers);
                });
}

// Kernels may take a zero point of +0 for none.
TEST_P(every_value, of_8_bit_floats_less_any_zero) {
    using t = data_type_t;
    constexpr uint8_t zps[] = {0x00, 0x80, 0x3a};
    const float scale = -0.7f;
    for (const auto type : {t::f8_e4m3, t::f8_e5m2, t::f8_e4m3fnuz})
        for (const auto to : {t::f32, t::bf16, t::f16})
            for (const uint8_t code : zps) {
                auto src = codes_of(type);
                // Two rows and a rest of a vector.
                constexpr dim_t rows = 2, cols = 123, count = rows * cols;
                std::vector<float> want(count), got(count);
                uint8_t zp[rows] = {0, code};
                float scales[rows] = {scale, -scale};
                run({{{rows, -1, 0}, {cols, -1, 0}},
                            {{type, 0, {cols, 1}}, {type, 0, {1, 0}},
                                    {t::f32, 0, {1, 0}}, {to, 0, {cols, 1}}},
                            {{step_kind_t::subtract, 1},
                                    {step_kind_t::multiply, 2}}},
                        {src.data(), zp, scales, got.data()});
                for (dim_t i = 0; i < count; ++i) {
                    const float x = load_f32(type, src.data(), i);
                    const float difference = x - load_f32(type, zp, i / cols);
                    store_f32(
                            to, want.data(), i, difference * scales[i / cols]);
                }
                EXPECT_EQ(
                        support::difference(to, want.data(), got.data(), count),
                        "")
                        << to_string(type) << " to " << to_string(to)
                        << " less " << int {code};
            }
}

template <typename T>
std::vector<T> ends_of() {
    std::vector<T> values;
    for (const int power : {0, 9, 10, 22, 23, 24, 30, 31, 32})
        for (int64_t near = -1; near <= 1; ++near)
            for (const int64_t sign : {1, -1})
                values.push_back(
                        static_cast<T>(sign * ((int64_t {1} << power) + near)));
    return values;
}

template <typename src_t, typename zps_t>
void check_differences(data_type_t src_type, data_type_t zps_type,
        const std::function<void(
                const problem_t &, const std::vector<void *> &)> &run) {
    auto src = ends_of<src_t>();
    auto zps = ends_of<zps_t>();
    const auto cols = static_cast<dim_t>(src.size());
    const auto rows = static_cast<dim_t>(zps.size());
    std::vector<float> got(src.size() * zps.size());
    float scale = 1;
    run({{{rows, -1, 0}, {cols, -1, 0}},
                {{src_type, 0, {0, 1}}, {zps_type, 0, {1, 0}},
                        {data_type_t::f32, 0, {0, 0}},
                        {data_type_t::f32, 0, {cols, 1}}},
                {{step_kind_t::subtract, 1}, {step_kind_t::multiply, 2}}},
            {src.data(), zps.data(), &scale, got.data()});
    for (size_t z = 0; z < zps.size(); ++z)
        for (size_t x = 0; x < src.size(); ++x) {
            const wide_t exact = wide_t {src[x]} - wide_t {zps[z]};
            EXPECT_EQ(got[z * src.size() + x], static_cast<float>(exact))
                    << src[x] << " - " << zps[z];
        }
}

TEST_P(every_value, of_32_bits_is_subtracted_exactly) {
    using t = data_type_t;
    const auto run_it = [this](const problem_t &problem,
                                const std::vector<void *> &buffers) {
        run(problem, buffers);
    };
    check_differences<uint32_t, uint32_t>(t::u32, t::u32, run_it);
    check_differences<int32_t, int32_t>(t::s32, t::s32, run_it);
    check_differences<uint32_t, int32_t>(t::u32, t::s32, run_it);
    check_differences<int32_t, uint32_t>(t::s32, t::u32, run_it);
    check_differences<uint16_t, uint32_t>(t::u16, t::u32, run_it);
    check_differences<int16_t, int32_t>(t::s16, t::s32, run_it);
    check_differences<uint8_t, uint32_t>(t::u8, t::u32, run_it);
    check_differences<uint32_t, int8_t>(t::u32, t::s8, run_it);
}

// Beyond the caches kernels take other ways: against the reference kernel.
TEST_P(every_value, from_memory_is_as_from_caches) {
    if (row().isa == isa_none) return; // it would be compared with itself
    using t = data_type_t;
    constexpr dim_t rows = 301, cols = 2003, count = rows * cols;
    std::vector<uint32_t> src(count), zps(rows * cols / 32 + 64);
    std::vector<float> scales(zps.size(), 0.75f);
    support::random_t random(20261);
    support::fill_bits(src.data(), src.size() * 4, random);
    support::fill_integers(t::u32, zps.data(), zps.size() * 4, random);
    const std::vector<std::pair<std::vector<loop_t>, std::vector<dims_t>>>
            nests {{{{count, -1, 0}}, {{1}, {0}}},
                    {{{rows, -1, 0}, {cols, -1, 0}}, {{cols, 1}, {1, 0}}},
                    {{{rows, -1, 0}, {cols, -1, 0}}, {{cols, 1}, {0, 1}}},
                    {{{count / 32, -1, 0}, {32, -1, 0}}, {{32, 1}, {1, 0}}},
                    {{{rows, -1, 0}, {cols, -1, 0}}, {{1, rows}, {1, 0}}}};
    for (const auto &nest : nests)
        for (const auto type : {t::u16, t::u32, t::bf16, t::f8_e4m3, t::u4})
            for (const auto to : {t::f32, t::bf16}) {
                dims_t dense = nest.second[0];
                if (dense[0] == 1 && dense.size() == 2) dense = {cols, 1};
                const problem_t problem {nest.first,
                        {{type, 0, nest.second[0]}, {type, 0, nest.second[1]},
                                {t::f32, 0, nest.second[1]}, {to, 0, dense}},
                        {{step_kind_t::subtract, 1},
                                {step_kind_t::multiply, 2}}};
                expect_as_ref(problem, {src.data(), zps.data(), scales.data()},
                        count);
            }
}

// Rows are long enough for tables of all results (kernels/jit/byte_table.hpp),
// with every end of a step. They come as one row and as rows that share the
// table or not, and with a scale of each kind.
TEST_P(every_value, of_8_bits_in_long_rows_is_as_ref) {
    if (row().isa == isa_none) return; // it would be compared with itself
    using t = data_type_t;
    constexpr dim_t most = 2112, rows = 3;
    std::vector<uint8_t> src(rows * most);
    for (size_t i = 0; i < src.size(); ++i)
        src[i] = static_cast<uint8_t>(i * 41 + i / 256);
    const int32_t zps[rows] = {0, -123456789, 77};
    const float subnormal = 1e-40f;
    const float all_scales[][rows] = {{0.37f, -2.5e-3f, 1e38f},
            {subnormal, 0.0f, -subnormal}, {-0.0f, INFINITY, 6e-8f}};
    for (const auto &scales : all_scales)
        for (const auto type : {t::u8, t::s8})
            for (const auto to : {t::bf16, t::f16})
                for (dim_t cols = most - 65; cols <= most; ++cols)
                    for (const dim_t pitch : {0, 1}) {
                        const problem_t problem {{{rows, -1, 0}, {cols, -1, 0}},
                                {{type, 0, {cols, 1}}, {t::s32, 0, {pitch, 0}},
                                        {t::f32, 0, {pitch, 0}},
                                        {to, 0, {cols, 1}}},
                                {{step_kind_t::subtract, 1},
                                        {step_kind_t::multiply, 2}}};
                        expect_as_ref(problem, {src.data(), zps, scales},
                                rows * cols);
                    }
}

INSTANTIATE_TEST_SUITE_P(kernels, every_value,
        ::testing::Range(size_t {0}, dequantize_rows().size()),
        [](const auto &param_info) {
            return dequantize_rows()[param_info.param].name;
        });

} // namespace
} // namespace dnnl_dequant
