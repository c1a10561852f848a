#ifndef BASE_LOG_HPP
#define BASE_LOG_HPP

#include <string>

namespace dnnl_dequant {

/// oneDNN's own kinds of verbose output.
enum log_kind_t : unsigned {
    log_check = 1u << 0,          // why an argument was refused
    log_dispatch = 1u << 1,       // why an implementation or op was not taken
    log_profile_create = 1u << 2, // compile times
    log_profile_exec = 1u << 3,   // execution times
    log_info = 1u << 4,           // what is the same for the whole process
};

/// True when the user asked for lines of this kind: ONEDNN_VERBOSE (or
/// DNNL_VERBOSE) as oneDNN reads it, or the last set_verbose().
bool log_enabled(log_kind_t kind);

/// Follows dnnl_set_verbose(): 0 none, 1 execution, 2 compile too.
void set_verbose(int level);

/// Prints `onednn_verbose,v1,[<milliseconds of the clock>,]graph,<text>` and a
/// line end, as one write. The caller has asked log_enabled() before it built
/// the text.
void log_line(const std::string &text);

/// Prints the line that `make` answers with, of what has succeeded: where
/// memory runs out the line is lost, not the success.
template <typename Make>
void log_done(const Make &make) noexcept {
    try {
        log_line(make());
    } catch (...) {
    }
}

/// Prints a refusal: `...,graph,create:check,<where>,<reason>,dequant_backend`.
/// Does nothing unless `kind` is enabled.
void log_refusal(log_kind_t kind, const char *where, const std::string &reason);

/// Milliseconds of a monotonic clock.
double now_ms();

} // namespace dnnl_dequant

#endif
