// The library's exported functions; exports.map has their names.
#include <string>

#include "custom_ops.hpp"
#include "factory.hpp"
#include "status.hpp"

#define DNNL_DEQUANT_ORT_EXPORT \
    extern "C" __attribute__((visibility("default")))

using namespace dnnl_dequant::ort;

DNNL_DEQUANT_ORT_EXPORT OrtStatus *CreateEpFactories(const char *,
        const OrtApiBase *base, const OrtLogger *, OrtEpFactory **factories,
        size_t most, size_t *count) {
    const runtime_t runtime = negotiate(*base, least_provider_api);
    if (runtime.api == nullptr || runtime.ep_api == nullptr)
        return too_old(*base, least_provider_api);
    return guarded(*runtime.api, [&] {
        *count = 0;
        if (most == 0)
            throw failure_t(std::string(provider_name)
                                    + ": there is no room for a factory.",
                    ORT_INVALID_ARGUMENT);
        factories[0] = new factory_t(runtime);
        *count = 1;
    });
}

DNNL_DEQUANT_ORT_EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory) {
    delete static_cast<factory_t *>(factory);
    return nullptr;
}

DNNL_DEQUANT_ORT_EXPORT OrtStatus *RegisterCustomOps(
        OrtSessionOptions *options, const OrtApiBase *base) {
    const runtime_t runtime = negotiate(*base, least_custom_op_api);
    if (runtime.api == nullptr) return too_old(*base, least_custom_op_api);
    return guarded(
            *runtime.api, [&] { register_custom_ops(runtime, *options); });
}
