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

// Floats as tensors have them, +-8: neither infinities nor the subnormals
// of which random bits are full, and which are slow to multiply.
void fill_floats(type_t type, void *base, size_t count, unsigned seed) {
    std::minstd_rand random(seed);
    const size_t width = bytes_of(type, 1);
    for (size_t i = 0; i < count; i++) {
        const int step = static_cast<int>(random() >> 8) % 4096 - 2048;
        const uint32_t bits
                = round_to(type, static_cast<float>(step) / 256 + 0x1p-10f);
        std::memcpy(static_cast<char *>(base) + width * i, &bits, width);
    }
}

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

// Zero points of a type within the range of a byte, whatever its own; bf16 and
// f16 within that of their src.
void fill_zps(const bench_case_t &c, void *base) {
    std::minstd_rand random(11);
    const size_t width = bytes_of(c.zps, 1), size = c.zps_bytes();
    if (is_floating(c.zps) && c.op == op_t::dequantize_linear) {
        std::memset(base, 0, size); // ONNX allows nothing else
        return;
    }
    if (is_floating(c.zps)) {
        fill_floats(c.zps, base, size / width, 11);
        return;
    }
    for (size_t i = 0; i + width <= size; i += width) {
        const int32_t byte = static_cast<int32_t>(random() >> 8) % 256;
        const int32_t zp = width == 4 && is_signed(c.zps) ? byte - 128 : byte;
        std::memcpy(static_cast<char *>(base) + i, &zp, width);
    }
}

// Any bits are an integer of any type. It also touches the pages.
void fill_words(void *base, size_t size) {
    std::minstd_rand random(3);
    for (size_t i = 0; i + 4 <= size; i += 4) {
        const uint32_t word = static_cast<uint32_t>(random() >> 3)
                              ^ static_cast<uint32_t>(random() << 13);
        std::memcpy(static_cast<char *>(base) + i, &word, 4);
    }
}

} // namespace

void *arena_t::reserve(block_t &block, size_t size) {
    if (block.size < size) {
        block.memory.reset();
        const size_t whole = (size + skew_ + page) / page * page;
        block.memory.reset(std::aligned_alloc(page, whole));
        if (!block.memory) throw std::bad_alloc();
        block.size = whole - skew_;
        fill_words(block.memory.get(), whole);
        block.floats = false;
    }
    return static_cast<char *>(block.memory.get()) + skew_;
}

void arena_t::fill_src(const bench_case_t &c, void *src) {
    const bool floats = is_floating(c.src) && bits_of(c.src) >= 16;
    if (floats) fill_floats(c.src, src, static_cast<size_t>(c.elements()), 5);
    else if (src_.floats) fill_words(src_.memory.get(), src_.size);
    src_.floats = floats;
}

buffers_t arena_t::place(const bench_case_t &c) {
    buffers_t b;
    b.src = reserve(src_, c.src_bytes());
    b.dst = reserve(dst_, c.dst_bytes());
    b.scales = reserve(scales_, c.scales_bytes());
    fill_src(c, b.src);
    fill_scales(c.scales(), b.scales, product(c.scale_grid()));
    if (c.zps != type_t::undef) {
        b.zps = reserve(zps_, c.zps_bytes());
        fill_zps(c, b.zps);
    }
    return b;
}

} // namespace bench
} // namespace dnnl_dequant
