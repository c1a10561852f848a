#ifndef BENCHMARKS_FORMULA_HPP
#define BENCHMARKS_FORMULA_HPP

#include <cstddef>

#include "bench_case.hpp"
#include "buffers.hpp"

namespace dnnl_dequant {
namespace bench {

/// The formula, written down a second time and on its own: what dst must hold
/// at (row, col), as the bits of its type.
///   difference = f32(src - zp)         exact in integers, then rounded once
///   dst        = dst_type(difference * f32(scale))    rounded once each
uint32_t expected_bits(
        const bench_case_t &c, const buffers_t &b, dim_t row, dim_t col);

struct check_t {
    size_t checked = 0;
    size_t wrong = 0;        // bits differ, signs of zero among them
    size_t sign_of_zero = 0; // of the wrong: 0 where -0 is right, or reverse
};

/// Compares dst with the formula, at `most` points evenly spread over it (all
/// of them where there are no more).
check_t check_result(const bench_case_t &c, const buffers_t &b,
        size_t most = size_t {1} << 18);

/// f32 to the bits of `type`, to nearest even, subnormals kept; and back.
uint32_t round_to(type_t type, float value);
float to_f32(type_t type, uint32_t bits);

} // namespace bench
} // namespace dnnl_dequant

#endif
