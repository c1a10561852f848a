// A few rows times weights [K,N] of which columns share scales. Strips of rows
// of weights are read side by side; of each strip one unit of columns after the
// other, all of one scale a row, is added to the sums.

#include <algorithm>

#include "kernels/matmul/gemv.hpp"
#include "kernels/matmul/weighted_sum.hpp"

namespace dnnl_dequant {

namespace {

// Rows of weights in a strip, whose next lines of a unit are prefetched while
// those of the other units are read.
constexpr dim_t strip_rows = 32;

class column_groups_t : public gemv_t {
public:
    column_groups_t(const gemv_weights_t &weights, dim_t unit,
            std::shared_ptr<const weighted_sum_t> sum)
        : gemv_t(weights)
        , unit_(unit)
        , sum_(std::move(sum)) {}

    const char *name() const override {
        return "jit_matmul_column_groups_avx512_core";
    }
    dim_t panel() const override { return unit_; }
    bool parameters_by_column() const override { return false; }
    dim_t src_unit() const override { return 1; }
    void arrange(void *) const noexcept override {}
    dim_t partial_floats() const override { return 1; }
    // Weights are scaled, not sums.
    bool scales_sums() const override { return false; }

    void run(void *const *buffers,
            const block_t &block) const noexcept override {
        for (dim_t r = 0; r < block.rows; ++r)
            std::fill_n(block.c + r * block.c_pitch, block.cols, 0.f);
        for (dim_t k = 0; k < weights_.depth;) {
            const dim_t group_left = weights_.group - k % weights_.group;
            // Each row has a scale of its own where a group is one row.
            const dim_t depth = std::min({weights_.depth - k, strip_rows,
                    weights_.group == 1 ? strip_rows : group_left});
            for (dim_t col = 0; col < block.cols; col += unit_)
                sum_->run(block.rows, strip(buffers, block, k, depth, col));
            k += depth;
        }
        for (dim_t col = 0; col < block.cols; col += unit_)
            sum_->put_in_order(block.rows, strip(buffers, block, 0, 0, col));
    }

private:
    // `depth` rows of weights from k on, by a unit of columns.
    weighted_sum_t::block_t strip(void *const *buffers, const block_t &block,
            dim_t k, dim_t depth, dim_t col) const noexcept {
        const dim_t column = block.first_col + col;
        const dim_t parameter = k / weights_.group * block.parameters_pitch
                                + column / weights_.col_group;
        weighted_sum_t::block_t strip {};
        strip.values = static_cast<const char *>(buffers[0])
                       + bytes_of(weights_.type, k * weights_.pitch + column);
        strip.weights = static_cast<const float *>(src_at(block, 0, k));
        strip.scales = block.scales + parameter;
        if (weights_.zps.type != data_type_t::undef)
            strip.zp = block.zps + parameter;
        strip.sums = block.c + col;
        strip.weights_pitch = src_pitch_bytes(block);
        strip.sums_pitch = block.c_pitch * 4;
        strip.parameters_pitch
                = weights_.group == 1 ? block.parameters_pitch * 4 : 0;
        strip.tokens = depth;
        return strip;
    }

    const dim_t unit_;
    const std::shared_ptr<const weighted_sum_t> sum_;
};

} // namespace

result_t make_column_groups(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv) {
    // As many columns as one line of nibbles has, or as share a scale.
    dim_t unit = 128;
    while (weights.col_group % unit != 0)
        unit /= 2;
    weighted_values_t values;
    values.type = weights.type;
    values.pitch = bytes_of(weights.type, weights.pitch);
    values.cols = unit;
    values.has_zp = weights.zps.type != data_type_t::undef;
    values.ahead = strip_rows * values.pitch;
    values.by_token = true;
    values.rounded = weights.rounded;
    values.adds = true;
    std::shared_ptr<const weighted_sum_t> sum;
    const result_t result
            = make_jit_weighted_sum(values, rows, isa_avx512_core, sum);
    if (result.ok())
        gemv = std::make_shared<const column_groups_t>(
                weights, unit, std::move(sum));
    return result;
}

} // namespace dnnl_dequant
