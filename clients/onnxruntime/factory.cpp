#include "factory.hpp"

#include <algorithm>

#include "dnnl_dequant/dnnl_dequant.h"
#include "provider.hpp"
#include "settings.hpp"
#include "status.hpp"

namespace dnnl_dequant::ort {

namespace {

const char *ORT_API_CALL get_name(const OrtEpFactory *) noexcept {
    return provider_name;
}

const char *ORT_API_CALL get_vendor(const OrtEpFactory *) noexcept {
    return "dnnl_dequant";
}

// No vendor of hardware: it runs on any CPU.
uint32_t ORT_API_CALL get_vendor_id(const OrtEpFactory *) noexcept {
    return 0;
}

const char *ORT_API_CALL get_version(const OrtEpFactory *) noexcept {
    return dnnl_dequant_version();
}

void ORT_API_CALL release_ep(OrtEpFactory *, OrtEp *ep) noexcept {
    delete static_cast<provider_t *>(ep);
}

// null: ONNX Runtime's own for the CPU
OrtStatus *ORT_API_CALL create_allocator(OrtEpFactory *, const OrtMemoryInfo *,
        const OrtKeyValuePairs *, OrtAllocator **allocator) noexcept {
    *allocator = nullptr;
    return nullptr;
}

void ORT_API_CALL release_allocator(OrtEpFactory *, OrtAllocator *) noexcept {}

OrtStatus *ORT_API_CALL create_data_transfer(
        OrtEpFactory *, OrtDataTransferImpl **transfer) noexcept {
    *transfer = nullptr;
    return nullptr;
}

bool ORT_API_CALL is_stream_aware(const OrtEpFactory *) noexcept {
    return false;
}

#if ORT_API_VERSION >= 24
const factory_t &of(const OrtEpFactory *self) {
    return *static_cast<const factory_t *>(self);
}

OrtStatus *ORT_API_CALL count_domains(
        OrtEpFactory *self, size_t *count) noexcept {
    return guarded(of(self).api(),
            [&] { *count = of(self).custom_ops().domains().size(); });
}

OrtStatus *ORT_API_CALL get_domains(OrtEpFactory *self,
        OrtCustomOpDomain **domains, size_t count) noexcept {
    return guarded(of(self).api(), [&] {
        const auto own = of(self).custom_ops().domains();
        if (count != own.size())
            throw failure_t(
                    std::string(provider_name) + " has "
                            + std::to_string(own.size()) + " domains of ops; "
                            + std::to_string(count) + " were asked for.",
                    ORT_INVALID_ARGUMENT);
        std::copy(own.begin(), own.end(), domains);
    });
}
#endif

} // namespace

factory_t::factory_t(const runtime_t &runtime)
    : OrtEpFactory {}
    , runtime_(runtime)
    , custom_ops_(runtime) {
    ort_version_supported = runtime.version;
    GetName = get_name;
    GetVendor = get_vendor;
    GetVendorId = get_vendor_id;
    GetVersion = get_version;
    GetSupportedDevices = get_supported_devices;
    CreateEp = create_ep;
    ReleaseEp = release_ep;
    CreateAllocator = create_allocator;
    ReleaseAllocator = release_allocator;
    CreateDataTransfer = create_data_transfer;
    IsStreamAware = is_stream_aware;
#if ORT_API_VERSION >= 24
    // An older ONNX Runtime does not read these.
    GetNumCustomOpDomains = count_domains;
    GetCustomOpDomains = get_domains;
#endif
}

OrtStatus *ORT_API_CALL factory_t::get_supported_devices(OrtEpFactory *self,
        const OrtHardwareDevice *const *devices, size_t count,
        OrtEpDevice **supported, size_t most,
        size_t *supported_count) noexcept {
    auto &factory = *static_cast<factory_t *>(self);
    return guarded(factory.api(), [&] {
        *supported_count = 0;
        for (size_t i = 0; i < count && *supported_count < most; ++i) {
            if (factory.api().HardwareDevice_Type(devices[i])
                    != OrtHardwareDeviceType_CPU)
                continue;
            check(factory.api(),
                    factory.runtime_.ep_api->CreateEpDevice(self, devices[i],
                            nullptr, nullptr, &supported[*supported_count]));
            ++*supported_count;
        }
    });
}

OrtStatus *ORT_API_CALL factory_t::create_ep(OrtEpFactory *self,
        const OrtHardwareDevice *const *, const OrtKeyValuePairs *const *,
        size_t count, const OrtSessionOptions *options, const OrtLogger *logger,
        OrtEp **ep) noexcept {
    auto &factory = *static_cast<factory_t *>(self);
    return guarded(factory.api(), [&] {
        *ep = nullptr;
        if (count != 1)
            throw failure_t(std::string(provider_name)
                                    + " runs on one CPU device; "
                                    + std::to_string(count) + " were given.",
                    ORT_INVALID_ARGUMENT);
        *ep = new provider_t(factory.runtime_,
                read_settings(factory.api(), *options), *logger);
    });
}

} // namespace dnnl_dequant::ort
