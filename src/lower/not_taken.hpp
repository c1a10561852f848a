#ifndef LOWER_NOT_TAKEN_HPP
#define LOWER_NOT_TAKEN_HPP

#include <string>

#include "base/log.hpp"
#include "base/status.hpp"

namespace dnnl_dequant {

/// Says why an implementation is not taken: to the log, and to the scope that
/// the thread is in.
/// @param sentence Begins with the implementation's name.
void log_not_taken_sentence(const std::string &sentence);

inline void log_not_taken(const std::string &name, const std::string &reason) {
    log_not_taken_sentence(name + ": " + reason);
}

/// While it lives, what this thread says by log_not_taken() is appended to a
/// text too, a line each.
class not_taken_scope_t {
public:
    explicit not_taken_scope_t(std::string &text);
    ~not_taken_scope_t();
    not_taken_scope_t(const not_taken_scope_t &) = delete;
    not_taken_scope_t &operator=(const not_taken_scope_t &) = delete;

private:
    std::string *const outer_;
};

/// Decides whether another implementation may stand in for one that was not
/// made.
/// @returns `made` if it is final; else success, and the log says why the
///     implementation is not taken.
inline result_t or_another(const std::string &name, const result_t &made) {
    if (made.is_final()) return made;
    log_not_taken(name, made.reason);
    return {};
}

} // namespace dnnl_dequant

#endif
