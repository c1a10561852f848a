#ifndef FAULTS_INTERPOSER_HPP
#define FAULTS_INTERPOSER_HPP

namespace dnnl_dequant {
namespace faults {

/// Counts the requests for memory that the thread makes while it is watched, by
/// who makes them: the plugin or oneDNN, whichever has the nearest code on the
/// stack. Requests of libstdc++, libc or the loader count for their caller.
void watch(bool on);

/// The plugin's n-th request from now on (from 1) fails; 0: none does.
void fail_request(int n);

/// Whether it has come to that.
bool request_failed();

/// Whether that one was for pages (mmap, mprotect), as generated code makes
/// them: a slower kernel may serve then, as where the system forbids them.
bool pages_failed();

/// While set, no page becomes executable, whoever asks: mprotect and mmap
/// fail with EACCES, as on a system that forbids it.
void forbid_executable_memory(bool forbidden);

/// Memory that watched requests were given and nobody has freed.
struct held_t {
    int plugin = 0, onednn = 0;
    int mappings = 0; // by mmap, of either
};
held_t held();

/// Requests for pages that are writable and executable at once.
int writable_and_executable_requests();

} // namespace faults
} // namespace dnnl_dequant

#endif
