#ifndef CONFORMANCE_ONNX_VALUES_HPP
#define CONFORMANCE_ONNX_VALUES_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant {
namespace conformance {

using lt = dnnl::graph::logical_tensor;

/// Returns the type with this name in ONNX.
lt::data_type type_of(const std::string &onnx_name);

std::vector<uint8_t> bytes_of(const std::string &hex);

/// A tensor as onnx_cases.py writes it.
struct value_t {
    lt tensor;
    std::vector<uint8_t> bytes;
};
value_t value_of(size_t id, const nlohmann::json &described);

/// Runs `check` on all cases of the file that is the only argument. A case is
/// right if it returns nothing and has told the kernel. Returns main()'s
/// result.
int run_cases(int argc, char **argv,
        std::string (*check)(const nlohmann::json &, std::string &kernel));

} // namespace conformance
} // namespace dnnl_dequant

#endif
