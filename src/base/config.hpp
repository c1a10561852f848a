#ifndef BASE_CONFIG_HPP
#define BASE_CONFIG_HPP

namespace dnnl_dequant {

/// The value of an environment variable, or null where it is not set or the
/// process runs with raised privileges.
const char *environment(const char *name);

/// True where the variable is set to something other than "" and "0".
bool environment_flag(const char *name);

} // namespace dnnl_dequant

#endif
