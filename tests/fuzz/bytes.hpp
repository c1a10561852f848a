#ifndef FUZZ_BYTES_HPP
#define FUZZ_BYTES_HPP

#include <cstddef>
#include <cstdint>
#include <string>

namespace dnnl_dequant {
namespace fuzz {

/// The fuzzer's bytes, taken one after the other; zeros behind their end.
class bytes_t {
public:
    bytes_t(const uint8_t *data, size_t size)
        : data_(data)
        , size_(size) {}

    bool empty() const { return size_ == 0; }

    uint8_t byte() {
        if (size_ == 0) return 0;
        --size_;
        return *data_++;
    }

    /// From [0, count).
    size_t below(size_t count) { return byte() % count; }

    bool flag() { return byte() & 1; }
    bool one_in_eight() { return byte() % 8 == 1; }

    /// Mostly small and not negative; else around what overflows.
    int64_t number() {
        constexpr int64_t odd[] = {0, 1, -1, INT64_MIN, INT64_MAX,
                INT64_MAX / 2, int64_t(1) << 31, int64_t(1) << 32,
                int64_t(1) << 56, (int64_t(1) << 56) + 1, int64_t(1) << 61,
                -(int64_t(1) << 32)};
        const uint8_t first = byte();
        if (first < 224) return first % 40;
        if (first < 250) return odd[first % (sizeof(odd) / sizeof(odd[0]))];
        uint64_t bits = 0;
        for (int i = 0; i < 8; ++i)
            bits = bits << 8 | byte();
        return static_cast<int64_t>(bits);
    }

    /// Returns any bytes but zeros; now and then it is a megabyte of them.
    std::string text() {
        const uint8_t length = byte();
        std::string result;
        for (int i = 0; i < length % 32 && !empty(); ++i)
            result += static_cast<char>(byte() | 1);
        if (length > 250) result.append(1u << 20, '\n');
        return result;
    }

private:
    const uint8_t *data_;
    size_t size_;
};

} // namespace fuzz
} // namespace dnnl_dequant

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
