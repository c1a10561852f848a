#ifndef BENCHMARKS_MEMORY_LEFT_HPP
#define BENCHMARKS_MEMORY_LEFT_HPP

#include <string>

namespace dnnl_dequant {
namespace bench {

/// Bytes that this process can still have, by the least of the machine's, the
/// control group's and the process's limits; infinite where none is known.
double memory_left();

/// Throws usage_error_t where a case needs more: better than to be killed half
/// way.
void check_memory(const std::string &name, double bytes);

/// Returns a text such as "1.5 GB".
std::string gigabytes(double bytes);

} // namespace bench
} // namespace dnnl_dequant

#endif
