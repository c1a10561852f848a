#include "base/config.hpp"

#include <cstdlib>
#include <cstring>

namespace dnnl_dequant {

const char *environment(const char *name) {
    return secure_getenv(name);
}

bool environment_flag(const char *name) {
    const char *value = environment(name);
    return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

} // namespace dnnl_dequant
