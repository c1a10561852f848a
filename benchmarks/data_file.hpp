#ifndef BENCHMARKS_DATA_FILE_HPP
#define BENCHMARKS_DATA_FILE_HPP

#include <string>

namespace dnnl_dequant {
namespace bench {

/// A file that comes with the program: beside it where it was built, in its
/// data folder where it was installed.
std::string data_file(const std::string &name);

} // namespace bench
} // namespace dnnl_dequant

#endif
