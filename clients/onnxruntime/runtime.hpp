// The ONNX Runtime that loaded this library. Nothing of it is linked: every
// function comes from the table that it hands in.
#ifndef DNNL_DEQUANT_ORT_RUNTIME_HPP
#define DNNL_DEQUANT_ORT_RUNTIME_HPP

#include <cstdint>

#include "onnxruntime_c_api.h"

namespace dnnl_dequant::ort {

constexpr const char *provider_name = "DnnlDequantExecutionProvider";

// The first API version with plugin providers that compile.
constexpr uint32_t least_provider_api = 23;
// Custom ops need ReadOpAttr and KernelContext_ParallelFor.
constexpr uint32_t least_custom_op_api = 17;

struct runtime_t {
    // null where ONNX Runtime is older than `least`
    const OrtApi *api = nullptr;
    const OrtEpApi *ep_api = nullptr;
    // of the runtime, which may be newer than the headers
    uint32_t minor = 0;
    // what both sides know: goes into every ort_version_supported
    uint32_t version = 0;
};

// Negotiates the newest API version that headers and runtime share.
runtime_t negotiate(const OrtApiBase &base, uint32_t least);

// A status with a sentence for a runtime older than `least`. Every ONNX Runtime
// gives version 1 of its API, which can make a status.
OrtStatus *too_old(const OrtApiBase &base, uint32_t least);

} // namespace dnnl_dequant::ort

#endif
