#ifndef KERNELS_SKINNY_GEMM_DIGITS_GEMM_HPP
#define KERNELS_SKINNY_GEMM_DIGITS_GEMM_HPP

#include "kernels/skinny_gemm/digit_rows.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"

namespace dnnl_dequant {

/// The base of skinny GEMMs whose rows of f32 are packed as digits.
class digits_gemm_t : public skinny_gemm_t {
public:
    digits_gemm_t(const skinny_weights_t &weights, const digit_rows_t &a_rows)
        : skinny_gemm_t(weights)
        , a_rows_(a_rows) {}

    dim_t src_unit() const override { return a_rows_.elements(); }
    dim_t packed_bytes(dim_t rows) const override {
        return rows * static_cast<dim_t>(a_rows_.row_bytes());
    }
    void pack(const void *from, dim_t pitch, dim_t rows, dim_t begin, dim_t end,
            void *packed) const noexcept override {
        for (dim_t r = 0; r < rows; ++r)
            for (dim_t chunk = begin; chunk < end; ++chunk)
                a_rows_.make_chunk(
                        reinterpret_cast<const float *>(
                                static_cast<const char *>(from) + r * pitch),
                        chunk, static_cast<char *>(packed) + packed_bytes(r));
    }
    // Integers times units may overflow.
    bool scales_sums() const override { return true; }
    float src_element(
            const block_t &block, dim_t row, dim_t k) const noexcept override {
        return a_rows_.elements_of(row_of(block, row))[k];
    }

    bool takes_any_src() const override { return false; }

protected:
    const char *row_of(const block_t &block, dim_t row) const noexcept {
        return static_cast<const char *>(block.a) + packed_bytes(row);
    }
    /// Says why zero points do not fit, or who calls; nothing if they do.
    result_t check() const {
        if (!weights_.calls_multiply) return refuse("rows are not packed");
        if (bits_of(weights_.zps.type) > bits_of(weights_.type))
            return refuse("zero points are of a larger type than weights");
        return {};
    }

    const digit_rows_t a_rows_;
};

} // namespace dnnl_dequant

#endif
