// Sums of integer values by weights, a few rows of weights at a time.

#include <algorithm>

#include "base/text.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/arrange.hpp"
#include "kernels/skinny_gemm/jit_sum_by_tables.hpp"
#include "kernels/skinny_gemm/jit_weighted_sum_code.hpp"

namespace dnnl_dequant {

namespace {

template <isa_t isa>
class jit_weighted_sum_t : public weighted_sum_t {
public:
    explicit jit_weighted_sum_t(const weighted_values_t &values)
        : values_(values) {}

    result_t make(dim_t rows) {
        return code_.template make<jit_weighted_sum_code_t<isa>>(
                std::min(rows, plan_t::most_rows), values_);
    }

    void run(dim_t rows, const block_t &block) const noexcept override {
        for_row_blocks(rows, plan_t::most_rows, [&](dim_t row, dim_t count) {
            block_t part = block;
            part.weights = static_cast<const char *>(block.weights)
                           + row * block.weights_pitch;
            part.sums += row * block.sums_pitch / 4;
            code_(count, part);
        });
    }

    void put_in_order(
            dim_t rows, const block_t &block) const noexcept override {
        if (bits_of(values_.type) > 4) return;
        for_row_blocks(rows, plan_t::most_rows, [&](dim_t row, dim_t count) {
            const int vectors = plan_t(values_, count).group_vectors;
            const auto order = restore_lanes_of<plan_t::lanes>(vectors);
            for (dim_t r = row; r < row + count; ++r) {
                float *const sums = block.sums + r * block.sums_pitch / 4;
                if (values_.in_place) divide_by_places(sums, vectors);
                order(sums, values_.cols);
            }
        });
    }

private:
    using plan_t = weighted_sum_plan_t<isa>;

    void divide_by_places(float *sums, int vectors) const noexcept {
        for (dim_t v = 0; v < values_.cols / plan_t::lanes; ++v)
            for (dim_t i = 0; i < plan_t::lanes; ++i)
                *sums++ /= static_cast<float>(
                        plan_t::place_of(static_cast<int>(v % vectors)));
    }

    const weighted_values_t values_;
    jit_code_by_rows_t<const block_t> code_;
};

template <isa_t isa>
result_t make(const weighted_values_t &values, dim_t rows,
        std::shared_ptr<const weighted_sum_t> &sum) {
    using plan_t = weighted_sum_plan_t<isa>;
    const plan_t plan(values, plan_t::most_rows);
    const dim_t unit = (bits_of(values.type) <= 4 ? 2 : 1) * plan_t::lanes;
    if (plan.scales_lanes) {
        constexpr dim_t least_group = 8;
        if (values.group_cols < least_group)
            return refuse(text("groups have ", values.group_cols,
                    " columns; expected ", least_group, " or more"));
        if (isa == isa_avx2 || values.multiplied == data_type_t::bf16)
            return refuse(text("groups have ", values.group_cols,
                    " columns; expected a multiple of ", unit));
        if (bits_of(values.type) <= 4 && values.group_cols % 2 != 0)
            return refuse(text("groups have ", values.group_cols,
                    " columns; expected an even number"));
    }
    if (plan.vectors == 0)
        return refuse(text("found ", values.cols,
                " columns; expected a multiple of ", unit));
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
    if (takes_sum_by_tables(values))
        return make_jit_sum_by_tables(values, rows, sum);
    return make<isa_avx2>(values, rows, sum);
}

} // namespace dnnl_dequant
