// kernels/matmul: blocks, on values whose sums are exact.

#include <gtest/gtest.h>

#include "base/isa.hpp"
#include "kernels/exact_floats.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/matmul/gemm.hpp"

namespace dnnl_dequant {
namespace {

using support::random_t;

void check_gemm(const gemm_t &gemm, dim_t rows, dim_t cols, dim_t depth) {
    random_t random(static_cast<uint64_t>(rows * 1000 + depth));
    const dim_t lda = depth + 3;
    // The last rows have no gap behind them.
    const floats_t a((rows - 1) * lda + depth), packed(rows * depth),
            b(depth * cols), c(rows * cols);
    fill_small(a.data(), (rows - 1) * lda + depth, random);
    fill_small(b.data(), depth * cols, random);
    pack_rows(a.data(), lda, rows, depth, gemm.strip(), packed.data());
    gemm_block_t block {packed.data(), b.data(), c.data(), cols, cols, rows,
            cols, depth, false};
    // A prefetched address need not be anyone's memory.
    block.ahead = {
            reinterpret_cast<const char *>(b.data()), 2 * depth, 100, cols * 4};
    for (const float times : {1.f, 2.f}) {
        gemm.run(block);
        block.accumulates = true;
        for (dim_t r = 0; r < rows; ++r)
            for (dim_t n = 0; n < cols; ++n) {
                float sum = 0;
                for (dim_t k = 0; k < depth; ++k)
                    sum += a.data()[r * lda + k] * b.data()[k * cols + n];
                ASSERT_EQ(c.data()[r * cols + n], times * sum)
                        << rows << " rows, depth " << depth << ", at " << r
                        << ", " << n;
            }
    }
}

TEST(gemm, parts_rows_evenly) {
    for (dim_t rows = 0; rows <= 40; ++rows) {
        dim_t next = 0, strips = 0;
        for_strips(rows, 6, [&](dim_t first, dim_t count) {
            EXPECT_EQ(first, next);
            EXPECT_LE(count, 6);
            EXPECT_GE(count, std::min<dim_t>(rows, 3)) << rows << " rows";
            next += count;
            ++strips;
        });
        EXPECT_EQ(next, rows);
        EXPECT_EQ(strips, (rows + 5) / 6);
    }
}

TEST(gemm, is_the_product) {
    for (const isa_t isa : {isa_none, isa_avx2, isa_avx512_core}) {
        if (!has(isa_of_machine(), isa)) continue;
        std::shared_ptr<const gemm_t> gemm;
        ASSERT_TRUE(make_gemm(isa, gemm).ok());
        SCOPED_TRACE(gemm->name());
        for (dim_t rows = 1; rows <= 30; ++rows)
            for (const dim_t depth : {1, 2, 3, 4, 5, 23, 70})
                check_gemm(*gemm, rows, 3 * gemm->panel(), depth);
    }
}

} // namespace
} // namespace dnnl_dequant
