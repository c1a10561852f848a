#ifndef BENCHMARKS_FORMULA_HPP
#define BENCHMARKS_FORMULA_HPP

#include <cstddef>
#include <cstdint>

#include "bench_case.hpp"
#include "buffers.hpp"

namespace dnnl_dequant {
namespace bench {

/// The formula, written down a second time and on its own: what dst must hold,
/// as the bits of its type.
///   difference = f32(src - zp)         exact in integers, then rounded once
///              = f32(src) - f32(zp)    of floating types
///   dst        = dst_type(difference * f32(scale))    rounded once each
class formula_t {
public:
    formula_t(const bench_case_t &c, const buffers_t &b);

    /// Returns the bits of element `at` of dst, counted densely.
    uint32_t expected_bits(dim_t at) const;

private:
    const bench_case_t &c_;
    const buffers_t &b_;
    dims_t shared_, src_strides_, scale_strides_;
};

struct check_t {
    size_t checked = 0;
    size_t wrong = 0;        // bits differ, signs of zero among them
    size_t sign_of_zero = 0; // of the wrong: 0 where -0 is right, or reverse
};

/// Compares dst with the formula, at `most` points evenly spread over it (all
/// of them where there are no more). Any NaN equals any other.
check_t check_result(const bench_case_t &c, const buffers_t &b,
        size_t most = size_t {1} << 18);

/// One element of a tensor, counted in the order of memory.
struct element_t {
    type_t type; // undef: there is none
    const void *base;
    dim_t index;
};

/// Returns the bits of an element. Types below a byte start at the lowest bits.
uint32_t bits_at(const element_t &element);
/// Returns an element of an integer type.
int64_t integer_of(const element_t &element);
/// Returns the element as an f32, rounded once.
float value_of(const element_t &element);
/// f32(x - zp), as the formula has it.
float difference_of(const element_t &x, const element_t &zp);
/// Counts one element as right or wrong.
void count_bits(check_t &check, type_t type, uint32_t got, uint32_t want);

dims_t dense_strides(const dims_t &dims);
/// Rounds an f32 to the bits of f32, bf16 or f16: to nearest even, subnormals
/// kept.
uint32_t round_to(type_t type, float value);
/// Returns the value of the bits of any floating type.
float to_f32(type_t type, uint32_t bits);

} // namespace bench
} // namespace dnnl_dequant

#endif
