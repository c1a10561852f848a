#include "stress/process_memory.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include <malloc.h>
#include <unistd.h>

namespace dnnl_dequant {
namespace stress {

process_memory_t process_memory() {
    process_memory_t result;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words(line);
        std::string range, rights, offset, device, inode, path;
        words >> range >> rights >> offset >> device >> inode >> path;
        ++result.mappings;
        if (rights.find('x') != std::string::npos && path.empty())
            ++result.executable;
    }
    std::ifstream statm("/proc/self/statm");
    long pages = 0;
    statm >> pages >> pages;
    result.resident_kib = pages * (sysconf(_SC_PAGESIZE) / 1024);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    const struct mallinfo2 heap = mallinfo2();
    result.heap_kib = static_cast<long>((heap.uordblks + heap.hblkhd) / 1024);
#endif
    return result;
}

} // namespace stress
} // namespace dnnl_dequant
