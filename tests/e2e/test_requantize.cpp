// Quantize and dequantize back to back: one partition of ours, and the bits
// that oneDNN's own ops give one by one.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "e2e/plugin.hpp"
#include "e2e/values_by_id.hpp"
#include "oneapi/dnnl/dnnl.h"
#include "support/cross_product.hpp"
#include "support/numbers.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using type = logical_tensor::data_type;
using bytes_t = std::vector<unsigned char>;

const dims_t shape {5, 37};
constexpr size_t count = 5 * 37;

logical_tensor tensor_of(size_t id, type t, const dims_t &dims = shape) {
    return {id, t, dims, logical_tensor::layout_type::strided};
}

// An op and what it is made from, so that it can be built twice.
struct maker_t {
    op::kind kind;
    std::vector<logical_tensor> inputs;
    logical_tensor output;
    std::vector<float> scales; // attributes, of the static ops
    std::vector<int64_t> zps;
    const char *qtype;

    op make(size_t id) const {
        op result(id, kind, inputs, {output}, "op" + std::to_string(id));
        if (kind == op::kind::TypeCast) return result;
        result.set_attr<std::string>(op::attr::qtype, qtype);
        result.set_attr<int64_t>(op::attr::axis, 1);
        if (kind == op::kind::Quantize || kind == op::kind::Dequantize) {
            result.set_attr<std::vector<float>>(op::attr::scales, scales);
            result.set_attr<std::vector<int64_t>>(op::attr::zps, zps);
        }
        return result;
    }
};

class requantize_t {
public:
    explicit requantize_t(std::vector<maker_t> ops)
        : ops_(std::move(ops))
        , random_(support::first_seed()) {
        for (const maker_t &maker : ops_) {
            for (const auto &input : maker.inputs)
                tensors_.emplace(input.get_id(), input);
            tensors_.emplace(maker.output.get_id(), maker.output);
        }
        for (const auto &[id, lt] : tensors_)
            values_[id].resize(lt.get_mem_size());
        fill();
    }

    // Stock's bits, op by op, and ours in one partition.
    void check() {
        values_by_id_t stock = values_, ours = values_;
        set_plugin_enabled(false);
        for (const auto &p : partitions(partition::policy::debug))
            run(p, tensor_of_, stock);
        set_plugin_enabled(true);
        const auto fused = partitions(partition::policy::fusion);
        ASSERT_EQ(fused.size(), 1u);
        EXPECT_EQ(fused[0].get_ops_num(), ops_.size());
        // A single op stays oneDNN's where there is no generated code.
        const bool is_ours = ops_.size() > 1 || cpu_has(dnnl_cpu_isa_avx2);
        EXPECT_EQ(run(fused[0], tensor_of_, ours) != "", is_ours);
        const auto &dst = ops_.back().output;
        EXPECT_EQ(support::difference(
                          static_cast<data_type_t>(dst.get_data_type()),
                          stock.at(dst.get_id()).data(),
                          ours.at(dst.get_id()).data(), count),
                "");
    }

private:
    std::vector<partition> partitions(partition::policy policy) const {
        graph g(dnnl::engine::kind::cpu);
        for (size_t i = 0; i < ops_.size(); ++i)
            g.add_op(ops_[i].make(i));
        g.finalize();
        return g.get_partitions(policy);
    }

    // Tensor 0 is the source; the others that are no output are parameters.
    void fill() {
        for (auto &[id, bytes] : values_) {
            const type t = tensors_.at(id).get_data_type();
            if (t == type::f32 && id == 0) fill_source(bytes);
            else if (t == type::f32) fill_scales(bytes);
            else support::fill_bits(bytes.data(), bytes.size(), random_);
        }
    }
    void fill_source(bytes_t &bytes) {
        std::vector<float> values(count);
        for (float &value : values) // many ties among them
            value = static_cast<float>(random_.between(-900, 900)) * 0.125f;
        values[0] = -0.f;
        values[1] = INFINITY;
        values[2] = -INFINITY;
        values[3] = 3e38f;
        values[4] = 1e-40f;
        std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    void fill_scales(bytes_t &bytes) {
        std::vector<float> values(bytes.size() / sizeof(float));
        for (float &value : values)
            value = static_cast<float>(random_.between(1, 64)) / 96.f;
        std::memcpy(bytes.data(), values.data(), bytes.size());
    }

    std::vector<maker_t> ops_;
    std::map<size_t, logical_tensor> tensors_;
    const std::function<logical_tensor(size_t)> tensor_of_
            = [this](size_t id) { return tensors_.at(id); };
    values_by_id_t values_;
    support::random_t random_;
};

std::vector<float> scales_of(size_t n, float first) {
    std::vector<float> scales;
    for (size_t i = 0; i < n; ++i)
        scales.push_back(first + 0.03f * static_cast<float>(i));
    return scales;
}

maker_t static_op(op::kind kind, size_t from, type from_type, size_t to,
        type to_type, bool channels, int64_t zp, float scale) {
    const size_t n = channels ? 37 : 1;
    return {kind, {tensor_of(from, from_type)}, tensor_of(to, to_type),
            scales_of(n, scale), std::vector<int64_t>(n, zp),
            channels ? "per_channel" : "per_tensor"};
}

maker_t dynamic_op(op::kind kind, size_t from, type from_type, size_t to,
        type to_type, bool has_zps) {
    std::vector<logical_tensor> inputs {
            tensor_of(from, from_type), tensor_of(to + 10, type::f32, {1})};
    if (has_zps) inputs.push_back(tensor_of(to + 20, type::s8, {1}));
    return {kind, inputs, tensor_of(to, to_type), {}, {}, "per_tensor"};
}

TEST(requantize, computes_static_ops_alone_as_onednn_does) {
    for (const type quantized : {type::u8, type::s8})
        for (const bool channels : {false, true})
            for (const int64_t zp : {0, 3}) {
                if (channels && zp) continue; // stock has none
                SCOPED_TRACE(zp);
                requantize_t({static_op(op::kind::Quantize, 0, type::f32, 1,
                                     quantized, channels, zp, 0.7f)})
                        .check();
                requantize_t({static_op(op::kind::Dequantize, 0, quantized, 1,
                                     type::f32, channels, zp, 0.7f)})
                        .check();
            }
}

TEST(requantize, quantizes_alone_as_onednn_does) {
    for (const type to : {type::u8, type::s8})
        for (const type zps : {type::undef, type::s8, type::u8, type::s32})
            for (const bool channels : {false, true})
                for (const bool transposes : {false, true}) {
                    if (channels && zps != type::undef)
                        continue; // stock has none
                    logical_tensor src = tensor_of(0, type::f32);
                    if (transposes)
                        src = {0, type::f32, shape, dims_t {1, shape[0]}};
                    maker_t quantize = dynamic_op(op::kind::DynamicQuantize, 0,
                            type::f32, 1, to, false);
                    quantize.inputs[0] = src;
                    if (channels) {
                        quantize.inputs[1]
                                = tensor_of(11, type::f32, {shape[1]});
                        quantize.qtype = "per_channel";
                    }
                    if (zps != type::undef)
                        quantize.inputs.push_back(tensor_of(21, zps, {1}));
                    requantize_t({quantize}).check();
                }
}

TEST(requantize, fakes_quantization_as_onednn_does) {
    for (const type between : {type::u8, type::s8})
        for (const bool channels : {false, true})
            for (const int64_t zp : {0, 3}) {
                if (channels && zp) continue; // stock has none
                SCOPED_TRACE(zp);
                requantize_t({static_op(op::kind::Quantize, 0, type::f32, 1,
                                      between, channels, zp, 0.7f),
                                     static_op(op::kind::Dequantize, 1, between,
                                             2, type::f32, channels, zp, 0.7f)})
                        .check();
            }
}

TEST(requantize, changes_scales_as_onednn_does) {
    for (const type from : {type::u8, type::s8})
        for (const type to : {type::u8, type::s8})
            requantize_t({static_op(op::kind::Dequantize, 0, from, 1, type::f32,
                                  false, 5, 0.3f),
                                 static_op(op::kind::Quantize, 1, type::f32, 2,
                                         to, false, 7, 0.45f)})
                    .check();
}

TEST(requantize, takes_scales_at_run_time) {
    for (const bool has_zps : {false, true}) {
        requantize_t({dynamic_op(op::kind::DynamicQuantize, 0, type::f32, 1,
                              type::s8, has_zps),
                             dynamic_op(op::kind::DynamicDequantize, 1,
                                     type::s8, 2, type::f32, false)})
                .check();
        requantize_t({dynamic_op(op::kind::DynamicDequantize, 0, type::u8, 1,
                              type::f32, false),
                             dynamic_op(op::kind::DynamicQuantize, 1, type::f32,
                                     2, type::u8, has_zps)})
                .check();
    }
}

TEST(requantize, casts_in_between) {
    requantize_t({static_op(op::kind::Quantize, 0, type::f32, 1, type::u8,
                          false, 9, 0.7f),
                         static_op(op::kind::Dequantize, 1, type::u8, 2,
                                 type::f32, false, 9, 0.7f),
                         {op::kind::TypeCast, {tensor_of(2, type::f32)},
                                 tensor_of(3, type::f16), {}, {}, ""}})
            .check();
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
