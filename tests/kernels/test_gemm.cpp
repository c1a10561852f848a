// kernels/matmul: blocks, on values whose sums are exact.

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

#include "base/convert.hpp"
#include "base/isa.hpp"
#include "kernels/exact_floats.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/matmul/gemm.hpp"
#include "kernels/row_blocks.hpp"

namespace dnnl_dequant {
namespace {

using support::random_t;

// The same numbers as the gemm's type has them; they end at a page's end, too.
support::guarded_buffer_t numbers_of(
        data_type_t type, const floats_t &numbers, dim_t count) {
    support::guarded_buffer_t buffer(
            static_cast<size_t>(bytes_of(type, count)));
    for (dim_t i = 0; i < count; ++i)
        store_f32(type, buffer.data(), i, numbers.data()[i]);
    return buffer;
}

void check_gemm(const gemm_t &gemm, dim_t rows, dim_t cols, dim_t depth) {
    random_t random(static_cast<uint64_t>(rows * 1000 + depth));
    const data_type_t type = gemm.type();
    const dim_t lda = depth + 3;
    // The last rows have no gap behind them.
    const dim_t a_count = (rows - 1) * lda + depth;
    const bool nk = gemm.takes_nk();
    const floats_t a(a_count), b(depth * cols), c(rows * cols);
    fill_small(a.data(), a_count, random);
    fill_small(b.data(), depth * cols, random);
    const auto typed_a = numbers_of(type, a, a_count);
    const auto typed_b = numbers_of(type, b, depth * cols);
    const support::guarded_buffer_t packed(static_cast<size_t>(
            bytes_of(type, rows * packed_depth(gemm, depth)))),
            scratch(static_cast<size_t>(gemm.scratch_bytes(cols, depth)));
    pack_rows(gemm, typed_a.data(), lda, rows, depth, packed.data());
    gemm_block_t block {packed.data(), typed_b.data(), c.data(),
            nk ? depth : cols, cols, rows, cols, depth, false};
    // A prefetched address need not be anyone's memory.
    block.ahead = {static_cast<const char *>(typed_b.data()), 2 * depth, 100,
            cols * 4};
    block.scratch = scratch.data();
    for (const float times : {1.f, 2.f}) {
        gemm.run(block);
        block.accumulates = true;
        for (dim_t r = 0; r < rows; ++r)
            for (dim_t n = 0; n < cols; ++n) {
                float sum = 0;
                for (dim_t k = 0; k < depth; ++k)
                    sum += a.data()[r * lda + k]
                           * b.data()[nk ? n * depth + k : k * cols + n];
                ASSERT_EQ(c.data()[r * cols + n], times * sum)
                        << rows << " rows, depth " << depth << ", at " << r
                        << ", " << n;
            }
        EXPECT_TRUE(packed.intact());
        EXPECT_TRUE(scratch.intact());
    }
}

TEST(gemm, parts_rows_evenly) {
    for (dim_t rows = 0; rows <= 40; ++rows) {
        dim_t next = 0, blocks = 0;
        for_row_blocks(rows, 6, [&](dim_t first, dim_t count) {
            EXPECT_EQ(first, next);
            EXPECT_LE(count, 6);
            EXPECT_GE(count, std::min<dim_t>(rows, 3)) << rows << " rows";
            next += count;
            ++blocks;
        });
        EXPECT_EQ(next, rows);
        EXPECT_EQ(blocks, (rows + 5) / 6);
    }
}

void check_sizes(const gemm_t &gemm) {
    SCOPED_TRACE(gemm.name());
    for (dim_t rows = 1; rows <= 40; ++rows)
        for (const dim_t depth : {1, 2, 3, 4, 5, 23, 64, 70, 97})
            if (!gemm.takes_nk() || depth % 2 == 0)
                check_gemm(gemm, rows, 3 * gemm.nr(), depth);
    for (dim_t rows = 1; rows <= 13; ++rows)
        for (dim_t cols = gemm.col_unit(); cols < 2 * gemm.nr();
                cols += gemm.col_unit())
            check_gemm(gemm, rows, cols, 22);
}

// Has the order of packed rows that a kernel may have, and does nothing.
class order_t : public gemm_t {
public:
    order_t(data_type_t type, dim_t packed_bytes, dim_t mr)
        : type_(type)
        , packed_bytes_(packed_bytes)
        , mr_(mr) {}

    const char *name() const override { return "order"; }
    data_type_t type() const override { return type_; }
    dim_t packed_bytes() const override { return packed_bytes_; }
    dim_t nr() const override { return 1; }
    dim_t mr() const override { return mr_; }
    status_t run(const gemm_block_t & /*block*/) const noexcept override {
        return status_t::success;
    }

private:
    const data_type_t type_;
    const dim_t packed_bytes_, mr_;
};

// On any machine: values of f32 and pairs of bf16 of up to 6 and of
// up to 32 rows, and rows of tiles.
TEST(gemm, packs_rows_in_order) {
    constexpr dim_t value = 4, row_of_tile = 64;
    for (const auto &[type, unit, mr] :
            {std::tuple {data_type_t::f32, value, dim_t(6)},
                    {data_type_t::bf16, value, dim_t(6)},
                    {data_type_t::bf16, value, dim_t(32)},
                    {data_type_t::bf16, row_of_tile, dim_t(32)}})
        for (const dim_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 15, 31, 32, 33, 70})
            for (const dim_t depth : {1, 2, 3, 7, 8, 9, 31, 32, 33, 100}) {
                const order_t order(type, unit, mr);
                const dim_t row = bytes_of(type, depth);
                const dim_t pitch = bytes_of(type, depth + 3);
                const dim_t packed_row = round_up(row, value);
                const support::guarded_buffer_t src(
                        static_cast<size_t>((rows - 1) * pitch + row)),
                        packed(static_cast<size_t>(rows * packed_row));
                auto *const from = static_cast<uint8_t *>(src.data());
                for (size_t i = 0; i < src.size(); ++i)
                    from[i] = static_cast<uint8_t>(i * 37 + i / 256);
                std::vector<uint8_t> expected;
                for_row_blocks(
                        rows, mr, [&, unit = unit](dim_t first, dim_t count) {
                    for (dim_t at = 0; at < packed_row; at += unit)
                        for (dim_t r = first; r < first + count; ++r)
                            for (dim_t b = at;
                                    b < std::min(at + unit, packed_row); ++b)
                                expected.push_back(
                                        b < row ? from[r * pitch + b] : 0);
                });
                pack_rows(order, from, depth + 3, rows, depth, packed.data());
                EXPECT_EQ(std::memcmp(packed.data(), expected.data(),
                                  expected.size()),
                        0)
                        << to_string(type) << ' ' << unit << ' ' << mr << ": "
                        << rows << " rows, depth " << depth;
                EXPECT_TRUE(src.intact() && packed.intact());
            }
}

TEST(gemm, is_the_product) {
    for (const isa_t isa : {isa_none, isa_avx2, isa_avx512_core}) {
        if (!has(isa_of_machine(), isa)) continue;
        std::shared_ptr<const gemm_t> gemm;
        ASSERT_TRUE(make_gemm(isa, gemm).ok());
        check_sizes(*gemm);
    }
}

TEST(gemm, of_bf16_is_the_product) {
    std::shared_ptr<const gemm_t> gemm;
    if (!has(isa_of_machine(), isa_avx512_core_bf16)) {
        EXPECT_EQ(
                make_jit_gemm(isa_of_machine(), data_type_t::bf16, gemm).status,
                status_t::unimplemented);
        GTEST_SKIP() << "this machine lacks AVX512_BF16";
    }
    ASSERT_TRUE(
            make_jit_gemm(isa_avx512_core_bf16, data_type_t::bf16, gemm).ok());
    EXPECT_EQ(gemm->type(), data_type_t::bf16);
    check_sizes(*gemm);
}

TEST(gemm, of_tiles_is_the_product) {
    if (!has(isa_of_machine(), isa_amx_bf16))
        GTEST_SKIP() << "this machine lacks AMX for bf16";
    for (const bool nk : {false, true}) {
        std::shared_ptr<const gemm_t> gemm;
        ASSERT_TRUE(make_amx_gemm(nk, gemm).ok());
        EXPECT_EQ(gemm->takes_nk(), nk);
        check_sizes(*gemm);
    }
}

} // namespace
} // namespace dnnl_dequant
