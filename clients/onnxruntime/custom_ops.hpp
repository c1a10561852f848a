// Quark's ops for sessions without the provider: schema and kernels.
#ifndef DNNL_DEQUANT_ORT_CUSTOM_OPS_HPP
#define DNNL_DEQUANT_ORT_CUSTOM_OPS_HPP

#include "runtime.hpp"

namespace dnnl_dequant::ort {

// Adds com.amd.quark and com.vai.quantize with their Q and DQ ops.
void register_custom_ops(const runtime_t &runtime, OrtSessionOptions &options);

} // namespace dnnl_dequant::ort

#endif
