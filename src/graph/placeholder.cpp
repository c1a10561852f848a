#include "graph/placeholder.hpp"

#include "dnnl_dequant/dnnl_dequant.h"
#include "upstream/api.hpp"

namespace dnnl_dequant {

bool is_extension_kind(int kind) {
    return kind >= dnnl_dequant_op_ExtendedQuantizeLinear
           && kind <= dnnl_dequant_op_DequantizeLinear;
}

namespace {

using upstream::api_t;

// An op without attributes; null where oneDNN refuses it.
std::shared_ptr<dnnl_graph_op> make_op(
        const op_record_t &op, dnnl_graph_op_kind_t kind) {
    dnnl_graph_op_t made = nullptr;
    if (upstream::call(&api_t::dnnl_graph_op_create, &made, op.id, kind,
                op.name.c_str())
            != dnnl_success)
        return nullptr;
    std::shared_ptr<dnnl_graph_op> owner(made, [](dnnl_graph_op_t handle) {
        upstream::call(&api_t::dnnl_graph_op_destroy, handle);
    });
    for (const logical_tensor_t &input : op.inputs)
        if (upstream::call(&api_t::dnnl_graph_op_add_input, made, &input)
                != dnnl_success)
            return nullptr;
    for (const logical_tensor_t &output : op.outputs)
        if (upstream::call(&api_t::dnnl_graph_op_add_output, made, &output)
                != dnnl_success)
            return nullptr;
    return owner;
}

struct attribute_setter_t {
    dnnl_graph_op_t op;
    dnnl_graph_op_attr_t name;

    dnnl_status_t operator()(const std::vector<float> &value) const {
        return upstream::call(&api_t::dnnl_graph_op_set_attr_f32, op, name,
                value.data(), value.size());
    }
    dnnl_status_t operator()(const std::vector<int64_t> &value) const {
        return upstream::call(&api_t::dnnl_graph_op_set_attr_s64, op, name,
                value.data(), value.size());
    }
    dnnl_status_t operator()(const std::vector<uint8_t> &value) const {
        return upstream::call(&api_t::dnnl_graph_op_set_attr_bool, op, name,
                value.data(), value.size());
    }
    dnnl_status_t operator()(const std::string &value) const {
        return upstream::call(&api_t::dnnl_graph_op_set_attr_str, op, name,
                value.c_str(), value.size());
    }
};

} // namespace

std::shared_ptr<dnnl_graph_op> make_placeholder(const op_record_t &op) {
    return make_op(op, dnnl_graph_op_wildcard);
}

std::shared_ptr<dnnl_graph_op> make_copy(const op_record_t &op) {
    auto made = make_op(op, static_cast<dnnl_graph_op_kind_t>(op.kind));
    for (const auto &[name, value] : op.attributes) {
        if (!made) return nullptr;
        const attribute_setter_t set {
                made.get(), static_cast<dnnl_graph_op_attr_t>(name)};
        if (std::visit(set, value) != dnnl_success) return nullptr;
    }
    return made;
}

} // namespace dnnl_dequant
