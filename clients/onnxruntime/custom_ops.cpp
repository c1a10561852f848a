#include "custom_ops.hpp"

#include <mutex>

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

struct row_t {
    const char *name, *dequantize, *quantize;
};

const row_t rows[] = {
        {"com.amd.quark", "ExtendedDequantizeLinear", "ExtendedQuantizeLinear"},
        {"com.vai.quantize", "VitisDequantizeLinear", "VitisQuantizeLinear"}};

// Sessions use domains and ops as long as they live, so these live as long as
// the process: made once, by the first session.
std::mutex registered_mutex;
std::deque<custom_op_domains_t> registered;

const custom_op_domains_t &domains_for(const runtime_t &runtime) {
    for (const custom_op_domains_t &known : registered)
        if (&known.api() == runtime.api) return known;
    return registered.emplace_back(runtime);
}

} // namespace

custom_op_domains_t::custom_op_domains_t(const runtime_t &runtime)
    : api_(*runtime.api) {
    for (const row_t &row : rows) {
        OrtCustomOpDomain *domain = nullptr;
        check(api_, api_.CreateCustomOpDomain(row.name, &domain));
        domains_.emplace_back(domain, api_.ReleaseCustomOpDomain);
        for (const bool quantizes : {false, true})
            for (const element_t type : quantized_types) {
                ops_.emplace_back(runtime, row.name,
                        quantizes ? row.quantize : row.dequantize, quantizes,
                        type);
                check(api_, api_.CustomOpDomain_Add(domain, &ops_.back()));
            }
    }
}

std::vector<OrtCustomOpDomain *> custom_op_domains_t::domains() const {
    std::vector<OrtCustomOpDomain *> result;
    for (const auto &domain : domains_)
        result.push_back(domain.get());
    return result;
}

void register_custom_ops(const runtime_t &runtime, OrtSessionOptions &options) {
    const std::lock_guard<std::mutex> lock(registered_mutex);
    for (OrtCustomOpDomain *domain : domains_for(runtime).domains())
        check(*runtime.api, runtime.api->AddCustomOpDomain(&options, domain));
}

} // namespace dnnl_dequant::ort
