// dnnl_graph_op_*: oneDNN's op, and our record of it.

#include "abi/boundary.hpp"
#include "base/growth.hpp"
#include "graph/placeholder.hpp"
#include "graph/records.hpp"

using namespace dnnl_dequant;
using namespace dnnl_dequant::abi;

namespace {

// Sets an attribute of the record. An extension kind is a Wildcard to oneDNN,
// which refuses any attribute of it, so only the record has it.
template <typename F, typename Make, typename... Args>
dnnl_status_t set_attribute(F api_t::*real, const Make &make,
        dnnl_graph_op_t op, dnnl_graph_op_attr_t name, Args... args) {
    const auto record = records().ops.find(op);
    if (record == nullptr) return upstream::call(real, op, name, args...);
    // Memory may run out before oneDNN's op changes, not after.
    decltype(record->attributes) made {{static_cast<int>(name), make()}};
    dnnl_status_t status = dnnl_success;
    if (!is_extension_kind(record->kind))
        status = upstream::call(real, op, name, args...);
    if (status != dnnl_success) return status;
    record->attributes.erase(static_cast<int>(name));
    record->attributes.merge(made);
    return status;
}

using tensors_t = std::vector<logical_tensor_t>;

// Adds a tensor to oneDNN's op and to one of the lists of the record.
template <typename F>
dnnl_status_t add_tensor(F api_t::*real, tensors_t op_record_t::*list,
        dnnl_graph_op_t op, const logical_tensor_t *tensor) {
    const auto record = records().ops.find(op);
    // Memory may run out before oneDNN's op changes, not after.
    if (record) make_room_for_one((*record.*list));
    const dnnl_status_t status = upstream::call(real, op, tensor);
    if (status == dnnl_success && record) (*record.*list).push_back(*tensor);
    return status;
}

template <typename T, typename V>
std::vector<T> copied(const V *values, size_t count) {
    return std::vector<T>(values, values + count);
}

} // namespace

extern "C" {

dnnl_status_t dnnl_graph_op_create(dnnl_graph_op_t *op, size_t id,
        dnnl_graph_op_kind_t kind, const char *verbose_name) {
    return enter(&api_t::dnnl_graph_op_create, [=] {
        const bool extension = is_extension_kind(kind);
        const dnnl_status_t status = upstream::call(
                &api_t::dnnl_graph_op_create, op, id,
                extension ? dnnl_graph_op_wildcard : kind, verbose_name);
        if (status != dnnl_success) return status;
        complete(op, &api_t::dnnl_graph_op_destroy, [=] {
            auto record = std::make_shared<op_record_t>();
            record->id = id;
            record->kind = kind;
            record->name = verbose_name ? verbose_name : "";
            records().ops.insert(*op, std::move(record));
        });
        return status;
    }, op, id, kind, verbose_name);
}

dnnl_status_t dnnl_graph_op_destroy(dnnl_graph_op_t op) {
    return enter(&api_t::dnnl_graph_op_destroy, [=] {
        records().ops.erase(op);
        return upstream::call(&api_t::dnnl_graph_op_destroy, op);
    }, op);
}

dnnl_status_t dnnl_graph_op_add_input(
        dnnl_graph_op_t op, const dnnl_graph_logical_tensor_t *input) {
    return enter(&api_t::dnnl_graph_op_add_input, [=] {
        return add_tensor(&api_t::dnnl_graph_op_add_input, &op_record_t::inputs,
                op, input);
    }, op, input);
}

dnnl_status_t dnnl_graph_op_add_output(
        dnnl_graph_op_t op, const dnnl_graph_logical_tensor_t *output) {
    return enter(&api_t::dnnl_graph_op_add_output, [=] {
        return add_tensor(&api_t::dnnl_graph_op_add_output,
                &op_record_t::outputs, op, output);
    }, op, output);
}

dnnl_status_t dnnl_graph_op_set_attr_f32(dnnl_graph_op_t op,
        dnnl_graph_op_attr_t name, const float *value, size_t value_len) {
    return enter(&api_t::dnnl_graph_op_set_attr_f32, [=] {
        if (op == nullptr || value == nullptr) return dnnl_invalid_arguments;
        return set_attribute(&api_t::dnnl_graph_op_set_attr_f32, [=] {
            return copied<float>(value, value_len);
        }, op, name, value, value_len);
    }, op, name, value, value_len);
}

dnnl_status_t dnnl_graph_op_set_attr_bool(dnnl_graph_op_t op,
        dnnl_graph_op_attr_t name, const uint8_t *value, size_t value_len) {
    return enter(&api_t::dnnl_graph_op_set_attr_bool, [=] {
        if (op == nullptr || value == nullptr) return dnnl_invalid_arguments;
        return set_attribute(&api_t::dnnl_graph_op_set_attr_bool, [=] {
            return copied<uint8_t>(value, value_len);
        }, op, name, value, value_len);
    }, op, name, value, value_len);
}

dnnl_status_t dnnl_graph_op_set_attr_s64(dnnl_graph_op_t op,
        dnnl_graph_op_attr_t name, const int64_t *value, size_t value_len) {
    return enter(&api_t::dnnl_graph_op_set_attr_s64, [=] {
        if (op == nullptr || value == nullptr) return dnnl_invalid_arguments;
        return set_attribute(&api_t::dnnl_graph_op_set_attr_s64, [=] {
            return copied<int64_t>(value, value_len);
        }, op, name, value, value_len);
    }, op, name, value, value_len);
}

dnnl_status_t dnnl_graph_op_set_attr_str(dnnl_graph_op_t op,
        dnnl_graph_op_attr_t name, const char *value, size_t value_len) {
    return enter(&api_t::dnnl_graph_op_set_attr_str, [=] {
        if (op == nullptr || value == nullptr) return dnnl_invalid_arguments;
        return set_attribute(&api_t::dnnl_graph_op_set_attr_str,
                [=] { return std::string(value); }, op, name, value, value_len);
    }, op, name, value, value_len);
}

dnnl_status_t dnnl_graph_op_get_kind(
        const_dnnl_graph_op_t op, dnnl_graph_op_kind_t *kind) {
    return enter(&api_t::dnnl_graph_op_get_kind, [=] {
        const dnnl_status_t status
                = upstream::call(&api_t::dnnl_graph_op_get_kind, op, kind);
        if (status != dnnl_success) return status;
        if (const auto record = records().ops.find(op))
            *kind = static_cast<dnnl_graph_op_kind_t>(record->kind);
        return status;
    }, op, kind);
}

} // extern "C"
