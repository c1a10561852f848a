// Dequantizes int4 weights in groups of 128 to f32 through oneDNN's own graph
// API; README shows a part of it. Nothing here knows of the plugin: link it in
// front of oneDNN, or start the program with LD_PRELOAD=libdnnl_dequant.so.
#include <cstdio>
#include <vector>

#include "oneapi/dnnl/dnnl_graph.hpp"

int main() {
    using namespace dnnl::graph;
    using lt = logical_tensor;
    const auto strided = lt::layout_type::strided;
    const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(cpu);

    const lt src(0, lt::data_type::u4, {256, 1024}, strided);
    const lt scales(1, lt::data_type::f32, {256, 8}, strided);
    const lt zps(2, lt::data_type::u4, {256, 8}, strided);
    const lt dst(3, lt::data_type::f32, {256, 1024}, strided);
    op dequantize(0, op::kind::DynamicDequantize, {src, scales, zps}, {dst},
            "dequantize");
    dequantize.set_attr<std::string>(op::attr::qtype, "per_group");
    dequantize.set_attr<std::vector<int64_t>>(op::attr::group_shape, {1, 128});

    graph g(dnnl::engine::kind::cpu);
    g.add_op(dequantize);
    g.finalize();
    const auto compiled
            = g.get_partitions()[0].compile({src, scales, zps}, {dst}, cpu);

    std::vector<uint8_t> weights(256 * 1024 / 2, 0x5a), zero(256 * 8 / 2, 0x88);
    std::vector<float> scale(256 * 8, 0.5f), result(256 * 1024);
    compiled.execute(stream,
            {{src, cpu, weights.data()}, {scales, cpu, scale.data()},
                    {zps, cpu, zero.data()}},
            {{dst, cpu, result.data()}});
    std::printf("%g %g\n", result[0], result[1]); // (10 - 8) / 2, (5 - 8) / 2
}
