// Streams that are not done when oneDNN's calls return, and SYCL's and OpenCL's
// events. Preloading cpu/late_onednn.cpp gives them to any oneDNN.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <vector>

#include "e2e/dequantize_graph.hpp"
#include "e2e/plugin.hpp"

// OpenCL's cl_event points to one. Sanitizers hold a call's type to its
// function's.
struct _cl_event;

namespace dnnl_dequant {
namespace e2e {
namespace {

using execute_t = dnnl_status_t(const_dnnl_graph_compiled_partition_t,
        dnnl_stream_t, size_t, const_dnnl_graph_tensor_t *, size_t,
        const_dnnl_graph_tensor_t *, const void *deps, void *event);
using execute_opencl_t = dnnl_status_t(const_dnnl_graph_compiled_partition_t,
        dnnl_stream_t, size_t, const_dnnl_graph_tensor_t *, size_t,
        const_dnnl_graph_tensor_t *, _cl_event *const *deps, int count,
        _cl_event **event);

template <typename F>
F *exported(const char *name) {
    return reinterpret_cast<F *>(dlsym(RTLD_DEFAULT, name));
}

const char *const with_sycl
        = "dnnl_graph_sycl_interop_compiled_partition_execute";

bool onednn_is_late() {
    return std::getenv("DNNL_DEQUANT_TEST_LATE") != nullptr;
}

bool onednn_has_sycl() {
    return dlsym(RTLD_DEFAULT, "dnnl_sycl_interop_primitive_execute")
           != nullptr;
}

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

    dnnl_status_t execute(const char *name, const void *deps, void *event) {
        const auto in = inputs();
        const auto out = output();
        const_dnnl_graph_tensor_t from[] = {in[0].get(), in[1].get()},
                                  to[] = {out.get()};
        return exported<execute_t>(name)(compiled.get(), cpu_stream().get(), 2,
                from, 1, to, deps, event);
    }

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

std::vector<float> *awaited = nullptr;
void write_scales() {
    std::fill(awaited->begin(), awaited->end(), .25f);
}

TEST(interop, waits_for_events_of_sycl) {
    if (!onednn_is_late()) GTEST_SKIP() << "no events but SYCL's own";
    product_t product;
    awaited = &product.scale_values;
    void (*const deps)() = write_scales;
    bool event = false;
    EXPECT_EQ(product.execute(with_sycl, &deps, &event), dnnl_success);
    EXPECT_EQ(product.dst_values, product.scaled_by(.25f));
    EXPECT_TRUE(event);
}

TEST(interop, needs_no_events_of_sycl) {
    if (!onednn_has_sycl()) GTEST_SKIP() << "this oneDNN has no SYCL";
    product_t product;
    product.scale_values.assign(count, 2.f);
    EXPECT_EQ(product.execute(with_sycl, nullptr, nullptr), dnnl_success);
    EXPECT_EQ(product.dst_values, product.scaled_by(2.f));
}

TEST(interop, refuses_events_of_sycl_where_onednn_has_none) {
    if (onednn_has_sycl()) GTEST_SKIP() << "this oneDNN has SYCL";
    product_t product;
    (void)last_refusal_of_plugin();
    EXPECT_EQ(product.execute(with_sycl, nullptr, nullptr), dnnl_unimplemented);
    const std::string sentence = last_refusal_of_plugin();
    EXPECT_NE(sentence.find("called for the runtime SYCL, but this oneDNN has "
                            "no SYCL; call "
                            "dnnl_graph_compiled_partition_execute"),
            std::string::npos)
            << sentence;
    EXPECT_EQ(product.dst_values, std::vector<float>(count, -1));
}

TEST(interop, refuses_events_of_opencl) {
    product_t product;
    const auto in = product.inputs();
    const auto out = product.output();
    const_dnnl_graph_tensor_t from[] = {in[0].get(), in[1].get()},
                              to[] = {out.get()};
    (void)last_refusal_of_plugin();
    EXPECT_EQ(exported<execute_opencl_t>(
                      "dnnl_graph_ocl_interop_compiled_partition_execute")(
                      product.compiled.get(), cpu_stream().get(), 2, from, 1,
                      to, nullptr, 0, nullptr),
            dnnl_unimplemented);
    const std::string sentence = last_refusal_of_plugin();
    EXPECT_NE(sentence.find("called for the runtime OpenCL"), std::string::npos)
            << sentence;
    EXPECT_EQ(product.dst_values, std::vector<float>(count, -1));
}

TEST(interop, refuses_null_streams_and_handles_that_are_not_filled) {
    product_t product;
    const auto execute = exported<execute_t>(with_sycl);
    EXPECT_EQ(execute(product.compiled.get(), nullptr, 0, nullptr, 0, nullptr,
                      nullptr, nullptr),
            dnnl_invalid_arguments);
    const auto p = partition_of(
            op_of(dense_case({4}, data_type_t::s8, data_type_t::f32)));
    dnnl_graph_compiled_partition_t empty = nullptr;
    ASSERT_EQ(dnnl_graph_compiled_partition_create(&empty, p.get()),
            dnnl_success);
    EXPECT_EQ(execute(empty, cpu_stream().get(), 0, nullptr, 0, nullptr,
                      nullptr, nullptr),
            dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_destroy(empty), dnnl_success);
}

// oneDNN's own partitions are not touched.
TEST(interop, passes_on_partitions_of_onednn) {
    const auto from = dense(0, logical_tensor::data_type::f32, count);
    const auto to = dense(1, logical_tensor::data_type::f32, count);
    const op relu(0, op::kind::ReLU, {from}, {to}, "relu");
    const auto compiled = compile_or_throw(partition_of(relu), {from}, {to});
    ASSERT_EQ(kernel_of(compiled), "");
    std::vector<float> src(count, 3), dst(count, -1);
    const tensor in(from, cpu_engine(), src.data());
    const tensor out(to, cpu_engine(), dst.data());
    const_dnnl_graph_tensor_t inputs[] = {in.get()}, outputs[] = {out.get()};
    const auto status = exported<execute_t>(with_sycl)(compiled.get(),
            cpu_stream().get(), 1, inputs, 1, outputs, nullptr, nullptr);
    cpu_stream().wait();
    EXPECT_EQ(status, onednn_has_sycl() ? dnnl_success : dnnl_unimplemented);
    EXPECT_EQ(dst, onednn_has_sycl() ? src : std::vector<float>(count, -1));
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
