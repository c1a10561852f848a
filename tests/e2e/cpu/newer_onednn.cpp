// A oneDNN that says it is of a version that nobody has seen yet.

#include <dlfcn.h>

#include "oneapi/dnnl/dnnl.h"

extern "C" [[gnu::visibility("default")]] const dnnl_version_t *dnnl_version() {
    using function_t = const dnnl_version_t *(*)();
    static dnnl_version_t version
            = *reinterpret_cast<function_t>(dlsym(RTLD_NEXT, "dnnl_version"))();
    version.minor = 99;
    return &version;
}
