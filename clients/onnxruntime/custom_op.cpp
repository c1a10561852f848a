#include "custom_op.hpp"

#include <memory>
#include <string>
#include <vector>

#include "kernel.hpp"
#include "status.hpp"

namespace dnnl_dequant::ort {

namespace {

const custom_op_t &of(const OrtCustomOp *op) {
    return *static_cast<const custom_op_t *>(op);
}

bool has_zero_point(const OrtApi &api, const OrtKernelInfo *info) {
    size_t count = 0, size = 0;
    check(api, api.KernelInfo_GetInputCount(info, &count));
    if (count < 3) return false;
    check(api, api.KernelInfo_GetInputName(info, 2, nullptr, &size));
    // An absent input has an empty name; the final zero counts.
    return size > 1;
}

void set_value(model_t &model, const char *name, element_t element,
        std::vector<const value_t *> &list) {
    value_t &value = model.value(name);
    value.name = name;
    value.element = element;
    list.push_back(&value);
}

// A model of this node alone.
std::shared_ptr<kernel_t> make_kernel(
        const custom_op_t &op, const OrtApi &api, const OrtKernelInfo *info) {
    auto model = std::make_shared<model_t>();
    node_t &node = model->add_node();
    node.op_type = op.name;
    node.domain = op.domain;
    set_value(*model, "x", op.input_type(0), node.inputs);
    set_value(*model, "scale", op.input_type(1), node.inputs);
    if (has_zero_point(api, info))
        set_value(*model, "zero_point", op.input_type(2), node.inputs);
    set_value(*model, "y", op.output_type(), node.outputs);
    int64_t axis = 1;
    OrtStatus *status = api.KernelInfoGetAttribute_int64(info, "axis", &axis);
    if (status != nullptr) api.ReleaseStatus(status);
    node.ints["axis"] = axis;
    claim_t claim;
    claim.form = &quantization_form;
    claim.nodes = {&node};
    kernel_ports_t ports;
    ports.inputs = node.inputs;
    ports.outputs = node.outputs;
    return std::make_shared<kernel_t>(api, model, claim, ports, settings_t(),
            std::make_shared<threads_t>());
}

struct custom_kernel_t {
    const OrtApi &api;
    std::shared_ptr<kernel_t> kernel;
};

OrtStatus *ORT_API_CALL create_kernel(const OrtCustomOp *op, const OrtApi *api,
        const OrtKernelInfo *info, void **kernel) noexcept {
    return guarded(*api, [&] {
        *kernel = new custom_kernel_t {*api, make_kernel(of(op), *api, info)};
    });
}

OrtStatus *ORT_API_CALL compute(
        void *kernel, OrtKernelContext *context) noexcept {
    auto &self = *static_cast<custom_kernel_t *>(kernel);
    return guarded(self.api, [&] { self.kernel->compute(context); });
}

void ORT_API_CALL destroy(void *kernel) noexcept {
    delete static_cast<custom_kernel_t *>(kernel);
}

void describe_inputs(OrtCustomOp &op) {
    op.GetInputTypeCount = [](const OrtCustomOp *) -> size_t { return 3; };
    op.GetInputType = [](const OrtCustomOp *self, size_t i) {
        return of(self).input_type(i);
    };
    op.GetInputCharacteristic = [](const OrtCustomOp *, size_t i) {
        return i == 2 ? INPUT_OUTPUT_OPTIONAL : INPUT_OUTPUT_REQUIRED;
    };
    op.GetInputMemoryType
            = [](const OrtCustomOp *, size_t) { return OrtMemTypeDefault; };
}

void describe_output(OrtCustomOp &op) {
    op.GetOutputTypeCount = [](const OrtCustomOp *) -> size_t { return 1; };
    op.GetOutputType = [](const OrtCustomOp *self, size_t) {
        return of(self).output_type();
    };
    op.GetOutputCharacteristic
            = [](const OrtCustomOp *, size_t) { return INPUT_OUTPUT_REQUIRED; };
}

void describe_variadic(OrtCustomOp &op) {
    const auto one = [](const OrtCustomOp *) -> int { return 1; };
    op.GetVariadicInputMinArity = one;
    op.GetVariadicInputHomogeneity = one;
    op.GetVariadicOutputMinArity = one;
    op.GetVariadicOutputHomogeneity = one;
    op.GetStartVersion = one;
    op.GetEndVersion = one;
}

} // namespace

custom_op_t::custom_op_t(const runtime_t &runtime, const char *of_domain,
        const char *op_type, bool is_quantize, element_t type)
    : OrtCustomOp {}
    , api(runtime.api)
    , domain(of_domain)
    , name(op_type)
    , quantizes(is_quantize)
    , quantized(type) {
    version = runtime.version;
    GetName = [](const OrtCustomOp *self) { return of(self).name; };
    GetExecutionProviderType
            = [](const OrtCustomOp *) -> const char * { return nullptr; };
    describe_inputs(*this);
    describe_output(*this);
    describe_variadic(*this);
    CreateKernelV2 = create_kernel;
    KernelComputeV2 = compute;
    KernelDestroy = destroy;
    InferOutputShapeFn = infer_shape;
}

} // namespace dnnl_dequant::ort
