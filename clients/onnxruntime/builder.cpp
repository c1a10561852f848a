#include "builder.hpp"

#include <algorithm>

#include "status.hpp"

namespace dnnl_dequant::ort {

namespace {

using layout_t = tensor_t::layout_type;
using property_t = tensor_t::property_type;

constexpr size_t no_index = static_cast<size_t>(-1);
// Scratch tensors begin on cache lines.
constexpr size_t alignment = 64;

size_t index_in(
        const std::vector<const value_t *> &values, const value_t &value) {
    const auto found = std::find(values.begin(), values.end(), &value);
    return found == values.end() ? no_index
                                 : static_cast<size_t>(found - values.begin());
}

} // namespace

builder_t::builder_t(
        const kernel_ports_t &ports, std::vector<dims_t> shapes, owned_t &owned)
    : ports_(ports)
    , shapes_(std::move(shapes))
    , owned_(owned) {}

size_t builder_t::input_index(const value_t &value) const {
    const size_t index = index_in(ports_.inputs, value);
    if (index == no_index)
        throw failure_t("dnnl_dequant: value '" + value.name
                        + "' is neither an input nor computed before its use.");
    return index;
}

bool builder_t::is_input(const value_t &value) const {
    return index_in(ports_.inputs, value) != no_index;
}

const dims_t &builder_t::dims(const value_t &value) const {
    const auto found = bound_.find(&value);
    if (found != bound_.end()) return found->second.dims;
    return shapes_[input_index(value)];
}

tensor_t builder_t::use(const value_t &value) {
    const auto found = bound_.find(&value);
    if (found != bound_.end()) return found->second.tensor;
    const dims_t shape = dims(value);
    const tensor_t tensor = view(value, value.type(), shape, {});
    bound_.emplace(&value, bound_t {tensor, shape});
    return tensor;
}

tensor_t builder_t::view(const value_t &value, type_t type, const dims_t &dims,
        const dims_t &strides) {
    argument_t argument;
    argument.place = place_t::input;
    argument.index = input_index(value);
    return add(type, dims, strides, value.is_constant, std::move(argument));
}

tensor_t builder_t::constant(const std::string &name, type_t type,
        const dims_t &dims, const std::function<bytes_t()> &make,
        const dims_t &strides) {
    auto &bytes = owned_[name];
    if (!bytes) bytes = std::make_shared<const bytes_t>(make());
    argument_t argument;
    argument.place = place_t::owned;
    argument.owned = bytes;
    return add(type, dims, strides, true, std::move(argument));
}

tensor_t builder_t::temporary(type_t type, const dims_t &dims) {
    return add(type, dims, {}, false, argument_t());
}

tensor_t builder_t::result(const value_t &value, const dims_t &dims) {
    return result(value, dims, dims);
}

tensor_t builder_t::result(
        const value_t &value, const dims_t &dims, const dims_t &seen) {
    argument_t argument;
    const size_t index = index_in(ports_.outputs, value);
    if (index != no_index) {
        argument.place = place_t::output;
        argument.index = index;
    }
    const type_t type = wide_.count(&value) != 0 ? type_t::f32 : value.type();
    const tensor_t tensor = add(type, seen, {}, false, std::move(argument));
    bound_.emplace(&value, bound_t {tensor, dims});
    return tensor;
}

void builder_t::alias(
        const value_t &value, const value_t &of, const dims_t &dims) {
    bound_.emplace(&value, bound_t {use(of), dims});
}

tensor_t builder_t::add(type_t type, const dims_t &dims, const dims_t &strides,
        bool is_constant, argument_t argument) {
    const auto property = is_constant && marks_constants_ ? property_t::constant
                                                          : property_t::undef;
    const size_t id = arguments_.size();
    argument.tensor
            = strides.empty()
                      ? tensor_t(id, type, dims, layout_t::strided, property)
                      : tensor_t(id, type, dims, strides, property);
    arguments_.push_back(std::move(argument));
    return arguments_.back().tensor;
}

op_t &builder_t::op(op_t::kind kind, const std::vector<tensor_t> &inputs,
        const std::vector<tensor_t> &outputs) {
    const size_t id = ops_.size();
    ops_.emplace_back(id, kind, inputs, outputs, "op" + std::to_string(id));
    return ops_.back();
}

std::vector<dnnl::graph::partition> builder_t::partitions() {
    dnnl::graph::graph graph(dnnl::engine::kind::cpu);
    for (const op_t &op : ops_)
        graph.add_op(op);
    graph.finalize();
    return graph.get_partitions();
}

std::string builder_t::refusal() {
    try {
        const auto made = partitions();
        for (const auto &partition : made)
            if (!partition.is_supported())
                return "no kernel of oneDNN or the plugin takes it";
        if (wants_one_partition_ && made.size() != 1)
            return "it becomes " + std::to_string(made.size())
                   + " partitions; one was expected";
    } catch (const dnnl::error &error) {
        return "oneDNN refuses the graph: " + sentence_of(error);
    }
    return std::string();
}

argument_t builder_t::argument_of(const tensor_t &port, program_t &program) {
    argument_t &argument = arguments_[port.get_id()];
    // A tensor between two partitions gets its place at its first use.
    if (argument.place == place_t::scratch && argument.index == 0) {
        const size_t bytes = argument.tensor.get_mem_size();
        argument.index = program.scratch_bytes + alignment;
        program.scratch_bytes += (bytes / alignment + 1) * alignment;
    }
    return argument;
}

program_t builder_t::compile(const dnnl::engine &engine) {
    program_t program;
    for (const value_t *output : ports_.outputs)
        program.output_dims.push_back(dims(*output));
    for (auto &partition : partitions()) {
        step_t step;
        std::vector<tensor_t> inputs, outputs;
        for (const tensor_t &port : partition.get_input_ports()) {
            step.inputs.push_back(argument_of(port, program));
            inputs.push_back(step.inputs.back().tensor);
        }
        for (const tensor_t &port : partition.get_output_ports()) {
            step.outputs.push_back(argument_of(port, program));
            outputs.push_back(step.outputs.back().tensor);
        }
        step.compiled = partition.compile(inputs, outputs, engine);
        program.steps.push_back(std::move(step));
    }
    program.scratch_bytes += 2 * alignment;
    return program;
}

} // namespace dnnl_dequant::ort
