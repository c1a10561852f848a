// One op of Quark's, of one quantized type, as ONNX Runtime's custom op.
#ifndef DNNL_DEQUANT_ORT_CUSTOM_OP_HPP
#define DNNL_DEQUANT_ORT_CUSTOM_OP_HPP

#include "runtime.hpp"
#include "types.hpp"

namespace dnnl_dequant::ort {

// ONNX Runtime makes one schema of those that share a name, and chooses by the
// types of the inputs.
struct custom_op_t : OrtCustomOp {
    custom_op_t(const runtime_t &runtime, const char *of_domain,
            const char *op_type, bool is_quantize, element_t type);

    element_t input_type(size_t i) const {
        return i == 1 || (i == 0 && quantizes)
                       ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT
                       : quantized;
    }
    element_t output_type() const {
        return quantizes ? quantized : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    }

    const OrtApi *api;
    const char *domain, *name;
    bool quantizes;
    element_t quantized;
};

// The custom op's InferOutputShapeFn: y has the shape of x.
OrtStatus *ORT_API_CALL infer_shape(
        const OrtCustomOp *op, OrtShapeInferContext *context) noexcept;

} // namespace dnnl_dequant::ort

#endif
