// Values by digits of a few rows of weights.

#include "kernels/attention/value_digits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/attention/products.hpp"
#include "kernels/row_blocks.hpp"

namespace dnnl_dequant {

namespace {

class digit_values_t final : public values_product_t {
public:
    explicit digit_values_t(attention_value_digits_t plan)
        : plan_(std::move(plan)) {}

    // Scales and zero points; the rest of one product's, or of the other's.
    dim_t scratch_floats(dim_t rows) const override {
        return std::max(places().end, plan_.otherwise->scratch_floats(rows));
    }

    void load(const attention_tokens_t &values,
            float *scratch) const noexcept override {
        plan_.otherwise->load(values, scratch);
    }

    void run(const attention_tokens_t &values, const attention_tile_t &tile,
            float *sums, dim_t sums_pitch, bool accumulates,
            float *scratch) const noexcept override {
        for_row_blocks(tile.rows, most_rows, [&](dim_t first, dim_t rows) {
            attention_tile_t part = tile;
            part.scores += first * tile.pitch;
            part.rows = rows;
            float *const to = sums + first * sums_pitch;
            if (!run_rows(values, part, to, sums_pitch, accumulates, scratch))
                plan_.otherwise->run(
                        values, part, to, sums_pitch, accumulates, scratch);
        });
    }

private:
    using kernel_t = value_digits_kernel_t;
    static constexpr dim_t most_rows = kernel_t::most_rows,
                           at_once = kernel_t::tokens_at_once;
    // Weights of other magnitudes have no units or norms of full precision.
    // Tokens whose weights are all less count in a larger unit, which loses
    // nothing next to others of this size.
    static constexpr float least_largest = 1e-25f, least_of_all = 1e-15f;
    // No digits serve the weights.
    static constexpr int no_digits = 0;

    // Floats of scratch memory, each at the begin of a line.
    struct places_t {
        dim_t digits, sums, values, end;
    };
    places_t places() const {
        constexpr dim_t line = 16;
        places_t at {};
        at.digits = round_up(2 * plan_.parameter_floats(), line);
        at.sums = at.digits + most_rows * kernel_t::row_bytes / 4;
        at.values = at.sums + most_rows * plan_.format.sum_floats();
        at.end = at.values + round_up(copied_bytes(), dim_t(64)) / 4;
        return at;
    }

    // Tokens may overlap each other.
    dim_t copied_bytes() const {
        return (at_once - 1) * plan_.format.pitch + plan_.format.value_bytes();
    }

    // Returns false, with nothing done, if digits do not serve some weights.
    bool run_rows(const attention_tokens_t &values,
            const attention_tile_t &tile, float *sums, dim_t sums_pitch,
            bool accumulates, float *scratch) const noexcept {
        const places_t at = places();
        float *const all_sums = scratch + at.sums;
        const dim_t row_floats = plan_.format.sum_floats();
        std::fill_n(all_sums, tile.rows * row_floats, 0.f);
        magnitudes_t magnitudes;
        for (dim_t first = 0; first < values.count;
                first += plan_.format.tokens_together())
            if (!add_tokens(values, tile, first, scratch, magnitudes))
                return false;
        for (dim_t r = 0; r < tile.rows; ++r)
            if (magnitudes.are_lost(r)) return false;
        plan_.kernel->put_in_order(tile.rows, all_sums);
        for (dim_t r = 0; r < tile.rows; ++r)
            add_sums(all_sums + r * row_floats, plan_.head, 0, accumulates,
                    sums + r * sums_pitch);
        return true;
    }

    // The weights of a tile's rows.
    struct magnitudes_t {
        std::array<float, most_rows> largest {};
        std::array<bool, most_rows> have_small_ones {};

        void take(dim_t row, float largest_of_some) {
            const auto r = static_cast<size_t>(row);
            largest[r] = std::max(largest[r], largest_of_some);
            if (largest_of_some != 0 && largest_of_some < least_largest)
                have_small_ones[r] = true;
        }
        bool are_lost(dim_t row) const {
            const auto r = static_cast<size_t>(row);
            return have_small_ones[r] && largest[r] < least_of_all;
        }
    };

    // Adds the tokens from `first` on that are multiplied together.
    bool add_tokens(const attention_tokens_t &values,
            const attention_tile_t &tile, dim_t first, float *scratch,
            magnitudes_t &magnitudes) const noexcept {
        const places_t at = places();
        std::array<value_digits_row_t, most_rows> rows {};
        kernel_t::weights_t weights {};
        weights.weights = tile.scores + first;
        weights.pitch = tile.pitch * 4;
        weights.scales = scratch + first;
        weights.zps = scratch + plan_.parameter_floats() + first;
        weights.digits = reinterpret_cast<int8_t *>(scratch + at.digits);
        weights.rows = rows.data();
        weights.count = tile.rows;
        weights.tokens = std::min(
                values.count - first, plan_.format.tokens_together());
        plan_.kernel->measure(weights);
        const int digits = choose_digits(weights);
        if (digits == no_digits) return false;
        for (dim_t r = 0; r < tile.rows; ++r)
            magnitudes.take(r, rows[static_cast<size_t>(r)].largest);
        plan_.kernel->make_digits(digits, weights);
        const char *const bytes
                = static_cast<const char *>(plan_.numbers_of(values))
                  + first * plan_.format.pitch;
        kernel_t::block_t block {};
        block.values = bytes;
        block.fours = weights.tokens / at_once;
        block.digits = weights.digits;
        block.rows = rows.data();
        block.sums = scratch + at.sums;
        // Behind the last tokens there may be nothing.
        if (const dim_t rest = weights.tokens % at_once; rest != 0) {
            block.last = scratch + at.values;
            copy_tokens(bytes + block.fours * at_once * plan_.format.pitch,
                    rest, reinterpret_cast<char *>(scratch + at.values));
        }
        plan_.kernel->run(digits, tile.rows, block);
        return true;
    }

    bool serve(int digits, const kernel_t::weights_t &weights,
            const value_digits_row_t &row) const noexcept {
        return plan_.format.serve(
                digits, weights.tokens, row.largest, row.total);
    }

    // Returns the digits that all rows take, and sets their units.
    int choose_digits(const kernel_t::weights_t &weights) const noexcept {
        bool two_serve = true;
        for (dim_t r = 0; r < weights.count; ++r) {
            const value_digits_row_t &row = weights.rows[r];
            if (!std::isfinite(row.total)
                    || !serve(value_digits_t::most_digits, weights, row))
                return no_digits;
            two_serve = two_serve && serve(2, weights, row);
        }
        const int digits = two_serve && plan_.format.tolerance > 0
                                   ? 2
                                   : value_digits_t::most_digits;
        for (dim_t r = 0; r < weights.count; ++r) {
            value_digits_row_t &row = weights.rows[r];
            row.unit = value_digits_t::most_of(digits)
                       / std::max(row.largest, least_largest);
            row.norm = 1 / row.unit;
        }
        return digits;
    }

    void copy_tokens(const char *from, dim_t count, char *to) const noexcept {
        for (dim_t t = 0; t < count; ++t)
            std::memcpy(to + t * plan_.format.pitch,
                    from + t * plan_.format.pitch,
                    static_cast<size_t>(plan_.format.value_bytes()));
    }

    const attention_value_digits_t plan_;
};

} // namespace

std::shared_ptr<const values_product_t> make_values_product(
        attention_value_digits_t plan) {
    return std::make_shared<const digit_values_t>(std::move(plan));
}

} // namespace dnnl_dequant
