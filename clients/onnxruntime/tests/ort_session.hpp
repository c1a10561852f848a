// ONNX Runtime's C API as the tests of this folder use it: a runtime that was
// opened, the provider in it, sessions, and runs of one input and one output.
#ifndef DNNL_DEQUANT_ORT_TESTS_ORT_SESSION_HPP
#define DNNL_DEQUANT_ORT_TESTS_ORT_SESSION_HPP

#include <memory>
#include <string>
#include <vector>

#include "onnxruntime_c_api.h"

namespace dnnl_dequant::ort_test {

class environment_t {
public:
    // Opens the runtime's library, once a process, and registers the provider.
    environment_t(const char *runtime, const char *provider);
    ~environment_t();
    environment_t(const environment_t &) = delete;
    environment_t &operator=(const environment_t &) = delete;

    const OrtApi &api() const { return *api_; }
    OrtEnv *get() const { return env_; }
    // The runtime's minor version: "1.32.0" has 32.
    int minor() const { return minor_; }
    // Throws the sentence of a status that is not null.
    void check(OrtStatus *status) const;
    void add_provider(OrtSessionOptions *options) const;

private:
    const OrtApi *api_ = nullptr;
    OrtEnv *env_ = nullptr;
    int minor_ = 0;
};

// A model's session with the provider, which takes all that it can.
class session_t {
public:
    session_t(const environment_t &environment, const std::string &model,
            int threads);
    ~session_t();
    session_t(const session_t &) = delete;
    session_t &operator=(const session_t &) = delete;

    // Any number of threads may call it at once. `input` is rows x columns.
    std::vector<float> run(
            const std::vector<float> &input, int64_t rows, int64_t columns);

private:
    const environment_t &environment_;
    OrtSession *session_ = nullptr;
    OrtMemoryInfo *memory_ = nullptr;
};

} // namespace dnnl_dequant::ort_test

#endif
