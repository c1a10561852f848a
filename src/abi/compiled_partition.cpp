// dnnl_graph_compiled_partition_*: ours by tag, else oneDNN's.

#include "abi/execution.hpp"

#include "graph/logical_tensor.hpp"
#include "graph/records.hpp"
#include "pipeline.hpp"

using namespace dnnl_dequant;
using namespace dnnl_dequant::abi;

namespace {

// False where a tensor is null or oneDNN does not know it.
bool append_buffers(size_t count, const_dnnl_graph_tensor_t *tensors,
        buffer_list_t &buffers) {
    if (count > 0 && tensors == nullptr) return false;
    for (size_t i = 0; i < count; ++i) {
        const const_dnnl_graph_tensor_t tensor = tensors[i];
        logical_tensor_t lt;
        void *data = nullptr;
        if (tensor == nullptr
                || upstream::call(&api_t::dnnl_graph_tensor_get_logical_tensor,
                           tensor, &lt)
                           != dnnl_success)
            return false;
        const auto record = records().tensors.find(tensor);
        if (record && record->logical_tensor) lt = *record->logical_tensor;
        if (record && record->scalar) data = record->scalar->data();
        else if (upstream::call(&api_t::dnnl_graph_tensor_get_data_handle,
                         tensor, &data)
                 != dnnl_success)
            return false;
        buffers.push_back(
                {lt.id, data, has_shape(lt) ? element_count(lt) : -1, tensor});
    }
    return true;
}

dnnl_status_t query_ours(const compiled_partition_t &compiled, size_t tid,
        logical_tensor_t *lt) {
    if (lt == nullptr) return dnnl_invalid_arguments;
    if (compiled.upstream)
        return upstream::call(
                &api_t::dnnl_graph_compiled_partition_query_logical_tensor,
                const_dnnl_graph_compiled_partition_t(compiled.upstream.get()),
                tid, lt);
    const logical_tensor_t *found = compiled.find_tensor(tid);
    if (found == nullptr) return dnnl_invalid_arguments;
    *lt = *found;
    return dnnl_success;
}

// The pairs live as long as the compiled partition.
dnnl_status_t inplace_ports_of_ours(const compiled_partition_t &compiled,
        size_t *count, const dnnl_graph_inplace_pair_t **pairs) {
    if (count == nullptr || pairs == nullptr) return dnnl_invalid_arguments;
    if (compiled.upstream)
        return upstream::call(
                &api_t::dnnl_graph_compiled_partition_get_inplace_ports,
                const_dnnl_graph_compiled_partition_t(compiled.upstream.get()),
                count, pairs);
    const auto *inplace = compiled.inplace();
    *count = inplace ? inplace->size() : 0;
    *pairs = *count > 0 ? inplace->data() : nullptr;
    return dnnl_success;
}

} // namespace

dnnl_status_t abi::execute_ours(const compiled_partition_t &compiled,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs) {
    if (compiled.upstream)
        return upstream::call(&api_t::dnnl_graph_compiled_partition_execute,
                const_dnnl_graph_compiled_partition_t(compiled.upstream.get()),
                stream, num_inputs, inputs, num_outputs, outputs);
    buffer_list_t buffers;
    if (stream == nullptr || !compiled.is_filled()
            || !append_buffers(num_inputs, inputs, buffers)
            || !append_buffers(num_outputs, outputs, buffers))
        return dnnl_invalid_arguments;
    return execute(compiled, stream, buffers);
}

extern "C" {

dnnl_status_t dnnl_graph_compiled_partition_create(
        dnnl_graph_compiled_partition_t *compiled_partition,
        dnnl_graph_partition_t partition) {
    return enter(&api_t::dnnl_graph_compiled_partition_create, [=] {
        if (!is_ours(partition))
            return upstream::call(&api_t::dnnl_graph_compiled_partition_create,
                    compiled_partition, partition);
        if (compiled_partition == nullptr) return dnnl_invalid_arguments;
        auto *compiled = new compiled_partition_t;
        compiled->partition
                = from_handle<partition_handle_t>(partition)->partition;
        *compiled_partition
                = to_handle<dnnl_graph_compiled_partition_t>(compiled);
        return dnnl_success;
    }, compiled_partition, partition);
}

dnnl_status_t dnnl_graph_compiled_partition_execute(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs) {
    return enter(&api_t::dnnl_graph_compiled_partition_execute, [=] {
        if (is_ours(compiled_partition))
            return execute_ours(*as_compiled(compiled_partition), stream,
                    num_inputs, inputs, num_outputs, outputs);
        return upstream::call(&api_t::dnnl_graph_compiled_partition_execute,
                compiled_partition, stream, num_inputs, inputs, num_outputs,
                outputs);
    }, compiled_partition, stream, num_inputs, inputs, num_outputs, outputs);
}

// Our kernels need no scratchpad beyond the stack: any tensor will do.
dnnl_status_t dnnl_graph_compiled_partition_execute_v2(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs,
        const_dnnl_graph_tensor_t scratchpad) {
    return enter(&api_t::dnnl_graph_compiled_partition_execute_v2,
            [=] {
        if (is_ours(compiled_partition))
            return execute_ours(*as_compiled(compiled_partition), stream,
                    num_inputs, inputs, num_outputs, outputs);
        return upstream::call(&api_t::dnnl_graph_compiled_partition_execute_v2,
                compiled_partition, stream, num_inputs, inputs, num_outputs,
                outputs, scratchpad);
    }, compiled_partition, stream, num_inputs, inputs, num_outputs, outputs,
            scratchpad);
}

dnnl_status_t dnnl_graph_compiled_partition_destroy(
        dnnl_graph_compiled_partition_t compiled_partition) {
    return enter(&api_t::dnnl_graph_compiled_partition_destroy, [=] {
        if (!is_ours(compiled_partition))
            return upstream::call(&api_t::dnnl_graph_compiled_partition_destroy,
                    compiled_partition);
        delete as_compiled(compiled_partition);
        return dnnl_success;
    }, compiled_partition);
}

dnnl_status_t dnnl_graph_compiled_partition_query_logical_tensor(
        const_dnnl_graph_compiled_partition_t compiled_partition, size_t tid,
        dnnl_graph_logical_tensor_t *lt) {
    return enter(
            &api_t::dnnl_graph_compiled_partition_query_logical_tensor, [=] {
        if (is_ours(compiled_partition))
            return query_ours(*as_compiled(compiled_partition), tid, lt);
        return upstream::call(
                &api_t::dnnl_graph_compiled_partition_query_logical_tensor,
                compiled_partition, tid, lt);
    }, compiled_partition, tid, lt);
}

dnnl_status_t dnnl_graph_compiled_partition_get_inplace_ports(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        size_t *num_inplace_pairs,
        const dnnl_graph_inplace_pair_t **inplace_pairs) {
    return enter(&api_t::dnnl_graph_compiled_partition_get_inplace_ports, [=] {
        if (is_ours(compiled_partition))
            return inplace_ports_of_ours(*as_compiled(compiled_partition),
                    num_inplace_pairs, inplace_pairs);
        return upstream::call(
                &api_t::dnnl_graph_compiled_partition_get_inplace_ports,
                compiled_partition, num_inplace_pairs, inplace_pairs);
    }, compiled_partition, num_inplace_pairs, inplace_pairs);
}

dnnl_status_t dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_graph_logical_tensor_t *lt) {
    constexpr auto real
            = &api_t::dnnl_graph_compiled_partition_get_scratchpad_logical_tensor;
    return enter(real, [=] {
        if (!is_ours(compiled_partition))
            return upstream::call(real, compiled_partition, lt);
        if (lt == nullptr) return dnnl_invalid_arguments;
        *lt = logical_tensor_t();
        lt->data_type = dnnl_u8;
        set_layout(*lt, {0}, {1});
        return dnnl_success;
    }, compiled_partition, lt);
}

} // extern "C"
