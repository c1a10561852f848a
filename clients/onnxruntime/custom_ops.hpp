// Quark's ops, schema and kernels, for sessions with and without the provider.
#ifndef DNNL_DEQUANT_ORT_CUSTOM_OPS_HPP
#define DNNL_DEQUANT_ORT_CUSTOM_OPS_HPP

#include <deque>
#include <memory>
#include <vector>

#include "custom_op.hpp"

namespace dnnl_dequant::ort {

// com.amd.quark and com.vai.quantize with their Q and DQ ops.
class custom_op_domains_t {
public:
    explicit custom_op_domains_t(const runtime_t &runtime);
    const OrtApi &api() const { return api_; }
    std::vector<OrtCustomOpDomain *> domains() const;

private:
    using owner_t = std::unique_ptr<OrtCustomOpDomain,
            decltype(OrtApi::ReleaseCustomOpDomain)>;

    const OrtApi &api_;
    // deque: domains hold addresses of its elements
    std::deque<custom_op_t> ops_;
    std::vector<owner_t> domains_;
};

// Adds com.amd.quark and com.vai.quantize with their Q and DQ ops.
void register_custom_ops(const runtime_t &runtime, OrtSessionOptions &options);

} // namespace dnnl_dequant::ort

#endif
