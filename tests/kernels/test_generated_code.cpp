// The bytes of all generated code against those that were recorded. A change
// that leaves them as they were cannot have changed a result or a speed; one
// that does not has to be measured (./dev checkperf), and recorded. Xbyak 6.68
// and 7.24 encode all of it alike.

#if defined(__x86_64__)

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iomanip>

#include "kernels/generated_code.hpp"
#include "kernels/jit/generator.hpp"
#include "kernels/on_machine.hpp"

namespace dnnl_dequant {

namespace {

// FNV-1a.
constexpr uint64_t of_nothing = 0xcbf29ce484222325u;
thread_local uint64_t hash;

void add_bytes(const void *bytes, size_t count) {
    const auto *at = static_cast<const unsigned char *>(bytes);
    for (size_t i = 0; i < count; ++i)
        hash = (hash ^ at[i]) * 0x100000001b3u;
}

void add_code(const char *name, const uint8_t *code, size_t bytes) {
    add_bytes(name, std::string(name).size() + 1);
    add_bytes(code, bytes);
}

} // namespace

void record_generated(code_hashes_t &hashes, const std::string &what,
        const std::function<void()> &generate) {
    hash = of_nothing;
    observe_code(add_code);
    generate();
    observe_code(nullptr);
    if (hash != of_nothing) hashes[what] = hash;
}

namespace {

code_hashes_t read(const std::string &path) {
    code_hashes_t hashes;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const size_t at = line.find(' ');
        hashes[line.substr(at + 1)]
                = std::strtoull(line.substr(0, at).c_str(), nullptr, 16);
    }
    return hashes;
}

void write(const std::string &path, const code_hashes_t &hashes) {
    std::ofstream file(path);
    for (const auto &[what, value] : hashes)
        file << std::hex << std::setw(16) << std::setfill('0') << value << ' '
             << what << '\n';
}

TEST(generated_code, is_what_was_recorded) {
    // The code is made for one machine, whatever this runs on.
    const on_machine_t machine({policy_named("Zen 4"), 32 << 20, 1 << 20});
    code_hashes_t made;
    hash_products(made);
    hash_integer_products(made);
    hash_attention(made);
    hash_rows(made);
    const std::string path = DNNL_DEQUANT_CODE_HASHES;
    if (std::getenv("DNNL_DEQUANT_TEST_RECORD") != nullptr) write(path, made);
    const code_hashes_t recorded = read(path);
    int changed = 0;
    const auto compare = [&](const code_hashes_t &with, const char *how,
                                 const code_hashes_t &these) {
        for (const auto &[what, value] : these) {
            const auto found = with.find(what);
            if (found != with.end() && found->second == value) continue;
            if (++changed <= 20) ADD_FAILURE() << how << what;
        }
    };
    compare(recorded, "other code than was recorded: ", made);
    compare(made, "recorded: ", recorded);
    EXPECT_EQ(changed, 0)
            << "If that is meant, measure it (./dev checkperf) and record it: "
               "DNNL_DEQUANT_TEST_RECORD=1 ./dev test -R generated_code";
}

// The test above leans on it.
TEST(generated_code, is_the_same_each_time) {
    code_hashes_t first, second;
    hash_products(first);
    hash_products(second);
    EXPECT_EQ(first, second);
    EXPECT_GT(first.size(), 100u);
}

} // namespace

} // namespace dnnl_dequant

#endif
