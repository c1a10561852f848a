#include "custom_ops.hpp"

#include <deque>
#include <mutex>
#include <vector>

#include "custom_op.hpp"
#include "status.hpp"

namespace dnnl_dequant::ort {

namespace {

// The quantized types of both ops; an op without a zero point has the first.
const element_t quantized_types[] = {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16};

struct domain_t {
    const char *name, *dequantize, *quantize;
};

const domain_t domains[] = {
        {"com.amd.quark", "ExtendedDequantizeLinear", "ExtendedQuantizeLinear"},
        {"com.vai.quantize", "VitisDequantizeLinear", "VitisQuantizeLinear"}};

// Sessions use domains and ops as long as they live, so both live as long as
// the process: made once, by the first session.
struct registered_t {
    const OrtApi *api;
    std::vector<OrtCustomOpDomain *> domains;
};

std::mutex registered_mutex;
std::deque<custom_op_t> ops;
std::deque<registered_t> registered;

registered_t make_domains(const runtime_t &runtime) {
    registered_t result {runtime.api, {}};
    for (const domain_t &row : domains) {
        OrtCustomOpDomain *domain = nullptr;
        check(*runtime.api,
                runtime.api->CreateCustomOpDomain(row.name, &domain));
        for (const bool quantizes : {false, true})
            for (const element_t type : quantized_types) {
                ops.emplace_back(runtime, row.name,
                        quantizes ? row.quantize : row.dequantize, quantizes,
                        type);
                check(*runtime.api,
                        runtime.api->CustomOpDomain_Add(domain, &ops.back()));
            }
        result.domains.push_back(domain);
    }
    return result;
}

const registered_t &domains_for(const runtime_t &runtime) {
    for (const registered_t &known : registered)
        if (known.api == runtime.api) return known;
    registered.push_back(make_domains(runtime));
    return registered.back();
}

} // namespace

void register_custom_ops(const runtime_t &runtime, OrtSessionOptions &options) {
    const std::lock_guard<std::mutex> lock(registered_mutex);
    for (OrtCustomOpDomain *domain : domains_for(runtime).domains)
        check(*runtime.api, runtime.api->AddCustomOpDomain(&options, domain));
}

} // namespace dnnl_dequant::ort
