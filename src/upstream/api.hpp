#ifndef UPSTREAM_API_HPP
#define UPSTREAM_API_HPP

#include "upstream/declarations.hpp"

namespace dnnl_dequant {
namespace upstream {

/// oneDNN's own functions, behind ours. A member is null where the oneDNN
/// that is loaded lacks the function.
struct api_t {
#define X(name) decltype(&::name) name = nullptr;
#include "upstream/symbols.def"
#undef X
};

/// oneDNN's functions, resolved at the first call. They are the next definition
/// after this library (RTLD_NEXT). If there is none, they come from the oneDNN
/// that is already loaded under a known SONAME, for example because a framework
/// opened it RTLD_LOCAL.
const api_t &api();

/// True on a thread that is inside a call made by call(): oneDNN has called
/// back into an exported function that we define, and it must be forwarded.
bool inside_call();

/// Marks this thread as inside oneDNN for its lifetime.
class call_guard_t {
public:
    call_guard_t();
    ~call_guard_t();
    call_guard_t(const call_guard_t &) = delete;
    call_guard_t &operator=(const call_guard_t &) = delete;

private:
    bool was_inside_;
};

/// Calls oneDNN's own function; dnnl_unimplemented where there is none.
template <typename F, typename... Args>
dnnl_status_t call(F api_t::*function, Args... args) {
    const F target = api().*function;
    if (target == nullptr) return dnnl_unimplemented;
    const call_guard_t guard;
    return target(args...);
}

} // namespace upstream
} // namespace dnnl_dequant

#endif
