// Keys by digits of a few rows.

#include "kernels/attention/digits.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/attention/products.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/scaled_sums.hpp"

namespace dnnl_dequant {

namespace {

// The base of both ways to scale keys.
class digit_keys_t : public keys_product_t {
public:
    const char *name() const final { return plan_.kernel->name(); }
    void load(const attention_tokens_t &keys,
            float *scratch) const noexcept final {
        plan_.load(keys, scratch);
    }

protected:
    static constexpr dim_t at_once = digits_kernel_t::tokens_at_once;

    // Rows of digits, and what belongs to them.
    struct digits_t {
        const int8_t *digits;
        const digits_part_t *parts;
    };
    // Adjacent tokens of a block, and their scores.
    struct stretch_t {
        const char *keys;
        dim_t tokens;
        const float *scales, *zps;
        float *scores; // of the first row
        dim_t pitch;   // floats
        float *zeros;  // see digits_kernel_t::block_t
    };

    explicit digit_keys_t(attention_digits_t plan)
        : plan_(std::move(plan)) {}

    // Scales and zero points; what the kernel needs; a short stretch's keys and
    // scores.
    dim_t parameter_floats() const { return plan_.parameter_floats(); }
    dim_t digits_floats(dim_t rows) const {
        return rows
               * (plan_.format.row_bytes()
                       + plan_.format.parts()
                                 * static_cast<dim_t>(sizeof(digits_part_t)))
               / 4;
    }
    // Floats of scratch memory from kernel_scratch() on.
    dim_t kernel_floats(dim_t rows) const {
        return sum_floats(rows) + short_floats() + rows * at_once;
    }
    float *kernel_scratch(float *scratch) const {
        return scratch + 2 * parameter_floats();
    }

    // Digits of all rows are first.
    digits_t digits_in(const float *floats, dim_t rows) const {
        const auto *const digits = reinterpret_cast<const int8_t *>(floats);
        return {digits, reinterpret_cast<const digits_part_t *>(
                                digits + rows * plan_.format.row_bytes())};
    }
    digits_t from_row(const digits_t &digits, dim_t row) const {
        return {digits.digits + row * plan_.format.row_bytes(),
                digits.parts + row * plan_.format.parts()};
    }

    // @param row Scales and zero points, if there are any for it.
    void make_digits(const float *query, dim_t rows, float *made,
            digits_kernel_t::row_t row) const noexcept {
        const digits_t all = digits_in(made, rows);
        for (dim_t r = 0; r < rows; ++r) {
            const digits_t digits = from_row(all, r);
            row.numbers = query + r * plan_.head;
            row.digits = const_cast<int8_t *>(digits.digits);
            row.parts = const_cast<digits_part_t *>(digits.parts);
            plan_.kernel->make_digits(row);
        }
    }

    void multiply(const stretch_t &stretch, const digits_t &digits, dim_t rows,
            float *scratch) const noexcept {
        if (stretch.tokens < at_once)
            return multiply_few(stretch, digits, rows, scratch);
        const dim_t groups = stretch.tokens / at_once;
        multiply_groups(stretch, digits, rows, 0, groups, scratch);
        // The last sixteen tokens overlap those before.
        if (stretch.tokens % at_once != 0)
            multiply_groups(stretch, digits, rows, stretch.tokens - at_once, 1,
                    scratch);
    }

    // Computes scores that are not finite again, if their query is.
    void redo_scores(const attention_tokens_t &keys,
            const attention_tile_t &tile, const float *query) const noexcept {
        const auto operands = plan_.operands_of(keys);
        const scaled_sums_t sums(plan_.weights, operands.data());
        for (dim_t r = 0; r < tile.rows; ++r, query += plan_.head)
            if (are_finite(query, plan_.head))
                sums.redo(tile.scores + r * tile.pitch, 0, tile.tokens,
                        [query](dim_t k) { return query[k]; });
    }

    const attention_digits_t plan_;

private:
    dim_t sum_floats(dim_t rows) const {
        return std::max(digits_kernel_t::sum_count(
                                std::min(rows, digits_kernel_t::most_rows)),
                digits_kernel_t::scaled_count(plan_.format));
    }
    // Tokens may overlap each other.
    dim_t short_floats() const {
        const dim_t bytes
                = (at_once - 1) * plan_.format.pitch + plan_.format.key_bytes();
        return round_up(bytes, dim_t(64)) / 4;
    }

    void multiply_groups(const stretch_t &stretch, const digits_t &digits,
            dim_t rows, dim_t token, dim_t groups,
            float *scratch) const noexcept {
        digits_kernel_t::block_t block {};
        block.keys = stretch.keys + token * plan_.format.pitch;
        block.digits = digits.digits;
        block.parts = digits.parts;
        if (!plan_.format.by_number) {
            block.scales = stretch.scales + token * plan_.format.groups();
            block.zps = stretch.zps + token * plan_.format.groups();
        }
        block.scores = stretch.scores + token;
        block.scores_pitch = stretch.pitch * 4;
        block.groups = groups;
        block.sums = kernel_scratch(scratch);
        block.zeros = stretch.zeros;
        plan_.kernel->run(rows, block);
    }

    // Fewer tokens than sixteen, behind which there may be nothing.
    void multiply_few(const stretch_t &stretch, const digits_t &digits,
            dim_t rows, float *scratch) const noexcept {
        float *const keys = kernel_scratch(scratch) + sum_floats(rows);
        const dim_t pitch = plan_.format.pitch;
        for (dim_t t = 0; t < stretch.tokens; ++t)
            std::memcpy(reinterpret_cast<char *>(keys) + t * pitch,
                    stretch.keys + t * pitch,
                    static_cast<size_t>(plan_.format.key_bytes()));
        stretch_t copy = stretch;
        copy.keys = reinterpret_cast<const char *>(keys);
        copy.scores = keys + short_floats();
        copy.pitch = at_once;
        multiply_groups(copy, digits, rows, 0, 1, scratch);
        for (dim_t r = 0; r < rows; ++r)
            std::copy_n(copy.scores + r * at_once, stretch.tokens,
                    stretch.scores + r * stretch.pitch);
    }
};

// A token's numbers, or groups of them, have scales of their own. Digits are
// made once.
class scaled_by_token_t final : public digit_keys_t {
public:
    explicit scaled_by_token_t(attention_digits_t plan)
        : digit_keys_t(std::move(plan)) {}

    // Digits, and the query as it is.
    dim_t arranged_floats(dim_t rows) const override {
        return digits_floats(rows) + rows * plan_.head;
    }
    dim_t scratch_floats(dim_t rows) const override {
        return 2 * parameter_floats() + kernel_floats(rows);
    }
    void arrange(const float *query, dim_t rows, float *arranged,
            float *scratch) const noexcept override {
        digits_kernel_t::row_t row {};
        row.scaled = kernel_scratch(scratch);
        make_digits(query, rows, arranged, row);
        std::copy_n(query, rows * plan_.head, arranged + digits_floats(rows));
    }
    bool run(const attention_tokens_t &keys, const attention_tile_t &tile,
            const float *arranged, float *scratch) const noexcept override {
        alignas(64) float zeros[at_once] = {};
        stretch_t stretch {};
        stretch.keys = static_cast<const char *>(plan_.numbers_of(keys));
        stretch.tokens = keys.count;
        stretch.scales = scratch;
        stretch.zps = stretch.scales + parameter_floats();
        stretch.pitch = tile.pitch;
        stretch.zeros = zeros;
        const digits_t digits = digits_in(arranged, tile.rows);
        for_row_blocks(tile.rows, digits_kernel_t::most_rows,
                [&](dim_t row, dim_t rows) {
            stretch.scores = tile.scores + row * tile.pitch;
            multiply(stretch, from_row(digits, row), rows, scratch);
        });
        return are_finite(zeros, at_once);
    }
    void redo_overflow(const attention_tokens_t &keys,
            const attention_tile_t &tile,
            const float *arranged) const noexcept override {
        redo_scores(keys, tile, arranged + digits_floats(tile.rows));
    }
};

// Each number has its own, which a group of tokens shares. A row has other
// digits for each group.
class scaled_by_number_t final : public digit_keys_t {
public:
    explicit scaled_by_number_t(attention_digits_t plan)
        : digit_keys_t(std::move(plan)) {}

    // The query as it is.
    dim_t arranged_floats(dim_t rows) const override {
        return round_up(rows * plan_.head, dim_t(16));
    }
    dim_t scratch_floats(dim_t rows) const override {
        return 2 * parameter_floats() + kernel_floats(rows)
               + digits_floats(rows);
    }
    void arrange(const float *query, dim_t rows, float *arranged,
            float * /*scratch*/) const noexcept override {
        std::copy_n(query, rows * plan_.head, arranged);
    }
    bool run(const attention_tokens_t &keys, const attention_tile_t &tile,
            const float *arranged, float *scratch) const noexcept override {
        alignas(64) float zeros[at_once] = {};
        const auto *const numbers
                = static_cast<const char *>(plan_.numbers_of(keys));
        float *const made = kernel_scratch(scratch) + kernel_floats(tile.rows);
        digits_kernel_t::row_t row {};
        row.scaled = kernel_scratch(scratch);
        row.scales = scratch;
        row.zps = scratch + parameter_floats();
        stretch_t stretch {};
        stretch.pitch = tile.pitch;
        stretch.zeros = zeros;
        for (dim_t first = 0; first < keys.count; first += plan_.token_group) {
            stretch.keys = numbers + first * plan_.format.pitch;
            stretch.tokens = std::min(plan_.token_group, keys.count - first);
            make_digits(arranged, tile.rows, made, row);
            const digits_t digits = digits_in(made, tile.rows);
            for_row_blocks(tile.rows, digits_kernel_t::most_rows,
                    [&](dim_t begin, dim_t rows) {
                stretch.scores = tile.scores + begin * tile.pitch + first;
                multiply(stretch, from_row(digits, begin), rows, scratch);
            });
            row.scales += plan_.head;
            row.zps += plan_.head;
        }
        return are_finite(zeros, at_once);
    }
    void redo_overflow(const attention_tokens_t &keys,
            const attention_tile_t &tile,
            const float *arranged) const noexcept override {
        redo_scores(keys, tile, arranged);
    }
};

} // namespace

std::shared_ptr<const keys_product_t> make_keys_product(
        attention_digits_t plan) {
    if (plan.format.by_number)
        return std::make_shared<const scaled_by_number_t>(std::move(plan));
    return std::make_shared<const scaled_by_token_t>(std::move(plan));
}

} // namespace dnnl_dequant
