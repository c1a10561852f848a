// Makes the provider for sessions that ask for it.
#ifndef DNNL_DEQUANT_ORT_FACTORY_HPP
#define DNNL_DEQUANT_ORT_FACTORY_HPP

#include "custom_ops.hpp"

namespace dnnl_dequant::ort {

class factory_t : public OrtEpFactory {
public:
    explicit factory_t(const runtime_t &runtime);
    const OrtApi &api() const { return *runtime_.api; }
    const custom_op_domains_t &custom_ops() const { return custom_ops_; }

private:
    static OrtStatus *ORT_API_CALL get_supported_devices(OrtEpFactory *self,
            const OrtHardwareDevice *const *devices, size_t count,
            OrtEpDevice **supported, size_t most,
            size_t *supported_count) noexcept;
    static OrtStatus *ORT_API_CALL create_ep(OrtEpFactory *self,
            const OrtHardwareDevice *const *devices,
            const OrtKeyValuePairs *const *metadata, size_t count,
            const OrtSessionOptions *options, const OrtLogger *logger,
            OrtEp **ep) noexcept;

    runtime_t runtime_;
    custom_op_domains_t custom_ops_;
};

} // namespace dnnl_dequant::ort

#endif
