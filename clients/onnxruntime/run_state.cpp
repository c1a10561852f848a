#include "run_state.hpp"

#include <algorithm>

#include "status.hpp"

namespace dnnl_dequant::ort {

namespace {

constexpr uintptr_t alignment = 64;
// A decoder meets a new shape each step; those of long ago are dropped.
constexpr size_t most_known = 8;
// Repacking takes as long as a few runs.
constexpr size_t frequent = 4;

uint8_t *aligned(std::vector<uint8_t> &bytes) {
    const auto first = reinterpret_cast<uintptr_t>(bytes.data());
    return bytes.data() + (alignment - first % alignment) % alignment;
}

} // namespace

instance_t::instance_t(
        std::shared_ptr<const program_t> program, const dnnl::engine &engine)
    : program_(std::move(program))
    , scratch_(program_->scratch_bytes) {
    for (const step_t &step : program_->steps) {
        call_t call;
        call.compiled = step.compiled.get();
        for (const argument_t &argument : step.inputs)
            call.inputs.push_back(add(argument, engine));
        for (const argument_t &argument : step.outputs)
            call.outputs.push_back(add(argument, engine));
        calls_.push_back(std::move(call));
    }
}

const_dnnl_graph_tensor_t instance_t::add(
        const argument_t &argument, const dnnl::engine &engine) {
    void *data = nullptr;
    if (argument.place == place_t::scratch)
        data = aligned(scratch_) + argument.index - alignment;
    else if (argument.place == place_t::owned)
        data = const_cast<uint8_t *>(argument.owned->data());
    tensors_.emplace_back(argument.tensor, engine, data);
    const dnnl_graph_tensor_t tensor = tensors_.back().get();
    if (argument.place == place_t::input || argument.place == place_t::output)
        bound_.push_back({tensor, argument.place, argument.index, nullptr});
    return tensor;
}

void instance_t::execute(
        const dnnl::stream &stream, void *const *inputs, void *const *outputs) {
    for (bound_tensor_t &bound : bound_) {
        void *const data
                = (bound.place == place_t::input ? inputs
                                                 : outputs)[bound.index];
        // Constants stay where they are, and often the others do.
        if (data == bound.data) continue;
        dnnl_graph_tensor_set_data_handle(bound.tensor, data);
        bound.data = data;
    }
    for (call_t &call : calls_)
        dnnl::error::wrap_c_api(
                dnnl_graph_compiled_partition_execute(call.compiled,
                        stream.get(), call.inputs.size(), call.inputs.data(),
                        call.outputs.size(), call.outputs.data()),
                "dnnl_dequant: a compiled partition could not be executed");
}

run_state_t::run_state_t(const OrtApi &api, const kernel_ports_t &ports,
        const dnnl::engine &engine)
    : api_(api)
    , ports_(ports)
    , engine_(engine)
    , stream_(engine)
    , shapes_(ports.inputs.size())
    , inputs_(ports.inputs.size())
    , outputs_(ports.outputs.size()) {
    for (size_t i = 0; i < shapes_.size(); ++i)
        if (ports_.inputs[i] != nullptr) shapes_[i] = ports_.inputs[i]->dims;
}

void run_state_t::read_shape(const OrtValue *value, dims_t &dims) {
    OrtTensorTypeAndShapeInfo *info = nullptr;
    check(api_, api_.GetTensorTypeAndShape(value, &info));
    size_t rank = 0;
    OrtStatus *status = api_.GetDimensionsCount(info, &rank);
    dims.resize(rank);
    if (status == nullptr) status = api_.GetDimensions(info, dims.data(), rank);
    api_.ReleaseTensorTypeAndShapeInfo(info);
    check(api_, status);
}

// A model may say what is not so of its values, but for constants: shapes are
// read.
void run_state_t::read_inputs(OrtKernelContext *context) {
    key_.clear();
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const value_t *port = ports_.inputs[i];
        // The session keeps its constants where they are.
        if (port == nullptr || (port->is_constant && inputs_[i] != nullptr))
            continue;
        const OrtValue *value = nullptr;
        check(api_, api_.KernelContext_GetInput(context, i, &value));
        if (value == nullptr)
            throw failure_t(
                    "dnnl_dequant: input '" + port->name + "' is absent.");
        check(api_, api_.GetTensorMutableData(
                            const_cast<OrtValue *>(value), &inputs_[i]));
        if (port->is_constant) continue;
        read_shape(value, shapes_[i]);
        key_.push_back(static_cast<int64_t>(shapes_[i].size()));
        key_.insert(key_.end(), shapes_[i].begin(), shapes_[i].end());
    }
}

instance_t &run_state_t::instance(const find_program_t &find) {
    const auto found = std::find_if(known_.begin(), known_.end(),
            [&](const known_t &known) { return known.key == key_; });
    if (found != known_.end()) {
        std::rotate(known_.begin(), found, found + 1);
    } else {
        known_t known;
        known.key = key_;
        known.instance
                = std::make_unique<instance_t>(find(shapes_, false), engine_);
        if (known_.size() == most_known) known_.pop_back();
        known_.insert(known_.begin(), std::move(known));
    }
    known_t &known = known_.front();
    if (++known.runs == frequent)
        known.instance
                = std::make_unique<instance_t>(find(shapes_, true), engine_);
    return *known.instance;
}

void run_state_t::make_outputs(
        OrtKernelContext *context, const program_t &program) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
        const dims_t &dims = program.output_dims[i];
        OrtValue *value = nullptr;
        check(api_, api_.KernelContext_GetOutput(
                            context, i, dims.data(), dims.size(), &value));
        if (value == nullptr)
            throw failure_t("dnnl_dequant: ONNX Runtime gave no output.");
        check(api_, api_.GetTensorMutableData(value, &outputs_[i]));
    }
}

void run_state_t::run(OrtKernelContext *context, const find_program_t &find) {
    read_inputs(context);
    instance_t &instance = this->instance(find);
    make_outputs(context, instance.program());
    instance.execute(stream_, inputs_.data(), outputs_.data());
}

} // namespace dnnl_dequant::ort
