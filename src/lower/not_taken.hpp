#ifndef LOWER_NOT_TAKEN_HPP
#define LOWER_NOT_TAKEN_HPP

#include <string>

#include "base/log.hpp"
#include "base/status.hpp"

namespace dnnl_dequant {

inline void log_not_taken(const std::string &name, const std::string &reason) {
    log_refusal(log_dispatch, "implementation", name + ": " + reason);
}

/// Of the making of an implementation that others can stand in for.
/// @returns `made` where it is final; else success, and the log says why the
///     implementation is not taken.
inline result_t or_another(const std::string &name, const result_t &made) {
    if (made.is_final()) return made;
    log_not_taken(name, made.reason);
    return {};
}

} // namespace dnnl_dequant

#endif
