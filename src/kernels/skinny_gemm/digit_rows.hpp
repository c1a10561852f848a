#ifndef KERNELS_SKINNY_GEMM_DIGIT_ROWS_HPP
#define KERNELS_SKINNY_GEMM_DIGIT_ROWS_HPP

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace dnnl_dequant {

/// Rows of f32 as digits, for weights of 2 or 4 bits. A chunk is the elements
/// that meet 64 bytes of [N,K] weights, or 32, 64 or 128 elements of a group of
/// [K,N] weights. Its elements are integers of three signed digits of 8 bits,
/// relative to its largest magnitude:
///
///     element = unit * (digit 0 + 256 * digit 1 + 65536 * digit 2) + rest
///
/// `unit` is a power of 2, and |rest| is at most unit / 2, which is about
/// 2^-23 of the chunk's largest magnitude at most. If the rests of a chunk add
/// up to more than 2^-20 of its magnitudes, they are digits too, with a unit of
/// 2^-23 of the first. So a large element costs the small ones little. But zero
/// points are multiplied by the sum of a chunk, or of a lane, and subtracted in
/// f32. The large element's part is rounded there, even if its weight is 0.
///
/// A row is its chunks, then its elements as they were:
///
///     chunk = first digits, digits of the rests, sums, about
///     digits = for each digit, the least one first: a byte for each element
///
/// The bytes of a digit are vectors for the low bits of [N,K] weights' bytes,
/// then for the next ones. They are in order for [K,N] weights.
struct digit_rows_t {
    static constexpr size_t line = 64;
    static constexpr int digits = 3;
    static constexpr dim_t lanes = 16;

    /// The properties of a chunk, behind its digits.
    struct about_t {
        // The elements of each lane of 32 bits of [N,K] weights, added up, or
        // all in each lane.
        float sums[lanes];
        float unit, rest_unit; // NaN if an element is not finite
        uint32_t has_rest;     // 1 if the digits of the rests count
        uint32_t unused[13];
    };
    static_assert(sizeof(about_t) == 2 * line, "whole lines");

    int vectors = 0;    // of each digit: 2 or 4; by [K,N] weights 1
    dim_t depth = 0;    // whole chunks
    dim_t in_order = 0; // elements of a chunk by [K,N] weights

    dim_t elements() const { // of a chunk
        return vectors == 1 ? in_order : vectors * dim_t(line);
    }
    dim_t chunks() const { return depth / elements(); }
    size_t digits_bytes() const { return digits * size_t(elements()); }
    size_t about_place() const { return 2 * digits_bytes(); }
    size_t chunk_bytes() const { return about_place() + sizeof(about_t); }
    size_t row_bytes() const {
        return size_t(chunks()) * chunk_bytes() + size_t(depth) * sizeof(float);
    }
    const about_t &about(const char *row, dim_t chunk) const {
        return *reinterpret_cast<const about_t *>(
                row + size_t(chunk) * chunk_bytes() + about_place());
    }
    const float *elements_of(const char *row) const {
        return reinterpret_cast<const float *>(
                row + size_t(chunks()) * chunk_bytes());
    }

    /// Makes a chunk of a row, by AVX-512 VNNI.
    /// @param from The row, of any alignment.
    /// @param row Its room, row_bytes(), aligned to 64 bytes.
    void make_chunk(const float *from, dim_t chunk, char *row) const noexcept;
};

} // namespace dnnl_dequant

#endif
