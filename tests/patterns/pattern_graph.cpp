#include "patterns/pattern_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "graph/logical_tensor.hpp"
#include "graph/placeholder.hpp"
#include "oneapi/dnnl/dnnl_graph.h"
#include "partition/split.hpp"
#include "pipeline.hpp"
#include "support/dequantize_case.hpp"
#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

// Before anything is logged: the kinds of lines are read once.
const int dispatch_is_logged = setenv("ONEDNN_VERBOSE", "dispatch", 1);

struct op_deleter_t {
    void operator()(dnnl_graph_op_t op) const { dnnl_graph_op_destroy(op); }
};
using real_op_t = std::unique_ptr<dnnl_graph_op, op_deleter_t>;

void check(dnnl_status_t status) {
    if (status != dnnl_success) throw std::runtime_error("oneDNN refused");
}

void set_attribute(dnnl_graph_op_t op, int name, const attribute_t &attribute) {
    const auto at = static_cast<dnnl_graph_op_attr_t>(name);
    if (const auto *floats = std::get_if<std::vector<float>>(&attribute))
        check(dnnl_graph_op_set_attr_f32(
                op, at, floats->data(), floats->size()));
    if (const auto *integers = std::get_if<std::vector<int64_t>>(&attribute))
        check(dnnl_graph_op_set_attr_s64(
                op, at, integers->data(), integers->size()));
    if (const auto *flags = std::get_if<std::vector<uint8_t>>(&attribute))
        check(dnnl_graph_op_set_attr_bool(
                op, at, flags->data(), flags->size()));
    if (const auto *word = std::get_if<std::string>(&attribute))
        check(dnnl_graph_op_set_attr_str(op, at, word->c_str(), word->size()));
}

// oneDNN knows no attributes of kinds of ours.
real_op_t real_op_of(const op_record_t &op) {
    const bool extension = is_extension_kind(op.kind);
    dnnl_graph_op_t made = nullptr;
    check(dnnl_graph_op_create(&made, op.id,
            extension ? dnnl_graph_op_wildcard
                      : static_cast<dnnl_graph_op_kind_t>(op.kind),
            op.name.c_str()));
    real_op_t result(made);
    if (!extension)
        for (const auto &[name, attribute] : op.attributes)
            set_attribute(made, name, attribute);
    for (const auto &input : op.inputs)
        check(dnnl_graph_op_add_input(made, &input));
    for (const auto &output : op.outputs)
        check(dnnl_graph_op_add_output(made, &output));
    return result;
}

ids_t ops_of(const listed_t &listed) {
    ids_t ops;
    if (listed.ours) {
        for (const auto &op : listed.ours->ops)
            ops.push_back(op.id);
        return ops;
    }
    size_t count = 0;
    check(dnnl_graph_partition_get_op_num(listed.upstream.get(), &count));
    ops.resize(count);
    check(dnnl_graph_partition_get_ops(
            listed.upstream.get(), count, ops.data()));
    return ops;
}

} // namespace

pattern_graph_t::pattern_graph_t(shapes_t shapes)
    : shapes_(shapes) {
    EXPECT_EQ(dispatch_is_logged, 0);
    check(dnnl_graph_graph_create(&graph_, dnnl_cpu));
    record_.engine_kind = dnnl_cpu;
}

pattern_graph_t::~pattern_graph_t() {
    list_.clear();
    dnnl_graph_graph_destroy(graph_);
}

size_t pattern_graph_t::tensor(data_type_t type, const dims_t &dims) {
    logical_tensor_t tensor {};
    tensor.id = tensors_.size();
    tensor.data_type = static_cast<dnnl_data_type_t>(type);
    set_layout(tensor, dims, support::dense_strides(dims));
    tensors_.push_back(tensor);
    return tensor.id;
}

std::vector<size_t> pattern_graph_t::split(const ids_t &ops) const {
    std::vector<size_t> ids;
    const auto parts = split_partition(record_, graph_scope_t(record_), ops);
    for (const upstream_partition_t &part : parts) {
        size_t id = 0;
        upstream::call(&upstream::api_t::dnnl_graph_partition_get_ops,
                part.get(), size_t(1), &id);
        ids.push_back(id);
    }
    return ids;
}

void pattern_graph_t::set_strides(size_t tensor, const dims_t &strides) {
    set_layout(tensors_[tensor], dims_of(tensors_[tensor]), strides);
}

void pattern_graph_t::add(op_record_t op) {
    op.id = next_op_++;
    op.name = "op" + std::to_string(op.id);
    for (const logical_tensor_t &output : op.outputs)
        given_.insert(output.id);
    for (auto *tensors : {&op.inputs, &op.outputs})
        for (logical_tensor_t &tensor : *tensors)
            if (shapes_ == shapes_t::none
                    || (shapes_ == shapes_t::of_inputs
                            && given_.count(tensor.id) != 0))
                tensor.ndims = -1;
    status_ = add_op(graph_, record_, real_op_of(op).get(), op);
}

size_t pattern_graph_t::op(int kind, const ids_t &inputs, data_type_t type,
        const dims_t &dims, const attributes_t &attributes) {
    op_record_t record;
    record.kind = kind;
    record.attributes = attributes;
    for (const size_t input : inputs)
        record.inputs.push_back(tensors_[input]);
    const size_t output = tensor(type, dims);
    record.outputs.push_back(tensors_[output]);
    add(std::move(record));
    return output;
}

size_t pattern_graph_t::dynamic_quantized(
        size_t x, const attributes_t &attributes) {
    op_record_t record;
    record.kind = dnnl_dequant_op_DynamicQuantizeLinear;
    record.attributes = attributes;
    record.inputs = {tensors_[x]};
    const size_t y = tensor(data_type_t::u8, dims_of(tensors_[x]));
    const size_t scale = tensor(data_type_t::f32, {1});
    const size_t zp = tensor(data_type_t::u8, {1});
    for (const size_t output : {y, scale, zp})
        record.outputs.push_back(tensors_[output]);
    add(std::move(record));
    return y;
}

void pattern_graph_t::end(size_t tensor) {
    op_record_t record;
    record.kind = dnnl_graph_op_end;
    record.inputs = {tensors_[tensor]};
    add(std::move(record));
}

size_t pattern_graph_t::cast(size_t value, data_type_t type) {
    return op(dnnl_graph_op_type_cast, {value}, type, dims_of(tensors_[value]));
}

size_t pattern_graph_t::relu(size_t value) {
    return op(dnnl_graph_op_relu, {value}, type_of(tensors_[value]),
            dims_of(tensors_[value]));
}

size_t pattern_graph_t::clamp(size_t value, float lower, float upper) {
    return op(dnnl_graph_op_clamp, {value}, type_of(tensors_[value]),
            dims_of(tensors_[value]),
            {{dnnl_graph_op_attr_min, std::vector<float> {lower}},
                    {dnnl_graph_op_attr_max, std::vector<float> {upper}}});
}

size_t pattern_graph_t::transpose(size_t value, const dims_t &order) {
    const dims_t from = dims_of(tensors_[value]);
    dims_t dims;
    for (const dim_t d : order)
        dims.push_back(from[static_cast<size_t>(
                d < 0 ? d + static_cast<dim_t>(from.size()) : d)]);
    return op(dnnl_graph_op_static_transpose, {value}, type_of(tensors_[value]),
            dims, {{dnnl_graph_op_attr_order, order}});
}

size_t pattern_graph_t::reshape(size_t value, const dims_t &shape) {
    return op(dnnl_graph_op_static_reshape, {value}, type_of(tensors_[value]),
            shape,
            {{dnnl_graph_op_attr_shape, shape},
                    {dnnl_graph_op_attr_special_zero,
                            std::vector<uint8_t> {0}}});
}

size_t pattern_graph_t::reorder(size_t value) {
    return op(dnnl_graph_op_reorder, {value}, type_of(tensors_[value]),
            dims_of(tensors_[value]));
}

size_t pattern_graph_t::binary(int kind, size_t value, size_t other) {
    return op(kind, {value, other}, type_of(tensors_[value]),
            dims_of(tensors_[value]));
}

size_t pattern_graph_t::dequantized(const dims_t &dims, data_type_t type) {
    const size_t src = tensor(data_type_t::u8, dims);
    const size_t scale = tensor(type, {1});
    return op(dnnl_graph_op_dynamic_dequantize, {src, scale}, type, dims);
}

size_t pattern_graph_t::dequantize_groups(
        size_t src, const dims_t &group_shape) {
    const dims_t dims = dims_of(tensors_[src]);
    dims_t counts;
    for (size_t d = 0; d < dims.size(); ++d)
        counts.push_back((dims[d] + group_shape[d] - 1) / group_shape[d]);
    const size_t scales = tensor(data_type_t::f32, counts);
    return op(dnnl_graph_op_dynamic_dequantize, {src, scales}, data_type_t::f32,
            dims,
            {{dnnl_graph_op_attr_qtype, std::string("per_group")},
                    {dnnl_graph_op_attr_group_shape, group_shape}});
}

parts_t pattern_graph_t::partitions(dnnl_graph_partition_policy_t policy) {
    check(dnnl_graph_graph_finalize(graph_));
    check(dnnl_graph_graph_filter(graph_, policy));
    record_.finalized = true;
    record_.selects = true;
    record_.fusing = policy == dnnl_graph_partition_policy_fusion;
    ::testing::internal::CaptureStdout();
    const dnnl_status_t status = list_partitions(graph_, record_, list_);
    log_ = ::testing::internal::GetCapturedStdout();
    check(status);
    parts_t parts;
    for (const listed_t &listed : list_) {
        std::string text = listed.ours ? "ours:" : "";
        ids_t ops = ops_of(listed);
        std::sort(ops.begin(), ops.end());
        for (const size_t op : ops)
            text += (text.empty() ? "" : " ") + std::to_string(op);
        parts.push_back(text);
    }
    in_order_ = parts;
    // oneDNN's own order is topological, and no more is promised.
    const auto first_op = [](const std::string &part) {
        return std::stoul(part.substr(part.find(':') + 1));
    };
    std::sort(parts.begin(), parts.end(),
            [&](const std::string &a, const std::string &b) {
        return first_op(a) < first_op(b);
    });
    return parts;
}

const partition_t *pattern_graph_t::ours(size_t op) const {
    for (const listed_t &listed : list_) {
        if (!listed.ours) continue;
        const ids_t ops = ops_of(listed);
        if (std::count(ops.begin(), ops.end(), op)) return listed.ours.get();
    }
    return nullptr;
}

lowered_t pattern_graph_t::lowered(size_t op) const {
    const partition_t *partition = ours(op);
    if (partition == nullptr) throw std::runtime_error("not ours");
    auto outputs = tensors_;
    for (logical_tensor_t &output : outputs)
        output.layout_type = dnnl_graph_layout_type_any;
    lowered_t result;
    const result_t done
            = lower(*partition, tensors_, outputs, isa_none, 1, false, result);
    if (!done.ok()) throw std::runtime_error(done.reason);
    return result;
}

bool logs(const pattern_graph_t &g, const std::vector<std::string> &words) {
    std::istringstream lines(g.log());
    for (std::string line; std::getline(lines, line);) {
        const bool all = std::all_of(
                words.begin(), words.end(), [&](const std::string &word) {
            return line.find(word) != std::string::npos;
        });
        if (all && line.find("dequant_backend") != std::string::npos)
            return true;
    }
    return false;
}

} // namespace dnnl_dequant
