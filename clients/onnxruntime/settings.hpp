// The options that a session gives the provider.
#ifndef DNNL_DEQUANT_ORT_SETTINGS_HPP
#define DNNL_DEQUANT_ORT_SETTINGS_HPP

#include "runtime.hpp"

namespace dnnl_dequant::ort {

enum class take_t { none, faster, all };

struct settings_t {
    take_t take = take_t::faster;
    // -1: what each node says; 0: products of floats; 4: of activations
    // quantized to 8 bits
    int accuracy_level = -1;
    // ONNX Runtime's own for what it makes MatMulNBits of: 4 unless the session
    // says something else
    int qdq_accuracy_level = 4;
};

// Reads the options `claim` and `accuracy_level` of the provider. Throws
// failure_t for a value that they do not have.
settings_t read_settings(
        const OrtApi &api, const OrtSessionOptions &session_options);

} // namespace dnnl_dequant::ort

#endif
