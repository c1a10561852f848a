#ifndef SUPPORT_CROSS_PRODUCT_HPP
#define SUPPORT_CROSS_PRODUCT_HPP

#include "support/dequantize_case.hpp"

namespace dnnl_dequant {
namespace support {

struct types_t {
    data_type_t src, scales, zps, dst;
};

/// Returns every combination of scales (f32 bf16 f16) and zps (none s8 u8 s4 u4
/// s32) with the given src and dst.
std::vector<types_t> type_combinations(data_type_t src, data_type_t dst);

/// Returns the types beyond those: zps of the same type, none and some others
/// of src's family, scales of e8m0 as well.
std::vector<types_t> extended_combinations(data_type_t src, data_type_t dst);

/// Returns cases without types and seeds: every granularity in every layout,
/// over shapes of a few hundred elements at most with odd sizes.
const std::vector<dequantize_case_t> &small_shapes();

/// Cases without types and seeds whose sizes lie around the multiples of
/// vectors, unrolled loops and tiles, or run through many of them.
const std::vector<dequantize_case_t> &vector_shapes();

dequantize_case_t with_types(
        dequantize_case_t shape, const types_t &types, uint64_t seed);

/// Calls body(case, n) for each combination of types with each shape, and
/// only for the n-th if DNNL_DEQUANT_TEST_CASE=n is set; stops when body says
/// false. The seeds follow from DNNL_DEQUANT_TEST_SEED or are always the same;
/// DNNL_DEQUANT_TEST_EVERY=n leaves all but every n-th case out.
template <typename Body>
void for_each_case(const std::vector<types_t> &types,
        const std::vector<dequantize_case_t> &shapes, Body &&body);

/// The variables above; only_case() is -1 where none is named.
dim_t only_case();
uint64_t first_seed();
dim_t every();

template <typename Body>
void for_each_case(const std::vector<types_t> &types,
        const std::vector<dequantize_case_t> &shapes, Body &&body) {
    dim_t n = 0;
    for (const auto &combination : types)
        for (const auto &shape : shapes) {
            const dim_t number = n++;
            if (only_case() >= 0 ? only_case() != number : number % every())
                continue;
            const auto seed = first_seed() + static_cast<uint64_t>(number);
            if (!body(with_types(shape, combination, seed), number)) return;
        }
}

} // namespace support
} // namespace dnnl_dequant

#endif
