// ONNX's expanded node tests of DynamicQuantizeLinear. A model of the function
// body's nodes becomes a graph, which has to be one partition of ours, with the
// published outputs bit for bit. Nodes become ops of oneDNN's and ours:
//
//   ReduceMin ReduceMax Round    the same; axes are all where a node has none
//   Min Max Sub Div              Minimum Maximum Subtract Divide
//   Clip                         Clamp, its constants as attributes
//   Cast to uint8                Quantize of scale 1 and zero point 0: oneDNN
//                               has no other cast to u8
//   QuantizeLinear               the same, of ours
//   Constant                     a tensor that is given at execution
//   Identity                     End of the value, which so leaves as itself
//
// usage: test_onnx_body CASES.json   (made by onnx_cases.py --expanded)

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "onnx_values.hpp"

using nlohmann::json;
using namespace dnnl::graph;
using namespace dnnl_dequant::conformance;

namespace {

class model_t {
public:
    explicit model_t(const json &described)
        : described_(described) {
        for (const char *given : {"inputs", "constants"})
            for (const auto &[name, value] : described[given].items())
                values_[name] = given_value(value);
    }

    std::string run(std::string &kernel) {
        graph g(dnnl::engine::kind::cpu);
        for (const json &node : described_["nodes"])
            add(g, node);
        g.finalize();
        for (const auto &p : g.get_partitions())
            if (p.is_supported())
                if (std::string wrong = execute(p, kernel); !wrong.empty())
                    return wrong;
        for (const auto &[name, expected] : described_["outputs"].items())
            if (values_.at(value_behind(name)).bytes
                    != bytes_of(expected["bytes"]))
                return name + " differs";
        return "";
    }

private:
    // A scalar constant as a list of one: Minimum has no other.
    value_t given_value(const json &described) {
        value_t value = value_of(next_id_++, described);
        if (value.tensor.get_dims().empty())
            value.tensor
                    = lt(value.tensor.get_id(), value.tensor.get_data_type(),
                            lt::dims {1}, lt::layout_type::strided);
        return value;
    }

    // Values inside are of shapes that are not told.
    const lt &tensor_of(const std::string &name, lt::data_type type) {
        if (values_.count(name) == 0)
            values_[name]
                    = {lt(next_id_++, type, lt::layout_type::strided), {}};
        return values_.at(name).tensor;
    }
    float constant(const std::string &name) const {
        float value = 0;
        std::memcpy(&value, values_.at(name).bytes.data(), sizeof(value));
        return value;
    }

    std::string value_behind(const std::string &name) const {
        const auto found = identities_.find(name);
        return found == identities_.end() ? name : found->second;
    }

    void add(graph &g, const json &node) {
        static const std::map<std::string, op::kind> kinds {
                {"ReduceMin", op::kind::ReduceMin},
                {"ReduceMax", op::kind::ReduceMax}, {"Min", op::kind::Minimum},
                {"Max", op::kind::Maximum}, {"Sub", op::kind::Subtract},
                {"Div", op::kind::Divide}, {"Clip", op::kind::Clamp},
                {"Round", op::kind::Round}, {"Cast", op::kind::Quantize},
                {"Identity", op::kind::End},
                {"QuantizeLinear", dnnl_dequant::op_kind::QuantizeLinear}};
        const std::string kind = node["op_type"];
        const auto inputs = node["inputs"].get<std::vector<std::string>>();
        const std::string output = node["outputs"][0];
        const bool gives_u8 = kind == "Cast" || kind == "QuantizeLinear";
        const auto type = gives_u8 ? lt::data_type::u8 : lt::data_type::f32;
        const size_t used = kind == "Clip" ? 1 : inputs.size();
        op result(next_op_++, kinds.at(kind), output);
        for (size_t i = 0; i < used; ++i)
            result.add_input(tensor_of(inputs[i], type));
        if (kind == "Identity") identities_[output] = inputs[0];
        else result.add_output(tensor_of(output, type));
        set_attributes(result, node, inputs);
        g.add_op(result);
    }
    void set_attributes(op &result, const json &node,
            const std::vector<std::string> &inputs) const {
        const std::string kind = node["op_type"];
        if (kind == "Clip") {
            result.set_attr<float>(op::attr::min, constant(inputs[1]));
            result.set_attr<float>(op::attr::max, constant(inputs[2]));
        } else if (kind == "Cast") {
            result.set_attr<std::vector<float>>(op::attr::scales, {1.f});
            result.set_attr<std::vector<int64_t>>(op::attr::zps, {0});
        } else if (kind == "ReduceMin" || kind == "ReduceMax") {
            const auto &x = values_.at(inputs[0]).tensor;
            std::vector<int64_t> axes;
            for (size_t d = 0; d < x.get_dims().size(); ++d)
                axes.push_back(static_cast<int64_t>(d));
            result.set_attr<std::vector<int64_t>>(op::attr::axes, axes);
            result.set_attr<bool>(op::attr::keep_dims,
                    node["attributes"]["keepdims"].get<int>() != 0);
        }
    }

    // The only partition with more than an End in it.
    std::string execute(const partition &p, std::string &kernel) {
        if (!kernel.empty()) return "more than one partition";
        const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
        dnnl::stream stream(cpu);
        std::vector<lt> in, out;
        std::vector<tensor> from, to;
        for (const auto &port : p.get_input_ports()) {
            value_t &value = find(port.get_id());
            in.push_back(value.tensor);
            from.emplace_back(value.tensor, cpu, value.bytes.data());
        }
        for (const auto &port : p.get_output_ports())
            out.push_back(described_output(port.get_id()));
        const auto compiled = p.compile(in, out, cpu);
        kernel = dnnl_dequant::impl_info(compiled);
        if (kernel.empty()) return "not executed by the plugin";
        for (const lt &tensor : out) {
            value_t &value = find(tensor.get_id());
            value.bytes.assign(tensor.get_mem_size(), 0);
            to.emplace_back(tensor, cpu, value.bytes.data());
        }
        compiled.execute(stream, from, to);
        return "";
    }
    value_t &find(size_t id) {
        for (auto &[name, value] : values_)
            if (value.tensor.get_id() == id) return value;
        throw std::runtime_error("a port that the model does not have");
    }
    // With the published shape.
    lt described_output(size_t id) {
        for (const auto &[name, expected] : described_["outputs"].items())
            if (values_.at(value_behind(name)).tensor.get_id() == id)
                return value_of(id, expected).tensor;
        throw std::runtime_error("a value leaves that is no output");
    }

    const json &described_;
    std::map<std::string, value_t> values_; // inputs, constants, inner values
    std::map<std::string, std::string> identities_; // output, input
    size_t next_id_ = 0, next_op_ = 0;
};

std::string run(const json &described, std::string &kernel) {
    return model_t(described).run(kernel);
}

} // namespace

int main(int argc, char **argv) {
    return run_cases(argc, argv, run);
}
