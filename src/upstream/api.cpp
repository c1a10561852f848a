#include "upstream/api.hpp"

#include <dlfcn.h>

namespace dnnl_dequant {
namespace upstream {

namespace {

// Initial-exec: reached without asking the loader for memory, which ends the
// process where there is none.
[[gnu::tls_model("initial-exec")]] thread_local bool inside = false;

// The SONAME of the copy that the Python package brings, upstream's, and the
// one Debian gives it. The package's stands first: its library calls that copy,
// whichever others are in the process.
constexpr const char *sonames[]
        = {"libdnnl-dnnl_dequant.so.3", "libdnnl.so.3", "libdnnl.so.3.6"};

// A handle on the oneDNN that is in the process already, or null. It is never
// closed: the functions found through it must stay.
void *loaded_onednn() {
    for (const char *soname : sonames)
        if (void *handle = dlopen(soname, RTLD_NOW | RTLD_NOLOAD))
            return handle;
    return nullptr;
}

template <typename F>
F resolve(const char *name, void *fallback) {
    void *symbol = dlsym(RTLD_NEXT, name);
    if (symbol == nullptr && fallback != nullptr)
        symbol = dlsym(fallback, name);
    return reinterpret_cast<F>(symbol);
}

api_t resolve_all() {
    void *const fallback = loaded_onednn();
    return {
#define X(name) resolve<decltype(api_t::name)>(#name, fallback),
#include "upstream/symbols.def"
#undef X
    };
}

} // namespace

const api_t &api() {
    static const api_t resolved = resolve_all();
    return resolved;
}

bool inside_call() {
    return inside;
}

call_guard_t::call_guard_t()
    : was_inside_(inside) {
    inside = true;
}

call_guard_t::~call_guard_t() {
    inside = was_inside_;
}

} // namespace upstream
} // namespace dnnl_dequant
