// A program: one compiled partition, its constants, and tensors that wait for
// the next execution.

#include "program.hpp"

#include <algorithm>
#include <cstring>

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant_python {

using dnnl::graph::tensor;

namespace {

const dnnl::engine &cpu() {
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

// Streams on CPU have no state, but oneDNN does not promise that two threads
// may use one.
dnnl::stream &stream() {
    thread_local dnnl::stream made(cpu());
    return made;
}

std::vector<logical_tensor_t> named(const std::vector<logical_tensor_t> &ports,
        const tensors_by_id_t &tensors) {
    std::vector<logical_tensor_t> result;
    for (const logical_tensor_t &port : ports)
        result.push_back(tensors.at(port.get_id()));
    return result;
}

} // namespace

program_t::program_t(const dnnl_dequant_python_graph_t &description) {
    const tensors_by_id_t tensors = tensors_of(description);
    const dnnl::graph::partition partition = partition_of(description, tensors);
    const auto inputs = named(partition.get_input_ports(), tensors);
    const auto outputs = named(partition.get_output_ports(), tensors);
    alignments_.assign(description.argument_count, 1);
    inputs_ = ports_of(description, inputs);
    outputs_ = ports_of(description, outputs);
    compiled_ = partition.compile(inputs, outputs, cpu());
    kernel_ = dnnl_dequant::impl_info(compiled_);
    if (kernel_.empty()) kernel_ = "oneDNN's own";
    give_back(take_tensors());
}

void *program_t::copy_constant(const dnnl_dequant_python_tensor_t &tensor) {
    constants_.emplace_back(new char[tensor.constant_size]);
    std::memcpy(constants_.back().get(), tensor.constant, tensor.constant_size);
    return constants_.back().get();
}

std::vector<program_t::port_t> program_t::ports_of(
        const dnnl_dequant_python_graph_t &description,
        const std::vector<logical_tensor_t> &tensors) {
    const uint64_t *const begin = description.arguments;
    const uint64_t *const end = begin + description.argument_count;
    std::vector<port_t> ports;
    for (const logical_tensor_t &made : tensors) {
        const auto *said = std::find_if(description.tensors,
                description.tensors + description.tensor_count,
                [&](const dnnl_dequant_python_tensor_t &candidate) {
            return candidate.id == made.get_id();
        });
        const uint64_t *const at = std::find(begin, end, made.get_id());
        port_t port {made, -1, nullptr};
        if (said->constant != nullptr) port.constant = copy_constant(*said);
        else if (at == end)
            throw dnnl::error(dnnl_invalid_graph,
                    "a tensor of the partition is no argument");
        else {
            port.argument = static_cast<int>(at - begin);
            alignments_[static_cast<size_t>(at - begin)] = said->alignment;
        }
        ports.push_back(port);
    }
    return ports;
}

std::unique_ptr<program_t::tensors_t> program_t::take_tensors() const {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!spare_.empty()) {
            std::unique_ptr<tensors_t> tensors = std::move(spare_.back());
            spare_.pop_back();
            return tensors;
        }
    }
    auto tensors = std::make_unique<tensors_t>();
    for (const port_t &port : inputs_)
        tensors->inputs.emplace_back(port.tensor, cpu(), port.constant);
    for (const port_t &port : outputs_)
        tensors->outputs.emplace_back(port.tensor, cpu(), port.constant);
    return tensors;
}

void program_t::give_back(std::unique_ptr<tensors_t> tensors) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    spare_.push_back(std::move(tensors));
}

bool program_t::are_aligned(void *const *addresses) const {
    for (size_t i = 0; i < alignments_.size(); ++i) {
        const auto address = reinterpret_cast<uintptr_t>(addresses[i]);
        if ((address & (alignments_[i] - 1)) != 0) return false;
    }
    return true;
}

void program_t::execute(void *const *addresses) const {
    std::unique_ptr<tensors_t> tensors = take_tensors();
    for (size_t i = 0; i < inputs_.size(); ++i)
        if (inputs_[i].argument >= 0)
            tensors->inputs[i].set_data_handle(addresses[inputs_[i].argument]);
    for (size_t i = 0; i < outputs_.size(); ++i)
        tensors->outputs[i].set_data_handle(addresses[outputs_[i].argument]);
    compiled_.execute(stream(), tensors->inputs, tensors->outputs);
    give_back(std::move(tensors));
}

} // namespace dnnl_dequant_python
