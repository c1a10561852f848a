// dnnl_graph_partition_*: ours by tag, else oneDNN's.

#include "abi/boundary.hpp"

#include <algorithm>

#include "graph/records.hpp"
#include "pipeline.hpp"

using namespace dnnl_dequant;
using namespace dnnl_dequant::abi;

namespace {

dnnl_status_t copy_ports(const std::vector<logical_tensor_t> &ports, size_t num,
        logical_tensor_t *out) {
    if (out == nullptr || num != ports.size()) return dnnl_invalid_arguments;
    std::copy(ports.begin(), ports.end(), out);
    return dnnl_success;
}

template <typename T>
dnnl_status_t answer(T *out, T value) {
    if (out == nullptr) return dnnl_invalid_arguments;
    *out = value;
    return dnnl_success;
}

// False where a pointer of the list is null.
bool copy_list(size_t count, const logical_tensor_t **tensors,
        std::vector<logical_tensor_t> &out) {
    if (count > 0 && tensors == nullptr) return false;
    for (size_t i = 0; i < count; ++i) {
        if (tensors[i] == nullptr) return false;
        out.push_back(*tensors[i]);
    }
    return true;
}

dnnl_status_t compile_ours(dnnl_graph_partition_t partition,
        dnnl_graph_compiled_partition_t compiled, size_t in_num,
        const logical_tensor_t **inputs, size_t out_num,
        const logical_tensor_t **outputs, dnnl_engine_t engine) {
    std::vector<logical_tensor_t> in, out;
    dnnl_engine_kind_t kind = dnnl_any_engine;
    if (!is_ours(partition) || !is_ours(compiled) || engine == nullptr
            || !copy_list(in_num, inputs, in)
            || !copy_list(out_num, outputs, out)
            || upstream::call(&api_t::dnnl_engine_get_kind, engine, &kind)
                       != dnnl_success
            || kind != as_partition(partition).engine_kind)
        return dnnl_invalid_arguments;
    return compile(*as_compiled(compiled), in, out, engine);
}

} // namespace

extern "C" {

dnnl_status_t dnnl_graph_partition_create_with_op(
        dnnl_graph_partition_t *partition, const_dnnl_graph_op_t op,
        dnnl_engine_kind_t ekind) {
    return enter(&api_t::dnnl_graph_partition_create_with_op, [=] {
        const auto record = records().ops.find(op);
        if (partition != nullptr && record != nullptr)
            if (auto ours = select_op(*record, ekind))
                return answer(partition, new_handle(std::move(ours)));
        return upstream::call(&api_t::dnnl_graph_partition_create_with_op,
                partition, op, ekind);
    }, partition, op, ekind);
}

dnnl_status_t dnnl_graph_partition_destroy(dnnl_graph_partition_t partition) {
    return enter(&api_t::dnnl_graph_partition_destroy, [=] {
        if (!is_ours(partition))
            return upstream::call(
                    &api_t::dnnl_graph_partition_destroy, partition);
        delete from_handle<partition_handle_t>(partition);
        return dnnl_success;
    }, partition);
}

dnnl_status_t dnnl_graph_partition_get_op_num(
        const_dnnl_graph_partition_t partition, size_t *num) {
    return enter(&api_t::dnnl_graph_partition_get_op_num, [=] {
        if (!is_ours(partition))
            return upstream::call(
                    &api_t::dnnl_graph_partition_get_op_num, partition, num);
        return answer(num, as_partition(partition).ops.size());
    }, partition, num);
}

dnnl_status_t dnnl_graph_partition_get_ops(
        dnnl_graph_partition_t partition, size_t num, size_t *ids) {
    return enter(&api_t::dnnl_graph_partition_get_ops, [=] {
        if (!is_ours(partition))
            return upstream::call(
                    &api_t::dnnl_graph_partition_get_ops, partition, num, ids);
        const auto &ops = as_partition(partition).ops;
        if (ids == nullptr || num != ops.size()) return dnnl_invalid_arguments;
        std::transform(ops.begin(), ops.end(), ids,
                [](const op_record_t &op) { return op.id; });
        return dnnl_success;
    }, partition, num, ids);
}

dnnl_status_t dnnl_graph_partition_get_id(
        const_dnnl_graph_partition_t partition, size_t *id) {
    return enter(&api_t::dnnl_graph_partition_get_id, [=] {
        if (!is_ours(partition))
            return upstream::call(
                    &api_t::dnnl_graph_partition_get_id, partition, id);
        return answer(id, as_partition(partition).id);
    }, partition, id);
}

dnnl_status_t dnnl_graph_partition_compile(dnnl_graph_partition_t partition,
        dnnl_graph_compiled_partition_t compiled_partition, size_t in_num,
        const dnnl_graph_logical_tensor_t **inputs, size_t out_num,
        const dnnl_graph_logical_tensor_t **outputs, dnnl_engine_t engine) {
    return enter(&api_t::dnnl_graph_partition_compile, [=] {
        if (is_ours(partition) || is_ours(compiled_partition))
            return compile_ours(partition, compiled_partition, in_num, inputs,
                    out_num, outputs, engine);
        return upstream::call(&api_t::dnnl_graph_partition_compile, partition,
                compiled_partition, in_num, inputs, out_num, outputs, engine);
    }, partition, compiled_partition, in_num, inputs, out_num, outputs, engine);
}

dnnl_status_t dnnl_graph_partition_get_input_ports_num(
        const_dnnl_graph_partition_t partition, size_t *num) {
    return enter(&api_t::dnnl_graph_partition_get_input_ports_num, [=] {
        if (!is_ours(partition))
            return upstream::call(
                    &api_t::dnnl_graph_partition_get_input_ports_num, partition,
                    num);
        return answer(num, as_partition(partition).inputs.size());
    }, partition, num);
}

dnnl_status_t dnnl_graph_partition_get_input_ports(
        const_dnnl_graph_partition_t partition, size_t num,
        dnnl_graph_logical_tensor_t *inputs) {
    return enter(&api_t::dnnl_graph_partition_get_input_ports, [=] {
        if (!is_ours(partition))
            return upstream::call(&api_t::dnnl_graph_partition_get_input_ports,
                    partition, num, inputs);
        return copy_ports(as_partition(partition).inputs, num, inputs);
    }, partition, num, inputs);
}

dnnl_status_t dnnl_graph_partition_get_output_ports_num(
        const_dnnl_graph_partition_t partition, size_t *num) {
    return enter(&api_t::dnnl_graph_partition_get_output_ports_num, [=] {
        if (!is_ours(partition))
            return upstream::call(
                    &api_t::dnnl_graph_partition_get_output_ports_num,
                    partition, num);
        return answer(num, as_partition(partition).outputs.size());
    }, partition, num);
}

dnnl_status_t dnnl_graph_partition_get_output_ports(
        const_dnnl_graph_partition_t partition, size_t num,
        dnnl_graph_logical_tensor_t *outputs) {
    return enter(&api_t::dnnl_graph_partition_get_output_ports, [=] {
        if (!is_ours(partition))
            return upstream::call(&api_t::dnnl_graph_partition_get_output_ports,
                    partition, num, outputs);
        return copy_ports(as_partition(partition).outputs, num, outputs);
    }, partition, num, outputs);
}

dnnl_status_t dnnl_graph_partition_is_supported(
        const_dnnl_graph_partition_t partition, uint8_t *is_supported) {
    return enter(&api_t::dnnl_graph_partition_is_supported, [=] {
        if (!is_ours(partition))
            return upstream::call(&api_t::dnnl_graph_partition_is_supported,
                    partition, is_supported);
        return answer(is_supported, uint8_t(1));
    }, partition, is_supported);
}

dnnl_status_t dnnl_graph_partition_get_engine_kind(
        const_dnnl_graph_partition_t partition, dnnl_engine_kind_t *kind) {
    return enter(&api_t::dnnl_graph_partition_get_engine_kind, [=] {
        if (!is_ours(partition))
            return upstream::call(&api_t::dnnl_graph_partition_get_engine_kind,
                    partition, kind);
        return answer(kind, as_partition(partition).engine_kind);
    }, partition, kind);
}

} // extern "C"
