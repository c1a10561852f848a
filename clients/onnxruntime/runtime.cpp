#include "runtime.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

namespace dnnl_dequant::ort {

namespace {

// "1.23.2" has API version 23.
uint32_t minor_of(const char *version) {
    const char *dot = std::strchr(version, '.');
    if (dot == nullptr) return 0;
    return static_cast<uint32_t>(std::strtoul(dot + 1, nullptr, 10));
}

} // namespace

runtime_t negotiate(const OrtApiBase &base, uint32_t least) {
    runtime_t result;
    result.minor = minor_of(base.GetVersionString());
    result.version = std::min<uint32_t>(ORT_API_VERSION, result.minor);
    if (result.version < least) return result;
    result.api = base.GetApi(result.version);
    if (result.api != nullptr && result.version >= least_provider_api)
        result.ep_api = result.api->GetEpApi();
    return result;
}

OrtStatus *too_old(const OrtApiBase &base, uint32_t least) {
    const std::string sentence
            = std::string("dnnl_dequant needs ONNX Runtime 1.")
              + std::to_string(least) + " or later; this is "
              + base.GetVersionString() + ".";
    const OrtApi *first = base.GetApi(1);
    return first->CreateStatus(ORT_NOT_IMPLEMENTED, sentence.c_str());
}

} // namespace dnnl_dequant::ort
