#include "product_formula.hpp"

#include <algorithm>
#include <cmath>

namespace dnnl_dequant {
namespace bench {

namespace {

// A bound in parts of the sum of the terms' magnitudes. The greatest error seen
// is a tenth of it.
constexpr double sum_bound = 1e-5;
constexpr dim_t elements_to_check = 512;

// A value rounded to a type.
double rounded(type_t type, float value) {
    return static_cast<double>(to_f32(type, round_to(type, value)));
}

class reference_t {
public:
    reference_t(const product_case_t &c, cold_memory_t &memory)
        : c_(c)
        , memory_(memory) {}

    /// Adds one element of dst to what was compared.
    void compare(dim_t row, dim_t column, check_t &check) const {
        double sum = 0, magnitude = 0;
        for (dim_t k = 0; k < c_.depth; k++) {
            const double term = src_at(row, k) * weight_at(k, column);
            sum += term;
            magnitude += std::fabs(term);
        }
        const double got = static_cast<double>(value_of({c_.floats(),
                memory_.of(dst_value, 0), row * c_.columns + column}));
        const double step = std::ldexp(1., -fraction_bits(c_.floats()) - 1);
        check.checked++;
        // A NaN is wrong too.
        check.wrong += !(std::fabs(got - sum)
                         <= magnitude * sum_bound + std::fabs(sum) * step);
    }

private:
    double src_at(dim_t row, dim_t k) const {
        const dim_t at = row * c_.depth + k;
        if (!c_.in_integers())
            return static_cast<double>(
                    value_of({c_.src, memory_.of(src_value, 0), at}));
        const float difference
                = difference_of({c_.src, memory_.of(codes_value, 0), at},
                        {c_.src, memory_.of(code_zps_value, 0), row});
        const float scale = value_of(
                {type_t::f32, memory_.of(code_scales_value, 0), row});
        return rounded(c_.floats(), difference * scale);
    }

    double weight_at(dim_t k, dim_t column) const {
        const dim_t at = index(k, column, c_.depth, c_.columns);
        const dim_t group = index(k / c_.group, column / c_.column_group,
                c_.depth / c_.group, c_.columns / c_.column_group);
        const float difference = difference_of(
                {c_.weights, memory_.of(weights_value, 0), at}, zp(group));
        const float scale
                = value_of({c_.floats(), memory_.of(scales_value, 0), group});
        return rounded(c_.floats(), difference * scale);
    }

    element_t zp(dim_t group) const {
        if (!c_.has_zps) return {type_t::undef, nullptr, 0};
        return {c_.weights, memory_.of(zps_value, 0), group};
    }

    // The index of [K,N] as the weights lie.
    dim_t index(dim_t k, dim_t n, dim_t depth, dim_t columns) const {
        return c_.by_column ? n * depth + k : k * columns + n;
    }

    const product_case_t &c_;
    cold_memory_t &memory_;
};

} // namespace

check_t check_product(const product_case_t &c, cold_memory_t &memory) {
    const reference_t reference(c, memory);
    const dim_t all = c.rows * c.columns;
    const dim_t count = std::min(all, elements_to_check);
    check_t check;
    for (dim_t i = 0; i < count; i++) {
        // The first and the last are among them.
        const dim_t at = count > 1 ? (all - 1) * i / (count - 1) : 0;
        reference.compare(at / c.columns, at % c.columns, check);
    }
    return check;
}

} // namespace bench
} // namespace dnnl_dequant
