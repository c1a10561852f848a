#include "memory_left.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>

#include <sys/resource.h>

#include "commands.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

double first_number(const char *path, const char *key) {
    std::ifstream file(path);
    std::string word;
    while (file >> word) {
        if (*key == '\0' || word == key) {
            double number = 0;
            if (*key == '\0') return std::atof(word.c_str());
            file >> number;
            return number;
        }
    }
    return 0;
}

} // namespace

double memory_left() {
    double most = first_number("/proc/meminfo", "MemAvailable:") * 1024;
    if (most <= 0) most = std::numeric_limits<double>::infinity();
    const double group = first_number("/sys/fs/cgroup/memory.max", "");
    if (group > 0)
        most = std::min(most,
                group - first_number("/sys/fs/cgroup/memory.current", ""));
    rlimit limit {};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        most = std::min(most, static_cast<double>(limit.rlim_cur));
    return most;
}

void check_memory(const std::string &name, double bytes) {
    const double most = memory_left();
    if (bytes > most)
        throw usage_error_t(name + " needs " + gigabytes(bytes)
                            + " of memory and there are " + gigabytes(most));
}

std::string gigabytes(double bytes) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.3g GB", bytes / 1e9);
    return text;
}

} // namespace bench
} // namespace dnnl_dequant
