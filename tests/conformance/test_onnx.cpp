// ONNX's own node tests. Each node becomes an op of ours through the graph API.
// Its inputs are the published ones, and its output must equal the published
// one bit for bit.
//
// usage: test_onnx CASES.json   (made by onnx_cases.py)

#include <map>
#include <string>
#include <vector>

#include "onnx_values.hpp"

using nlohmann::json;
using namespace dnnl::graph;
using namespace dnnl_dequant::conformance;

namespace {

std::vector<lt> tensors_of(const std::vector<value_t> &values) {
    std::vector<lt> result;
    for (const value_t &value : values)
        result.push_back(value.tensor);
    return result;
}

op make_op(const json &node, const std::vector<value_t> &inputs,
        const std::vector<value_t> &outputs) {
    static const std::map<std::string, op::kind> kinds {
            {"DequantizeLinear", dnnl_dequant::op_kind::DequantizeLinear},
            {"DynamicQuantizeLinear",
                    dnnl_dequant::op_kind::DynamicQuantizeLinear},
            {"QuantizeLinear", dnnl_dequant::op_kind::QuantizeLinear}};
    static const std::map<std::string, op::attr> attributes {
            {"axis", op::attr::axis},
            {"block_size", dnnl_dequant::attr::block_size}};
    op result(0, kinds.at(node["op_type"]), tensors_of(inputs),
            tensors_of(outputs), node["name"]);
    for (const auto &[name, value] : node["attributes"].items())
        // The output's own type says it here.
        if (name != "output_dtype")
            result.set_attr<int64_t>(attributes.at(name), value.get<int64_t>());
    return result;
}

std::vector<tensor> with_memory(const std::vector<lt> &tensors,
        std::vector<std::vector<uint8_t>> &memory) {
    const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    std::vector<tensor> result;
    for (size_t i = 0; i < tensors.size(); ++i)
        result.emplace_back(tensors[i], cpu, memory[i].data());
    return result;
}

// Empty, or what is wrong.
std::string run(const json &node, std::string &kernel) {
    std::vector<value_t> inputs, expected;
    std::vector<std::vector<uint8_t>> given, got;
    for (const json &input : node["inputs"])
        if (!input.is_null()) inputs.push_back(value_of(inputs.size(), input));
    for (const json &output : node["outputs"])
        expected.push_back(value_of(inputs.size() + expected.size(), output));
    for (const value_t &input : inputs) {
        if (input.tensor.get_mem_size() != input.bytes.size())
            return "an input has another size than its data";
        given.push_back(input.bytes);
    }
    // The unused bits of a last byte are not written. They are 0 in the files
    // too.
    for (const value_t &output : expected)
        got.emplace_back(output.bytes.size(), uint8_t {0});

    const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(cpu);
    graph g(dnnl::engine::kind::cpu);
    g.add_op(make_op(node, inputs, expected));
    g.finalize();
    const auto in = tensors_of(inputs), out = tensors_of(expected);
    const auto compiled = g.get_partitions()[0].compile(in, out, cpu);
    kernel = dnnl_dequant::impl_info(compiled);
    if (kernel.empty()) return "not executed by the plugin";
    compiled.execute(stream, with_memory(in, given), with_memory(out, got));
    for (size_t i = 0; i < got.size(); ++i)
        if (got[i] != expected[i].bytes)
            return "output " + std::to_string(i) + " differs";
    return "";
}

} // namespace

int main(int argc, char **argv) {
    return dnnl_dequant::conformance::run_cases(argc, argv, run);
}
