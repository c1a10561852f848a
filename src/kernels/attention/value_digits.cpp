// Values by digits of one row of weights.

#include "kernels/attention/value_digits.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/attention/products.hpp"

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
        if (!run_row(values, tile.scores, sums, accumulates, scratch))
            plan_.otherwise->run(
                    values, tile, sums, sums_pitch, accumulates, scratch);
    }

private:
    static constexpr dim_t at_once = value_digits_kernel_t::tokens_at_once;

    // Floats of scratch memory, each at the begin of a line.
    struct places_t {
        dim_t scaled, digits, row, sums, values, end;
    };
    places_t places() const {
        const dim_t tokens = round_up(plan_.tokens, at_once);
        places_t at {};
        at.scaled = round_up(2 * plan_.parameter_floats(), at_once);
        at.digits = at.scaled + tokens;
        at.row = at.digits
                 + round_up(value_digits_kernel_t::digit_bytes(tokens) / 4,
                         at_once);
        at.sums = at.row + at_once;
        at.values = at.sums + plan_.format.sum_floats();
        at.end = at.values + round_up(copied_bytes(), dim_t(64)) / 4;
        return at;
    }

    // Tokens may overlap each other.
    dim_t copied_bytes() const {
        return (at_once - 1) * plan_.format.pitch + plan_.format.value_bytes();
    }

    // Returns false, with nothing done, if weights times scales are not finite.
    bool run_row(const attention_tokens_t &values, const float *weights,
            float *sums, bool accumulates, float *scratch) const noexcept {
        const places_t at = places();
        auto *const digits = reinterpret_cast<int8_t *>(scratch + at.digits);
        auto *const row
                = reinterpret_cast<value_digits_row_t *>(scratch + at.row);
        plan_.kernel->make_digits(
                {weights, scratch, scratch + plan_.parameter_floats(),
                        scratch + at.scaled, digits, row, values.count});
        if (!std::isfinite(row->norm)) return false;
        const auto *const bytes
                = static_cast<const char *>(plan_.numbers_of(values));
        value_digits_kernel_t::block_t block {};
        block.values = bytes;
        block.groups = values.count / at_once;
        block.digits = digits;
        block.row = row;
        block.sums = scratch + at.sums;
        // Behind the last tokens there may be nothing.
        if (const dim_t rest = values.count % at_once; rest != 0) {
            block.last = scratch + at.values;
            copy_tokens(bytes + block.groups * at_once * plan_.format.pitch,
                    rest, reinterpret_cast<char *>(scratch + at.values));
        }
        plan_.kernel->run(block);
        add_sums(block.sums, plan_.head, 0, accumulates, sums);
        return true;
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
