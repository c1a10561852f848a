// Two layers of a language model's gated MLP with int4 weights, on stock oneDNN
// and with the plugin:
//
//   x = x + ((silu(x * gate) . (x * up)) * down)
//
// Weights are u4 in groups of 32 rows with zero points. Prints the partitions
// of both, what they took and how far the results are from the formula in
// double. (oneDNN 3.7.2 makes one partition of a layer; its results are not
// those of the ops.)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "dnnl_dequant/dnnl_dequant.hpp"

using namespace dnnl::graph;
using lt = logical_tensor;
using type = lt::data_type;

namespace {

constexpr int64_t rows = 2, width = 512, hidden = 1408, group = 32, layers = 2;

using exact_t = std::vector<double>;

// A tensor, and what is in it by the formula.
struct value_t {
    lt tensor;
    exact_t exact;
};

// The graph, and a buffer for every tensor of it.
class model_t {
public:
    model_t() {
        value_t x {tensor_of(type::f32, {rows, width}), {}};
        for (int64_t i = 0; i < rows * width; ++i)
            x.exact.push_back(float_at(x.tensor, i));
        const auto times = [](double a, double b) { return a * b; };
        for (int64_t layer = 0; layer < layers; ++layer) {
            const value_t gate = product(x, hidden), up = product(x, hidden);
            const value_t sigmoid = append(op::kind::Sigmoid, {gate},
                    [](double a, double) { return 1 / (1 + std::exp(-a)); });
            const value_t silu
                    = append(op::kind::Multiply, {gate, sigmoid}, times);
            const value_t gated = append(op::kind::Multiply, {silu, up}, times);
            x = append(op::kind::Add, {product(gated, width), x},
                    std::plus<double>());
        }
        result_ = x;
        graph_.finalize();
    }

    // Runs all of it; prints what runs. Returns the greatest error over the
    // greatest value.
    double run(const char *title) {
        const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
        dnnl::stream stream(cpu);
        std::printf("%s\n", title);
        double total = 0;
        for (const partition &p : graph_.get_partitions()) {
            const auto in = p.get_input_ports(), out = p.get_output_ports();
            const auto compiled = p.compile(in, out, cpu);
            const auto execute = [&] {
                compiled.execute(stream, bound(in, cpu), bound(out, cpu));
                stream.wait();
            };
            execute();
            const auto begin = std::chrono::steady_clock::now();
            execute();
            const std::chrono::duration<double, std::milli> ms
                    = std::chrono::steady_clock::now() - begin;
            total += ms.count();
            const std::string kernel = dnnl_dequant::impl_info(compiled);
            std::printf("  %zu ops %9.3f ms  %s\n", p.get_ops_num(), ms.count(),
                    kernel.empty() ? "oneDNN's" : kernel.c_str());
        }
        double largest = 0, error = 0;
        for (int64_t i = 0; i < rows * width; ++i) {
            const double exact = result_.exact[static_cast<size_t>(i)];
            largest = std::max(largest, std::fabs(exact));
            error = std::max(
                    error, std::fabs(exact - float_at(result_.tensor, i)));
        }
        std::printf("  all   %9.3f ms, off by %.1e of the greatest value\n",
                total, error / largest);
        return error / largest;
    }

private:
    // A tensor of random bits, or floats about zero.
    lt tensor_of(type element, const lt::dims &dims, float scale = 1) {
        const lt made(next_id_++, element, dims, lt::layout_type::strided);
        std::vector<char> &bytes = memory_[made.get_id()];
        bytes.resize(made.get_mem_size());
        std::normal_distribution<float> normal(0, scale);
        if (element == type::f32) {
            auto *floats = reinterpret_cast<float *>(bytes.data());
            for (size_t i = 0; i < bytes.size() / sizeof(float); ++i)
                floats[i] = normal(random_);
        } else {
            for (char &byte : bytes)
                byte = static_cast<char>(random_());
        }
        return made;
    }

    double float_at(const lt &from, int64_t index) {
        float value = 0;
        std::memcpy(&value,
                memory_[from.get_id()].data()
                        + static_cast<size_t>(index) * sizeof(value),
                sizeof(value));
        return static_cast<double>(value);
    }

    int nibble_at(const lt &from, int64_t index) {
        const int byte = memory_[from.get_id()][static_cast<size_t>(index / 2)];
        return byte >> index % 2 * 4 & 15;
    }

    // An op of one or two values of one shape.
    template <typename formula_t>
    value_t append(op::kind kind, const std::vector<value_t> &inputs,
            formula_t &&formula) {
        std::vector<lt> tensors;
        for (const value_t &input : inputs)
            tensors.push_back(input.tensor);
        const lt dst = tensor_of(type::f32, tensors[0].get_dims());
        add({next_op_++, kind, tensors, {dst}, "op"});
        exact_t exact;
        for (size_t i = 0; i < inputs[0].exact.size(); ++i)
            exact.push_back(
                    formula(inputs[0].exact[i], inputs.back().exact[i]));
        return {dst, exact};
    }

    // x times u4 weights [depth, cols], dequantized in the graph.
    value_t product(const value_t &x, int64_t cols) {
        const auto depth = static_cast<int64_t>(x.exact.size()) / rows;
        const lt::dims dims {depth, cols}, grid {depth / group, cols};
        const lt weights = tensor_of(type::u4, dims),
                 scales = tensor_of(type::f32, grid, 0.01f),
                 zero_points = tensor_of(type::u4, grid),
                 floats = tensor_of(type::f32, dims),
                 dst = tensor_of(type::f32, {rows, cols});
        op dequantize(next_op_++, op::kind::DynamicDequantize,
                {weights, scales, zero_points}, {floats}, "weights");
        dequantize.set_attr<std::string>(op::attr::qtype, "per_group");
        dequantize.set_attr<std::vector<int64_t>>(
                op::attr::group_shape, {group, 1});
        add(dequantize);
        add({next_op_++, op::kind::MatMul, {x.tensor, floats}, {dst},
                "product"});
        exact_t exact(static_cast<size_t>(rows * cols), 0);
        for (int64_t k = 0; k < depth; ++k)
            for (int64_t n = 0; n < cols; ++n) {
                const int64_t at = k / group * cols + n;
                const double weight = (nibble_at(weights, k * cols + n)
                                              - nibble_at(zero_points, at))
                                      * float_at(scales, at);
                for (int64_t r = 0; r < rows; ++r)
                    exact[static_cast<size_t>(r * cols + n)]
                            += x.exact[static_cast<size_t>(r * depth + k)]
                               * weight;
            }
        return {dst, exact};
    }

    void add(const op &made) { graph_.add_op(made); }

    std::vector<tensor> bound(
            const std::vector<lt> &ports, const dnnl::engine &cpu) {
        std::vector<tensor> tensors;
        for (const lt &port : ports)
            tensors.emplace_back(port, cpu, memory_[port.get_id()].data());
        return tensors;
    }

    graph graph_ {dnnl::engine::kind::cpu};
    std::minstd_rand random_ {1};
    std::map<size_t, std::vector<char>> memory_; // by the tensor's id
    size_t next_id_ = 0, next_op_ = 0;
    value_t result_;
};

} // namespace

int main() {
    dnnl_dequant::set_enabled(false);
    model_t stock;
    stock.run("stock oneDNN");
    dnnl_dequant::set_enabled(true);
    model_t ours;
    return ours.run("with the plugin") <= 1e-5 ? 0 : 1;
}
