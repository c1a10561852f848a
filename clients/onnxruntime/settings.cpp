#include "settings.hpp"

#include <cstdlib>
#include <string>

#include "status.hpp"

namespace dnnl_dequant::ort {

namespace {

std::string read_entry(const OrtApi &api, const OrtSessionOptions &options,
        const std::string &key) {
    int is_there = 0;
    check(api, api.HasSessionConfigEntry(&options, key.c_str(), &is_there));
    if (is_there == 0) return std::string();
    size_t size = 0;
    check(api,
            api.GetSessionConfigEntry(&options, key.c_str(), nullptr, &size));
    std::string value(size, '\0');
    check(api, api.GetSessionConfigEntry(
                       &options, key.c_str(), value.data(), &size));
    value.resize(size == 0 ? 0 : size - 1);
    return value;
}

// ONNX Runtime keeps a provider's options under its name in lower case.
std::string read_option(const OrtApi &api, const OrtSessionOptions &options,
        const std::string &name) {
    return read_entry(api, options, "ep.dnnldequantexecutionprovider." + name);
}

} // namespace

settings_t read_settings(
        const OrtApi &api, const OrtSessionOptions &session_options) {
    settings_t result;
    const std::string claim = read_option(api, session_options, "claim");
    if (claim == "none") result.take = take_t::none;
    else if (claim == "all") result.take = take_t::all;
    else if (!claim.empty() && claim != "faster")
        throw failure_t(std::string(provider_name) + ": option claim is '"
                                + claim
                                + "'; 'faster', 'all' or 'none' was expected.",
                ORT_INVALID_ARGUMENT);
    const std::string level
            = read_option(api, session_options, "accuracy_level");
    if (level == "0" || level == "4")
        result.accuracy_level = level == "0" ? 0 : 4;
    else if (!level.empty())
        throw failure_t(std::string(provider_name)
                                + ": option accuracy_level is '" + level
                                + "'; '0' or '4' was expected.",
                ORT_INVALID_ARGUMENT);
    const std::string qdq_level = read_entry(
            api, session_options, "session.qdq_matmulnbits_accuracy_level");
    if (!qdq_level.empty())
        result.qdq_accuracy_level = std::atoi(qdq_level.c_str());
    return result;
}

} // namespace dnnl_dequant::ort
