#ifndef KERNELS_ATTENTION_WEIGHTED_SUM_HPP
#define KERNELS_ATTENTION_WEIGHTED_SUM_HPP

#include <memory>

#include "base/data_type.hpp"
#include "base/isa.hpp"
#include "base/status.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// Integer values, a token's numbers side by side.
struct weighted_values_t {
    data_type_t type = data_type_t::undef; // s8 u8 s4 u4
    dim_t pitch = 0;                       // bytes from token to token
    dim_t cols = 0;                        // numbers of a token that are summed
    bool has_zp = false;
    dim_t ahead = 16 * 1024; // bytes, of what is prefetched
};

/// sums = sum over tokens of weight * value, a few rows of weights at a time;
/// the values are read once, as a stream.
class weighted_sum_t {
public:
    struct block_t {
        const void *values;   // of the first token
        const float *weights; // rows, weights_pitch bytes apart
        const float *zp;      // one, for all tokens
        float *sums;          // rows x cols, sums_pitch bytes apart
        dim_t weights_pitch, sums_pitch;
        dim_t tokens; // more than 0
    };
    static constexpr dim_t most_rows = 12;

    virtual ~weighted_sum_t() = default;
    virtual const char *name() const = 0;
    virtual void run(dim_t rows, const block_t &block) const noexcept = 0;
};

/// For up to so many rows; unimplemented without AVX-512, or for other numbers
/// of columns.
result_t make_jit_weighted_sum(const weighted_values_t &values, dim_t rows,
        isa_t isa, std::shared_ptr<const weighted_sum_t> &sum);

} // namespace dnnl_dequant

#endif
