#include "data_file.hpp"

#include <cstdlib>
#include <filesystem>

#include <unistd.h>

namespace dnnl_dequant {
namespace bench {

std::string data_file(const std::string &name) {
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
    const std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
    const std::string folder = self.substr(0, self.rfind('/') + 1);
    const std::string built = folder + name;
    if (access(built.c_str(), R_OK) == 0) return built;
    return folder + "../share/dnnl_dequant/" + name;
}

std::string python() {
    const char *named = std::getenv("DNNL_DEQUANT_PEERS_PYTHON");
    if (named != nullptr && *named != '\0') return named;
    constexpr const char *ours = "build/onnx-venv/bin/python";
    return access(ours, X_OK) == 0 ? ours : "python3";
}

std::ifstream readable_file(const std::string &path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return {};
    return std::ifstream(path);
}

} // namespace bench
} // namespace dnnl_dequant
