#include "attention_formula.hpp"

#include <algorithm>
#include <cmath>

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr double sum_bound = 2e-5;
constexpr dim_t rows_to_check = 8;

class reference_t {
public:
    reference_t(const attention_case_t &c, cold_memory_t &memory)
        : c_(c)
        , memory_(memory) {}

    void compare(dim_t row, check_t &check) const {
        const dim_t head = row / (c_.group * c_.queries);
        const std::vector<double> weights = weights_of(row, head);
        std::vector<double> sums(static_cast<size_t>(c_.head));
        for (dim_t t = 0; t < c_.tokens; ++t)
            for (dim_t i = 0; i < c_.head; ++i)
                sums[at(i)]
                        += weights[at(t)] * number_at(values_value, head, t, i);
        double largest = 0;
        for (const double sum : sums)
            largest = std::max(largest, std::fabs(sum));
        for (dim_t i = 0; i < c_.head; ++i)
            count(float_at(attention_dst_value, c_.type, row * c_.head + i),
                    sums[at(i)], largest, check);
    }

private:
    static size_t at(dim_t i) { return static_cast<size_t>(i); }

    double float_at(size_t value, type_t type, dim_t index) const {
        return static_cast<double>(
                value_of({type, memory_.of(value, 0), index}));
    }

    // The values belong to the cache whose numbers these are.
    double number_at(size_t numbers, dim_t head, dim_t token, dim_t i) const {
        const dim_t place = head * c_.tokens + token;
        const double code = float_at(numbers, c_.cache, place * c_.head + i);
        return (code - float_at(numbers + 2, type_t::s8, place))
               * float_at(numbers + 1, c_.type, place);
    }

    std::vector<double> weights_of(dim_t row, dim_t head) const {
        const double scale = float_at(scale_value, c_.type, 0);
        std::vector<double> weights;
        for (dim_t t = 0; t < c_.tokens; ++t) {
            double score = 0;
            for (dim_t i = 0; i < c_.head; ++i)
                score += float_at(query_value, c_.type, row * c_.head + i)
                         * number_at(keys_value, head, t, i);
            const bool counts = !c_.causal || t <= row % c_.queries;
            weights.push_back(
                    counts ? score * scale
                           : float_at(fill_value_of_mask, c_.type, 0));
        }
        const double largest
                = *std::max_element(weights.begin(), weights.end());
        double total = 0;
        for (double &weight : weights)
            total += weight = std::exp(weight - largest);
        for (double &weight : weights)
            weight /= total;
        return weights;
    }

    void count(double got, double want, double largest, check_t &check) const {
        double bound = sum_bound * largest;
        if (c_.type != type_t::f32) {
            const double unit = std::ldexp(1., -fraction_bits(c_.type));
            // Scores are below 8.
            bound += 2 * unit * std::fabs(want) + 8 * unit / 2 * largest;
        }
        check.checked++;
        // A NaN is wrong too.
        check.wrong += !(std::fabs(got - want) <= bound);
    }

    const attention_case_t &c_;
    cold_memory_t &memory_;
};

} // namespace

check_t check_attention(const attention_case_t &c, cold_memory_t &memory) {
    const reference_t reference(c, memory);
    const dim_t count = std::min(c.rows(), rows_to_check);
    check_t check;
    for (dim_t i = 0; i < count; ++i)
        // The first and the last are among them.
        reference.compare(
                (c.rows() - 1) * i / std::max<dim_t>(count - 1, 1), check);
    return check;
}

} // namespace bench
} // namespace dnnl_dequant
