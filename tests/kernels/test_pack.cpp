// Transposed sources to tiles: every number of rows, columns of one stride and
// in groups, at guard pages.

#if defined(__x86_64__)

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/dequantize/jit_pack_wide.hpp"
#include "support/guarded_buffer.hpp"
#include "support/isa_of_machine.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace {

using edge_t = support::guarded_buffer_t::edge_t;

dim_t column_of(const transposed_src_t &src, dim_t c) {
    if (src.group == 0) return c * src.stride;
    const dim_t n = src.first + c;
    return n / src.group * src.group_stride + n % src.group * src.stride;
}

// Elements of so many bytes; a column's are side by side.
void check(transposed_src_t src, dim_t bytes, isa_t isa, edge_t edge) {
    dim_t end = 0;
    for (dim_t c = 0; c < src.cols; ++c)
        end = std::max(end, column_of(src, c) + src.rows);
    const support::guarded_buffer_t from(
            static_cast<size_t>(end * bytes), edge);
    support::random_t random(5);
    support::fill_bits(from.data(), from.size(), random);
    src.data = from.data();
    const dim_t pitch = src.cols + 3;
    std::vector<char> tile(
            static_cast<size_t>(round_up(src.rows, dim_t(64)) * pitch * bytes));
    if (bytes == 1)
        pack_transposed(reinterpret_cast<uint8_t *>(tile.data()), pitch, src,
                isa, next_line);
    else
        pack_transposed_wide(
                tile.data(), pitch, src, static_cast<int>(bytes * 8));
    for (dim_t r = 0; r < src.rows; ++r)
        for (dim_t c = 0; c < src.cols; ++c)
            ASSERT_EQ(std::memcmp(tile.data() + (r * pitch + c) * bytes,
                              static_cast<const char *>(from.data())
                                      + (column_of(src, c) + r) * bytes,
                              static_cast<size_t>(bytes)),
                    0)
                    << src.rows << " rows by " << src.cols << " columns of "
                    << bytes << " bytes, groups of " << src.group << ", row "
                    << r << ", column " << c;
}

TEST(pack, transposes_every_element) {
    const isa_t machine = support::isa_of_machine();
    if (!has(machine, isa_avx2)) GTEST_SKIP() << "no AVX2";
    for (const dim_t bytes : {1, 2, 4})
        for (const isa_t isa : {isa_avx2, isa_avx512_core})
            for (dim_t rows = 1; rows <= 130; rows += rows < 34 ? 1 : 31)
                for (const dim_t cols : {1, 15, 16, 37})
                    for (const edge_t edge : {edge_t::start, edge_t::end})
                        for (const dim_t first : {-1, 0, 4}) {
                            if (!has(machine, isa)) continue;
                            transposed_src_t src {
                                    nullptr, rows + 2, rows, cols};
                            if (first >= 0) {
                                src.group = 5;
                                src.first = first;
                                src.stride = 8 * rows;
                                src.group_stride = rows + 1;
                            }
                            check(src, bytes, isa, edge);
                            if (HasFatalFailure()) return;
                        }
}

} // namespace
} // namespace dnnl_dequant

#endif
