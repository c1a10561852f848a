#include "base/data_type.hpp"

#include "base/convert.hpp"
#include "base/float_format.hpp"

#include <gtest/gtest.h>

#include <oneapi/dnnl/dnnl_types.h>

#include <cmath>
#include <set>
#include <string>

namespace dnnl_dequant {
namespace {

struct row_t {
    data_type_t type;
    const char *name;
    int bits;
    type_family_t family;
};

const row_t rows[] = {
#define X(name, value, bits, family) \
    {data_type_t::name, #name, bits, type_family_t::family},
#include "base/data_type.def"
#undef X
};

TEST(data_type, answers_from_its_row) {
    for (const auto &row : rows) {
        EXPECT_STREQ(to_string(row.type), row.name);
        EXPECT_EQ(bits_of(row.type), row.bits);
        EXPECT_EQ(family_of(row.type), row.family);
        EXPECT_TRUE(is_known(row.type));
        EXPECT_EQ(is_floating(row.type), row.family == type_family_t::floating);
        EXPECT_NE(is_floating(row.type), is_integer(row.type));
    }
}

TEST(data_type, knows_the_parts_of_floats) {
    for (const auto &row : rows) {
        const float_format_t format = float_format_of(row.type);
        if (!is_floating(row.type)) {
            EXPECT_EQ(format.magnitude_bits(), 0) << row.name;
            continue;
        }
        const int sign_bits = row.type == data_type_t::e8m0 ? 0 : 1;
        EXPECT_EQ(format.magnitude_bits() + sign_bits, row.bits) << row.name;
        if (row.bits > 8 || sign_bits == 0) continue;
        const auto number = [&](unsigned code) {
            return small_float_to_f32(row.type, code);
        };
        EXPECT_EQ(number(format.largest()), largest_of(row.type)) << row.name;
        EXPECT_FALSE(std::isfinite(number(format.largest() + 1))
                     && number(format.largest() + 1) > 0)
                << row.name;
        EXPECT_EQ(format.has_nan(), std::isnan(number(format.nan())));
        EXPECT_EQ(format.has_infinity(), std::isinf(number(format.infinity())));
    }
}

TEST(data_type, has_no_value_twice) {
    std::set<int> values;
    for (const auto &row : rows)
        EXPECT_TRUE(values.insert(static_cast<int>(row.type)).second)
                << row.name;
}

TEST(data_type, has_the_values_of_the_graph_api) {
    EXPECT_EQ(static_cast<int>(data_type_t::f16), dnnl_f16);
    EXPECT_EQ(static_cast<int>(data_type_t::bf16), dnnl_bf16);
    EXPECT_EQ(static_cast<int>(data_type_t::f32), dnnl_f32);
    EXPECT_EQ(static_cast<int>(data_type_t::s32), dnnl_s32);
    EXPECT_EQ(static_cast<int>(data_type_t::s8), dnnl_s8);
    EXPECT_EQ(static_cast<int>(data_type_t::u8), dnnl_u8);
    EXPECT_EQ(static_cast<int>(data_type_t::s4), dnnl_s4);
    EXPECT_EQ(static_cast<int>(data_type_t::u4), dnnl_u4);
}

TEST(data_type, knows_what_is_none) {
    for (const int value : {0, 7, 0x6fff, -1}) {
        const auto type = static_cast<data_type_t>(value);
        EXPECT_STREQ(to_string(type), "undef");
        EXPECT_EQ(bits_of(type), 0);
        EXPECT_FALSE(is_known(type));
        EXPECT_FALSE(is_integer(type));
        EXPECT_FALSE(is_floating(type));
    }
}

TEST(data_type, counts_bytes_of_shared_bytes_up) {
    EXPECT_EQ(bytes_of(data_type_t::u4, 0), 0);
    EXPECT_EQ(bytes_of(data_type_t::u4, 1), 1);
    EXPECT_EQ(bytes_of(data_type_t::s4, 4), 2);
    EXPECT_EQ(bytes_of(data_type_t::s4, 5), 3);
    EXPECT_EQ(bytes_of(data_type_t::f32, 3), 12);
    EXPECT_EQ(bytes_of(data_type_t::bf16, 3), 6);
    EXPECT_EQ(bytes_of(data_type_t::s64, 3), 24);
}

} // namespace
} // namespace dnnl_dequant
