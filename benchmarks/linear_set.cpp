#include "linear_set.hpp"

#include <algorithm>
#include <string>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "quantize_set.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

using data_type::f4_e2m1;
using data_type::s16;
using data_type::s2;
using data_type::u16;
using data_type::u2;
using data_type::u32;
using list_t = std::vector<type_t>;
using cases_t = std::vector<bench_case_t>;

const dims_t memory_dims {64, 256, 1024}, l2_dims {8, 64, 128};

const list_t results {type_t::f32, type_t::bf16, type_t::f16};

// One row a shape says enough of them.
bool is_rare(type_t type) {
    return type == s2 || type == u2 || type == f4_e2m1;
}

const list_t &sources(op_t op) {
    static const list_t onnx {type_t::u8, type_t::s8, type_t::u4, type_t::s4,
            u16, s16, type_t::s32, type_t::f8_e4m3, type_t::f8_e5m2, s2, u2,
            f4_e2m1};
    static const list_t quark {
            u16, s16, u32, type_t::s32, type_t::f16, type_t::bf16};
    return op == op_t::dequantize_linear ? onnx : quark;
}

cases_t with_granularities(bench_case_t c) {
    cases_t all {c};
    c.granularity = granularity_t::per_channel;
    for (const int axis : {0, 1, 2}) {
        c.axis = axis;
        all.push_back(c);
    }
    if (c.op != op_t::dequantize_linear) return all;
    c.granularity = granularity_t::per_group;
    for (const dim_t block : {32, 128}) {
        c.group = {1, 1, block};
        all.push_back(c);
    }
    return all;
}

cases_t with_zps(bench_case_t c) {
    cases_t all {c};
    // ONNX's s32 has no zero point.
    if (c.op == op_t::dequantize_linear && c.src == type_t::s32) return all;
    c.zps = c.src;
    all.push_back(c);
    return all;
}

cases_t section(op_t op, const dims_t &dims, int threads) {
    cases_t all;
    for (const auto src : sources(op))
        for (const auto dst : results) {
            bench_case_t c;
            c.op = op;
            c.src = src;
            c.dst = dst;
            c.dims = dims;
            c.threads = threads;
            if (is_rare(src)) {
                c.zps = is_floating(src) ? type_t::undef : src;
                if (dst == type_t::f32) all.push_back(c);
                continue;
            }
            for (const auto &with : with_zps(c)) {
                const auto rows = with_granularities(with);
                all.insert(all.end(), rows.begin(), rows.end());
            }
        }
    return all;
}

// "DequantizeLinear/u16/f32/axis_1/zps_u16"
std::string kind_of(const bench_case_t &c) {
    const std::string name = c.name();
    return name.substr(0, name.find(std::string("/") + c.layout_name()));
}

using kinds_t = std::vector<std::string>;

bool is_among(const kinds_t &kinds, const bench_case_t &c) {
    return std::find(kinds.begin(), kinds.end(), kind_of(c)) != kinds.end();
}

// Out of cache, one thread.
const kinds_t quick_kinds {
        "DequantizeLinear/u16/f32/axis_0/zps_u16",
        "DequantizeLinear/u16/f16/tensor/zps_u16",
        "DequantizeLinear/s16/f32/axis_2/zps_s16",
        "DequantizeLinear/s16/bf16/block_128/zps_s16",
        "DequantizeLinear/s32/f32/axis_1/zps_none",
        "DequantizeLinear/s32/f16/axis_2/zps_none",
        "DequantizeLinear/f8_e4m3/f16/tensor/zps_none",
        "DequantizeLinear/f8_e5m2/f32/axis_2/zps_none",
        "DequantizeLinear/f8_e4m3/bf16/block_32/zps_none",
        "DequantizeLinear/s2/f32/tensor/zps_s2",
        "DequantizeLinear/u2/f32/tensor/zps_u2",
        "DequantizeLinear/f4_e2m1/f32/tensor/zps_none",
        "ExtendedDequantizeLinear/u16/bf16/axis_1/zps_u16",
        "ExtendedDequantizeLinear/s16/f32/axis_0/zps_s16",
        "ExtendedDequantizeLinear/u32/f32/tensor/zps_u32",
        "ExtendedDequantizeLinear/s32/bf16/axis_0/zps_s32",
        "ExtendedDequantizeLinear/f16/f32/axis_2/zps_f16",
        "ExtendedDequantizeLinear/bf16/f32/axis_1/zps_bf16",
};

// In cache, and out of it on all threads.
const kinds_t quick_other_kinds {
        "DequantizeLinear/u16/f32/axis_0/zps_u16",
        "DequantizeLinear/f8_e4m3/f16/tensor/zps_none",
        "ExtendedDequantizeLinear/bf16/f32/axis_1/zps_bf16",
};

// Kinds that peers may have in addition to the quick set, out of cache.
const kinds_t peer_kinds {
        "DequantizeLinear/u8/f32/tensor/zps_u8",
        "DequantizeLinear/u8/f16/axis_2/zps_u8",
        "DequantizeLinear/s8/f32/axis_1/zps_none",
        "DequantizeLinear/s8/f16/tensor/zps_none",
        "DequantizeLinear/u4/f32/block_32/zps_u4",
        "DequantizeLinear/s4/f16/block_128/zps_none",
        "DequantizeLinear/u16/f32/axis_2/zps_u16",
        "DequantizeLinear/u16/f32/block_128/zps_u16",
};

// Returns the cases that `wanted` takes, of all sections; in cache one thread
// says it all.
template <typename wanted_t>
cases_t chosen(const std::vector<int> &threads, const wanted_t &wanted) {
    cases_t all;
    for (const auto *dims : {&memory_dims, &l2_dims})
        for (const int n : threads) {
            if (dims == &l2_dims && n != threads.front()) continue;
            for (const op_t op :
                    {op_t::dequantize_linear, op_t::extended_dequantize_linear})
                for (const auto &c : section(op, *dims, n))
                    if (wanted(c)) all.push_back(c);
        }
    return all;
}

bool is_quick(const bench_case_t &c, int fewest) {
    const bool main_section = c.dims == memory_dims && c.threads == fewest;
    return is_among(main_section ? quick_kinds : quick_other_kinds, c);
}

} // namespace

cases_t linear_set(const std::vector<int> &threads, bool quick) {
    return chosen(threads, [&](const bench_case_t &c) {
        return !quick || is_quick(c, threads.front());
    });
}

cases_t peers_set(const std::vector<int> &threads) {
    bench_case_t matrix;
    matrix.src = matrix.zps = type_t::u4;
    matrix.dims = {4096, 4096};
    matrix.granularity = granularity_t::per_group;
    matrix.group = {1, 128};
    matrix.threads = threads.front();
    cases_t all {matrix};
    // ggml's groups.
    matrix.group = {1, 32};
    all.push_back(matrix);
    matrix.zps = type_t::undef;
    for (const type_t src : {type_t::s4, type_t::s8}) {
        matrix.src = src;
        all.push_back(matrix);
    }
    // Stock oneDNN has fast code for this.
    matrix.granularity = granularity_t::per_tensor;
    all.push_back(matrix);
    matrix.granularity = granularity_t::per_channel;
    all.push_back(matrix);
    const auto linear = chosen(threads, [&](const bench_case_t &c) {
        return is_quick(c, threads.front())
               || (c.dims == memory_dims && c.threads == threads.front()
                       && is_among(peer_kinds, c));
    });
    all.insert(all.end(), linear.begin(), linear.end());
    const auto quantize = quantize_peers_set(threads);
    all.insert(all.end(), quantize.begin(), quantize.end());
    return all;
}

} // namespace bench
} // namespace dnnl_dequant
