// The cross product of chains, layouts, granularities and shapes.

#include <algorithm>
#include <numeric>

#include "kernels/chain_builder.hpp"
#include "support/dequantize_case.hpp"

namespace dnnl_dequant {
namespace support {

namespace {

using t = data_type_t;

const std::vector<dims_t> &shapes_of(bool wide) {
    static const std::vector<dims_t> few {{}, {1}, {7}, {0, 3}, {3, 5},
            {1, 2, 9}, {2, 3, 4, 5}, {17, 3}, {4, 6, 2}, {33}, {5, 32}};
    static const std::vector<dims_t> many {{70, 130}, {3, 257}, {130, 66},
            {1000}, {64, 128}, {5, 40, 36}, {2, 3, 65, 34}, {129, 33},
            {300, 20}, {8, 1024}};
    return wide ? many : few;
}

using chain_t = void (*)(chain_builder_t &, t src);

t second_source(chain_builder_t &b, t src) {
    static const std::vector<t> types {t::u8, t::s8, t::u4, t::s4, t::s16};
    return b.random().one_in(2) ? src : b.random().pick(types);
}

// Usual chains behind a dequantized source.
std::vector<chain_t> usual_chains() {
    using k = step_kind_t;
    using r = reach_t;
    return {
            [](chain_builder_t &, t) {}, // a copy, or a conversion
            [](chain_builder_t &b, t src) { b.dequantize(src); },
            [](chain_builder_t &b, t src) {
        b.dequantize(src);
        b.round();
    },
            [](chain_builder_t &b, t src) {
        b.dequantize(src);
        b.with(k::multiply, b.any_float(), b.any_reach());
    },
            [](chain_builder_t &b, t src) {
        b.dequantize(src);
        b.round();
        b.with(k::add, b.any_float(), b.any_reach());
        b.clamp();
    },
            [](chain_builder_t &b, t src) {
        b.dequantize(src);
        b.with(k::multiply, b.any_float(), r::all);
        b.round();
        b.with(k::add, b.any_float(), r::all);
    },
            [](chain_builder_t &b, t src) {
        b.dequantize(src);
        b.round();
        b.with(k::multiply, b.any_float(), r::along_last);
        b.round();
        b.with(k::subtract, b.any_float(), b.any_reach());
        b.clamp();
        b.round();
    },
            [](chain_builder_t &b, t src) { // the sum of two sources
        const t second = second_source(b, src);
        b.dequantize(src);
        b.round();
        b.with(k::push, second, r::all);
        b.dequantize(second);
        b.round();
        b.then(k::pop_add);
        b.clamp();
    },
    };
}

std::vector<chain_t> unusual_chains() {
    using k = step_kind_t;
    using r = reach_t;
    return {
            [](chain_builder_t &b, t src) {
        b.with(k::push, second_source(b, src), b.any_reach());
        b.then(k::pop_add);
        b.round();
    },
            [](chain_builder_t &b, t src) { // pushed twice, one after the other
        b.dequantize(src);
        b.with(k::push, b.any_float(), r::all);
        b.then(k::pop_add);
        b.with(k::push, b.any_integer(), r::all);
        b.with(k::multiply, b.any_float(), r::scalar);
        b.then(k::pop_add);
    },
            [](chain_builder_t &b, t src) {
        b.dequantize(src);
        b.with(k::divide, b.any_float(), b.any_reach());
        if (b.random().one_in(2)) b.then(k::nearest);
        b.saturate();
        b.round();
        b.with(k::add, b.any_float(), b.any_reach());
        b.saturate();
    },
            [](chain_builder_t &b, t src) { // quantized on the way
        static const std::vector<t> types {t::u8, t::s8, t::s4, t::u16};
        const t between = b.random().pick(types);
        b.dequantize(src);
        b.with(b.random().one_in(2) ? k::divide : k::multiply_reciprocal,
                t::f32, r::parameter);
        b.with(k::add, b.any_integer(), r::parameter);
        b.clamp();
        b.result().steps.push_back({k::round, -1, between});
        b.with(k::subtract, between, r::parameter);
        b.with(k::multiply, t::f32, r::parameter);
    },
            [](chain_builder_t &b, t src) { // a quantize with a zero point
        static const std::vector<t> types {t::u8, t::s8, t::s4, t::u16, t::s16};
        b.dequantize(src);
        b.with(k::divide, b.any_float(), r::parameter);
        b.with(k::offset, b.any_offset(), r::parameter);
        b.result().steps.push_back({k::round, -1, b.random().pick(types)});
    },
            [](chain_builder_t &b, t src) { // one whose sum is stored
        static const std::vector<t> types {t::s32, t::u32, t::s32, t::u32,
                t::u8, t::s8, t::u16, t::s16, t::s4};
        b.dequantize(src);
        b.with(k::divide, b.any_float(), b.any_reach());
        b.with(k::offset, b.any_offset(), b.any_reach());
        if (b.random().one_in(3))
            b.result().steps.push_back({k::saturate, -1, t::undef, -99, 3e6f});
        b.set_dst(b.random().pick(types));
    },
            [](chain_builder_t &b, t) { b.clamp(); },
            [](chain_builder_t &b, t) { b.round(); },
            [](chain_builder_t &b, t) { // integers where floats are usual
        b.with(k::subtract, b.any_integer(), b.any_reach());
        b.with(k::multiply, b.any_integer(), b.any_reach());
        b.with(k::add, b.any_integer(), b.any_reach());
    },
            [](chain_builder_t &b, t) { // an integer less a float
        b.with(k::subtract, b.any_float(), b.any_reach());
    },
            [](chain_builder_t &b, t) { // small and wide types as operands
        static const std::vector<t> types {t::f8_e4m3, t::f8_e5m2, t::e8m0,
                t::f4_e2m1, t::s2, t::u2, t::u32, t::s64, t::f8_e4m3fnuz};
        b.with(k::multiply, b.random().pick(types), r::parameter);
        b.with(k::add, b.random().pick(types), b.any_reach());
    },
            [](chain_builder_t &b, t) { // one operand in two steps
        b.with(k::add, b.any_float(), b.any_reach());
        b.result().steps.push_back({k::multiply, 1});
    },
    };
}

const std::vector<chain_t> &chains() {
    static const std::vector<chain_t> all = [] {
        auto result = usual_chains();
        const auto more = unusual_chains();
        result.insert(result.end(), more.begin(), more.end());
        return result;
    }();
    return all;
}

// --- granularities

constexpr dim_t granularity_count = 5;

dims_t groups_of(const dims_t &dims, dim_t granularity, random_t &random) {
    dims_t groups = dims;
    for (auto &g : groups)
        g = std::max<dim_t>(g, 1);
    if (dims.empty()) return groups;
    static const std::vector<dim_t> sizes {2, 3, 8, 16, 32, 64};
    const dim_t size = random.pick(sizes);
    const auto grouped
            = [&](size_t d) { groups[d] = std::min(groups[d], size); };
    switch (granularity) {
    case 0: break;
    case 1: groups.back() = 1; break;
    case 2: groups.front() = 1; break;
    case 3:
        std::fill(groups.begin(), groups.end(), 1);
        groups.back() = std::max<dim_t>(dims.back(), 1);
        grouped(dims.size() - 1);
        break;
    default:
        std::fill(groups.begin(), groups.end(), 1);
        groups.front() = std::max<dim_t>(dims.front(), 1);
        grouped(0);
    }
    return groups;
}

// --- layouts

enum class layout_t {
    dense,
    src_transposed,
    all_transposed_but_dst,
    operands_transposed,
    dst_transposed,
    padded,
    src_strided,
    dst_strided,
    reversed,
    count
};

dims_t transposed_strides(const dims_t &dims) {
    std::vector<size_t> order(dims.size());
    std::iota(order.begin(), order.end(), size_t {0});
    if (dims.size() > 1) std::swap(order.end()[-1], order.end()[-2]);
    return permuted_strides(dims, order);
}

dims_t reversed_strides(const dims_t &dims) {
    std::vector<size_t> order(dims.size());
    std::iota(order.rbegin(), order.rend(), size_t {0});
    return permuted_strides(dims, order);
}

dims_t doubled(dims_t strides) {
    for (auto &stride : strides)
        stride *= 2;
    return strides;
}

// Strides of tensors that vary along every dimension.
dims_t strides_of(
        const dims_t &dims, layout_t layout, bool is_src, bool is_dst) {
    const dims_t dense = dense_strides(dims);
    const bool middle = !is_src && !is_dst;
    switch (layout) {
    case layout_t::src_transposed:
        return is_src ? transposed_strides(dims) : dense;
    case layout_t::all_transposed_but_dst:
        return is_dst ? dense : transposed_strides(dims);
    case layout_t::operands_transposed:
        return middle ? transposed_strides(dims) : dense;
    case layout_t::dst_transposed:
        return is_dst ? transposed_strides(dims) : dense;
    case layout_t::padded: return padded_strides(dims, is_dst ? 3 : 1);
    case layout_t::src_strided: return is_src ? doubled(dense) : dense;
    case layout_t::dst_strided:
        return is_dst ? doubled(padded_strides(dims, 1)) : dense;
    case layout_t::reversed: return is_dst ? dense : reversed_strides(dims);
    default: return dense;
    }
}

dims_t parameter_strides(const chain_case_t &c, random_t &random) {
    dims_t counts = c.dims;
    for (size_t d = 0; d < counts.size(); ++d)
        counts[d] = (counts[d] + c.groups[d] - 1) / c.groups[d];
    dims_t strides = random.one_in(4) ? transposed_strides(counts)
                                      : dense_strides(counts);
    for (size_t d = 0; d < counts.size(); ++d)
        if (counts[d] == 1) strides[d] = 0;
    return strides;
}

void set_strides(chain_builder_t &b, layout_t layout) {
    auto &c = b.result();
    for (size_t i = 0; i < c.tensors.size(); ++i) {
        auto &strides = c.tensors[i].strides;
        strides.assign(c.dims.size(), 0);
        switch (b.reach(i)) {
        case reach_t::parameter:
            strides = parameter_strides(c, b.random());
            break;
        case reach_t::scalar: break;
        case reach_t::along_last:
            if (!strides.empty()) strides.back() = 1;
            break;
        case reach_t::along_first:
            if (!strides.empty()) strides.front() = 1;
            break;
        case reach_t::all:
            strides = strides_of(
                    c.dims, layout, i == 0, i + 1 == c.tensors.size());
        }
    }
}

t dst_type(t src, bool has_steps, random_t &random) {
    static const std::vector<t> results {t::f32, t::bf16, t::f16};
    static const std::vector<t> others {t::s8, t::u8, t::s8, t::u8, t::s16,
            t::u16, t::s4, t::u4, t::u2, t::s32, t::u32, t::f8_e4m3, t::f8_e5m2,
            t::f8_e4m3fnuz, t::f8_e5m2fnuz, t::f4_e2m1};
    if (!has_steps && random.one_in(2)) return src;
    return random.pick(random.one_in(2) ? others : results);
}

} // namespace

dim_t chain_case_count(bool wide) {
    return static_cast<dim_t>(chains().size() * shapes_of(wide).size())
           * granularity_count * static_cast<dim_t>(layout_t::count);
}

chain_case_t make_chain_case(t src, bool wide, dim_t n, uint64_t seed) {
    const auto take = [&n](size_t count) {
        const auto which = static_cast<size_t>(n) % count;
        n /= static_cast<dim_t>(count);
        return which;
    };
    const auto layout
            = static_cast<layout_t>(take(static_cast<size_t>(layout_t::count)));
    const auto granularity = static_cast<dim_t>(take(granularity_count));
    const auto chain = chains()[take(chains().size())];
    const auto &shapes = shapes_of(wide);
    chain_builder_t b(src, shapes[take(shapes.size())], seed);
    chain(b, src);
    auto &c = b.result();
    if (b.dst() == t::undef)
        b.set_dst(dst_type(src, !c.steps.empty(), b.random()));
    b.add_tensor(b.dst(), reach_t::all);
    c.groups = groups_of(c.dims, granularity, b.random());
    set_strides(b, layout);
    if (b.random().one_in(2))
        for (auto &tensor : c.tensors)
            tensor.offset = b.random().one_in(2) ? 0 : b.random().between(1, 3);
    if (b.random().one_in(2)) c.values = values_t::ordinary;
    return c;
}

} // namespace support
} // namespace dnnl_dequant
