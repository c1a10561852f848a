#include "exec/compound.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "base/text.hpp"
#include "base/types.hpp"
#include "graph/logical_tensor.hpp"
#include "lower/ports.hpp"
#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

using upstream::api_t;
using tensors_t = std::vector<logical_tensor_t>;

constexpr size_t line = 64;

// The tensors of `ports` as `known` has them; what it lacks is left out, and
// missed by who asks for it.
tensors_t known_of(const tensors_t &ports, const tensors_t &known) {
    tensors_t result;
    for (const logical_tensor_t &port : ports)
        if (const auto *found = find_port(known, port.id))
            result.push_back(*found);
    return result;
}

// Dense, and of the shape that the op names, if it names one and that holds.
logical_tensor_t dense(logical_tensor_t tensor, bool holds) {
    if (!holds && has_rank(tensor))
        std::fill_n(tensor.dims, tensor.ndims, DNNL_GRAPH_UNKNOWN_DIM);
    if (has_shape(tensor)) {
        const dims_t dims = dims_of(tensor);
        set_layout(tensor, dims, dense_strides(dims));
        return tensor;
    }
    tensor.layout_type = dnnl_graph_layout_type_strided;
    std::fill_n(tensor.layout.strides, DNNL_MAX_NDIMS, DNNL_GRAPH_UNKNOWN_DIM);
    return tensor;
}

result_t find_output(
        const compiled_partition_t &part, size_t id, logical_tensor_t &tensor) {
    if (const auto *found = part.find_tensor(id)) {
        tensor = *found;
        return {};
    }
    if (part.upstream
            && upstream::call(
                       &api_t::dnnl_graph_compiled_partition_query_logical_tensor,
                       const_dnnl_graph_compiled_partition_t(
                               part.upstream.get()),
                       id, &tensor)
                       == dnnl_success)
        return {};
    return {status_t::runtime_error,
            text(describe_port(*part.partition, id),
                    ": its layout is not known after compile")};
}

bool is_read_by(const partition_t &part, size_t tensor) {
    return find_port(part.inputs, tensor) != nullptr;
}

// Places the values between the parts. Memory serves again once the last part
// has read it, or in the very part that may overwrite it.
class placement_t {
public:
    placement_t(compound_t &compound, const partition_t &partition)
        : compound_(compound)
        , partition_(partition) {}

    void place(size_t part, const logical_tensor_t &tensor) {
        const size_t bytes = memory_size(tensor);
        const size_t slot = slot_for(part, tensor.id, bytes);
        slots_[slot].bytes = std::max(slots_[slot].bytes, bytes);
        slots_[slot].last_use = last_use(tensor.id);
        slot_of_.push_back(slot);
        compound_.values.push_back({tensor.id, element_count(tensor), 0});
    }

    void finish() {
        std::vector<size_t> offsets;
        for (const slot_t &slot : slots_) {
            offsets.push_back(compound_.bytes);
            compound_.bytes += round_up(slot.bytes, line);
        }
        for (size_t v = 0; v < slot_of_.size(); ++v)
            compound_.values[v].offset = offsets[slot_of_[v]];
    }

private:
    struct slot_t {
        size_t bytes = 0;
        size_t last_use = 0; // a part
    };

    size_t last_use(size_t tensor) const {
        size_t last = 0;
        for (size_t p = 0; p < partition_.parts.size(); ++p)
            if (is_read_by(*partition_.parts[p], tensor)) last = p;
        return last;
    }

    size_t slot_for(size_t part, size_t tensor, size_t bytes) {
        if (const auto *pairs = compound_.parts[part].inplace())
            for (const dnnl_graph_inplace_pair_t &pair : *pairs)
                for (size_t v = 0; v < slot_of_.size(); ++v) {
                    const slot_t &slot = slots_[slot_of_[v]];
                    if (pair.output_id == tensor
                            && compound_.values[v].tensor == pair.input_id
                            && slot.last_use == part && slot.bytes >= bytes)
                        return slot_of_[v];
                }
        for (size_t s = 0; s < slots_.size(); ++s)
            if (slots_[s].last_use < part) return s;
        slots_.emplace_back();
        return slots_.size() - 1;
    }

    compound_t &compound_;
    const partition_t &partition_;
    std::vector<slot_t> slots_;
    std::vector<size_t> slot_of_; // one a value
};

// An input of the user's may be overwritten by the part that reads it last.
void find_inplace_ports(compound_t &compound, const partition_t &partition) {
    const auto &parts = partition.parts;
    for (size_t p = 0; p < parts.size(); ++p) {
        const auto *pairs = compound.parts[p].inplace();
        if (pairs == nullptr) continue;
        for (const dnnl_graph_inplace_pair_t &pair : *pairs)
            if (find_port(partition.inputs, pair.input_id)
                    && find_port(partition.outputs, pair.output_id)
                    && std::none_of(
                            parts.begin() + static_cast<std::ptrdiff_t>(p) + 1,
                            parts.end(), [&](const auto &later) {
                return is_read_by(*later, pair.input_id);
            }))
                compound.inplace.push_back(pair);
    }
}

// Every port of the partition is among what the user gave.
result_t check_given(const partition_t &partition, const tensors_t &ports,
        const tensors_t &given, const char *side) {
    for (const logical_tensor_t &port : ports)
        if (find_port(given, port.id) == nullptr)
            return {status_t::invalid_arguments,
                    text(describe_port(partition, port.id),
                            " is not among the ", side, " given to compile")};
    return {};
}

} // namespace

result_t compile_parts(const partition_t &partition, const tensors_t &inputs,
        const tensors_t &outputs, const compile_part_t &compile_part,
        std::shared_ptr<const compound_t> &compound) {
    result_t result
            = check_given(partition, partition.inputs, inputs, "inputs");
    if (result.ok())
        result = check_given(partition, partition.outputs, outputs, "outputs");
    if (!result.ok()) return result;
    auto made = std::make_shared<compound_t>();
    made->parts.resize(partition.parts.size());
    placement_t placement(*made, partition);
    const bool shapes_hold = has_shapes_of_graph(partition, inputs);
    tensors_t known = inputs;
    for (size_t p = 0; p < partition.parts.size(); ++p) {
        const partition_t &part = *partition.parts[p];
        compiled_partition_t &compiled = made->parts[p];
        compiled.partition = partition.parts[p];
        tensors_t to;
        for (const logical_tensor_t &port : part.outputs) {
            const auto *given = find_port(partition.outputs, port.id)
                                        ? find_port(outputs, port.id)
                                        : nullptr;
            to.push_back(given ? *given : dense(port, shapes_hold));
        }
        result = compile_part(compiled, known_of(part.inputs, known), to);
        if (!result.ok()) return result;
        for (logical_tensor_t &tensor : to) {
            result = find_output(compiled, tensor.id, tensor);
            if (!result.ok()) return result;
            known.push_back(tensor);
            if (!find_port(partition.outputs, tensor.id))
                placement.place(p, tensor);
        }
        made->kernels += text(p > 0 ? ";" : "",
                compiled.upstream ? "onednn" : compiled.kernel());
        made->not_taken += compiled.not_taken();
    }
    placement.finish();
    find_inplace_ports(*made, partition);
    for (const tensors_t *ports : {&partition.inputs, &partition.outputs})
        for (const logical_tensor_t &tensor : known_of(*ports, known))
            made->ports.push_back(tensor);
    compound = std::move(made);
    return {};
}

result_t execute_parts(const compound_t &compound, const buffer_list_t &given,
        const execute_part_t &execute_part) {
    for (const logical_tensor_t &port : compound.ports) {
        void *memory = nullptr;
        const result_t result = find_memory(given, port, true, memory);
        if (!result.ok()) return result;
    }
    struct delete_t {
        void operator()(char *bytes) const {
            ::operator delete[](bytes, std::align_val_t(line));
        }
    };
    const std::unique_ptr<char[], delete_t> scratch(new (std::align_val_t(line),
            std::nothrow) char[std::max(compound.bytes, line)]);
    if (!scratch)
        return {status_t::out_of_memory,
                text("no memory for the ", compound.bytes,
                        " bytes of values between its parts")};
    buffer_list_t buffers = given;
    for (const compound_t::value_t &value : compound.values)
        buffers.push_back({value.tensor, scratch.get() + value.offset,
                value.count, nullptr});
    for (const compiled_partition_t &part : compound.parts) {
        const result_t result = execute_part(part, buffers);
        if (!result.ok()) return result;
    }
    return {};
}

} // namespace dnnl_dequant
