// Keys by digits of a few rows.

#include "kernels/attention/digits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/attention/products.hpp"
#include "kernels/row_blocks.hpp"

namespace dnnl_dequant {

int digits_format_t::bias() const {
    return type == data_type_t::s8 ? 128 : type == data_type_t::s4 ? 8 : 0;
}

namespace {

constexpr auto chunk = static_cast<size_t>(digits_format_t::chunk);
constexpr size_t lanes = chunk / 4;

// To the nearest integer, ties to even: what is added leaves it in the low
// bits, on vectors too.
int32_t round_to_integer(double number) {
    const double shifted = number + 0x1.8p52;
    int64_t bits = 0;
    std::memcpy(&bits, &shifted, sizeof(bits));
    return static_cast<int32_t>(bits);
}

// Takes a digit off each number, and adds those of each lane of 32 bits up.
void take_digit(std::array<int32_t, chunk> &numbers, int8_t *digits,
        std::array<int32_t, lanes> &sums) {
    for (size_t i = 0; i < chunk; ++i) {
        const int32_t digit = ((numbers[i] + 128) & 255) - 128;
        digits[i] = static_cast<int8_t>(digit);
        numbers[i] = (numbers[i] - digit) / 256;
    }
    for (size_t i = 0; i < chunk; ++i)
        sums[i / 4] += digits[i];
}

float largest_of(const float *row, dim_t count) {
    // The bits are compared as integers, since vectors can, and since infinity
    // and NaN are the largest then.
    int32_t largest = 0;
    for (dim_t k = 0; k < count; ++k) {
        int32_t bits = 0;
        std::memcpy(&bits, row + k, sizeof(bits));
        largest = std::max(largest, bits & INT32_MAX);
    }
    float number = 0;
    std::memcpy(&number, &largest, sizeof(number));
    return number;
}

} // namespace

void make_digits(const digits_format_t &format, const float *row,
        int8_t *digits, digits_row_t &made) {
    const float largest = largest_of(row, format.head);
    const bool has_digits = largest > 0 && std::isfinite(largest);
    const double unit = has_digits ? std::ldexp(127., 8 * (format.digits - 1))
                                             / static_cast<double>(largest)
                                   : 0;
    // 0 * infinity is NaN.
    made.norm = std::isfinite(largest)
                        ? largest * (128.f / 127)
                        : std::numeric_limits<float>::quiet_NaN();
    for (auto &sums : made.begins)
        sums.fill(0);
    const dim_t halves = format.numbers_a_byte();
    for (dim_t vector = 0; vector < format.chunks() * halves; ++vector) {
        const dim_t first
                = vector / halves * format.chunk * halves + vector % halves;
        const dim_t count = std::min(format.chunk,
                std::max<dim_t>(div_up(format.head - first, halves), 0));
        std::array<int32_t, chunk> numbers {};
        for (dim_t i = 0; has_digits && i < count; ++i)
            numbers[static_cast<size_t>(i)] = round_to_integer(
                    static_cast<double>(row[first + i * halves]) * unit);
        for (int d = 0; d < format.digits; ++d)
            take_digit(numbers,
                    digits + (vector * format.digits + d) * format.chunk,
                    made.begins[static_cast<size_t>(d)]);
    }
    double total = 0;
    for (int d = format.digits; d-- > 0;) {
        total *= 256;
        for (int32_t &sum : made.begins[static_cast<size_t>(d)]) {
            total += sum;
            sum *= -format.bias();
        }
    }
    made.total = static_cast<float>(std::ldexp(total, 1 - 8 * format.digits));
}

namespace {

class digit_keys_t : public keys_product_t {
public:
    explicit digit_keys_t(attention_digits_t plan)
        : plan_(std::move(plan)) {}

    const char *name() const override { return plan_.kernel->name(); }
    // Digits and constants of rows.
    dim_t arranged_floats(dim_t rows) const override {
        return rows * row_floats();
    }
    // Scales and zero points, sums, a short block's keys and scores.
    dim_t scratch_floats(dim_t rows) const override {
        return 2 * plan_.parameter_floats() + sum_floats(rows) + short_floats()
               + rows * digits_kernel_t::tokens_at_once;
    }

    void arrange(const float *query, dim_t rows, float *arranged,
            float * /*scratch*/) const noexcept override {
        auto *const digits = reinterpret_cast<int8_t *>(arranged);
        auto *const made = reinterpret_cast<digits_row_t *>(
                arranged + digits_floats(rows));
        for (dim_t r = 0; r < rows; ++r)
            make_digits(plan_.format, query + r * plan_.head,
                    digits + r * plan_.format.row_bytes(), made[r]);
    }

    void load(const attention_tokens_t &keys,
            float *scratch) const noexcept override {
        plan_.load(keys, scratch);
    }

    void run(const attention_tokens_t &keys, const attention_tile_t &tile,
            const float *arranged, float *scratch) const noexcept override {
        const auto *const numbers
                = static_cast<const char *>(plan_.numbers_of(keys));
        const places_t places = places_in(scratch, arranged, tile.rows);
        for_row_blocks(tile.rows, digits_kernel_t::most_rows,
                [&](dim_t row, dim_t rows) {
            if (keys.count < at_once)
                return run_short(numbers, keys.count, tile, places, row, rows);
            const dim_t groups = keys.count / at_once;
            run_tokens(numbers, tile, places, row, rows, 0, groups);
            // The last sixteen tokens overlap those before.
            if (keys.count % at_once != 0)
                run_tokens(numbers, tile, places, row, rows,
                        keys.count - at_once, 1);
        });
    }

private:
    static constexpr dim_t at_once = digits_kernel_t::tokens_at_once;

    struct places_t {
        float *scales, *zps;
        float *sums;
        char *keys;
        float *scores;
        const int8_t *digits;
        const digits_row_t *rows;
    };

    dim_t row_floats() const {
        return (plan_.format.row_bytes()
                       + static_cast<dim_t>(sizeof(digits_row_t)))
               / 4;
    }
    dim_t sum_floats(dim_t rows) const {
        return digits_kernel_t::sum_count(
                std::min(rows, digits_kernel_t::most_rows));
    }
    dim_t short_floats() const {
        return round_up(at_once * plan_.format.pitch, dim_t(64)) / 4;
    }

    // Constants of rows are behind all digits.
    dim_t digits_floats(dim_t rows) const {
        return rows * plan_.format.row_bytes() / 4;
    }

    places_t places_in(
            float *scratch, const float *arranged, dim_t rows) const {
        places_t places {};
        places.scales = scratch;
        places.zps = places.scales + plan_.parameter_floats();
        places.sums = places.zps + plan_.parameter_floats();
        float *const keys = places.sums + sum_floats(rows);
        places.keys = reinterpret_cast<char *>(keys);
        places.scores = keys + short_floats();
        places.digits = reinterpret_cast<const int8_t *>(arranged);
        places.rows = reinterpret_cast<const digits_row_t *>(
                arranged + digits_floats(rows));
        return places;
    }

    void run_tokens(const char *keys, const attention_tile_t &tile,
            const places_t &places, dim_t row, dim_t rows, dim_t token,
            dim_t groups) const noexcept {
        digits_kernel_t::block_t block {};
        block.keys = keys + token * plan_.format.pitch;
        block.digits = places.digits + row * plan_.format.row_bytes();
        block.rows = places.rows + row;
        block.scales = places.scales + token;
        block.zps = places.zps + token;
        block.scores = tile.scores + row * tile.pitch + token;
        block.scores_pitch = tile.pitch * 4;
        block.groups = groups;
        block.sums = places.sums;
        plan_.kernel->run(rows, block);
    }

    // A block of fewer tokens than sixteen, behind which there may be nothing.
    void run_short(const char *keys, dim_t tokens, const attention_tile_t &tile,
            const places_t &places, dim_t row, dim_t rows) const noexcept {
        const dim_t pitch = plan_.format.pitch;
        for (dim_t t = 0; t < tokens; ++t)
            std::memcpy(places.keys + t * pitch, keys + t * pitch,
                    static_cast<size_t>(plan_.format.key_bytes()));
        attention_tile_t alone = tile;
        alone.scores = places.scores;
        alone.pitch = at_once;
        run_tokens(places.keys, alone, places, row, rows, 0, 1);
        for (dim_t r = row; r < row + rows; ++r)
            std::copy_n(places.scores + r * at_once, tokens,
                    tile.scores + r * tile.pitch);
    }

    const attention_digits_t plan_;
};

} // namespace

std::shared_ptr<const keys_product_t> make_keys_product(
        attention_digits_t plan) {
    return std::make_shared<const digit_keys_t>(std::move(plan));
}

} // namespace dnnl_dequant
