#ifndef STRESS_TOGETHER_HPP
#define STRESS_TOGETHER_HPP

#include <functional>
#include <string>

namespace dnnl_dequant {
namespace stress {

/// Runs body(thread) on `count` threads that start together and waits for
/// them. The first text that is not empty is the result; what is thrown
/// becomes one.
std::string together(int count, const std::function<std::string(int)> &body);

} // namespace stress
} // namespace dnnl_dequant

#endif
