#include "kernels/matmul/gemm.hpp"
#include "kernels/row_blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dnnl_dequant {

namespace {

class ref_gemm_t : public gemm_t {
public:
    const char *name() const override { return "ref_matmul"; }
    dim_t nr() const override { return 1; }
    dim_t mr() const override { return 1; }
    status_t run(const gemm_block_t &block) const noexcept override {
        for (dim_t r = 0; r < block.rows; ++r) {
            float *c = block.c + r * block.ldc;
            const auto *const row
                    = static_cast<const float *>(block.a) + r * block.depth;
            if (!block.accumulates) std::fill(c, c + block.cols, 0.f);
            for (dim_t k = 0; k < block.depth; ++k) {
                const auto *const b
                        = static_cast<const float *>(block.b) + k * block.ldb;
                for (dim_t n = 0; n < block.cols; ++n)
                    c[n] += row[k] * b[n];
            }
        }
        return status_t::success;
    }
};

// Calls run with the count, as a constant if it is 1 to `most`: compilers
// unroll the loop over rows then.
template <dim_t most, typename run_t>
void with_constant(dim_t count, run_t &&run) {
    if constexpr (most > 0) {
        if (count == most) return run(std::integral_constant<dim_t, most>());
        return with_constant<most - 1>(count, run);
    }
    run(count);
}

// Packs `unit` bytes of each row at a time. A user's rows may begin at any
// byte, hence memcpy. An odd last bf16 is paired with a zero.
template <dim_t unit>
void pack_row_block(const char *src, dim_t pitch, dim_t rows, dim_t begin,
        dim_t bytes, char *to) noexcept {
    const dim_t whole = bytes / unit * unit;
    for (dim_t at = begin; at < whole; at += unit)
        for (dim_t r = 0; r < rows; ++r, to += unit)
            std::memcpy(to, src + r * pitch + at, unit);
    if (whole == bytes) return;
    const dim_t rest = bytes - whole, padded = round_up(rest, dim_t(4));
    for (dim_t r = 0; r < rows; ++r, to += padded) {
        std::memset(to + padded - 4, 0, 4);
        std::memcpy(to, src + r * pitch + whole, static_cast<size_t>(rest));
    }
}

// Packs values of 4 bytes. Two rows by four values become four pairs, which
// takes fewer instructions than eight values.
template <typename count_t>
void pack_values(const char *src, dim_t pitch, count_t rows, dim_t bytes,
        char *packed) noexcept {
    using values_t = int32_t __attribute__((vector_size(16)));
    using pairs_t = int64_t __attribute__((vector_size(16)));
    constexpr dim_t value = 4, step = sizeof(values_t);
    const dim_t row_of_values = rows * value; // packed
    const dim_t stepped = bytes / step * step;
    char *to = packed;
    for (dim_t at = 0; at < stepped; at += step, to += 4 * row_of_values) {
        const char *from = src + at;
        for (dim_t r = 0; r + 1 < rows; r += 2, from += 2 * pitch) {
            values_t first, second;
            std::memcpy(&first, from, step);
            std::memcpy(&second, from + pitch, step);
            const auto low = pairs_t(
                    __builtin_shufflevector(first, second, 0, 4, 1, 5));
            const auto high = pairs_t(
                    __builtin_shufflevector(first, second, 2, 6, 3, 7));
            char *pair_to = to + r * value;
            for (const int64_t pair : {low[0], low[1], high[0], high[1]}) {
                std::memcpy(pair_to, &pair, 2 * value);
                pair_to += row_of_values;
            }
        }
        for (dim_t v = 0; rows % 2 != 0 && v < 4; ++v)
            std::memcpy(to + (v + 1) * row_of_values - value, from + v * value,
                    value);
    }
    pack_row_block<value>(src, pitch, rows, stepped, bytes, to);
}

} // namespace

void pack_rows(const gemm_t &gemm, const void *src, dim_t pitch, dim_t rows,
        dim_t depth, void *packed) noexcept {
    const dim_t pitch_bytes = bytes_of(gemm.type(), pitch);
    const dim_t bytes = bytes_of(gemm.type(), depth);
    constexpr dim_t value = 4, row_of_tile = 64;
    constexpr dim_t most_constant = 6; // mr of most that take values
    for_row_blocks(rows, gemm.mr(), [&](dim_t first, dim_t count) {
        const auto *const from
                = static_cast<const char *>(src) + first * pitch_bytes;
        char *const to
                = static_cast<char *>(packed) + first * round_up(bytes, value);
        if (gemm.packed_bytes() == row_of_tile)
            pack_row_block<row_of_tile>(from, pitch_bytes, count, 0, bytes, to);
        else
            with_constant<most_constant>(count, [&](auto rows_of_block) {
                pack_values(from, pitch_bytes, rows_of_block, bytes, to);
            });
    });
}

result_t make_gemm(isa_t isa, std::shared_ptr<const gemm_t> &gemm) {
    const result_t made = make_jit_gemm(isa, data_type_t::f32, gemm);
    if (made.is_final()) return made;
    gemm = std::make_shared<ref_gemm_t>();
    return {};
}

} // namespace dnnl_dequant
