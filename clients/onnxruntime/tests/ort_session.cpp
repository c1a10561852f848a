#include "ort_session.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>

namespace dnnl_dequant::ort_test {

namespace {

constexpr const char *provider_name = "DnnlDequantExecutionProvider";
// Plugin providers that compile are there from this version on.
constexpr uint32_t api_version = 23;

const OrtApiBase &open_runtime(const char *path) {
    static void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    using get_base_t = const OrtApiBase *(*)();
    const auto get_base
            = reinterpret_cast<get_base_t>(dlsym(library, "OrtGetApiBase"));
    if (get_base == nullptr) throw std::runtime_error(dlerror());
    return *get_base();
}

} // namespace

environment_t::environment_t(const char *runtime, const char *provider) {
    const OrtApiBase &base = open_runtime(runtime);
    minor_ = std::atoi(std::strchr(base.GetVersionString(), '.') + 1);
    api_ = base.GetApi(api_version);
    if (api_ == nullptr)
        throw std::runtime_error("ONNX Runtime 1.23 or later was expected");
    // Errors are looked at as exceptions.
    check(api_->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "test", &env_));
    check(api_->RegisterExecutionProviderLibrary(
            env_, provider_name, provider));
}

environment_t::~environment_t() {
    OrtStatus *status
            = api_->UnregisterExecutionProviderLibrary(env_, provider_name);
    if (status != nullptr) api_->ReleaseStatus(status);
    api_->ReleaseEnv(env_);
}

void environment_t::check(OrtStatus *status) const {
    if (status == nullptr) return;
    const std::string sentence = api_->GetErrorMessage(status);
    api_->ReleaseStatus(status);
    throw std::runtime_error(sentence);
}

void environment_t::add_provider(OrtSessionOptions *options) const {
    const OrtEpDevice *const *devices = nullptr;
    size_t count = 0;
    check(api_->GetEpDevices(env_, &devices, &count));
    const char *const keys[] = {"claim"};
    const char *const values[] = {"all"};
    for (size_t i = 0; i < count; ++i) {
        if (std::strcmp(api_->EpDevice_EpName(devices[i]), provider_name) != 0)
            continue;
        check(api_->SessionOptionsAppendExecutionProvider_V2(
                options, env_, &devices[i], 1, keys, values, 1));
        return;
    }
    throw std::runtime_error("the provider offers no device");
}

session_t::session_t(
        const environment_t &environment, const std::string &model, int threads)
    : environment_(environment) {
    const OrtApi &api = environment.api();
    OrtSessionOptions *made = nullptr;
    environment.check(api.CreateSessionOptions(&made));
    const std::unique_ptr<OrtSessionOptions,
            decltype(api.ReleaseSessionOptions)>
            options(made, api.ReleaseSessionOptions);
    environment.check(api.SetIntraOpNumThreads(made, threads));
    environment.add_provider(made);
    environment.check(api.CreateCpuMemoryInfo(
            OrtArenaAllocator, OrtMemTypeDefault, &memory_));
    OrtStatus *status = api.CreateSession(
            environment.get(), model.c_str(), made, &session_);
    if (status != nullptr) api.ReleaseMemoryInfo(memory_);
    environment.check(status);
}

session_t::~session_t() {
    environment_.api().ReleaseSession(session_);
    environment_.api().ReleaseMemoryInfo(memory_);
}

std::vector<float> session_t::run(
        const std::vector<float> &input, int64_t rows, int64_t columns) {
    const OrtApi &api = environment_.api();
    using value_t = std::unique_ptr<OrtValue, decltype(api.ReleaseValue)>;
    const int64_t dims[] = {rows, columns};
    OrtValue *made = nullptr;
    environment_.check(api.CreateTensorWithDataAsOrtValue(memory_,
            const_cast<float *>(input.data()), input.size() * sizeof(float),
            dims, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &made));
    const value_t given(made, api.ReleaseValue);
    const char *const inputs[] = {"a"};
    const char *const outputs[] = {"y"};
    const OrtValue *const values[] = {given.get()};
    OrtValue *result = nullptr;
    environment_.check(
            api.Run(session_, nullptr, inputs, values, 1, outputs, 1, &result));
    const value_t owned(result, api.ReleaseValue);
    OrtTensorTypeAndShapeInfo *shape = nullptr;
    environment_.check(api.GetTensorTypeAndShape(result, &shape));
    size_t count = 0;
    OrtStatus *status = api.GetTensorShapeElementCount(shape, &count);
    api.ReleaseTensorTypeAndShapeInfo(shape);
    environment_.check(status);
    void *data = nullptr;
    environment_.check(api.GetTensorMutableData(result, &data));
    const auto *const first = static_cast<const float *>(data);
    return std::vector<float>(first, first + count);
}

} // namespace dnnl_dequant::ort_test
