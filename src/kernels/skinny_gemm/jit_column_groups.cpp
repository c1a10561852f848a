// A skinny GEMM by [K,N] weights of which columns share scales. A unit of
// columns has one scale in each row, or several side by side.

#include <algorithm>
#include <numeric>

#include "base/prefetch.hpp"
#include "base/text.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"
#include "kernels/skinny_gemm/weighted_sum.hpp"

namespace dnnl_dequant {

namespace {

// A chunk has so many rows of weights. While one unit of columns is multiplied,
// the next lines of that unit are prefetched, on AVX2 lines of the next chunk
// in the order of addresses. AVX2 takes shorter chunks, and so do pairs of
// nibbles whose unit shares a scale (MEASURED.md).
constexpr dim_t k_chunk = 32, short_k_chunk = 16;
constexpr dim_t most_unit = 128; // columns

dim_t chunk_of(const skinny_weights_t &weights, isa_t isa) {
    const bool has_quick_pairs = weights.multiplied == data_type_t::bf16
                                 && weights.are_nibbles()
                                 && weights.col_group >= most_unit;
    return has_quick_pairs || !has(isa, isa_avx512_core) ? short_k_chunk
                                                         : k_chunk;
}

class column_groups_t final : public skinny_gemm_t {
public:
    column_groups_t(const skinny_weights_t &weights,
            const weighted_values_t &values, isa_t isa)
        : skinny_gemm_t(weights)
        , unit_(values.cols)
        , in_place_(values.in_place)
        , isa_(isa) {}

    dim_t nr() const override { return unit_; }
    bool parameters_by_column() const override { return false; }
    bool scales_sums() const override { return in_place_; }
    dim_t partial_floats() const override { return 1; }
    bool has_ordinary_rounding() const override {
        return sum_->has_ordinary_rounding();
    }

    result_t make(const weighted_values_t &values, dim_t rows) {
        return make_jit_weighted_sum(values, rows, isa_, sum_);
    }

    void run(void *const *buffers,
            const block_t &block) const noexcept override {
        for (dim_t r = 0; r < block.rows; ++r)
            std::fill_n(block.c + r * block.c_pitch, block.cols, 0.f);
        const auto *weights = static_cast<const char *>(buffers[0]);
        add_chunks(weights, block);
        for (dim_t col = 0; col < block.cols; col += unit_)
            sum_->put_in_order(block.rows, chunk(block, nullptr, 0, 0, col));
    }

private:
    void add_chunks(const char *weights, const block_t &block) const noexcept;

    // Describes `depth` rows of weights, beginning at row k, of one unit of
    // columns. The rows are in one group, or each is a group of its own.
    weighted_sum_t::block_t chunk(const block_t &block, const char *values,
            dim_t k, dim_t depth, dim_t col) const noexcept {
        const dim_t parameter = k / weights_.group * block.parameters_pitch
                                + (block.first_col + col) / weights_.col_group;
        weighted_sum_t::block_t chunk {};
        chunk.values = values;
        chunk.weights = src_at(block, 0, k);
        chunk.scales = block.scales + parameter;
        if (weights_.zps.type != data_type_t::undef)
            chunk.zp = block.zps + parameter;
        chunk.sums = block.c + col;
        chunk.weights_pitch = src_pitch_bytes(block);
        chunk.sums_pitch = block.c_pitch * 4;
        chunk.parameters_pitch
                = weights_.group == 1 ? block.parameters_pitch * 4 : 0;
        chunk.tokens = depth;
        return chunk;
    }

    const dim_t unit_;
    const bool in_place_;
    const isa_t isa_;
    std::shared_ptr<const weighted_sum_t> sum_;
};

// Adds [K,N] weights as they are stored: within each chunk of rows, the units
// of columns one after the other.
void column_groups_t::add_chunks(
        const char *weights, const block_t &block) const noexcept {
    const skinny_weights_t &w = weights_;
    const dim_t most = chunk_of(w, isa_);
    const auto weights_at = [&](dim_t k, dim_t col) {
        return weights + bytes_of(w.type, k * w.pitch + block.first_col + col);
    };
    dim_t depth = 0;
    for (dim_t k = 0; k < w.depth; k += depth) {
        const dim_t group_left = w.group == 1 ? most : w.group - k % w.group;
        depth = std::min({w.depth - k, most, group_left});
        for (dim_t col = 0; col < block.cols; col += unit_) {
            weighted_sum_t::block_t part
                    = chunk(block, weights_at(k, col), k, depth, col);
            part.next = next_rows(weights_at(k + depth, 0),
                    bytes_of(w.type, w.pitch), bytes_of(w.type, block.cols),
                    bytes_of(w.type, col) * depth);
            sum_->run(block.rows, part);
        }
    }
}

// Describes the sums of a unit.
weighted_values_t values_of(const skinny_weights_t &weights, dim_t unit) {
    weighted_values_t values;
    values.type = weights.type;
    values.cols = unit;
    values.has_zp = weights.zps.type != data_type_t::undef;
    values.by_token = true;
    values.rounded = weights.rounded;
    values.are_ordinary = weights.are_ordinary;
    values.multiplied = weights.multiplied;
    values.adds = true;
    return values;
}

// Says why blocks take less time where few columns share scales (MEASURED.md).
std::string misfit_of_small_groups(
        const skinny_weights_t &weights, dim_t rows, isa_t isa) {
    constexpr dim_t half_panel = 16, panel = 2 * half_panel;
    const bool has_row_scales = weights.group == 1;
    const auto expected = [&](const char *but, dim_t columns) {
        return text(weights.col_group, " columns share scales, but ", but,
                "; expected ", columns, " or more");
    };
    if (weights.col_group % panel == 0) return "";
    if (weights.rounded == data_type_t::bf16 && (rows > 1 || has_row_scales))
        return expected("each number is rounded to bf16", panel);
    if (weights.col_group >= half_panel) return "";
    if (has_row_scales && weights.zps.type != data_type_t::undef)
        return expected("each row has scales and zero points", half_panel);
    if (!has_row_scales && rows > 1 && !has(isa, isa_avx512_core))
        return expected("several rows are faster in blocks", half_panel);
    return "";
}

// Returns a unit of whole groups that divides the columns, so that lines are
// read once; 0 if there is none, so that a unit divides a group.
dim_t unit_of_groups(const skinny_weights_t &weights, isa_t isa) {
    // Pairs, and nibbles of AVX2, are scaled in tables, by two vectors at
    // least.
    const bool has_tables
            = weights.multiplied == data_type_t::bf16
              || (weights.are_nibbles() && !has(isa, isa_avx512_core));
    const dim_t table = weights.multiplied == data_type_t::bf16 ? 32 : 16;
    if (has_tables && weights.col_group % table != 0) return 0;
    if (weights.col_group % most_unit == 0) return 0;
    for (dim_t panel = most_unit; panel >= 32; panel /= 2) {
        const dim_t unit = std::lcm(panel, weights.col_group);
        if (weights.cols % unit == 0 && unit <= 4 * most_unit) return unit;
    }
    return 0;
}

result_t make_units(const skinny_weights_t &weights, dim_t rows, isa_t isa,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    if (const std::string why = misfit_of_small_groups(weights, rows, isa);
            !why.empty())
        return refuse(why);
    const dim_t whole_groups = unit_of_groups(weights, isa);
    dim_t unit = whole_groups != 0 ? whole_groups : most_unit;
    while (whole_groups == 0 && weights.col_group % unit != 0)
        unit /= 2;
    weighted_values_t values = values_of(weights, unit);
    if (whole_groups != 0) values.group_cols = weights.col_group;
    values.pitch = bytes_of(weights.type, weights.pitch);
    values.ahead = chunk_of(weights, isa) * values.pitch;
    values.prefetches_next = isa == isa_avx2;
    values.in_place = isa == isa_avx2 && weights.are_nibbles()
                      && is_integer(weights.type)
                      && weights.rounded == data_type_t::f32;
    auto made = std::make_shared<column_groups_t>(weights, values, isa);
    const result_t result = made->make(values, rows);
    if (result.ok()) skinny_gemm = std::move(made);
    return result;
}

} // namespace

result_t make_column_groups_avx512(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    if (weights.multiplied != data_type_t::bf16)
        return make_units(weights, rows, isa_avx512_core, skinny_gemm);
    // Chunks of the depth do not cut pairs.
    if (weights.group != 1 && weights.group % 2 != 0)
        return refuse(text("group ", weights.group, "; expected 1 or even"));
    return make_units(weights, rows, isa_avx512_core_bf16, skinny_gemm);
}

result_t make_column_groups_avx2(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_units(weights, rows, isa_avx2, skinny_gemm);
}

} // namespace dnnl_dequant
