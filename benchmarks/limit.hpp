#ifndef BENCHMARKS_LIMIT_HPP
#define BENCHMARKS_LIMIT_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dnnl_dequant {
namespace bench {

// The byte-moving limit: what it costs to read every byte that a problem must
// read and to write every byte of its result, and nothing else. No kernel can
// be much faster; how near one comes is what the benchmark shows.

struct readable_bytes_t {
    const void *base = nullptr;
    size_t size = 0;
};

struct writable_bytes_t {
    void *base = nullptr;
    size_t size = 0;
};

/// The way that dst is written. Streaming stores go around the caches. They win
/// if dst is larger than these, and lose (3 times and more) if it fits. The
/// limit is the better of these two plain loops.
///
/// A prefetched loop is not plain: it prefetches the lines that it stores to
/// (prefetchw), and src, 4 KiB ahead. The benchmark shows it next to the limit
/// as the floor. A Cascade Lake core has few store misses in flight, and there
/// it takes 0.65 of the plain loops' time out of cache, with two cores too.
///
/// Narrower ordinary stores are faster than wide ones on that core, so a plain
/// loop for SSE beats the limit, which takes the widest.
///   u8 to f32, 16 M elements, one thread of a Cascade Lake, ms:
///   plain 11.8, prefetched 7.8
///   stores of 64 bytes 11.6, of 32 bytes 9.3, of 16 bytes 8.3
enum class stores_t { ordinary, streaming, prefetched };

/// Reads all of `inputs` and writes all of `dst`, with the widest vectors of
/// this machine, split evenly over `threads` OpenMP threads. The first input is
/// the largest and is read in step with the writing.
///
/// The written values have no meaning. Any alignment is taken.
class byte_mover_t {
public:
    byte_mover_t(const std::vector<readable_bytes_t> &inputs,
            const writable_bytes_t &dst, stores_t stores, int threads);

    void run() const;
    /// Reads the first input and writes nothing.
    void read() const;

private:
    // One loop for each log2 of the bytes of dst that go with a byte of the
    // first input.
    using copy_t = uint64_t (*)(const char *from, char *to, size_t vectors);
    using read_t = uint64_t (*)(const char *from, size_t size);
    struct vector_code_t {
        size_t width;      // bytes of a vector
        copy_t copy[3][5]; // by stores_t, by log2 of the ratio
        read_t read;
    };
    static const vector_code_t &vector_code();

    void run_part(size_t begin, size_t end) const;
    void read_part(size_t begin, size_t end) const;

    const vector_code_t &code_;
    copy_t copy_ = nullptr;
    size_t ratio_ = 1;
    const char *main_ = nullptr;
    size_t main_size_ = 0;
    char *dst_ = nullptr;
    size_t head_ = 0;    // bytes of dst before its first aligned vector
    size_t vectors_ = 0; // of the first input that are read in step with dst
    size_t tail_ = 0;    // bytes of dst after the last whole round
    std::vector<readable_bytes_t> others_;
    int threads_ = 1;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
