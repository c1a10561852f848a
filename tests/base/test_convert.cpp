#include "base/convert.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "support/cpu.hpp"
#include "support/numbers.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace {

using support::format_of;
using support::format_t;
using support::round_to;
using support::value_of;

const format_t &f32_format() {
    return format_of(data_type_t::f32);
}

uint32_t bits_of_float(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

float float_of_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

// A 16-bit format, how the code under test converts it, and how the table of
// types calls it.
struct narrow_t {
    data_type_t type;
    float (*to_f32)(uint16_t);
    uint16_t (*from_f32)(float);
};

class narrow_format : public ::testing::TestWithParam<narrow_t> {
protected:
    const narrow_t &narrow() const { return GetParam(); }
    const format_t &format() const { return format_of(GetParam().type); }

    void expect_rounded(uint32_t f32_bits) const {
        const double value = value_of(f32_format(), f32_bits);
        const uint32_t got = narrow().from_f32(float_of_bits(f32_bits));
        if (std::isnan(value)) {
            EXPECT_TRUE(format().is_nan(got)) << std::hex << f32_bits;
        } else {
            EXPECT_EQ(got, round_to(format(), value)) << std::hex << f32_bits;
        }
    }
};

TEST_P(narrow_format, widens_every_value_exactly) {
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const float got = narrow().to_f32(static_cast<uint16_t>(bits));
        const double expected = value_of(format(), bits);
        if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(got)) << std::hex << bits;
        } else {
            EXPECT_EQ(static_cast<double>(got), expected) << std::hex << bits;
        }
        EXPECT_EQ(std::signbit(got), bits >> 15 != 0) << std::hex << bits;
    }
}

TEST_P(narrow_format, comes_back_from_f32_unchanged) {
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const auto narrow_bits = static_cast<uint16_t>(bits);
        const uint16_t got = narrow().from_f32(narrow().to_f32(narrow_bits));
        if (format().is_nan(bits)) {
            EXPECT_TRUE(format().is_nan(got)) << std::hex << bits;
        } else {
            EXPECT_EQ(got, bits);
        }
    }
}

// Between each value and the next, the f32 values by the middle decide.
TEST_P(narrow_format, rounds_to_nearest_even_about_every_midpoint) {
    for (uint32_t bits = 0; bits < format().infinity(); ++bits) {
        const double low = value_of(format(), bits);
        double high = value_of(format(), bits + 1);
        if (std::isinf(high)) high = 2 * low - value_of(format(), bits - 1);
        const uint32_t middle = round_to(f32_format(), (low + high) / 2);
        const uint32_t from = round_to(f32_format(), low);
        for (const uint32_t around : {from, middle})
            for (uint32_t step = 0; step < 3; ++step) {
                if (around + step == 0) continue;
                expect_rounded(around + step - 1);
                expect_rounded((around + step - 1) | f32_format().sign_bit());
            }
    }
}

TEST_P(narrow_format, rounds_any_f32) {
    support::random_t random(7);
    for (int n = 0; n < 1000000; ++n)
        expect_rounded(static_cast<uint32_t>(random.bits()));
}

TEST_P(narrow_format, keeps_specials) {
    for (const float value : {0.f, INFINITY, NAN, 3.4028235e38f, 1e-45f})
        for (const float sign : {1.f, -1.f})
            expect_rounded(bits_of_float(std::copysign(value, sign)));
    // NaN whose payload would be cut to nothing, or would carry into the sign.
    for (const uint32_t nan : {0x7f800001u, 0xff800001u, 0x7fffffffu})
        expect_rounded(nan);
}

INSTANTIATE_TEST_SUITE_P(convert, narrow_format,
        ::testing::Values(
                narrow_t {data_type_t::bf16, bf16_to_f32, f32_to_bf16},
                narrow_t {data_type_t::f16, f16_to_f32, f32_to_f16}),
        [](const auto &param_info) {
            return std::string(to_string(param_info.param.type));
        });

#if defined(__x86_64__)
__attribute__((target("f16c"))) uint16_t f16_of_processor(float value) {
    const __m128i bits = _mm_cvtps_ph(_mm_set_ss(value), 0);
    return static_cast<uint16_t>(_mm_extract_epi16(bits, 0));
}

TEST(convert, agrees_with_the_processor_on_f16) {
    if (!support::has_f16c()) GTEST_SKIP() << "no F16C";
    support::random_t random(8);
    for (int n = 0; n < 2000000; ++n) {
        // The exponents that f16 knows, and some beyond either end.
        const auto exponent = static_cast<uint32_t>(random.between(98, 148));
        const auto rest = static_cast<uint32_t>(random.bits()) & 0x807fffffu;
        const float value = float_of_bits(rest | exponent << 23);
        ASSERT_EQ(f32_to_f16(value), f16_of_processor(value))
                << std::hex << bits_of_float(value);
    }
}
#endif

TEST(convert, reads_nibbles_low_half_first) {
    const unsigned char bytes[] = {0x8f, 0x70, 0x1e};
    const int unsigned_values[] = {15, 8, 0, 7, 14, 1};
    const int signed_values[] = {-1, -8, 0, 7, -2, 1};
    for (dim_t i = 0; i < 6; ++i) {
        EXPECT_EQ(load_int(data_type_t::u4, bytes, i), unsigned_values[i]);
        EXPECT_EQ(load_int(data_type_t::s4, bytes, i), signed_values[i]);
        EXPECT_EQ(load_f32(data_type_t::s4, bytes, i),
                static_cast<float>(signed_values[i]));
    }
}

TEST(convert, reads_every_nibble_value) {
    for (int value = 0; value < 16; ++value) {
        const auto byte = static_cast<unsigned char>(value | (15 - value) << 4);
        EXPECT_EQ(load_int(data_type_t::u4, &byte, 0), value);
        EXPECT_EQ(load_int(data_type_t::u4, &byte, 1), 15 - value);
        const int negative = value > 7 ? value - 16 : value;
        EXPECT_EQ(load_int(data_type_t::s4, &byte, 0), negative);
    }
}

TEST(convert, reads_whole_integers) {
    const int8_t s8[] = {-128, 127};
    const uint8_t u8[] = {0, 255};
    const int32_t s32[] = {INT32_MIN, INT32_MAX};
    const int64_t s64[] = {INT64_MIN, INT64_MAX};
    EXPECT_EQ(load_int(data_type_t::s8, s8, 0), -128);
    EXPECT_EQ(load_int(data_type_t::s8, s8, 1), 127);
    EXPECT_EQ(load_int(data_type_t::u8, u8, 1), 255);
    EXPECT_EQ(load_int(data_type_t::s32, s32, 0), INT32_MIN);
    EXPECT_EQ(load_int(data_type_t::s32, s32, 1), INT32_MAX);
    EXPECT_EQ(load_int(data_type_t::s64, s64, 0), INT64_MIN);
    EXPECT_EQ(load_int(data_type_t::s64, s64, 1), INT64_MAX);
    // Rounded once, to even.
    const int32_t halves[] = {(1 << 24) + 1, (1 << 24) + 3};
    EXPECT_EQ(load_f32(data_type_t::s32, halves, 0), 16777216.f);
    EXPECT_EQ(load_f32(data_type_t::s32, halves, 1), 16777220.f);
}

TEST(convert, stores_and_loads_at_an_odd_address) {
    for (const auto type :
            {data_type_t::f32, data_type_t::bf16, data_type_t::f16}) {
        unsigned char buffer[32] = {};
        store_f32(type, buffer + 1, 2, -1.5f);
        EXPECT_EQ(load_f32(type, buffer + 1, 2), -1.5f);
        EXPECT_EQ(load_f32(type, buffer + 1, 1), 0.f);
        EXPECT_EQ(load_f32(type, buffer + 1, 3), 0.f);
    }
}

TEST(convert, tells_zeros_of_small_floats) {
    for (const auto type :
            {data_type_t::f8_e4m3, data_type_t::f8_e5m2, data_type_t::f4_e2m1,
                    data_type_t::f8_e4m3fnuz, data_type_t::f8_e5m2fnuz}) {
        const int bits = bits_of(type);
        for (const dim_t count : {1, 5, 8, 16, 19, 40})
            for (unsigned code = 0; code < 1u << bits; ++code) {
                // The last element has the code; what follows it is not ours.
                unsigned char buffer[48] = {};
                const dim_t last = count - 1, per_byte = 8 / bits;
                const dim_t shift = last % per_byte * bits;
                buffer[last / per_byte]
                        = static_cast<unsigned char>(code << shift);
                buffer[bytes_of(type, count)] = 0xff;
                EXPECT_EQ(are_zero(type, buffer, count),
                        small_float_to_f32(type, code) == 0.f)
                        << to_string(type) << ' ' << count << ' ' << code;
            }
    }
}

// The reference finds the nearest among all the type's values.
TEST(convert, rounds_to_small_floats) {
    support::random_t random(7);
    for (const auto type : {data_type_t::f8_e4m3, data_type_t::f8_e5m2,
                 data_type_t::f8_e4m3fnuz, data_type_t::f8_e5m2fnuz,
                 data_type_t::f4_e2m1}) {
        const unsigned codes = 1u << bits_of(type);
        for (unsigned code = 0; code < codes; ++code) {
            const float value = small_float_to_f32(type, code);
            const float next = small_float_to_f32(type, (code + 1) % codes);
            const float middle = (value + next) / 2;
            for (const float v : {value, middle, std::nextafter(middle, 0.f),
                         std::nextafter(middle, 2 * middle)}) {
                if (std::isnan(v)) continue;
                EXPECT_EQ(f32_to_small_float(type, v),
                        support::quantized_bits(type, v,
                                std::signbit(v) ? -0.0 : 0.0,
                                type == data_type_t::f4_e2m1))
                        << to_string(type) << ' ' << v;
            }
        }
        EXPECT_EQ(small_float_to_f32(
                          type, f32_to_small_float(type, largest_of(type))),
                largest_of(type));
    }
}

TEST(convert, rounds_to_integers) {
    EXPECT_EQ(nearest_int(2.5f), 2);
    EXPECT_EQ(nearest_int(-3.5f), -4);
    EXPECT_EQ(nearest_int(std::nanf("")), 0);
    EXPECT_GT(nearest_int(1e30f), int64_t {1} << 33);
    EXPECT_LT(nearest_int(-1e30f), -(int64_t {1} << 33));
    EXPECT_EQ(range_of(data_type_t::s4).lowest, -8);
    EXPECT_EQ(range_of(data_type_t::u32).highest, 0xffffffff);
}

TEST(convert, stores_nan_as_zero_where_a_format_has_none) {
    uint8_t byte = 0x22;
    store_f32(data_type_t::f4_e2m1, &byte, 0,
            std::numeric_limits<float>::quiet_NaN());
    EXPECT_EQ(byte, 0x20);
}

// Elements of less than a byte leave their neighbours as they are.
TEST(convert, stores_parts_of_bytes) {
    for (const data_type_t type : {data_type_t::u4, data_type_t::s4,
                 data_type_t::u2, data_type_t::s2, data_type_t::f4_e2m1,
                 data_type_t::u8, data_type_t::f8_e5m2}) {
        const int per_byte = 8 / bits_of(type);
        for (const int before : {0x00, 0xff})
            for (int at = 0; at < 2 * per_byte; ++at) {
                uint8_t bytes[2] = {static_cast<uint8_t>(before),
                        static_cast<uint8_t>(before)};
                const auto values = [&] { // NaN differs from itself
                    std::vector<uint32_t> bits;
                    for (int e = 0; e < 2 * per_byte; ++e)
                        bits.push_back(bits_of_float(load_f32(type, bytes, e)));
                    return bits;
                };
                auto expected = values();
                expected[static_cast<size_t>(at)] = bits_of_float(1.f);
                if (is_integer(type)) store_int(type, bytes, at, 1);
                else store_f32(type, bytes, at, 1.f);
                EXPECT_EQ(values(), expected) << to_string(type);
            }
    }
}

} // namespace
} // namespace dnnl_dequant
