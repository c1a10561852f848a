// Sums of integer values by weights, a few rows of weights at a time.

#include <array>

#include "base/text.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/arrange.hpp"
#include "kernels/skinny_gemm/jit_weighted_sum_code.hpp"

namespace dnnl_dequant {

namespace {

template <isa_t isa>
class jit_weighted_sum_t : public weighted_sum_t {
public:
    explicit jit_weighted_sum_t(const weighted_values_t &values)
        : values_(values) {}

    const char *name() const override {
        if (values_.multiplied == data_type_t::bf16)
            return "jit_weighted_sum_avx512_core_bf16";
        return isa == isa_avx512_core ? "jit_weighted_sum_avx512_core"
                                      : "jit_weighted_sum_avx2";
    }

    result_t make(dim_t rows) {
        result_t made;
        for (dim_t r = 1; r <= std::min(rows, most) && made.ok(); ++r)
            made = make_jit_weighted_sum_code<isa>(values_, static_cast<int>(r),
                    code_[static_cast<size_t>(r)]);
        return made;
    }

    void run(dim_t rows, const block_t &block) const noexcept override {
        for_row_blocks(rows, most, [&](dim_t row, dim_t count) {
            block_t part = block;
            part.weights = static_cast<const char *>(block.weights)
                           + row * block.weights_pitch;
            part.sums += row * block.sums_pitch / 4;
            code_[static_cast<size_t>(count)](part);
        });
    }

    void put_in_order(
            dim_t rows, const block_t &block) const noexcept override {
        if (bits_of(values_.type) > 4) return;
        for_row_blocks(rows, most, [&](dim_t row, dim_t count) {
            const int vectors = weighted_sum_group_vectors<isa>(values_, count);
            const auto order = restore_lanes_of<lanes>(vectors);
            for (dim_t r = row; r < row + count; ++r)
                order(block.sums + r * block.sums_pitch / 4, values_.cols);
        });
    }

private:
    static constexpr dim_t lanes = jit_isa_t<isa>::simd_w;
    static constexpr dim_t most = weighted_sum_code_rows<isa>;

    const weighted_values_t values_;
    std::array<jit_weighted_sum_code_t, static_cast<size_t>(most) + 1> code_;
};

template <isa_t isa>
result_t make(const weighted_values_t &values, dim_t rows,
        std::shared_ptr<const weighted_sum_t> &sum) {
    if (weighted_sum_scales_lanes<isa>(values)) {
        constexpr dim_t least_group = 8;
        if (values.group_cols < least_group)
            return refuse(text("groups have ", values.group_cols,
                    " columns; expected ", least_group, " or more"));
        const dim_t unit = (bits_of(values.type) <= 4 ? 2 : 1)
                           * dim_t(jit_isa_t<isa>::simd_w);
        if (isa == isa_avx2 || values.multiplied == data_type_t::bf16)
            return refuse(text("groups have ", values.group_cols,
                    " columns; expected a multiple of ", unit));
        if (bits_of(values.type) <= 4 && values.group_cols % 2 != 0)
            return refuse(text("groups have ", values.group_cols,
                    " columns; expected an even number"));
    }
    if (weighted_sum_vectors<isa>(values, weighted_sum_code_rows<isa>) == 0)
        return refuse(text("found ", values.cols,
                " columns; expected a multiple of ",
                (bits_of(values.type) <= 4 ? 2 : 1) * jit_isa_t<isa>::simd_w));
    auto made = std::make_shared<jit_weighted_sum_t<isa>>(values);
    const result_t result = made->make(rows);
    if (result.ok()) sum = std::move(made);
    return result;
}

} // namespace

result_t make_jit_weighted_sum(const weighted_values_t &values, dim_t rows,
        isa_t isa, std::shared_ptr<const weighted_sum_t> &sum) {
    if (rows > weighted_sum_t::most_rows)
        return refuse(text("found ", rows, " rows; expected ",
                weighted_sum_t::most_rows, " at most"));
    if (has(isa, isa_avx512_core))
        return make<isa_avx512_core>(values, rows, sum);
    if (!has(isa, isa_avx2)) return refuse("no AVX2");
    if (values.part_pitch != 0)
        return refuse("on AVX2 a token's numbers lie side by side");
    return make<isa_avx2>(values, rows, sum);
}

} // namespace dnnl_dequant
