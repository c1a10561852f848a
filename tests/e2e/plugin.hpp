#ifndef E2E_PLUGIN_HPP
#define E2E_PLUGIN_HPP

#include <string>

#include "oneapi/dnnl/dnnl_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

// The plugin's own functions, however it came into the process: through its
// header where the program is linked with it, by name where it is preloaded.

/// True if the plugin is in the process.
bool plugin_present();

void set_plugin_enabled(bool enabled);
bool plugin_enabled();
std::string kernel_of(const dnnl::graph::compiled_partition &compiled);
std::string not_taken_of(const dnnl::graph::compiled_partition &compiled);
/// The sentence about the thread's last refused call.
std::string last_refusal_of_plugin();
std::string plugin_version();
/// The name of the machine's policy.
std::string plugin_policy();

/// True if oneDNN's level, which the plugin keeps to, has `wanted`, a
/// dnnl_cpu_isa_t of x86-64.
bool cpu_has(unsigned wanted);

/// True if the CPU has tiles of bf16, and oneDNN's level allows them.
bool may_use_tiles();

} // namespace e2e
} // namespace dnnl_dequant

#endif
