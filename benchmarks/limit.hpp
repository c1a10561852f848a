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

/// How dst is written. Streaming stores go around the caches: they win where
/// dst is larger than these and lose (3 times and more) where it fits. The
/// limit is the better of these two plain loops.
///
/// Prefetched is no plain loop any more: ordinary stores to lines that were
/// asked for 4 KiB ahead (prefetchw), and src likewise. On a Cascade Lake core,
/// which has few store misses in flight, it takes 0.65 of the plain loops' time
/// out of cache (u8 -> f32, 16 M elements: 7.8 ms for 11.8 ms), with two cores
/// too. It is the floor that the benchmark shows beside the limit.
///
/// There, narrower ordinary stores are faster than wide ones as well (the same
/// problem, one thread: 64 bytes 11.6 ms, 32 bytes 9.3 ms, 16 bytes 8.3 ms), so
/// that a plain loop for SSE beats the limit, which takes the widest.
enum class stores_t { ordinary, streaming, prefetched };

/// Reads all of `inputs`, the first of which is the largest and is read in
/// step with the writing, and writes all of `dst`, with the widest vectors of
/// this machine, split evenly over `threads` OpenMP threads.
///
/// What is written has no meaning. Any alignment is taken.
class byte_mover_t {
public:
    byte_mover_t(const std::vector<readable_bytes_t> &inputs,
            const writable_bytes_t &dst, stores_t stores, int threads);

    void run() const;
    /// Reads the first input and writes nothing.
    void read() const;

private:
    // By log2 of how many bytes of dst go with one byte of the first input.
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
