// Dequantizes a small grouped u4 tensor through oneDNN's own graph API, checks
// every number and prints "impl=NAME", the kernel that ran. A program that does
// not link the plugin looks its function up, since a preloaded plugin has it
// too.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#ifdef CONSUMER_LINKS_THE_PLUGIN
#include <dnnl_dequant/dnnl_dequant.hpp>
#else
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl_graph.hpp>
#endif

using namespace dnnl::graph;
using lt = logical_tensor;

namespace {

constexpr int rows = 3, cols = 16, group = 4, groups = cols / group;

std::string impl_of(const compiled_partition &compiled) {
#ifdef CONSUMER_LINKS_THE_PLUGIN
    return dnnl_dequant::impl_info(compiled);
#else
    using question_t = dnnl_status_t (*)(
            const_dnnl_graph_compiled_partition_t, const char **);
    const auto question = reinterpret_cast<question_t>(
            dlsym(RTLD_DEFAULT, "dnnl_dequant_impl_info"));
    const char *name = "";
    if (question) question(compiled.get(true), &name);
    return name;
#endif
}

int nibble(const std::vector<uint8_t> &bytes, int i) {
    return (bytes[static_cast<size_t>(i / 2)] >> (4 * (i % 2))) & 0xf;
}

} // namespace

int main() {
    const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(cpu);
    const auto strided = lt::layout_type::strided;
    const lt src(0, lt::data_type::u4, {rows, cols}, strided);
    const lt scales(1, lt::data_type::f32, {rows, groups}, strided);
    const lt zps(2, lt::data_type::u4, {rows, groups}, strided);
    const lt dst(3, lt::data_type::f32, {rows, cols}, strided);
    op dequantize(7, op::kind::DynamicDequantize, {src, scales, zps}, {dst},
            "consumer");
    dequantize.set_attr<std::string>(op::attr::qtype, "per_group");
    dequantize.set_attr<std::vector<int64_t>>(
            op::attr::group_shape, {1, group});

    graph g(dnnl::engine::kind::cpu);
    g.add_op(dequantize);
    g.finalize();
    const auto partitions = g.get_partitions();
    if (partitions.size() != 1 || !partitions[0].is_supported()) {
        std::puts("the op was not taken");
        return 1;
    }
    const auto compiled = partitions[0].compile({src, scales, zps}, {dst}, cpu);

    std::vector<uint8_t> x(rows * cols / 2), zp(rows * groups / 2);
    std::vector<float> scale(rows * groups), y(rows * cols);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = static_cast<uint8_t>(i * 37 + 11);
    for (size_t i = 0; i < zp.size(); i++)
        zp[i] = static_cast<uint8_t>(i * 91 + 5);
    for (size_t i = 0; i < scale.size(); i++)
        scale[i] = 0.1f * static_cast<float>(i + 1);
    compiled.execute(stream,
            {{src, cpu, x.data()}, {scales, cpu, scale.data()},
                    {zps, cpu, zp.data()}},
            {{dst, cpu, y.data()}});
    stream.wait();

    for (int i = 0; i < rows * cols; i++) {
        const int at = i / group;
        const float want = static_cast<float>(nibble(x, i) - nibble(zp, at))
                           * scale[static_cast<size_t>(at)];
        const float got = y[static_cast<size_t>(i)];
        if (got != want) {
            std::printf("element %d: %g, expected %g\n", i,
                    static_cast<double>(got), static_cast<double>(want));
            return 1;
        }
    }
    std::printf("impl=%s\n", impl_of(compiled).c_str());
    return 0;
}
