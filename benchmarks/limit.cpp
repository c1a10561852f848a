#include "limit.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include <immintrin.h>
#include <omp.h>

namespace dnnl_dequant {
namespace bench {

namespace {

// Between two runs over the main input each thread reads its share of the
// other inputs, so that all of them flow together as they do in a kernel.
constexpr size_t vectors_a_run = 64;

// Bytes ahead of the reading and of the writing.
constexpr int src_ahead = 512, dst_ahead = 4096;

// The loops' sums go here, or the compiler would drop the reading.
std::atomic<uint64_t> sink;

// Past the end of the buffers a prefetch does nothing that shows.
template <int dst_bytes>
__attribute__((target("prfchw"), always_inline)) inline void prefetch(
        const char *from, char *to) {
    _mm_prefetch(from + src_ahead, _MM_HINT_T0);
#pragma GCC unroll 16
    for (int k = 0; k < dst_bytes; k += 64)
        _mm_prefetch(to + dst_ahead + k, _MM_HINT_ET0);
}

uint64_t fold(const uint64_t *words, int count) {
    uint64_t folded = 0;
    for (int i = 0; i < count; i++)
        folded ^= words[i];
    return folded;
}

template <int ratio, stores_t stores>
__attribute__((target("avx512f,prfchw"))) uint64_t copy_avx512(
        const char *from, char *dst, size_t vectors) {
    __m512i seen = _mm512_setzero_si512();
    for (size_t i = 0; i < vectors; i++) {
        const __m512i v = _mm512_loadu_si512(from + 64 * i);
        seen = _mm512_xor_si512(seen, v);
        char *to = dst + 64 * ratio * i;
        if constexpr (stores == stores_t::prefetched)
            prefetch<64 * ratio>(from + 64 * i, to);
#pragma GCC unroll 16
        for (int k = 0; k < ratio; k++)
            if constexpr (stores == stores_t::streaming)
                _mm512_stream_si512(
                        reinterpret_cast<__m512i *>(to + 64 * k), v);
            else _mm512_storeu_si512(to + 64 * k, v);
    }
    alignas(64) uint64_t words[8];
    _mm512_store_si512(words, seen);
    return fold(words, 8);
}

template <int ratio, stores_t stores>
__attribute__((target("avx2,prfchw"))) uint64_t copy_avx2(
        const char *from, char *dst, size_t vectors) {
    __m256i seen = _mm256_setzero_si256();
    for (size_t i = 0; i < vectors; i++) {
        const __m256i v = _mm256_loadu_si256(
                reinterpret_cast<const __m256i *>(from + 32 * i));
        seen = _mm256_xor_si256(seen, v);
        char *to = dst + 32 * ratio * i;
        if constexpr (stores == stores_t::prefetched)
            prefetch<32 * ratio>(from + 32 * i, to);
#pragma GCC unroll 16
        for (int k = 0; k < ratio; k++) {
            __m256i *at = reinterpret_cast<__m256i *>(to + 32 * k);
            if constexpr (stores == stores_t::streaming)
                _mm256_stream_si256(at, v);
            else _mm256_storeu_si256(at, v);
        }
    }
    alignas(32) uint64_t words[4];
    _mm256_store_si256(reinterpret_cast<__m256i *>(words), seen);
    return fold(words, 4);
}

__attribute__((target("avx512f"))) uint64_t read_avx512(
        const char *from, size_t size) {
    __m512i seen = _mm512_setzero_si512();
    for (size_t i = 0; i + 64 <= size; i += 64)
        seen = _mm512_xor_si512(seen, _mm512_loadu_si512(from + i));
    alignas(64) uint64_t words[8];
    _mm512_store_si512(words, seen);
    return fold(words, 8);
}

__attribute__((target("avx2"))) uint64_t read_avx2(
        const char *from, size_t size) {
    __m256i seen = _mm256_setzero_si256();
    for (size_t i = 0; i + 32 <= size; i += 32)
        seen = _mm256_xor_si256(
                seen, _mm256_loadu_si256(
                              reinterpret_cast<const __m256i *>(from + i)));
    alignas(32) uint64_t words[4];
    _mm256_store_si256(reinterpret_cast<__m256i *>(words), seen);
    return fold(words, 4);
}

// The least power of two by which dst can grow out of the first input.
int log2_ratio(size_t input, size_t dst) {
    int log2 = 0;
    while (log2 < 4 && (input << log2) < dst)
        log2++;
    return log2;
}

} // namespace

const byte_mover_t::vector_code_t &byte_mover_t::vector_code() {
    static const vector_code_t avx512 {64,
            {{copy_avx512<1, stores_t::ordinary>,
                     copy_avx512<2, stores_t::ordinary>,
                     copy_avx512<4, stores_t::ordinary>,
                     copy_avx512<8, stores_t::ordinary>,
                     copy_avx512<16, stores_t::ordinary>},
                    {copy_avx512<1, stores_t::streaming>,
                            copy_avx512<2, stores_t::streaming>,
                            copy_avx512<4, stores_t::streaming>,
                            copy_avx512<8, stores_t::streaming>,
                            copy_avx512<16, stores_t::streaming>},
                    {copy_avx512<1, stores_t::prefetched>,
                            copy_avx512<2, stores_t::prefetched>,
                            copy_avx512<4, stores_t::prefetched>,
                            copy_avx512<8, stores_t::prefetched>,
                            copy_avx512<16, stores_t::prefetched>}},
            read_avx512};
    static const vector_code_t avx2 {32,
            {{copy_avx2<1, stores_t::ordinary>,
                     copy_avx2<2, stores_t::ordinary>,
                     copy_avx2<4, stores_t::ordinary>,
                     copy_avx2<8, stores_t::ordinary>,
                     copy_avx2<16, stores_t::ordinary>},
                    {copy_avx2<1, stores_t::streaming>,
                            copy_avx2<2, stores_t::streaming>,
                            copy_avx2<4, stores_t::streaming>,
                            copy_avx2<8, stores_t::streaming>,
                            copy_avx2<16, stores_t::streaming>},
                    {copy_avx2<1, stores_t::prefetched>,
                            copy_avx2<2, stores_t::prefetched>,
                            copy_avx2<4, stores_t::prefetched>,
                            copy_avx2<8, stores_t::prefetched>,
                            copy_avx2<16, stores_t::prefetched>}},
            read_avx2};
    static const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0;
    return has_avx512 ? avx512 : avx2;
}

byte_mover_t::byte_mover_t(const std::vector<readable_bytes_t> &inputs,
        const writable_bytes_t &dst, stores_t stores, int threads)
    : code_(vector_code())
    , main_(static_cast<const char *>(inputs.front().base))
    , main_size_(inputs.front().size)
    , dst_(static_cast<char *>(dst.base))
    , others_(inputs.begin() + 1, inputs.end())
    , threads_(threads) {
    const size_t input_size = inputs.front().size;
    const int log2 = log2_ratio(input_size, dst.size);
    copy_ = code_.copy[static_cast<int>(stores)][log2];
    ratio_ = size_t {1} << log2;
    const size_t past = reinterpret_cast<uintptr_t>(dst_) % code_.width;
    head_ = std::min(dst.size, past == 0 ? 0 : code_.width - past);
    vectors_ = std::min(input_size / code_.width,
            (dst.size - head_) / (code_.width * ratio_));
    tail_ = dst.size - head_ - vectors_ * code_.width * ratio_;
    // An input larger than dst has a rest that is only read.
    const size_t used = vectors_ * code_.width;
    others_.push_back({main_ + used, input_size - used});
}

void byte_mover_t::run() const {
    // The edges, which are shorter than one round of the loop.
    std::memset(dst_, 0, head_);
    std::memset(dst_ + head_ + vectors_ * code_.width * ratio_, 0, tail_);
    if (threads_ == 1) {
        run_part(0, vectors_);
        return;
    }
#pragma omp parallel num_threads(threads_)
    {
        const size_t n = static_cast<size_t>(omp_get_num_threads());
        const size_t i = static_cast<size_t>(omp_get_thread_num());
        run_part(vectors_ * i / n, vectors_ * (i + 1) / n);
    }
}

void byte_mover_t::read() const {
    const size_t vectors = main_size_ / code_.width;
    if (threads_ == 1) {
        read_part(0, vectors);
        return;
    }
#pragma omp parallel num_threads(threads_)
    {
        const size_t n = static_cast<size_t>(omp_get_num_threads());
        const size_t i = static_cast<size_t>(omp_get_thread_num());
        read_part(vectors * i / n, vectors * (i + 1) / n);
    }
}

void byte_mover_t::read_part(size_t begin, size_t end) const {
    const size_t width = code_.width;
    sink.store(code_.read(main_ + begin * width, (end - begin) * width),
            std::memory_order_relaxed);
}

void byte_mover_t::run_part(size_t begin, size_t end) const {
    const size_t width = code_.width;
    uint64_t seen = 0;
    for (size_t v = begin; v < end; v += vectors_a_run) {
        const size_t n = std::min(vectors_a_run, end - v);
        for (const auto &other : others_) {
            const char *base = static_cast<const char *>(other.base);
            const size_t from = other.size * v / vectors_ / width * width;
            const size_t to = other.size * (v + n) / vectors_ / width * width;
            if (to > from) seen ^= code_.read(base + from, to - from);
        }
        seen ^= copy_(main_ + v * width, dst_ + head_ + v * width * ratio_, n);
    }
    _mm_sfence();
    sink.store(seen, std::memory_order_relaxed);
}

} // namespace bench
} // namespace dnnl_dequant
