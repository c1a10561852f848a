#ifndef KERNELS_ATTENTION_SOFTMAX_ROWS_HPP
#define KERNELS_ATTENTION_SOFTMAX_ROWS_HPP

#include <memory>

#include "base/isa.hpp"
#include "base/status.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// The passes of an online softmax over rows of scores. All implementations
/// give the same bits.
class softmax_rows_t {
public:
    /// Numbers that are added up side by side: number i of a row belongs to
    /// sum i % lanes, and the sums are added up by halves.
    static constexpr dim_t lanes = 16;
    /// Weights of a row that weigh_packed() leaves next to each other.
    static constexpr dim_t chunk = 32;

    /// `rows` by `tokens` scores, more than 0, `pitch` floats from row to row.
    /// Behind each row there is memory up to a multiple of `lanes`, whose
    /// contents do not count and may change.
    struct block_t {
        float *scores;
        dim_t pitch, rows, tokens;
    };

    virtual ~softmax_rows_t() = default;
    virtual const char *name() const = 0;

    /// magnitudes[r] = the largest |score| of the row, NaN if a score is.
    virtual void find_magnitudes(
            const block_t &block, float *magnitudes) const noexcept
            = 0;
    /// largest[r] = the largest score of the row that is a number, -infinity if
    /// there is none.
    virtual void find_largest(
            const block_t &block, float *largest) const noexcept
            = 0;
    /// score = e^(score + shifts[r]), sums[r] = what the row adds up to.
    virtual void weigh(const block_t &block, const float *shifts,
            float *sums) const noexcept
            = 0;

    /// Returns true if weigh_packed() may be called.
    virtual bool packs() const = 0;
    /// The same of make_coarse_exp(), rounded to bf16 and packed: the first
    /// chunk of each row, the second chunk of each row, and so on. Denormal
    /// weights become zeros. Scores stay as they are.
    /// @param block `tokens` is a multiple of `chunk`. No score is larger than
    ///     what shifts[r] subtracts.
    virtual void weigh_packed(const block_t &block, const float *shifts,
            float *sums, void *packed) const noexcept
            = 0;
};

std::shared_ptr<const softmax_rows_t> make_ref_softmax_rows();

/// Unimplemented without AVX2.
result_t make_jit_softmax_rows(
        isa_t isa, std::shared_ptr<const softmax_rows_t> &softmax);

} // namespace dnnl_dequant

#endif
