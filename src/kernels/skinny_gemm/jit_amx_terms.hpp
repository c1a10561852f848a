#ifndef KERNELS_SKINNY_GEMM_JIT_AMX_TERMS_HPP
#define KERNELS_SKINNY_GEMM_JIT_AMX_TERMS_HPP

#include <algorithm>

#include "kernels/skinny_gemm/jit_amx_lookup.hpp"

namespace dnnl_dequant {

/// An f32 is the sum of so many bf16, its terms: each has eight of the 24 bits.
constexpr int f32_terms = 3;
constexpr amx_layout_t layout_of_terms = {f32_terms, true};
constexpr dim_t amx_parts = amx_depth * 2 / amx_row_bytes;

/// The lines of a tile of src: a row's elements, or a pair of the depth of each
/// row.
enum class amx_src_t { rows, pairs };

/// The base of skinny GEMMs that multiply f32 by the tiles of AMX. A weight
/// less its zero point is an integer that bf16 holds, and so its products by
/// the terms of an f32 are exact. Sums of a group are scaled then.
///
/// Tiles take denormal terms for zeros: all of a denormal f32, and the
/// remainder of another one below 2^-126.
class amx_terms_t : public skinny_gemm_t {
public:
    explicit amx_terms_t(
            const skinny_weights_t &weights, amx_src_t src = amx_src_t::pairs)
        : skinny_gemm_t(weights)
        , src_(src) {}

    dim_t src_unit() const final { return amx_depth; }
    void arrange(void * /*row*/) const noexcept final {}
    dim_t packed_bytes(dim_t rows) const final;
    void pack(const void *from, dim_t pitch, dim_t rows, dim_t begin, dim_t end,
            void *packed) const noexcept final;
    bool scales_sums() const final { return true; }
    float src_element(
            const block_t &block, dim_t row, dim_t k) const noexcept final;

protected:
    /// Refuses zero points so large that bf16 does not hold the difference.
    result_t check() const;

    /// Calls run(block) for the rows of a block that are multiplied together.
    template <typename run_t>
    void for_rows(block_t block, run_t &&run) const {
        const auto *const a = static_cast<const char *>(block.a);
        const dim_t rows = block.rows;
        for (dim_t row = 0; row < rows; row += amx_most_rows) {
            block.a = a + packed_bytes(row);
            block.rows = std::min(rows - row, amx_most_rows);
            run(block);
            block.c += block.rows * block.c_pitch;
        }
    }

private:
    const amx_src_t src_;
};

} // namespace dnnl_dequant

#endif
