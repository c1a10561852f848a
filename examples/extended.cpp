// Data types and ops that oneDNN's graph API does not have, through its own
// classes. One is a u16 activation with a scale a channel, one a bf16 tensor
// with a zero point.
#include <cstdio>
#include <string>
#include <vector>

#include "dnnl_dequant/dnnl_dequant.hpp"

using namespace dnnl::graph;
namespace type = dnnl_dequant::data_type;
namespace kind = dnnl_dequant::op_kind;
using lt = logical_tensor;

// Runs one op on its own and prints the first results and the kernel.
void run(const op &dequantize, const std::vector<lt> &in, const lt &out,
        const std::vector<void *> &data, std::vector<float> &y) {
    const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(cpu);
    graph g(dnnl::engine::kind::cpu);
    g.add_op(dequantize);
    g.finalize();
    const auto compiled = g.get_partitions()[0].compile(in, {out}, cpu);
    std::vector<tensor> inputs;
    for (size_t i = 0; i < in.size(); ++i)
        inputs.emplace_back(in[i], cpu, data[i]);
    compiled.execute(stream, inputs, {tensor(out, cpu, y.data())});
    std::printf("%g %g %s\n", static_cast<double>(y[0]),
            static_cast<double>(y[4]),
            dnnl_dequant::impl_info(compiled).c_str());
}

int main() {
    const auto strided = lt::layout_type::strided;
    const lt y(3, lt::data_type::f32, {2, 4}, strided);
    std::vector<float> result(8);

    // y = (x - x_zero_point) * x_scale, a scale and zero point a row
    std::vector<uint16_t> x {40000, 1, 2, 3, 65535, 5, 6, 7};
    std::vector<uint16_t> zero_point {32768, 65533};
    std::vector<float> scale {0.5f, 4.f};
    const lt x16(0, type::u16, {2, 4}, strided);
    const lt scales(1, lt::data_type::f32, lt::dims {2}, strided);
    const lt zero16(2, type::u16, lt::dims {2}, strided);
    op linear(0, kind::DequantizeLinear, {x16, scales, zero16}, {y}, "u16");
    linear.set_attr<int64_t>(op::attr::axis, 0);
    run(linear, {x16, scales, zero16}, y,
            {x.data(), scale.data(), zero_point.data()}, result);

    // bf16 values are the upper halves of f32 values: 3, ..., -1 and zero 1
    std::vector<uint16_t> b {0x4040, 0, 0, 0, 0xbf80, 0, 0, 0}, one {0x3f80};
    const lt xb(0, lt::data_type::bf16, {2, 4}, strided);
    const lt single(1, lt::data_type::f32, lt::dims {1}, strided);
    const lt zero_b(2, lt::data_type::bf16, lt::dims {1}, strided);
    const op extended(1, kind::ExtendedDequantizeLinear, {xb, single, zero_b},
            {y}, "bf16");
    run(extended, {xb, single, zero_b}, y, {b.data(), scale.data(), one.data()},
            result);
}
