// A user's thread with little stack: what kernels keep there has a bound.

#include <gtest/gtest.h>
#include <pthread.h>

#include "e2e/dequantize_graph.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using type_t = logical_tensor::data_type;

// Some of it is the test's own.
constexpr size_t stack_bytes = 512 * 1024;

void on_small_stack(std::function<void()> body) {
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
    const auto entry = [](void *given) -> void * {
        (*static_cast<std::function<void()> *>(given))();
        return nullptr;
    };
    pthread_t thread {};
    ASSERT_EQ(pthread_create(&thread, &attributes, entry, &body), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

logical_tensor dense(size_t id, type_t type, const dims_t &dims) {
    return logical_tensor(id, type, dims, logical_tensor::layout_type::strided);
}

// The result of a graph of these ops, whose only output is `dst`; every byte of
// the inputs is the same.
std::vector<char> result_of(const std::vector<op> &ops,
        const std::vector<logical_tensor> &inputs, const logical_tensor &dst) {
    graph g(dnnl::engine::kind::cpu);
    for (const auto &op : ops)
        g.add_op(op);
    g.finalize();
    const auto partitions = g.get_partitions();
    if (partitions.size() != 1) return {};
    std::vector<std::vector<char>> values;
    std::vector<tensor> from;
    for (const auto &port : inputs) {
        values.emplace_back(port.get_mem_size(), '\x3c');
        from.emplace_back(port, cpu_engine(), values.back().data());
    }
    std::vector<char> result(dst.get_mem_size());
    compile_or_throw(partitions[0], inputs, {dst})
            .execute(cpu_stream(), from,
                    {tensor(dst, cpu_engine(), result.data())});
    return result;
}

op dequantize_of(const std::vector<logical_tensor> &inputs,
        const logical_tensor &output) {
    op dequantize(0, op::kind::DynamicDequantize, inputs, {output}, "dq");
    dequantize.set_attr<std::string>(op::attr::qtype, "per_group");
    dequantize.set_attr<dims_t>(op::attr::group_shape, {128, 1});
    return dequantize;
}

std::vector<char> transposed(type_t src, type_t dst) {
    constexpr dim_t n = 2048;
    const logical_tensor by_column(0, src, dims_t {n, n}, dims_t {1, n});
    const std::vector<logical_tensor> inputs {by_column,
            dense(1, type_t::f32, {n / 128, n}), dense(2, src, {n / 128, n})};
    const auto result = dense(3, dst, {n, n});
    return result_of({dequantize_of(inputs, result)}, inputs, result);
}

std::vector<char> transposed_chain() {
    constexpr dim_t n = 2048;
    const std::vector<logical_tensor> inputs {dense(0, type_t::u4, {n, n}),
            dense(1, type_t::f32, {n / 128, n}),
            dense(2, type_t::u4, {n / 128, n})};
    const auto floats = dense(3, type_t::f32, {n, n});
    const auto factor = dense(4, type_t::f32, {n, n});
    const auto product = dense(5, type_t::f32, {n, n});
    const auto dst = dense(6, type_t::f32, {n, n});
    const op multiply(
            1, op::kind::Multiply, {floats, factor}, {product}, "multiply");
    op transpose(2, op::kind::StaticTranspose, {product}, {dst}, "transpose");
    transpose.set_attr<dims_t>(op::attr::order, {1, 0});
    return result_of({dequantize_of(inputs, floats), multiply, transpose},
            {inputs[0], inputs[1], inputs[2], factor}, dst);
}

std::vector<char> product_of(dim_t rows) {
    constexpr dim_t n = 1024;
    const auto src = dense(4, type_t::f32, {rows, n});
    const std::vector<logical_tensor> inputs {dense(0, type_t::u4, {n, n}),
            dense(1, type_t::f32, {n / 128, n}),
            dense(2, type_t::u4, {n / 128, n})};
    const auto weights = dense(3, type_t::f32, {n, n});
    const auto dst = dense(5, type_t::f32, {rows, n});
    const op multiply(1, op::kind::MatMul, {src, weights}, {dst}, "matmul");
    return result_of({dequantize_of(inputs, weights), multiply},
            {inputs[0], inputs[1], inputs[2], src}, dst);
}

TEST(small_stack, is_enough_for_panels_of_a_dequantize) {
    for (const auto src : {type_t::u4, type_t::u8})
        for (const auto dst : {type_t::f32, type_t::bf16}) {
            const auto expected = transposed(src, dst);
            ASSERT_FALSE(expected.empty());
            on_small_stack(
                    [&] { EXPECT_TRUE(transposed(src, dst) == expected); });
        }
}

TEST(small_stack, is_enough_for_panels_of_a_chain) {
    const auto expected = transposed_chain();
    ASSERT_FALSE(expected.empty());
    on_small_stack([&] { EXPECT_TRUE(transposed_chain() == expected); });
}

TEST(small_stack, is_enough_for_products) {
    for (const dim_t rows : {1, 5, 40}) {
        const auto expected = product_of(rows);
        ASSERT_FALSE(expected.empty());
        on_small_stack([&] { EXPECT_TRUE(product_of(rows) == expected); });
    }
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
