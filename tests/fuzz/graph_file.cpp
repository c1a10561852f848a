// The bench tool's reader of graph dumps, on any text.

#include "replay/graph_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "fuzz/bytes.hpp"

using namespace dnnl_dequant::bench;

// Uses a file that was read as the tool does.
static void look_at(const graph_file_t &file) {
    for (const auto &[id, value] : file.values) {
        value.described();
        if (value.has_shape()) value.concrete();
        file.producer(id);
        file.is_output(id);
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int file = memfd_create("graph", 0);
    static const std::string path = "/proc/self/fd/" + std::to_string(file);
    if (ftruncate(file, 0) != 0
            || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
        return -1;
    try {
        look_at(read_graph_file(path));
    } catch (const file_error_t &) {
        // The one way to refuse a file.
    }
    return 0;
}
