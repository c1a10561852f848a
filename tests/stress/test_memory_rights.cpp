// No page of the process is ever writable and executable, looked at while
// kernels are generated, used and freed.

#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <fstream>
#include <sstream>
#include <thread>

#include "e2e/dequantize_graph.hpp"
#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace stress {
namespace {

using namespace e2e;

struct mappings_t {
    int executable = 0; // without a file: generated code
    std::string writable_and_executable;
};

mappings_t mappings() {
    mappings_t found;
    std::ifstream file("/proc/self/maps");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string range, rights, offset, device, inode, path;
        words >> range >> rights >> offset >> device >> inode >> path;
        if (rights.find('x') == std::string::npos) continue;
        if (rights.find('w') != std::string::npos)
            found.writable_and_executable += line + "\n";
        if (path.empty()) ++found.executable;
    }
    return found;
}

TEST(stress_memory_rights, no_page_is_writable_and_executable) {
    std::atomic<bool> done {false};
    std::string wrong;
    int looked = 0, most_executable = 0;
    std::thread watcher([&] {
        while (!done) {
            const mappings_t now = mappings();
            if (wrong.empty()) wrong = now.writable_and_executable;
            most_executable = std::max(most_executable, now.executable);
            ++looked;
        }
    });
    bool jit = false;
    for (dim_t n = 0; n < 200; ++n) {
        const auto c = per_group(
                dense_case({3, 20 + n},
                        n % 2 ? data_type_t::u4 : data_type_t::s8,
                        n % 3 ? data_type_t::f32 : data_type_t::bf16,
                        data_type_t::s8),
                {1, 8});
        const auto compiled = compile_or_throw(
                partition_of(op_of(c)), inputs_of(c), {strided(dst_id, c.dst)});
        jit = kernel_of(compiled).rfind("jit_", 0) == 0;
        EXPECT_EQ(check_execution(c, compiled), "");
    }
    done = true;
    watcher.join();
    EXPECT_EQ(wrong, "");
    EXPECT_GT(looked, 1);
    // The watcher saw what it watches for.
    if (jit) {
        EXPECT_GT(most_executable, 0);
    }
}

} // namespace
} // namespace stress
} // namespace dnnl_dequant
