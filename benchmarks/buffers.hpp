#ifndef BENCHMARKS_BUFFERS_HPP
#define BENCHMARKS_BUFFERS_HPP

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "bench_case.hpp"

namespace dnnl_dequant {
namespace bench {

/// The tensors of one case. All contestants use the same ones, so that none
/// has the luckier pages.
struct buffers_t {
    void *src = nullptr;
    void *scales = nullptr;
    void *zps = nullptr; // null where the case has none
    void *dst = nullptr;
};

/// Memory that is kept from case to case: every page has been written to
/// before anything is timed.
class arena_t {
public:
    /// misalign: buffers stand 16 bytes past a cache line instead of on one.
    explicit arena_t(bool misalign)
        : skew_(misalign ? 16 : 0) {}

    /// Returns buffers of the case's sizes. It fills src, scales and zps:
    /// - src has any integer or f8, or f32, bf16 and f16 in +-8;
    /// - zps lie within a byte's range, or are like src, or zero if the op
    ///   demands it;
    /// - scales lie in +-[1/64, 1).
    buffers_t place(const bench_case_t &c);

private:
    struct block_t {
        std::unique_ptr<void, decltype(&std::free)> memory {nullptr, std::free};
        size_t size = 0;
        bool floats = false; // holds f32, bf16 or f16, not any bits
    };

    void *reserve(block_t &block, size_t size);

    void fill_src(const bench_case_t &c, void *src);

    size_t skew_;
    block_t src_, scales_, zps_, dst_;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
