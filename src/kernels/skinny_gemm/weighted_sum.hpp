#ifndef KERNELS_SKINNY_GEMM_WEIGHTED_SUM_HPP
#define KERNELS_SKINNY_GEMM_WEIGHTED_SUM_HPP

#include <memory>

#include "base/data_type.hpp"
#include "base/isa.hpp"
#include "base/prefetch.hpp"
#include "base/status.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// Values: the numbers of a token are contiguous. Weights [K,N] are
/// such values too; a row of K is a token.
struct weighted_values_t {
    data_type_t type = data_type_t::undef; // as skinny_weights_t's
    dim_t pitch = 0;                       // bytes from token to token
    dim_t cols = 0;                        // numbers of a token that are summed
    bool has_zp = false;
    dim_t ahead = 16 * 1024; // prefetch distance, bytes; 0: none
    /// If true, which takes AVX2, block_t::next is prefetched instead.
    bool prefetches_next = false;
    /// If true, each token has a scale and a zero point:
    ///     value = (number - zero point) * scale, rounded to `rounded`
    /// If `group_cols` is not 0, each `group_cols` numbers of a token have
    /// their own, `cols` / `group_cols` side by side, of which the last may be
    /// short. If false, all tokens share a zero point, and nothing is scaled.
    bool by_token = false;
    data_type_t rounded = data_type_t::f32;
    bool are_ordinary = false; // see float_rounding_t
    /// If true, which takes AVX2 and tokens with scales, integers of 4 bits and
    /// fewer are multiplied where they lie in a lane of 32 bits. The value is
    /// not rounded, one or two rows have their weights scaled instead, and sums
    /// may be up to 2^24 times as large until put_in_order().
    bool in_place = false;
    bool adds = false;    // to the sums that are there
    dim_t group_cols = 0; // see by_token
    /// If bf16, which takes AVX512_BF16 and `by_token`, weights are of this
    /// type, values are rounded to it, and the products of two tokens are added
    /// at once. The number of tokens is even.
    data_type_t multiplied = data_type_t::f32;
};

/// Computes sums = sum over tokens of weight * value, a few rows of weights at
/// a time. The values are read once, as a stream.
class weighted_sum_t {
public:
    struct block_t {
        const void *values;  // of the first token
        const void *weights; // rows, weights_pitch bytes apart
        const float *zp;     // of the first token
        float *sums;         // rows x cols, sums_pitch bytes apart
        dim_t weights_pitch, sums_pitch;
        dim_t tokens;           // more than 0
        const float *scales;    // of the first token
        dim_t parameters_pitch; // bytes from a token's to the next one's
        // The bytes that are prefetched are as many as the values have.
        next_rows_t next {};
    };
    static constexpr dim_t most_rows = 12;

    virtual ~weighted_sum_t() = default;
    /// Sums of 4-bit values have an order of their own until put_in_order().
    virtual void run(dim_t rows, const block_t &block) const noexcept = 0;
    virtual void put_in_order(dim_t rows, const block_t &block) const noexcept
            = 0;
    /// False if values are rounded in the same way whether they are ordinary
    /// or not.
    virtual bool has_ordinary_rounding() const { return true; }
};

/// Makes a kernel for up to `rows` rows. Returns unimplemented without AVX2, or
/// for numbers of columns that it does not take.
result_t make_jit_weighted_sum(const weighted_values_t &values, dim_t rows,
        isa_t isa, std::shared_ptr<const weighted_sum_t> &sum);

} // namespace dnnl_dequant

#endif
