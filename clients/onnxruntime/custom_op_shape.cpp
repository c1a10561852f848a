// Shape inference of Quark's ops.
#include <memory>
#include <vector>

#include "custom_op.hpp"
#include "status.hpp"

namespace dnnl_dequant::ort {

namespace {

// A shape inference asks this. One op's function serves all that share its
// name, so types come from the node.
struct inference_t {
    const OrtApi &api;
    OrtShapeInferContext *context;

    // The context owns it.
    const OrtTensorTypeAndShapeInfo *input(size_t i) const {
        OrtTensorTypeAndShapeInfo *info = nullptr;
        check(api, api.ShapeInferContext_GetInputTypeShape(context, i, &info));
        return info;
    }
    element_t output_type(bool is_quantize) const {
        if (!is_quantize) return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
        size_t count = 0;
        check(api, api.ShapeInferContext_GetInputCount(context, &count));
        element_t type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
        if (count > 2) check(api, api.GetTensorElementType(input(2), &type));
        return type;
    }
};

void set_shape_of_y(const inference_t &inference, element_t type) {
    const OrtApi &api = inference.api;
    const OrtTensorTypeAndShapeInfo *x = inference.input(0);
    size_t rank = 0;
    check(api, api.GetDimensionsCount(x, &rank));
    dims_t dims(rank);
    std::vector<const char *> names(rank);
    check(api, api.GetDimensions(x, dims.data(), rank));
    check(api, api.GetSymbolicDimensions(x, names.data(), rank));
    OrtTensorTypeAndShapeInfo *y = nullptr;
    check(api, api.CreateTensorTypeAndShapeInfo(&y));
    const std::unique_ptr<OrtTensorTypeAndShapeInfo,
            decltype(api.ReleaseTensorTypeAndShapeInfo)>
            owner(y, api.ReleaseTensorTypeAndShapeInfo);
    check(api, api.SetTensorElementType(y, type));
    check(api, api.SetDimensions(y, dims.data(), rank));
    check(api, api.SetSymbolicDimensions(y, names.data(), rank));
    check(api,
            api.ShapeInferContext_SetOutputTypeShape(inference.context, 0, y));
}

} // namespace

OrtStatus *ORT_API_CALL infer_shape(
        const OrtCustomOp *op, OrtShapeInferContext *context) noexcept {
    const auto &self = *static_cast<const custom_op_t *>(op);
    return guarded(*self.api, [&] {
        const inference_t inference {*self.api, context};
        set_shape_of_y(inference, inference.output_type(self.quantizes));
    });
}

} // namespace dnnl_dequant::ort
