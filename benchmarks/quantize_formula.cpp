#include "quantize_formula.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace dnnl_dequant {
namespace bench {

namespace {

struct range_t {
    float least = 0, most = 0;
};

struct bounds_t {
    int64_t lowest, highest;
};

bounds_t bounds_of(const bench_case_t &c) {
    const int64_t codes = int64_t {1} << bits_of(c.dst);
    if (!is_signed(c.dst)) return {0, codes - 1};
    // DynamicQuantizeLinear leaves out -128.
    const bool even = c.op == op_t::dynamic_quantize_linear;
    return {-codes / 2 + (even ? 1 : 0), codes / 2 - 1};
}

// Finds the scale of an element of src.
class groups_t {
public:
    explicit groups_t(const bench_case_t &c)
        : dims_(c.dims)
        , shared_(c.shared())
        , strides_(dense_strides(c.scale_grid())) {}

    size_t of(dim_t at) const {
        dim_t group = 0;
        for (size_t i = dims_.size(); i-- > 0; at /= dims_[i])
            group += at % dims_[i] / shared_[i] * strides_[i];
        return static_cast<size_t>(group);
    }

private:
    const dims_t dims_, shared_, strides_;
};

struct parameters_t {
    float scale;
    int64_t zp;
};

parameters_t made_of(const bench_case_t &c, const range_t &range) {
    if (c.zps == type_t::undef) {
        const float most = std::max(-range.least, range.most);
        return {most == 0 ? 1.f : most / 127.f, 0};
    }
    const bounds_t bounds = bounds_of(c);
    const auto lowest = static_cast<float>(bounds.lowest);
    const auto highest = static_cast<float>(bounds.highest);
    const float width = range.most - range.least;
    const float scale = width == 0 ? 1.f : width / (highest - lowest);
    const float zp = lowest - range.least / scale;
    return {scale, std::llrint(std::min(std::max(zp, lowest), highest))};
}

std::vector<parameters_t> parameters_of(
        const bench_case_t &c, const buffers_t &b, const groups_t &groups) {
    std::vector<parameters_t> all;
    const auto count = static_cast<size_t>(product(c.scale_grid()));
    if (c.op != op_t::dynamic_quantize_linear) {
        for (size_t g = 0; g < count; g++) {
            const auto at = static_cast<dim_t>(g);
            all.push_back({value_of({c.scales(), b.scales, at}),
                    c.zps == type_t::undef ? 0
                                           : integer_of({c.zps, b.zps, at})});
        }
        return all;
    }
    std::vector<range_t> ranges(count);
    for (dim_t at = 0; at < c.elements(); at++) {
        const float x = value_of({c.src, b.src, at});
        range_t &range = ranges[groups.of(at)];
        range.least = std::min(range.least, x);
        range.most = std::max(range.most, x);
    }
    for (const range_t &range : ranges)
        all.push_back(made_of(c, range));
    return all;
}

uint32_t low_bits(type_t type, int64_t value) {
    const uint64_t mask = (uint64_t {1} << bits_of(type)) - 1;
    return static_cast<uint32_t>(static_cast<uint64_t>(value) & mask);
}

void check_parameters(const bench_case_t &c, const buffers_t &b,
        const std::vector<parameters_t> &want, check_t &check) {
    for (size_t g = 0; g < want.size(); g++) {
        const auto at = static_cast<dim_t>(g);
        count_bits(check, type_t::f32, bits_at({type_t::f32, b.scales, at}),
                round_to(type_t::f32, want[g].scale));
        if (c.zps != type_t::undef)
            count_bits(check, c.zps, bits_at({c.zps, b.zps, at}),
                    low_bits(c.zps, want[g].zp));
    }
}

} // namespace

check_t check_quantized(
        const bench_case_t &c, const buffers_t &b, size_t most) {
    const groups_t groups(c);
    const auto parameters = parameters_of(c, b, groups);
    const bounds_t bounds = bounds_of(c);
    check_t check;
    if (c.op == op_t::dynamic_quantize_linear)
        check_parameters(c, b, parameters, check);
    const auto n = static_cast<size_t>(c.elements());
    // An odd step meets every position within vectors and groups.
    const size_t step = n <= most ? 1 : (n / most) | 1u;
    for (size_t i = 0; i < n; i += step) {
        const auto at = static_cast<dim_t>(i);
        const parameters_t &by = parameters[groups.of(at)];
        const float quotient = value_of({c.src, b.src, at}) / by.scale;
        const int64_t value = std::llrint(quotient) + by.zp;
        count_bits(check, c.dst, bits_at({c.dst, b.dst, at}),
                low_bits(c.dst,
                        std::clamp(value, bounds.lowest, bounds.highest)));
    }
    return check;
}

} // namespace bench
} // namespace dnnl_dequant
