#include "support/cross_product.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace dnnl_dequant {
namespace support {

namespace {

using cases_t = std::vector<dequantize_case_t>;

// --- granularities of one shape; strides and types come later

dequantize_case_t per_tensor(const dims_t &dims) {
    dequantize_case_t c;
    c.src.dims = c.dst.dims = dims;
    return c;
}

dequantize_case_t per_channel(const dims_t &dims, dim_t axis) {
    auto c = per_tensor(dims);
    c.qtype = qtype_t::per_channel;
    c.axis = axis;
    return c;
}

dequantize_case_t per_group(const dims_t &dims, const dims_t &group_shape) {
    auto c = per_tensor(dims);
    c.qtype = qtype_t::per_group;
    c.group_shape = group_shape;
    return c;
}

// Groups of `size` along the dimensions in `where` (a bit each), 1 elsewhere.
dequantize_case_t grouped_along(
        const dims_t &dims, unsigned where, dim_t size) {
    dims_t group_shape(dims.size(), 1);
    for (size_t d = 0; d < dims.size(); ++d)
        if (where >> d & 1u) group_shape[d] = std::min(size, dims[d]);
    return per_group(dims, group_shape);
}

cases_t granularities(const dims_t &dims) {
    const auto rank = static_cast<unsigned>(dims.size());
    cases_t cases {per_tensor(dims)};
    for (unsigned d = 0; d < rank; ++d) {
        const auto axis = static_cast<dim_t>(d);
        cases.push_back(per_channel(dims, d % 2 ? axis - rank : axis));
        cases.push_back(grouped_along(dims, 1u << d, 2 + axis));
    }
    if (rank > 0) {
        // Groups of one everywhere, and groups on all dimensions at once.
        cases.push_back(grouped_along(dims, 0, 1));
        cases.push_back(grouped_along(dims, (1u << rank) - 1, 2));
        cases.push_back(grouped_along(dims, (1u << rank) - 1, 4));
        cases.push_back(per_group(dims, dims));
    }
    if (rank > 2) cases.push_back(grouped_along(dims, 6u, 3));
    return cases;
}

// --- layouts

dims_t times(dims_t strides, dim_t factor) {
    for (auto &stride : strides)
        stride *= factor;
    return strides;
}

dims_t last_two_swapped(const dims_t &dims) {
    std::vector<size_t> order(dims.size());
    std::iota(order.begin(), order.end(), size_t {0});
    if (dims.size() > 1) std::swap(order.end()[-1], order.end()[-2]);
    return permuted_strides(dims, order);
}

dims_t reversed(const dims_t &dims) {
    std::vector<size_t> order(dims.size());
    std::iota(order.rbegin(), order.rend(), size_t {0});
    return permuted_strides(dims, order);
}

void set_dense(dequantize_case_t &c) {
    c.scales.dims = c.zps.dims = scales_dims_of(c);
    c.src.strides = c.dst.strides = dense_strides(c.src.dims);
    c.scales.strides = c.zps.strides = dense_strides(c.scales.dims);
}

void append_layouts(cases_t &cases, dequantize_case_t c) {
    set_dense(c);
    const dims_t &dims = c.src.dims;
    const auto push = [&](const dims_t &src, const dims_t &dst) {
        c.src.strides = src;
        c.dst.strides = dst;
        cases.push_back(c);
    };
    const dims_t dense = dense_strides(dims);
    push(dense, dense);
    if (c.qtype == qtype_t::per_channel) {
        c.zps.dims = {1}; // a single zero point for all channels
        cases.push_back(c);
        c.zps.dims = c.scales.dims;
    }
    push(times(dense, 2), dense);
    push(dense, times(padded_strides(dims, 1), 2));
    push(padded_strides(dims, 1), padded_strides(dims, 3));
    c.scales.strides = times(reversed(c.scales.dims), 3);
    c.zps.strides = padded_strides(c.zps.dims, 1);
    push(dense, dense);
    if (dims.size() < 2) return;
    push(last_two_swapped(dims), dense);
    push(reversed(dims), padded_strides(dims, 2));
    c.scales.strides = c.zps.strides = dense_strides(c.scales.dims);
    push(last_two_swapped(dims), dense);
    push(dense, last_two_swapped(dims));
    push(reversed(dims), dense);
    push(reversed(dims), reversed(dims));
    push(padded_strides(dims, 1), reversed(dims));
}

void append_transposed(cases_t &cases, dequantize_case_t c) {
    set_dense(c);
    cases.push_back(c);
    c.src.strides = last_two_swapped(c.src.dims);
    cases.push_back(c);
}

// Weights of convolutions, OIHW: from HWIO, and to HWIO and OHWI.
void append_convolution(cases_t &cases, dequantize_case_t c) {
    set_dense(c);
    const dims_t dense = c.src.strides,
                 hwio = permuted_strides(c.src.dims, {2, 3, 1, 0}),
                 ohwi = permuted_strides(c.src.dims, {0, 2, 3, 1});
    for (const auto &[src, dst] : std::vector<std::pair<dims_t, dims_t>> {
                 {hwio, dense}, {dense, hwio}, {dense, ohwi}}) {
        c.src.strides = src;
        c.dst.strides = dst;
        cases.push_back(c);
    }
}

cases_t make_small_shapes() {
    cases_t cases;
    append_layouts(cases, per_tensor({}));
    const std::vector<dims_t> shapes {
            {1}, {37}, {5, 19}, {1, 9}, {3, 5, 7}, {2, 3, 5, 9}};
    for (const auto &dims : shapes)
        for (const auto &c : granularities(dims))
            append_layouts(cases, c);
    return cases;
}

cases_t make_vector_shapes() {
    cases_t cases;
    for (const dim_t multiple : {16, 32, 64, 128, 256, 512})
        for (dim_t n = multiple - 1; n <= multiple + 1; ++n) {
            append_transposed(cases, per_tensor({n}));
            append_transposed(cases, per_channel({3, n}, 0));
            append_transposed(cases, per_channel({3, n}, 1));
            append_transposed(cases, grouped_along({2, n}, 2, 16));
        }
    append_transposed(cases, per_tensor({4099}));
    append_transposed(cases, per_channel({3, 1027}, -1));
    append_transposed(cases, per_channel({130, 9}, 0));
    for (const dim_t group : {8, 16, 17, 32, 64, 100, 128}) {
        append_transposed(cases, grouped_along({3, 300}, 2, group));
        append_transposed(cases, grouped_along({2, 512}, 2, group));
        append_transposed(cases, grouped_along({150, 9}, 1, group));
        append_transposed(cases, grouped_along({35, 131}, 3, group));
    }
    for (const auto &dims : std::vector<dims_t> {
                 {16, 16}, {33, 65}, {64, 48}, {17, 130}, {2, 31, 64}}) {
        append_transposed(cases, per_tensor(dims));
        append_transposed(cases, per_channel(dims, -1));
        append_transposed(cases, per_channel(dims, -2));
    }
    // Short rows, four at a time and three left over.
    append_transposed(cases, grouped_along({5, 96}, 2, 32));
    append_transposed(cases, per_group({1, 4, 32, 24}, {1, 1, 8, 1}));
    // Many groups to a tile of a transposed source, which may cut one.
    append_transposed(cases, per_group({1, 2, 150, 32}, {1, 1, 8, 1}));
    append_transposed(cases, per_group({2, 270, 33}, {1, 24, 1}));
    append_transposed(cases, per_group({2, 67, 48}, {1, 2, 1}));
    append_transposed(cases, per_group({45, 264}, {4, 1}));
    // And many next to each other, rows left over.
    append_transposed(cases, per_group({131, 160}, {1, 32}));
    append_transposed(cases, per_group({130, 160}, {6, 32}));
    append_transposed(cases, per_group({67, 768}, {1, 64}));
    append_transposed(cases, per_group({130, 128}, {6, 32}));
    append_transposed(cases, per_group({2, 3, 40, 37}, {1, 1, 1, 32}));
    append_transposed(cases, per_group({6, 20, 50}, {4, 1, 16}));
    // Groups of few columns, the last of them short, or of rows too.
    append_transposed(cases, per_group({35, 64}, {1, 2}));
    append_transposed(cases, per_group({130, 160}, {1, 4}));
    append_transposed(cases, per_group({19, 131}, {1, 8}));
    append_transposed(cases, per_group({40, 272}, {1, 16}));
    append_transposed(cases, per_group({20, 96}, {4, 8}));
    append_transposed(cases, per_group({66, 50}, {8, 2}));
    append_transposed(cases, per_group({33, 105}, {1, 7}));
    // Tiles that begin within one; rows that share them.
    append_transposed(cases, per_group({9, 524}, {1, 11}));
    append_transposed(cases, per_group({22, 140}, {8, 3}));
    append_transposed(cases, per_group({19, 300}, {1, 40}));
    // Groups of an odd number of rows, which begin within bytes.
    append_transposed(cases, per_group({150, 40}, {7, 1}));
    append_transposed(cases, per_group({2, 45, 24}, {1, 5, 8}));
    for (const auto &dims : std::vector<dims_t> {
                 {80, 20, 3, 3}, {33, 5, 1, 7}, {19, 131, 2, 2}}) {
        append_convolution(cases, per_tensor(dims));
        append_convolution(cases, per_channel(dims, 0));
        append_convolution(cases, per_channel(dims, 1));
        append_convolution(cases, grouped_along(dims, 1, 16));
        append_convolution(cases, grouped_along(dims, 2, 2));
        append_convolution(cases, grouped_along(dims, 12, 2));
    }
    return cases;
}

dim_t number_of_environment(const char *name, dim_t otherwise) {
    const char *const text = std::getenv(name);
    return text ? std::strtoll(text, nullptr, 10) : otherwise;
}

} // namespace

std::vector<types_t> type_combinations(data_type_t src, data_type_t dst) {
    std::vector<types_t> result;
    for (const auto scales :
            {data_type_t::f32, data_type_t::bf16, data_type_t::f16})
        for (const auto zps :
                {data_type_t::undef, data_type_t::s8, data_type_t::u8,
                        data_type_t::s4, data_type_t::u4, data_type_t::s32})
            result.push_back({src, scales, zps, dst});
    return result;
}

std::vector<types_t> extended_combinations(data_type_t src, data_type_t dst) {
    std::vector<data_type_t> zps {data_type_t::undef, src};
    const auto others
            = is_floating(src)
                      ? std::vector<data_type_t> {data_type_t::f32,
                                data_type_t::bf16, data_type_t::f8_e4m3}
                      : std::vector<data_type_t> {data_type_t::s8,
                                data_type_t::u4, data_type_t::s16,
                                data_type_t::u16, data_type_t::s32,
                                data_type_t::u32, data_type_t::s2,
                                data_type_t::u2};
    for (const auto type : others)
        if (type != src) zps.push_back(type);
    std::vector<types_t> result;
    for (const auto scales : {data_type_t::f32, data_type_t::bf16,
                 data_type_t::f16, data_type_t::e8m0})
        for (const auto type : zps)
            result.push_back({src, scales, type, dst});
    return result;
}

const std::vector<dequantize_case_t> &small_shapes() {
    static const cases_t cases = make_small_shapes();
    return cases;
}

const std::vector<dequantize_case_t> &vector_shapes() {
    static const cases_t cases = make_vector_shapes();
    return cases;
}

dequantize_case_t with_types(
        dequantize_case_t shape, const types_t &types, uint64_t seed) {
    shape.src.type = types.src;
    shape.scales.type = types.scales;
    shape.zps.type = types.zps;
    shape.dst.type = types.dst;
    shape.seed = seed;
    shape.values = seed % 3 == 0   ? values_t::any
                   : seed % 3 == 1 ? values_t::extreme
                                   : values_t::ordinary;
    return shape;
}

dim_t only_case() {
    static const dim_t n = number_of_environment("DNNL_DEQUANT_TEST_CASE", -1);
    return n;
}

dim_t every() {
    static const dim_t n = std::max<dim_t>(
            1, number_of_environment("DNNL_DEQUANT_TEST_EVERY", 1));
    return n;
}

uint64_t first_seed() {
    static const dim_t seed
            = number_of_environment("DNNL_DEQUANT_TEST_SEED", 20261);
    return static_cast<uint64_t>(seed);
}

} // namespace support
} // namespace dnnl_dequant
