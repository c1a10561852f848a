#ifndef BENCHMARKS_DATA_FILE_HPP
#define BENCHMARKS_DATA_FILE_HPP

#include <fstream>
#include <string>

namespace dnnl_dequant {
namespace bench {

/// A file that comes with the program: next to it where it was built, in its
/// data folder where it was installed.
std::string data_file(const std::string &name);

/// The Python of scripts that come with the program:
/// $DNNL_DEQUANT_PEERS_PYTHON, that of ./dev, or the machine's.
std::string python();

/// Not open where there is nothing to read: no file, or a folder, which the
/// standard library opens and then fails to read.
std::ifstream readable_file(const std::string &path);

} // namespace bench
} // namespace dnnl_dequant

#endif
