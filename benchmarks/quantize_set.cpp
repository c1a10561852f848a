#include "quantize_set.hpp"

#include <algorithm>
#include <string>

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

using cases_t = std::vector<bench_case_t>;
using kinds_t = std::vector<std::string>;

const dims_t memory_dims {64, 256, 1024}, l2_dims {8, 64, 128};

void add_blocks(bench_case_t c, const dims_t &sizes, cases_t &all) {
    c.granularity = granularity_t::per_group;
    for (const dim_t size : sizes) {
        c.group = {1, 1, size};
        all.push_back(c);
    }
}

void add_axes(bench_case_t c, const std::vector<int> &axes, cases_t &all) {
    c.granularity = granularity_t::per_channel;
    for (const int axis : axes) {
        c.axis = axis;
        all.push_back(c);
    }
}

void add_linear(bench_case_t c, cases_t &all) {
    using data_type::s16;
    using data_type::u16;
    const bool onnx = c.op == op_t::quantize_linear;
    const std::vector<type_t> dsts
            = onnx ? std::vector<type_t> {type_t::u8, type_t::s8, type_t::u4,
                             type_t::s4, u16, s16}
                   : std::vector<type_t> {
                             u16, s16, data_type::u32, type_t::s32};
    for (const auto dst : dsts)
        for (const auto zps : {type_t::undef, dst}) {
            c.dst = dst;
            c.zps = zps;
            all.push_back(c);
            add_axes(c, {0, 1, 2}, all);
            if (onnx) add_blocks(c, {32, 128}, all);
        }
}

void add_dynamic(bench_case_t c, cases_t &all) {
    for (const auto dst : {type_t::u8, type_t::s8})
        for (const auto zps : {dst, type_t::undef}) {
            if (dst == type_t::u8 && zps != dst) continue;
            c.dst = dst;
            c.zps = zps;
            all.push_back(c);
            add_axes(c, {0}, all);
            dims_t blocks {128};
            if (c.dims.back() != 128) blocks.push_back(c.dims.back());
            add_blocks(c, blocks, all);
        }
}

// All, in sections; in cache one thread says it all.
cases_t whole_set(const std::vector<int> &threads) {
    cases_t all;
    for (const auto *dims : {&memory_dims, &l2_dims})
        for (const int n : threads) {
            if (dims == &l2_dims && n != threads.front()) continue;
            for (const op_t op :
                    {op_t::quantize_linear, op_t::extended_quantize_linear,
                            op_t::dynamic_quantize_linear})
                for (const auto src :
                        {type_t::f32, type_t::bf16, type_t::f16}) {
                    bench_case_t c;
                    c.op = op;
                    c.src = src;
                    c.dims = *dims;
                    c.threads = n;
                    if (op == op_t::dynamic_quantize_linear)
                        add_dynamic(c, all);
                    else add_linear(c, all);
                }
        }
    return all;
}

// Out of cache, one thread.
const kinds_t quick_kinds {
        "QuantizeLinear/f32/u8/tensor/zps_u8",
        "QuantizeLinear/f32/u8/axis_0/zps_u8",
        "QuantizeLinear/f32/u8/axis_2/zps_u8",
        "QuantizeLinear/f32/u8/block_128/zps_u8",
        "QuantizeLinear/f32/u4/tensor/zps_u4",
        "QuantizeLinear/f32/u4/axis_0/zps_u4",
        "QuantizeLinear/f32/u4/axis_2/zps_u4",
        "QuantizeLinear/f32/u4/block_128/zps_u4",
        "QuantizeLinear/f32/u16/tensor/zps_u16",
        "QuantizeLinear/f32/u16/axis_0/zps_u16",
        "QuantizeLinear/f32/u16/axis_2/zps_u16",
        "QuantizeLinear/f32/u16/block_128/zps_u16",
        "QuantizeLinear/bf16/s8/axis_1/zps_none",
        "QuantizeLinear/f16/s4/block_32/zps_none",
        "ExtendedQuantizeLinear/f32/s16/tensor/zps_s16",
        "ExtendedQuantizeLinear/f32/u32/axis_1/zps_u32",
        "DynamicQuantizeLinear/f32/u8/tensor/zps_u8",
        "DynamicQuantizeLinear/f32/u8/block_1024/zps_u8",
        "DynamicQuantizeLinear/f32/s8/block_1024/zps_none",
        "DynamicQuantizeLinear/f32/u8/block_128/zps_u8",
        "DynamicQuantizeLinear/bf16/s8/block_1024/zps_none",
};

// In cache, and out of it on all threads.
const kinds_t quick_other_kinds {
        "QuantizeLinear/f32/u8/tensor/zps_u8",
        "QuantizeLinear/f32/u8/axis_2/zps_u8",
        "DynamicQuantizeLinear/f32/u8/tensor/zps_u8",
        "DynamicQuantizeLinear/f32/s8/block_128/zps_none",
};

// Kinds that peers may have, out of cache and in it.
const kinds_t peer_kinds {
        "QuantizeLinear/f32/u8/tensor/zps_u8",
        "QuantizeLinear/f32/u8/axis_0/zps_u8",
        "QuantizeLinear/f32/u8/axis_2/zps_u8",
        "QuantizeLinear/f32/u8/block_128/zps_u8",
        "QuantizeLinear/f32/s8/tensor/zps_s8",
        "QuantizeLinear/f32/u16/tensor/zps_u16",
        "QuantizeLinear/f32/u4/tensor/zps_u4",
        "QuantizeLinear/f32/u4/block_128/zps_u4",
        "DynamicQuantizeLinear/f32/u8/tensor/zps_u8",
};
const kinds_t peer_kinds_in_cache {
        "QuantizeLinear/f32/u8/tensor/zps_u8",
        "DynamicQuantizeLinear/f32/u8/tensor/zps_u8",
};

bool is_among(const kinds_t &kinds, const bench_case_t &c) {
    const std::string name = c.name();
    return std::any_of(
            kinds.begin(), kinds.end(), [&](const std::string &kind) {
        return name.compare(0, kind.size() + 1, kind + "/") == 0;
    });
}

template <typename wanted_t>
cases_t chosen(const cases_t &all, const wanted_t &wanted) {
    cases_t kept;
    std::copy_if(all.begin(), all.end(), std::back_inserter(kept), wanted);
    return kept;
}

} // namespace

cases_t quantize_set(const std::vector<int> &threads, bool quick) {
    const cases_t all = whole_set(threads);
    if (!quick) return all;
    return chosen(all, [&](const bench_case_t &c) {
        const bool first = c.dims == memory_dims && c.threads == threads[0];
        return is_among(first ? quick_kinds : quick_other_kinds, c);
    });
}

cases_t quantize_peers_set(const std::vector<int> &threads) {
    return chosen(whole_set({threads.front()}), [](const bench_case_t &c) {
        return is_among(
                c.dims == memory_dims ? peer_kinds : peer_kinds_in_cache, c);
    });
}

} // namespace bench
} // namespace dnnl_dequant
