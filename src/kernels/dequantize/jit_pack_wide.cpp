#include "kernels/dequantize/jit_pack_wide.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <emmintrin.h>

#include "base/prefetch.hpp"
#include "kernels/dequantize/jit_pack_columns.hpp"
#include "kernels/machine.hpp"

namespace dnnl_dequant {

namespace {

__m128i load(const void *from) {
    return _mm_loadu_si128(static_cast<const __m128i *>(from));
}

void store(void *to, __m128i bytes) {
    _mm_storeu_si128(static_cast<__m128i *>(to), bytes);
}

// A square block with as many elements a side as 16 bytes hold; each vector is
// a column of src. A round that interleaves the first half of the vectors with
// the second rotates the index bits. log2(side) rounds transpose.
template <typename T>
struct block_t;

template <>
struct block_t<uint16_t> {
    static constexpr size_t side = 8, rounds = 3;
    static __m128i low(__m128i a, __m128i b) {
        return _mm_unpacklo_epi16(a, b);
    }
    static __m128i high(__m128i a, __m128i b) {
        return _mm_unpackhi_epi16(a, b);
    }
};

template <>
struct block_t<uint32_t> {
    static constexpr size_t side = 4, rounds = 2;
    static __m128i low(__m128i a, __m128i b) {
        return _mm_unpacklo_epi32(a, b);
    }
    static __m128i high(__m128i a, __m128i b) {
        return _mm_unpackhi_epi32(a, b);
    }
};

// No source need be aligned, nor a tile, which can be dst itself.
template <typename T>
const char *address(const void *src, dim_t index) {
    return static_cast<const char *>(src)
           + index * static_cast<dim_t>(sizeof(T));
}

template <typename T>
char *address(void *tile, dim_t index) {
    return static_cast<char *>(tile) + index * static_cast<dim_t>(sizeof(T));
}

template <typename T>
T element(const void *src, dim_t index) {
    T value;
    std::memcpy(&value, address<T>(src, index), sizeof(T));
    return value;
}

template <typename T>
void set_element(void *tile, dim_t index, T value) {
    std::memcpy(address<T>(tile, index), &value, sizeof(T));
}

uint8_t quarter(const void *src, dim_t index) {
    const int byte = element<uint8_t>(src, index >> 2);
    return static_cast<uint8_t>(byte >> (index & 3) * 2);
}

// The vectors must stay in registers; Clang unrolls by itself.
#if defined(__GNUC__) && !defined(__clang__)
#define DNNL_DEQUANT_UNROLL _Pragma("GCC unroll 8")
#else
#define DNNL_DEQUANT_UNROLL
#endif

template <typename T, int cache, typename columns_t>
inline void transpose_block(void *tile, dim_t pitch, const columns_t &columns,
        dim_t row, dim_t ahead) {
    using block = block_t<T>;
    constexpr size_t side = block::side;
    __m128i a[side], b[side];
    DNNL_DEQUANT_UNROLL
    for (size_t i = 0; i < side; ++i) {
        const char *const from = address<T>(columns[static_cast<int>(i)], row);
        a[i] = load(from);
        // Prefetch the next line, which no hardware prefetcher foresees.
        prefetch_into<cache>(from + ahead);
    }
    DNNL_DEQUANT_UNROLL
    for (size_t round = 0; round < block::rounds; ++round) {
        DNNL_DEQUANT_UNROLL
        for (size_t i = 0; i < side / 2; ++i) {
            b[2 * i] = block::low(a[i], a[i + side / 2]);
            b[2 * i + 1] = block::high(a[i], a[i + side / 2]);
        }
        DNNL_DEQUANT_UNROLL
        for (size_t i = 0; i < side; ++i)
            a[i] = b[i];
    }
    DNNL_DEQUANT_UNROLL
    for (size_t i = 0; i < side; ++i)
        store(address<T>(tile, static_cast<dim_t>(i) * pitch), a[i]);
}

// Along the columns of src outermost, so that a line of it is read at once.
template <typename T, int cache, typename columns_t>
void transpose(
        void *tile, dim_t pitch, const transposed_src_t &src, dim_t ahead) {
    constexpr auto side = static_cast<dim_t>(block_t<T>::side);
    const dim_t rows = src.rows, whole_rows = rows - rows % side;
    columns_t along(src);
    const auto one_by_one = [&](const auto &columns, dim_t first, dim_t cols) {
        for (int i = 0; i < cols; ++i)
            for (dim_t r = first; r < rows; ++r)
                set_element(tile, r * pitch + i, element<T>(columns[i], r));
    };
    dim_t c = 0;
    for (; c + side <= src.cols; c += side, tile = address<T>(tile, side)) {
        const auto columns = along.next();
        for (dim_t r = 0; r < whole_rows; r += side)
            transpose_block<T, cache>(
                    address<T>(tile, r * pitch), pitch, columns, r, ahead);
        one_by_one(columns, whole_rows, side);
    }
    one_by_one(along.next(), 0, src.cols - c);
}

template <typename T>
void gather(void *tile, dim_t pitch, const gathered_src_t &from,
        T (*read)(const void *, dim_t)) {
    for (dim_t r = 0; r < from.rows; ++r) {
        const dim_t first = from.first + r * from.row_stride;
        for (dim_t c = 0; c < from.cols; ++c)
            set_element(tile, r * pitch + c,
                    read(from.data, first + c * from.col_stride));
    }
}

template <typename T>
void transpose(
        void *tile, dim_t pitch, const transposed_src_t &src, dim_t ahead) {
    constexpr int side = block_t<T>::side;
    using even_t = even_columns_t<T, side>;
    using grouped_t = grouped_columns_t<T, side>;
    const bool to_l2 = this_machine().policy.prefetches_tiles_into_l2;
    const auto run = src.group == 0 ? to_l2 ? transpose<T, 2, even_t>
                                            : transpose<T, 1, even_t>
                     : to_l2 ? transpose<T, 2, grouped_t>
                                    : transpose<T, 1, grouped_t>;
    run(tile, pitch, src, ahead);
}

} // namespace

void pack_transposed_wide(void *tile, dim_t pitch, const transposed_src_t &src,
        int bits, dim_t ahead) {
    const auto run = bits == 16 ? transpose<uint16_t> : transpose<uint32_t>;
    run(tile, pitch, src, ahead);
}

// A row of bytes becomes the first of its four rows of the tile, and is shifted
// for the others.
void pack_transposed_quarters(uint8_t *tile, dim_t pitch,
        const transposed_src_t &bytes, dim_t rows, isa_t isa, dim_t ahead) {
    constexpr dim_t together = 4, side = 16;
    pack_transposed(tile, together * pitch, bytes, isa, ahead);
    for (dim_t r = 0; r < rows; r += together, tile += together * pitch) {
        const auto shifted = static_cast<int>(std::min(together, rows - r));
        dim_t c = 0;
        for (; c + side <= bytes.cols; c += side) {
            const __m128i four = load(tile + c);
            for (int i = 1; i < shifted; ++i)
                store(tile + i * pitch + c, _mm_srli_epi16(four, 2 * i));
        }
        for (; c < bytes.cols; ++c)
            for (int i = 1; i < shifted; ++i)
                tile[i * pitch + c] = static_cast<uint8_t>(tile[c] >> 2 * i);
    }
}

void pack_gathered_wide(void *tile, dim_t pitch, const gathered_src_t &src) {
    switch (src.bits) {
    case 2: return gather<uint8_t>(tile, pitch, src, quarter);
    case 16: return gather(tile, pitch, src, element<uint16_t>);
    default: return gather(tile, pitch, src, element<uint32_t>);
    }
}

void pack_quarters(uint8_t *tile, const void *src, dim_t first, dim_t cols) {
    constexpr dim_t side = 64;
    dim_t c = 0;
    for (; c < cols && (first + c) % 4 != 0; ++c)
        tile[c] = quarter(src, first + c);
    for (; c + side <= cols; c += side) {
        // Bytes of four, to pairs of pairs, to one each.
        const __m128i four = load(address<uint8_t>(src, (first + c) / 4));
        const __m128i upper = _mm_srli_epi16(four, 4);
        for (int half = 0; half < 2; ++half) {
            const __m128i two = half == 0 ? _mm_unpacklo_epi8(four, upper)
                                          : _mm_unpackhi_epi8(four, upper);
            const __m128i odd = _mm_srli_epi16(two, 2);
            store(tile + c + half * 32, _mm_unpacklo_epi8(two, odd));
            store(tile + c + half * 32 + 16, _mm_unpackhi_epi8(two, odd));
        }
    }
    for (; c < cols; ++c)
        tile[c] = quarter(src, first + c);
}

} // namespace dnnl_dequant
