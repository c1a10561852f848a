#include "onnx_values.hpp"

#include <cstdio>
#include <fstream>
#include <map>

namespace dnnl_dequant {
namespace conformance {

using nlohmann::json;

lt::data_type type_of(const std::string &onnx_name) {
    namespace ours = dnnl_dequant::data_type;
    using type = lt::data_type;
    static const std::map<std::string, type> types {{"FLOAT", type::f32},
            {"FLOAT16", type::f16}, {"BFLOAT16", type::bf16},
            {"UINT8", type::u8}, {"INT8", type::s8}, {"INT32", type::s32},
            {"UINT16", ours::u16}, {"INT16", ours::s16}, {"UINT4", type::u4},
            {"INT4", type::s4}, {"UINT2", ours::u2}, {"INT2", ours::s2},
            {"FLOAT8E4M3FN", type::f8_e4m3}, {"FLOAT8E5M2", type::f8_e5m2},
            {"FLOAT8E4M3FNUZ", ours::f8_e4m3fnuz},
            {"FLOAT8E5M2FNUZ", ours::f8_e5m2fnuz},
            {"FLOAT4E2M1", ours::f4_e2m1}, {"FLOAT8E8M0", ours::e8m0}};
    return types.at(onnx_name);
}

std::vector<uint8_t> bytes_of(const std::string &hex) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<uint8_t>(
                std::stoul(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

value_t value_of(size_t id, const json &described) {
    const auto dims = described["dims"].get<lt::dims>();
    const auto type = type_of(described["data_type"]);
    return {dims.empty() ? lt(id, type, 0, lt::layout_type::strided)
                         : lt(id, type, dims, lt::layout_type::strided),
            bytes_of(described["bytes"])};
}

int run_cases(int argc, char **argv,
        std::string (*check)(const json &, std::string &kernel)) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s CASES.json\n", argv[0]);
        return 2;
    }
    std::ifstream file(argv[1]);
    const json cases = json::parse(file);
    int passed = 0, failed = 0;
    for (const json &described : cases) {
        std::string kernel, wrong;
        try {
            wrong = check(described, kernel);
        } catch (const std::exception &error) {
            wrong = error.what();
        }
        const std::string name = described["name"];
        std::printf("%-44s %-28s %s\n", name.c_str(), kernel.c_str(),
                wrong.empty() ? "equal" : wrong.c_str());
        ++(wrong.empty() ? passed : failed);
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}

} // namespace conformance
} // namespace dnnl_dequant
