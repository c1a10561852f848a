#include "buffers.hpp"

#include <cstdint>
#include <cstring>
#include <new>
#include <random>

#include "formula.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr size_t page = 4096;

void fill_scales(type_t type, void *base, dim_t count) {
    std::minstd_rand random(7);
    std::uniform_real_distribution<float> magnitude(1.f / 64, 1.f);
    char *to = static_cast<char *>(base);
    const size_t size = bytes_of(type, 1);
    for (dim_t i = 0; i < count; i++) {
        const float value = magnitude(random);
        const uint32_t bits = round_to(type, random() % 2 ? value : -value);
        std::memcpy(to + static_cast<size_t>(i) * size, &bits, size);
    }
}

void fill_zps(type_t type, void *base, size_t size) {
    std::minstd_rand random(11);
    if (type == type_t::s32) {
        for (size_t i = 0; i < size; i += 4) {
            const int32_t zp = static_cast<int32_t>(random() >> 8) % 256 - 128;
            std::memcpy(static_cast<char *>(base) + i, &zp, 4);
        }
        return;
    }
    for (size_t i = 0; i < size; i++)
        static_cast<uint8_t *>(base)[i] = static_cast<uint8_t>(random() >> 8);
}

} // namespace

void *arena_t::reserve(block_t &block, size_t size) {
    if (block.size < size) {
        block.memory.reset();
        const size_t whole = (size + skew_ + page) / page * page;
        block.memory.reset(std::aligned_alloc(page, whole));
        if (!block.memory) throw std::bad_alloc();
        block.size = whole - skew_;
        // Any byte is a valid integer of any type; this also touches pages.
        std::minstd_rand random(3);
        for (size_t i = 0; i + 4 <= whole; i += 4) {
            const uint32_t word = static_cast<uint32_t>(random() >> 3)
                                  ^ static_cast<uint32_t>(random() << 13);
            std::memcpy(static_cast<char *>(block.memory.get()) + i, &word, 4);
        }
    }
    return static_cast<char *>(block.memory.get()) + skew_;
}

buffers_t arena_t::place(const bench_case_t &c) {
    buffers_t b;
    b.src = reserve(src_, c.src_bytes());
    b.dst = reserve(dst_, c.dst_bytes());
    b.scales = reserve(scales_, c.scales_bytes());
    fill_scales(c.dst, b.scales, c.scale_rows() * c.scale_cols());
    if (c.zps != type_t::undef) {
        b.zps = reserve(zps_, c.zps_bytes());
        fill_zps(c.zps, b.zps, c.zps_bytes());
    }
    return b;
}

} // namespace bench
} // namespace dnnl_dequant
