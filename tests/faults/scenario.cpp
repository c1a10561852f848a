#include "faults/scenario.hpp"

#include <algorithm>
#include <cstring>

#include "dnnl_dequant/dnnl_dequant.h"

namespace dnnl_dequant {
namespace faults {

namespace {

constexpr unsigned char untouched = 0xa5;

} // namespace

lt_t dense(size_t id, int type, const std::vector<dnnl_dim_t> &dims) {
    lt_t lt;
    std::memset(&lt, 0, sizeof(lt));
    lt.id = id;
    lt.data_type = static_cast<dnnl_data_type_t>(type);
    lt.ndims = static_cast<int>(dims.size());
    lt.layout_type = dnnl_graph_layout_type_strided;
    dnnl_dim_t stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
        lt.dims[d] = dims[d];
        lt.layout.strides[d] = stride;
        stride *= dims[d];
    }
    return lt;
}

dnnl_engine_t engine() {
    static dnnl_engine_t made = [] {
        dnnl_engine_t result = nullptr;
        dnnl_engine_create(&result, dnnl_cpu, 0);
        return result;
    }();
    return made;
}

dnnl_stream_t stream() {
    static dnnl_stream_t made = [] {
        dnnl_stream_t result = nullptr;
        dnnl_stream_create(&result, engine(), 0);
        return result;
    }();
    return made;
}

void clear_caches() {
    int capacity = 0;
    dnnl_graph_get_compiled_partition_cache_capacity(&capacity);
    dnnl_graph_set_compiled_partition_cache_capacity(0);
    dnnl_graph_set_compiled_partition_cache_capacity(capacity);
}

attempt_t::attempt_t(const scenario_t &scenario)
    : attempt_t(scenario, nullptr, nullptr) {}

attempt_t::attempt_t(
        const scenario_t &scenario, dnnl_engine_t engine, dnnl_stream_t stream)
    : scenario_(scenario)
    , engine_(engine ? engine : faults::engine())
    , stream_(stream ? stream : faults::stream())
    , allocated_(engine != nullptr) {
    if (scenario.constant_capacity > 0)
        dnnl_graph_set_constant_tensor_cache_capacity(
                dnnl_cpu, scenario.constant_capacity);
    // Enough for any of them, whatever its type.
    for (const lt_t &lt : scenario.tensors) {
        size_t elements = 1;
        for (int d = 0; d < lt.ndims; ++d)
            elements *= static_cast<size_t>(lt.dims[d]);
        buffers_.emplace_back(elements * 4 + 64, untouched);
        auto &buffer = buffers_.back();
        if (lt.id == scenario.output) continue;
        for (size_t byte = 0; byte < buffer.size(); byte += 4)
            std::memcpy(&buffer[byte], &scenario.fill, 4);
    }
    tensors_.assign(scenario.inputs.size() + 1, nullptr);
    ops_.reserve(scenario.ops.size());
}

attempt_t::~attempt_t() {
    for (const dnnl_graph_tensor_t tensor : tensors_)
        dnnl_graph_tensor_destroy(tensor);
    dnnl_graph_compiled_partition_destroy(compiled_);
    dnnl_graph_partition_destroy(partition_);
    dnnl_graph_graph_destroy(graph_);
    for (const dnnl_graph_op_t op : ops_)
        dnnl_graph_op_destroy(op);
}

bool attempt_t::make_ops() {
    for (const op_spec_t &spec : scenario_.ops) {
        ops_.push_back(nullptr);
        dnnl_graph_op_t &op = ops_.back();
        if (!create("op_create", dnnl_graph_op_create, op, ops_.size(),
                    static_cast<dnnl_graph_op_kind_t>(spec.kind),
                    "an op whose name is longer than a short string"))
            return false;
        if (spec.qtype
                && !call("op_set_attr_str", dnnl_graph_op_set_attr_str, op,
                        dnnl_graph_op_attr_qtype, spec.qtype,
                        std::strlen(spec.qtype)))
            return false;
        if (spec.list_name
                && !call("op_set_attr_s64", dnnl_graph_op_set_attr_s64, op,
                        static_cast<dnnl_graph_op_attr_t>(spec.list_name),
                        spec.list.data(), spec.list.size()))
            return false;
        for (const size_t id : spec.inputs)
            if (!call("op_add_input", dnnl_graph_op_add_input, op,
                        &scenario_.tensors[id]))
                return false;
        for (const size_t id : spec.outputs)
            if (!call("op_add_output", dnnl_graph_op_add_output, op,
                        &scenario_.tensors[id]))
                return false;
    }
    return true;
}

bool attempt_t::make_partition() {
    size_t count = 0;
    if (!create("graph_create", dnnl_graph_graph_create, graph_, dnnl_cpu))
        return false;
    for (const dnnl_graph_op_t op : ops_)
        if (!call("add_op", dnnl_graph_add_op, graph_, op)) return false;
    if (!call("finalize", dnnl_graph_graph_finalize, graph_)
            || !call("filter", dnnl_graph_graph_filter, graph_,
                    dnnl_graph_partition_policy_fusion)
            || !call("get_partition_num", dnnl_graph_graph_get_partition_num,
                    graph_, &count))
        return false;
    last_call_ = "a partition";
    status_ = count == 1 ? dnnl_success : dnnl_runtime_error;
    return count == 1
           && call("get_partitions", dnnl_graph_graph_get_partitions, graph_,
                   size_t(1), &partition_);
}

bool attempt_t::compile() {
    std::vector<const lt_t *> inputs;
    for (const size_t id : scenario_.inputs)
        inputs.push_back(&scenario_.tensors[id]);
    const lt_t *output = &scenario_.tensors[scenario_.output];
    if (!create("compiled_partition_create",
                dnnl_graph_compiled_partition_create, compiled_, partition_)
            || !call("compile", dnnl_graph_partition_compile, partition_,
                    compiled_, inputs.size(), inputs.data(), size_t(1), &output,
                    engine_))
        return false;
    if (!call("impl_info", dnnl_dequant_impl_info, compiled_, &kernel_))
        return false;
    std::strncpy(kernel_name_.data(), kernel_, kernel_name_.size() - 1);
    kernel_ = kernel_name_.data();
    return true;
}

bool attempt_t::make_tensor(size_t position, size_t id) {
    dnnl_graph_tensor_t &made = tensors_[position];
    auto &buffer = buffers_[id];
    void *data = allocated_ ? DNNL_MEMORY_ALLOCATE : buffer.data();
    if (!create("tensor_create", dnnl_graph_tensor_create, made,
                &scenario_.tensors[id], engine_, data))
        return false;
    if (!allocated_) return true;
    size_t bytes = 0;
    if (!call("get_mem_size", dnnl_graph_logical_tensor_get_mem_size,
                &scenario_.tensors[id], &bytes)
            || !call("get_data_handle", dnnl_graph_tensor_get_data_handle, made,
                    &data))
        return false;
    if (data) std::memcpy(data, buffer.data(), bytes);
    return true;
}

bool attempt_t::execute() {
    std::vector<const_dnnl_graph_tensor_t> given;
    auto ids = scenario_.inputs;
    ids.push_back(scenario_.output);
    for (size_t i = 0; i < ids.size(); ++i) {
        if (!make_tensor(i, ids[i])) return false;
        given.push_back(tensors_[i]);
    }
    if (!call("execute", dnnl_graph_compiled_partition_execute, compiled_,
                stream_, given.size() - 1, given.data(), size_t(1),
                &given.back()))
        return false;
    void *dst = nullptr;
    if (allocated_) {
        dnnl_graph_tensor_get_data_handle(tensors_.back(), &dst);
        std::memcpy(buffers_[scenario_.output].data(), dst,
                scenario_.expected.size());
    }
    return true;
}

dnnl_status_t attempt_t::run() {
    if (make_ops() && make_partition() && compile()) execute();
    return status_;
}

bool attempt_t::dst_is_right() const {
    const auto &dst = buffers_[scenario_.output];
    if (status_ == dnnl_success)
        return std::equal(scenario_.expected.begin(), scenario_.expected.end(),
                dst.begin());
    return std::all_of(dst.begin(), dst.end(),
            [](unsigned char byte) { return byte == untouched; });
}

} // namespace faults
} // namespace dnnl_dequant
