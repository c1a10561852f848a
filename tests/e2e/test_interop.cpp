// Streams that are not done when oneDNN's calls return. Preloading
// cpu/late_onednn.cpp gives them to any oneDNN.

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "e2e/dequantize_graph.hpp"
#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

constexpr dim_t count = 64;

logical_tensor dense(size_t id, logical_tensor::data_type type, dim_t n) {
    return logical_tensor(id, type, logical_tensor::dims {n},
            logical_tensor::layout_type::strided);
}

// dst = src times one scale for each, by the plugin.
struct product_t {
    logical_tensor src = dense(0, logical_tensor::data_type::s8, count);
    logical_tensor scales = dense(1, logical_tensor::data_type::f32, count);
    logical_tensor dst = dense(2, logical_tensor::data_type::f32, count);
    compiled_partition compiled;
    std::vector<int8_t> src_values = std::vector<int8_t>(count);
    std::vector<float> scale_values = std::vector<float>(count);
    std::vector<float> dst_values = std::vector<float>(count, -1);

    product_t() {
        std::iota(src_values.begin(), src_values.end(), int8_t(-32));
        op dequantize(0, op::kind::DynamicDequantize, {src, scales}, {dst},
                "product");
        dequantize.set_attr<std::string>(op::attr::qtype, "per_channel");
        dequantize.set_attr<int64_t>(op::attr::axis, 0);
        compiled = compile_or_throw(
                partition_of(dequantize), {src, scales}, {dst});
    }

    std::vector<tensor> inputs() {
        return {tensor(src, cpu_engine(), src_values.data()),
                tensor(scales, cpu_engine(), scale_values.data())};
    }
    tensor output() { return {dst, cpu_engine(), dst_values.data()}; }

    std::vector<float> scaled_by(float scale) const {
        std::vector<float> scaled(src_values.begin(), src_values.end());
        for (float &value : scaled)
            value *= scale;
        return scaled;
    }
};

TEST(interop, waits_for_what_onednn_does_on_the_stream) {
    product_t product;
    ASSERT_NE(kernel_of(product.compiled), "");
    const auto from = dense(0, logical_tensor::data_type::f32, count);
    const auto to = dense(1, logical_tensor::data_type::f32, count);
    const op relu(0, op::kind::ReLU, {from}, {to}, "relu");
    const auto first = compile_or_throw(partition_of(relu), {from}, {to});
    std::vector<float> values(count, .5f);
    const tensor in(from, cpu_engine(), values.data());
    const tensor out(to, cpu_engine(), product.scale_values.data());
    first.execute(cpu_stream(), {in}, {out});
    product.compiled.execute(
            cpu_stream(), product.inputs(), {product.output()});
    // Ours is done without a wait.
    EXPECT_EQ(product.dst_values, product.scaled_by(.5f));
    cpu_stream().wait();
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
