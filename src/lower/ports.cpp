#include "lower/ports.hpp"

#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"

namespace dnnl_dequant {

namespace {

// Offsets stay far from overflow when added up and turned into bits.
constexpr dim_t offset_limit = dim_t(1) << 56;

result_t refuse_strides(const std::string &who, const dims_t &dims,
        const dims_t &strides, const std::string &what) {
    return {status_t::invalid_shape,
            text(who, " has dimensions ", dims_string(dims), " and strides ",
                    dims_string(strides), what)};
}

// Dimensions from 0, strides from 0, and no offset near overflow.
result_t check_extent(
        const std::string &who, const dims_t &dims, const dims_t &strides) {
    dim_t count = 1, reach = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] < 0 || strides[d] < 0)
            return refuse_strides(
                    who, dims, strides, "; expected none below 0");
        dim_t step = 0;
        if (__builtin_mul_overflow(count, dims[d], &count)
                || __builtin_mul_overflow(
                        std::max<dim_t>(dims[d] - 1, 0), strides[d], &step)
                || __builtin_add_overflow(reach, step, &reach)
                || count > offset_limit || reach > offset_limit)
            return refuse_strides(who, dims, strides,
                    text(": too large to address; expected ", offset_limit,
                            " elements at most"));
    }
    return {};
}

// Checks that every element lies within the memory as oneDNN sizes it. oneDNN's
// own memory descriptors take no other strides either. The extent is checked.
result_t check_reach(
        const std::string &who, const dims_t &dims, const dims_t &strides) {
    dim_t reach = 0;
    // Elements of the tensor's memory as oneDNN sizes it: without the strides
    // of dimensions of 1, and none where several lie in one place and no
    // stride tells of it.
    dim_t counted = dims.empty();
    for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] == 0) return {};
        reach += (dims[d] - 1) * strides[d];
        counted = std::max(counted, dims[d] == 1 ? 1 : dims[d] * strides[d]);
    }
    if (reach >= counted)
        return refuse_strides(who, dims, strides,
                text("; expected none that reach beyond the ", counted,
                        " elements of its memory"));
    return {};
}

result_t check_type(const std::string &who, const logical_tensor_t &declared,
        const logical_tensor_t &given) {
    if (given.data_type == declared.data_type) return {};
    return {status_t::invalid_data_type,
            text(who, " is of type ", to_string(type_of(given)),
                    "; the op was added with ", to_string(type_of(declared)))};
}

result_t resolve_input(const partition_t &partition,
        const logical_tensor_t &declared, logical_tensor_t &tensor) {
    const std::string who = describe_port(partition, tensor.id);
    if (result_t result = check_type(who, declared, tensor); !result.ok())
        return result;
    if (!has_shape(tensor))
        return {status_t::invalid_shape,
                text(who, " has shape ", shape_string(tensor),
                        "; expected a known one at compile")};
    if (tensor.layout_type == dnnl_graph_layout_type_opaque)
        return {status_t::unimplemented,
                text(who, " has an opaque layout, which only oneDNN reads; "
                          "expected a strided one")};
    if (tensor.ndims > 0 && !has_strides(tensor)) {
        if (tensor.layout_type != dnnl_graph_layout_type_strided)
            return {status_t::invalid_arguments,
                    text(who, " has layout type ",
                            static_cast<int>(tensor.layout_type),
                            "; expected strided at compile")};
        const dims_t dims = dims_of(tensor);
        set_layout(tensor, dims, dense_strides(dims));
    }
    const dims_t dims = dims_of(tensor), strides = strides_of(tensor);
    if (result_t result = check_extent(who, dims, strides); !result.ok())
        return result;
    return check_reach(who, dims, strides);
}

bool overlaps_itself(const dims_t &dims, const dims_t &strides) {
    std::vector<size_t> order;
    for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] == 0) return false;
        if (dims[d] > 1) order.push_back(d);
    }
    std::sort(order.begin(), order.end(),
            [&strides](size_t a, size_t b) { return strides[a] < strides[b]; });
    dim_t taken = 1; // elements that the denser dimensions span
    for (const size_t d : order) {
        if (strides[d] < taken) return true;
        taken = strides[d] * dims[d];
    }
    return false;
}

} // namespace

std::string describe_port(const partition_t &partition, size_t tensor) {
    for (const op_record_t &op : partition.ops) {
        for (size_t i = 0; i < op.inputs.size(); ++i)
            if (op.inputs[i].id == tensor)
                return text(describe(op), ": ", input_name(op, i), " (id ",
                        tensor, ")");
        for (size_t i = 0; i < op.outputs.size(); ++i)
            if (op.outputs[i].id == tensor)
                return text(describe(op), ": ", output_name(op, i), " (id ",
                        tensor, ")");
    }
    return text("tensor ", tensor);
}

const logical_tensor_t *find_port(
        const std::vector<logical_tensor_t> &ports, size_t tensor) {
    const auto found = std::find_if(
            ports.begin(), ports.end(), [tensor](const logical_tensor_t &port) {
        return port.id == tensor;
    });
    return found == ports.end() ? nullptr : &*found;
}

bool has_shapes_of_graph(const partition_t &partition,
        const std::vector<logical_tensor_t> &inputs) {
    return std::all_of(partition.inputs.begin(), partition.inputs.end(),
            [&](const logical_tensor_t &declared) {
        const logical_tensor_t *given = find_port(inputs, declared.id);
        return given == nullptr || !has_shape(declared)
               || dims_of(declared) == dims_of(*given);
    });
}

result_t resolve_ports(const partition_t &partition,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, lowered_t &lowered) {
    for (const logical_tensor_t &declared : partition.inputs) {
        const logical_tensor_t *given = find_port(inputs, declared.id);
        if (given == nullptr)
            return {status_t::invalid_arguments,
                    text(describe_port(partition, declared.id),
                            " is not among the inputs given to compile")};
        lowered.inputs.push_back(*given);
        const result_t result
                = resolve_input(partition, declared, lowered.inputs.back());
        if (!result.ok()) return result;
    }
    for (const logical_tensor_t &declared : partition.outputs) {
        const logical_tensor_t *given = find_port(outputs, declared.id);
        const std::string who = describe_port(partition, declared.id);
        if (given == nullptr)
            return {status_t::invalid_arguments,
                    text(who, " is not among the outputs given to compile")};
        if (result_t result = check_type(who, declared, *given); !result.ok())
            return result;
        lowered.outputs.push_back(*given);
    }
    return {};
}

result_t infer_output(const partition_t &partition, const dims_t &dims,
        const dims_t &preferred, logical_tensor_t &output) {
    const std::string who = describe_port(partition, output.id);
    if (!has_possible_rank(output))
        return {status_t::invalid_shape, text(who, " is of rank ", output.ndims,
                                                 "; expected ", dims.size())};
    if (has_rank(output)) {
        bool fits = static_cast<size_t>(output.ndims) == dims.size();
        for (size_t d = 0; fits && d < dims.size(); ++d)
            fits = output.dims[d] == dims[d]
                   || output.dims[d] == DNNL_GRAPH_UNKNOWN_DIM;
        if (!fits)
            return {status_t::invalid_shape,
                    text(who, " has shape ", shape_string(output),
                            "; expected ", dims_string(dims))};
    }
    if (output.layout_type == dnnl_graph_layout_type_opaque)
        return {status_t::unimplemented,
                text(who, " has an opaque layout, which only oneDNN writes; "
                          "expected a strided one")};
    const bool told = has_strides(output);
    const bool any = output.layout_type != dnnl_graph_layout_type_strided;
    const dims_t strides = told  ? strides_of(output)
                           : any ? preferred
                                 : dense_strides(dims);
    set_layout(output, dims, strides);
    if (result_t result = check_extent(who, dims, strides); !result.ok())
        return result;
    if (overlaps_itself(dims, strides))
        return {status_t::invalid_shape,
                text(who, " has shape ", dims_string(dims), " and strides ",
                        dims_string(strides),
                        "; expected elements that do not overlap")};
    return check_reach(who, dims, strides);
}

} // namespace dnnl_dequant
