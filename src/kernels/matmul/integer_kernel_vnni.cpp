// Products of integers by vpdpbusd, which sums four products of bytes a lane:
// panels of 64 columns by six rows, 24 vectors of sums.

#include "kernels/matmul/integer_kernel.hpp"

#if defined(__x86_64__)

#include <algorithm>
#include <array>
#include <cstring>

#include <immintrin.h>

#include "kernels/dequantize/jit_params.hpp"

namespace dnnl_dequant {

namespace {

#define VNNI_TARGET \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

// The vectors are to stay in registers: Clang unrolls by itself.
#if defined(__GNUC__) && !defined(__clang__)
#define DNNL_DEQUANT_UNROLL _Pragma("GCC unroll 16")
#pragma GCC diagnostic push
// GCC 12 warns of its own header.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#else
#define DNNL_DEQUANT_UNROLL
#endif

constexpr int vectors = 4, most_rows = 6, lanes = 16;
// Rows of weights that are called for ahead.
constexpr dim_t rows_ahead = 64;

// The sums of `a` times `b`, of which the one is signed that is to be.
template <bool is_src_signed>
VNNI_TARGET inline __m512i dot(__m512i sum, __m512i a, __m512i b) {
    return is_src_signed ? _mm512_dpbusd_epi32(sum, b, a)
                         : _mm512_dpbusd_epi32(sum, a, b);
}

// Inlined, so that the sums are in registers and nowhere else.
template <size_t rows>
VNNI_TARGET __attribute__((always_inline)) inline void finish(
        const integer_tile_t &tile, dim_t row,
        const __m512i (&sums)[rows][vectors]) {
    DNNL_DEQUANT_UNROLL
    for (size_t r = 0; r < rows; ++r) {
        const auto &of_row
                = tile.row_groups[(row + dim_t(r)) * tile.row_groups_pitch];
        float *c = tile.c + (row + dim_t(r)) * tile.c_pitch;
        const __m512i zp = _mm512_set1_epi32(of_row.zp);
        const __m512i sum = _mm512_set1_epi32(of_row.sum);
        const __m512 scale = _mm512_set1_ps(of_row.scale);
        DNNL_DEQUANT_UNROLL
        for (int v = 0; v < vectors; ++v) {
            __m512i exact = sums[r][v];
            if (of_row.zp != 0)
                exact = _mm512_sub_epi32(exact,
                        _mm512_mullo_epi32(
                                zp, _mm512_loadu_si512(tile.b.sums + v * 16)));
            exact = _mm512_sub_epi32(
                    exact, _mm512_mullo_epi32(sum,
                                   _mm512_loadu_si512(tile.b.zps + v * 16)));
            const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(exact),
                    _mm512_loadu_ps(tile.b.scales + v * 16));
            const __m512 before = tile.accumulates ? _mm512_loadu_ps(c + v * 16)
                                                   : _mm512_setzero_ps();
            _mm512_storeu_ps(
                    c + v * 16, _mm512_fmadd_ps(scaled, scale, before));
        }
    }
}

template <size_t rows, bool is_src_signed>
VNNI_TARGET void multiply_rows(const integer_tile_t &tile, dim_t row) {
    __m512i sums[rows][vectors];
    DNNL_DEQUANT_UNROLL
    for (size_t r = 0; r < rows; ++r)
        DNNL_DEQUANT_UNROLL
    for (int v = 0; v < vectors; ++v)
        sums[r][v] = _mm512_setzero_si512();
    const uint8_t *a = tile.a + row * tile.a_pitch;
    const int8_t *quads = tile.b.quads;
    for (dim_t k = 0; k < tile.quads; ++k, a += 4, quads += integer_panel * 4) {
        __m512i b[vectors];
        DNNL_DEQUANT_UNROLL
        for (int v = 0; v < vectors; ++v)
            b[v] = _mm512_loadu_si512(quads + v * 64);
        DNNL_DEQUANT_UNROLL
        for (size_t r = 0; r < rows; ++r) {
            int32_t quad;
            std::memcpy(&quad, a + dim_t(r) * tile.a_pitch, 4);
            const __m512i of_a = _mm512_set1_epi32(quad);
            DNNL_DEQUANT_UNROLL
            for (int v = 0; v < vectors; ++v)
                sums[r][v] = dot<is_src_signed>(sums[r][v], of_a, b[v]);
        }
    }
    finish<rows>(tile, row, sums);
}

using multiply_t = void (*)(const integer_tile_t &tile, dim_t row);

template <bool is_src_signed>
constexpr std::array<multiply_t, most_rows> multiply_functions {
        multiply_rows<1, is_src_signed>, multiply_rows<2, is_src_signed>,
        multiply_rows<3, is_src_signed>, multiply_rows<4, is_src_signed>,
        multiply_rows<5, is_src_signed>, multiply_rows<6, is_src_signed>};

__mmask64 first(dim_t count) {
    return count >= 64 ? ~__mmask64(0) : (__mmask64(1) << count) - 1;
}

// 64 numbers that follow each other, `count` of them there: each a byte, with
// the bits of `flips` turned over; zeros for those that are not there.
template <int bits>
VNNI_TARGET inline __m512i load_numbers(
        const uint8_t *from, dim_t count, __m512i flips) {
    const __mmask64 mask = first(count);
    __m512i bytes;
    if (bits == 8) {
        bytes = _mm512_maskz_loadu_epi8(mask, from);
    } else {
        const __m512i pairs = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(
                static_cast<__mmask32>(first((count + 1) / 2)), from));
        bytes = _mm512_and_si512(
                _mm512_or_si512(pairs, _mm512_slli_epi16(pairs, 4)),
                _mm512_set1_epi8(15));
    }
    return _mm512_maskz_mov_epi8(mask, _mm512_xor_si512(bytes, flips));
}

// Four rows of 64 bytes to four vectors of quads, columns in their order.
VNNI_TARGET inline void interleave(__m512i (&rows)[4]) {
    const __m512i a = _mm512_unpacklo_epi8(rows[0], rows[1]);
    const __m512i b = _mm512_unpackhi_epi8(rows[0], rows[1]);
    const __m512i c = _mm512_unpacklo_epi8(rows[2], rows[3]);
    const __m512i d = _mm512_unpackhi_epi8(rows[2], rows[3]);
    // Lane l of quarter q: columns 16 l + 4 q to 16 l + 4 q + 3.
    const __m512i q0 = _mm512_unpacklo_epi16(a, c);
    const __m512i q1 = _mm512_unpackhi_epi16(a, c);
    const __m512i q2 = _mm512_unpacklo_epi16(b, d);
    const __m512i q3 = _mm512_unpackhi_epi16(b, d);
    const __m512i low01 = _mm512_shuffle_i32x4(q0, q1, 0x44);
    const __m512i high01 = _mm512_shuffle_i32x4(q0, q1, 0xee);
    const __m512i low23 = _mm512_shuffle_i32x4(q2, q3, 0x44);
    const __m512i high23 = _mm512_shuffle_i32x4(q2, q3, 0xee);
    rows[0] = _mm512_shuffle_i32x4(low01, low23, 0x88);
    rows[1] = _mm512_shuffle_i32x4(low01, low23, 0xdd);
    rows[2] = _mm512_shuffle_i32x4(high01, high23, 0x88);
    rows[3] = _mm512_shuffle_i32x4(high01, high23, 0xdd);
}

// Sixteen vectors of as many 32 bits, each becoming one of each.
VNNI_TARGET inline void transpose(__m512i (&a)[lanes]) {
    __m512i b[lanes];
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < lanes; i += 2) {
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < lanes; i += 4)
        DNNL_DEQUANT_UNROLL
    for (int j = 0; j < 2; ++j) {
        a[i + 2 * j] = _mm512_unpacklo_epi64(b[i + j], b[i + j + 2]);
        a[i + 2 * j + 1] = _mm512_unpackhi_epi64(b[i + j], b[i + j + 2]);
    }
    // Lane l of a[4 i + j]: what dword 4 l + j has of vectors 4 i to 4 i + 3.
    DNNL_DEQUANT_UNROLL
    for (int j = 0; j < 4; ++j) {
        b[j] = _mm512_shuffle_i32x4(a[j], a[4 + j], 0x44);
        b[4 + j] = _mm512_shuffle_i32x4(a[j], a[4 + j], 0xee);
        b[8 + j] = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0x44);
        b[12 + j] = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0xee);
    }
    DNNL_DEQUANT_UNROLL
    for (int j = 0; j < 4; ++j) {
        a[j] = _mm512_shuffle_i32x4(b[j], b[8 + j], 0x88);
        a[4 + j] = _mm512_shuffle_i32x4(b[j], b[8 + j], 0xdd);
        a[8 + j] = _mm512_shuffle_i32x4(b[4 + j], b[12 + j], 0x88);
        a[12 + j] = _mm512_shuffle_i32x4(b[4 + j], b[12 + j], 0xdd);
    }
}

template <int bits>
VNNI_TARGET void unpack_rows(const integer_format_t &format,
        const uint8_t *base, dim_t element, dim_t depth, dim_t cols, int flip,
        int8_t *quads) {
    const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
    for (dim_t k = 0; k < depth; k += 4, quads += integer_panel * 4) {
        __m512i rows[4];
        DNNL_DEQUANT_UNROLL
        for (int i = 0; i < 4; ++i) {
            const uint8_t *from
                    = base
                      + (element + (k + i) * format.depth_stride) * bits / 8;
            // A panel has half a line of each row or all of it: what comes
            // next no hardware foresees.
            _mm_prefetch(from + rows_ahead * format.depth_stride * bits / 8,
                    _MM_HINT_T0);
            rows[i] = k + i < depth ? load_numbers<bits>(from, cols, flips)
                                    : _mm512_setzero_si512();
        }
        interleave(rows);
        DNNL_DEQUANT_UNROLL
        for (int i = 0; i < 4; ++i)
            _mm512_storeu_si512(quads + i * 64, rows[i]);
    }
}

template <int bits>
VNNI_TARGET void unpack_columns(const integer_format_t &format,
        const uint8_t *base, dim_t element, dim_t depth, dim_t cols, int flip,
        int8_t *quads) {
    const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
    for (dim_t n = 0; n < integer_panel; n += lanes)
        for (dim_t k = 0; k < depth; k += 64) {
            __m512i columns[lanes];
            DNNL_DEQUANT_UNROLL
            for (int i = 0; i < lanes; ++i) {
                const uint8_t *from
                        = base
                          + (element + k + (n + i) * format.col_stride) * bits
                                    / 8;
                columns[i] = n + i < cols ? load_numbers<bits>(
                                                    from, depth - k, flips)
                                          : _mm512_setzero_si512();
            }
            transpose(columns);
            const dim_t count = std::min<dim_t>(lanes, (depth - k + 3) / 4);
            int8_t *to = quads + (k / 4 * integer_panel + n) * 4;
            for (dim_t i = 0; i < count; ++i)
                _mm512_storeu_si512(to + i * integer_panel * 4, columns[i]);
        }
}

template <bool is_src_signed>
VNNI_TARGET void sum_columns(const int8_t *quads, dim_t count, int32_t *sums) {
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i sum[vectors] = {};
    for (dim_t k = 0; k < count; ++k, quads += integer_panel * 4)
        DNNL_DEQUANT_UNROLL
    for (int v = 0; v < vectors; ++v)
        sum[v] = dot<is_src_signed>(
                sum[v], ones, _mm512_loadu_si512(quads + v * 64));
    for (int v = 0; v < vectors; ++v)
        _mm512_storeu_si512(sums + v * 16, sum[v]);
}

VNNI_TARGET void to_integers(const float *from, int bias, int32_t *to) {
    const __m512i biases = _mm512_set1_epi32(bias);
    for (int v = 0; v < vectors; ++v)
        _mm512_storeu_si512(to + v * 16,
                _mm512_add_epi32(biases,
                        _mm512_cvtps_epi32(_mm512_loadu_ps(from + v * 16))));
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

class vnni_integer_t : public integer_kernel_t {
public:
    explicit vnni_integer_t(const integer_format_t &format)
        : format_(format)
        , bias_(integer_bias(format))
        , stage_scales_(stage_floats_of(format.scales))
        , stage_zps_(stages_of_zps(format.zps).whole) {}

    const char *name() const override {
        return "integer_matmul_avx512_core_vnni";
    }

    void unpack(const void *base, dim_t first, dim_t depth, dim_t cols,
            const integer_panel_t &panel) const noexcept override {
        const bool by_rows = format_.col_stride == 1;
        const bool is_nibble = bits_of(format_.weights) == 4;
        const auto unpack
                = by_rows ? (is_nibble ? unpack_rows<4> : unpack_rows<8>)
                          : (is_nibble ? unpack_columns<4> : unpack_columns<8>);
        // Adding half of the range is to turn over its highest bit.
        unpack(format_, static_cast<const uint8_t *>(base), first, depth, cols,
                bias_, panel.quads);
        if (!format_.has_src_zps) return;
        (format_.is_src_signed ? sum_columns<true>
                               : sum_columns<false>)(panel.quads,
                (depth + 3) / 4, panel.sums);
    }

    void load_parameters(const void *scales, dim_t first_scale, const void *zps,
            dim_t first_zp, dim_t cols,
            const integer_panel_t &panel) const noexcept override {
        stage_scales_(
                panel.scales, scales, first_scale, format_.scales_stride, cols);
        float staged[integer_panel + 16] = {};
        if (format_.zps != data_type_t::undef)
            stage_zps_(staged, zps, first_zp, format_.zps_stride, cols);
        to_integers(staged, bias_, panel.zps);
    }

    void multiply(const integer_tile_t &tile) const noexcept override {
        const auto &functions = format_.is_src_signed
                                        ? multiply_functions<true>
                                        : multiply_functions<false>;
        // Rows in even parts.
        const dim_t parts = (tile.rows + most_rows - 1) / most_rows;
        dim_t row = 0;
        for (dim_t p = 0; p < parts; ++p) {
            const dim_t rows = (tile.rows - row) / (parts - p);
            functions[static_cast<size_t>(rows - 1)](tile, row);
            row += rows;
        }
    }

private:
    const integer_format_t format_;
    const int bias_;
    const stage_t stage_scales_, stage_zps_;
};

} // namespace

result_t make_integer_kernel_vnni(const integer_format_t &format, isa_t isa,
        std::shared_ptr<const integer_kernel_t> &kernel) {
    const auto refuse = [](const char *why) {
        return result_t(status_t::unimplemented, why);
    };
    if (!has(isa, isa_avx512_core_vnni)) return refuse("no AVX-512 VNNI");
    if (format.depth_stride != 1 && format.col_stride != 1)
        return refuse("neither rows nor columns of the weights lie side by "
                      "side");
    if (bits_of(format.weights) == 4
            && (format.depth_stride == 1 ? format.col_stride
                                         : format.depth_stride)
                               % 2
                       != 0)
        return refuse("rows of the weights begin within a byte");
    if (stage_floats_of(format.scales) == nullptr)
        return refuse("scales are no floats");
    kernel = std::make_shared<vnni_integer_t>(format);
    return {};
}

} // namespace dnnl_dequant

#else

namespace dnnl_dequant {

result_t make_integer_kernel_vnni(const integer_format_t &, isa_t,
        std::shared_ptr<const integer_kernel_t> &) {
    return {status_t::unimplemented, "the machine is no x86-64"};
}

} // namespace dnnl_dequant

#endif
