#ifndef FAULTS_INTERPOSER_HPP
#define FAULTS_INTERPOSER_HPP

namespace dnnl_dequant {
namespace faults {

/// Requests for memory that the thread makes while it is watched are counted
/// by who makes them: of the plugin and oneDNN, the one whose code is nearest.
/// What libstdc++, libc or the loader ask for on the plugin's behalf is the
/// plugin's.
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

/// What watched requests were given and nobody has freed.
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
