// Quantizes activations of a language model at run time by
// DynamicQuantizeLinear, with one scale for all of them or one a token.
// oneDNN's DynamicDequantize dequantizes them, and the result is compared with
// the activations. Prints the signal's power over the error's, in dB, and the
// greatest error in steps of the quantization: rounding costs half a step.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "dnnl_dequant/dnnl_dequant.hpp"

using namespace dnnl::graph;
using lt = logical_tensor;

namespace {

constexpr int64_t tokens = 64, channels = 1024;

// Some tokens are far louder than others.
std::vector<float> make_activations() {
    std::minstd_rand random(1);
    std::normal_distribution<float> normal;
    std::vector<float> x;
    for (int64_t t = 0; t < tokens; ++t) {
        const float loudness = std::exp(normal(random));
        for (int64_t c = 0; c < channels; ++c)
            x.push_back(loudness * (normal(random) + 0.5f));
    }
    return x;
}

struct way_t {
    const char *name;
    lt::data_type type;
    bool per_token, symmetric; // symmetric: no zero points
};

struct round_trip_t {
    std::vector<float> scales, result;
    std::string kernels;
};

//   y, y_scale[, y_zero_point] = DynamicQuantizeLinear(x)
//   result = (y - y_zero_point) * y_scale
graph make_graph(const way_t &way) {
    const auto strided = lt::layout_type::strided;
    const lt::dims all {tokens, channels}, some {way.per_token ? tokens : 1};
    const lt x(0, lt::data_type::f32, all, strided);
    const lt result(4, lt::data_type::f32, all, strided);
    std::vector<lt> quantized {lt(1, way.type, all, strided),
            lt(2, lt::data_type::f32, some, strided)};
    if (!way.symmetric) quantized.emplace_back(3, way.type, some, strided);
    op quantize(0, dnnl_dequant::op_kind::DynamicQuantizeLinear, {x}, quantized,
            "quantize");
    op dequantize(
            1, op::kind::DynamicDequantize, quantized, {result}, "dequantize");
    for (op *each : {&quantize, &dequantize}) {
        each->set_attr<std::string>(
                op::attr::qtype, way.per_token ? "per_channel" : "per_tensor");
        if (way.per_token) each->set_attr<int64_t>(op::attr::axis, 0);
    }
    graph g(dnnl::engine::kind::cpu);
    g.add_op(quantize);
    g.add_op(dequantize);
    g.finalize();
    return g;
}

round_trip_t run(const way_t &way, std::vector<float> x) {
    const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(cpu);
    std::vector<uint8_t> y(x.size()), zero_points(tokens);
    round_trip_t trip;
    trip.scales.resize(way.per_token ? tokens : 1);
    trip.result.resize(x.size());
    void *const memory[] = {x.data(), y.data(), trip.scales.data(),
            zero_points.data(), trip.result.data()}; // by id
    const auto bound = [&](const std::vector<lt> &ports) {
        std::vector<tensor> tensors;
        for (const lt &port : ports)
            tensors.emplace_back(port, cpu, memory[port.get_id()]);
        return tensors;
    };
    for (const partition &p : make_graph(way).get_partitions()) {
        const auto in = p.get_input_ports(), out = p.get_output_ports();
        const auto compiled = p.compile(in, out, cpu);
        compiled.execute(stream, bound(in), bound(out));
        trip.kernels += " " + dnnl_dequant::impl_info(compiled);
    }
    stream.wait();
    return trip;
}

void report(const way_t &way, const std::vector<float> &x) {
    const round_trip_t trip = run(way, x);
    double signal = 0, noise = 0, most_steps = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double value = static_cast<double>(x[i]);
        const double error = value - static_cast<double>(trip.result[i]);
        const size_t token = i / static_cast<size_t>(channels);
        const float step = trip.scales[way.per_token ? token : 0];
        signal += value * value;
        noise += error * error;
        most_steps = std::max(
                most_steps, std::fabs(error) / static_cast<double>(step));
    }
    std::printf("%-24s %5.1f dB, at most %.2f steps;%s\n", way.name,
            10 * std::log10(signal / noise), most_steps, trip.kernels.c_str());
}

} // namespace

int main() {
    const auto x = make_activations();
    using type = lt::data_type;
    for (const way_t &way : {way_t {"per tensor, u8", type::u8, false, false},
                 way_t {"per tensor, s8 symmetric", type::s8, false, true},
                 way_t {"per token, u8", type::u8, true, false},
                 way_t {"per token, s8 symmetric", type::s8, true, true}})
        report(way, x);
}
