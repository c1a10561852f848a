// Instruction sets as features: what they contain, and their names.

#include "base/isa.hpp"

#include <gtest/gtest.h>

#include <iterator>

namespace dnnl_dequant {
namespace {

TEST(isa, is_named_as_kernels_are) {
    struct {
        isa_t isa;
        const char *name;
    } const expected[] = {
            {isa_none, "none"},
            {isa_avx2, "avx2"},
            {isa_avx_vnni, "avx_vnni"},
            {isa_avx512_core, "avx512_core"},
            {isa_avx512_core_vnni, "avx512_core_vnni"},
            {isa_avx512_core_bf16, "avx512_core_bf16"},
            {isa_avx512_core_vbmi, "avx512_core_vbmi"},
            {isa_amx_int8, "amx_int8"},
            {isa_amx_fp16, "amx_fp16"},
            {isa_amx_bf16, "amx_bf16"},
            {isa_vnni, "avx_vnni"}, // which brings it to AVX2
            {static_cast<isa_t>(isa_amx_fp16 | isa_amx_bf16), "several"},
    };
    for (const auto &e : expected)
        EXPECT_STREQ(name_of(e.isa), e.name) << e.isa;
}

// Otherwise the first set that has some features would not be the least.
TEST(isa, stands_behind_the_sets_that_it_contains) {
    for (const named_isa_t &named : named_isas)
        for (const named_isa_t *less = &named + 1; less != std::end(named_isas);
                ++less)
            EXPECT_FALSE(has(named.isa, less->isa))
                    << named.name << " before " << less->name;
}

TEST(isa, has_vpdpbusd_in_either_encoding) {
    for (const isa_t isa : {isa_none, isa_avx2, isa_avx512_core})
        EXPECT_FALSE(has(isa, isa_vnni)) << name_of(isa);
    for (const isa_t isa : {isa_avx_vnni, isa_avx512_core_vnni, isa_amx_int8})
        EXPECT_TRUE(has(isa, isa_vnni)) << name_of(isa);
    EXPECT_FALSE(has(isa_avx_vnni, isa_avx512_core_vnni));
    EXPECT_FALSE(has(isa_avx512_core_bf16, isa_avx_vnni));
    // It is no encoding by itself, even with AVX-512.
    const auto both = static_cast<isa_t>(isa_avx512_core | isa_avx_vnni);
    EXPECT_FALSE(has(both, isa_avx512_core_vnni));
}

TEST(isa, has_features_in_common) {
    EXPECT_EQ(common(isa_avx_vnni, isa_vnni), isa_vnni);
    EXPECT_EQ(common(isa_avx512_core, isa_vnni), isa_avx2);
    EXPECT_EQ(common(isa_none, isa_vnni), isa_none);
}

} // namespace
} // namespace dnnl_dequant
