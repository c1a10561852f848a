#include "ggml_peer.hpp"

#include <cstdlib>
#include <cstring>
#include <random>

#include <dlfcn.h>

#include "formula.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

// A type as ggml.h describes it (ggml_get_type_traits, since 2024), in the
// order of its fields.
struct type_traits_t {
    const char *type_name;
    int64_t block_size, block_size_interleave;
    size_t type_size;
    bool is_quantized;
    void (*to_float)(const void *, float *, int64_t);
    void (*from_float)(const float *, void *, int64_t);
};

// enum ggml_type, fixed by its files' format.
struct format_t {
    int type;
    const char *name;
    int64_t block_size;
    size_t block_bytes;
    size_t halves; // f16 numbers that a block begins with
};

constexpr format_t q4_0 {2, "q4_0", 32, 18, 1};
constexpr format_t q4_1 {3, "q4_1", 32, 20, 2};
constexpr format_t q8_0 {8, "q8_0", 32, 34, 1};
constexpr format_t q4_k {12, "q4_K", 256, 144, 2};

const format_t *format_of(const bench_case_t &c) {
    if (c.dst != type_t::f32 || c.transposed
            || c.granularity != granularity_t::per_group)
        return nullptr;
    const dim_t group = c.group.back();
    const bool zps = c.zps != type_t::undef;
    for (size_t d = 0; d + 1 < c.group.size(); d++)
        if (c.group[d] != 1) return nullptr;
    if (bits_of(c.src) == 4 && group == 32) return zps ? &q4_1 : &q4_0;
    if (bits_of(c.src) == 4 && group == 128 && zps) return &q4_k;
    if (c.src == type_t::s8 && group == 32 && !zps) return &q8_0;
    return nullptr;
}

using get_traits_t = const type_traits_t *(*)(int);

// Random weights with scales that are no subnormals.
void fill(std::vector<uint8_t> &blocks, const format_t &format) {
    std::minstd_rand random(17);
    for (auto &byte : blocks)
        byte = static_cast<uint8_t>(random() >> 8);
    for (size_t at = 0; at < blocks.size(); at += format.block_bytes)
        for (size_t i = 0; i < format.halves; i++) {
            const float scale = static_cast<float>(1 + random() % 64) / 128;
            const uint32_t bits = round_to(type_t::f16, scale);
            std::memcpy(&blocks[at + 2 * i], &bits, 2);
        }
}

} // namespace

ggml_peer_t::ggml_peer_t() {
    const char *named = std::getenv("DNNL_DEQUANT_GGML");
    if (named != nullptr && *named != '\0') {
        load(named);
        return;
    }
    load("libggml-base.so.0");
    if (library_ == nullptr) load("libggml-base.so");
}

ggml_peer_t::~ggml_peer_t() {
    if (library_ != nullptr) dlclose(library_);
}

void ggml_peer_t::load(const std::string &path) {
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
        absence_ = dlerror();
        return;
    }
    if (dlsym(library_, "ggml_get_type_traits") == nullptr) {
        absence_ = path + " has no ggml_get_type_traits";
        dlclose(library_);
        library_ = nullptr;
        return;
    }
    absence_.clear();
    using version_t = const char *(*)();
    const auto version
            = reinterpret_cast<version_t>(dlsym(library_, "ggml_version"));
    name_ = std::string("ggml ") + (version != nullptr ? version() : "?");
}

std::string ggml_peer_t::prepare(const bench_case_t &c) {
    convert_ = nullptr;
    if (library_ == nullptr) return absence_;
    const format_t *format = format_of(c);
    if (format == nullptr)
        return "ggml has blocks of 4 or 8 bits with scales inside, to f32";
    columns_ = c.dims.back();
    rows_ = c.elements() / columns_;
    if (columns_ % format->block_size != 0) return "rows are no whole blocks";
    const auto get = reinterpret_cast<get_traits_t>(
            dlsym(library_, "ggml_get_type_traits"));
    const type_traits_t *traits = get(format->type);
    // Another layout of the struct, or of the blocks, than is known here.
    if (traits == nullptr || traits->block_size != format->block_size
            || traits->type_size != format->block_bytes
            || traits->to_float == nullptr)
        return "this ggml's " + std::string(format->name) + " is another";
    format_ = format->name;
    convert_ = traits->to_float;
    threads_ = c.threads;
    row_bytes_ = static_cast<size_t>(columns_ / format->block_size)
                 * format->block_bytes;
    blocks_.resize(row_bytes_ * static_cast<size_t>(rows_));
    fill(blocks_, *format);
    return "";
}

contestant_t ggml_peer_t::contestant(void *dst) const {
    float *to = static_cast<float *>(dst);
    return timed_here([this, to] {
#pragma omp parallel for num_threads(threads_) schedule(static)
        for (dim_t row = 0; row < rows_; row++)
            convert_(&blocks_[static_cast<size_t>(row) * row_bytes_],
                    to + row * columns_, columns_);
    });
}

} // namespace bench
} // namespace dnnl_dequant
