// The byte mover writes every byte of dst and none beside it, whatever the
// sizes, alignments, ratios and thread counts.
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "limit.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr unsigned char poison = 0xa5, source = 0x11;
constexpr size_t guard = 256;

void expect_all_written(size_t src_size, size_t ratio, size_t skew,
        stores_t stores, int threads) {
    const std::vector<unsigned char> src(src_size + skew, source);
    const std::vector<unsigned char> scales(src_size / 32 + 1, source);
    const size_t dst_size = src_size * ratio;
    std::vector<unsigned char> dst(dst_size + skew + 2 * guard, poison);
    unsigned char *const base = dst.data() + guard + skew;
    const byte_mover_t mover(
            {{src.data() + skew, src_size}, {scales.data(), scales.size()}},
            {base, dst_size}, stores, threads);
    mover.run();
    for (size_t i = 0; i < dst.size(); i++) {
        const bool inside = i >= guard + skew && i < guard + skew + dst_size;
        ASSERT_EQ(dst[i] == poison, !inside)
                << "byte " << i << " of src_size " << src_size << ", ratio "
                << ratio << ", skew " << skew << ", threads " << threads;
    }
}

} // namespace

TEST(byte_mover, writes_dst_and_nothing_else) {
    constexpr size_t ratios[] = {1, 2, 3, 4, 8, 16}, skews[] = {0, 1, 16, 63};
    constexpr size_t sizes[] = {1, 63, 64, 65, 4096, 9001};
    for (const auto stores :
            {stores_t::ordinary, stores_t::streaming, stores_t::prefetched})
        for (const int threads : {1, 2})
            for (const size_t ratio : ratios)
                for (const size_t skew : skews)
                    for (const size_t size : sizes)
                        expect_all_written(size, ratio, skew, stores, threads);
}

} // namespace bench
} // namespace dnnl_dequant
