#include "cold_memory.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include "replay/fill.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr size_t page = 4096, large_page = 2 << 20, line = 64;

size_t rounded_up(size_t size, size_t step) {
    return (size + step - 1) / step * step;
}

size_t size_of(const graph_value_t &value) {
    return bytes_of(value.type, product(value.dims));
}

} // namespace

cold_memory_t::cold_memory_t(graph_file_t file, std::vector<size_t> cold,
        int copies, bool has_large_pages)
    : file_(std::move(file))
    , has_large_pages_(has_large_pages) {
    for (const size_t id : cold) {
        offsets_[id] = cold_size_;
        cold_size_ += rounded_up(size_of(file_.values.at(id)), line);
    }
    for (int i = 0; i < copies; i++) {
        cold_.push_back(reserve(cold_size_));
        char *to = static_cast<char *>(cold_.back().get());
        if (i > 0) std::memcpy(to, cold_.front().get(), cold_size_);
        else
            for (const auto &item : offsets_)
                fill_value(file_, item.first, to + item.second,
                        size_of(file_.values.at(item.first)));
    }
}

cold_memory_t::block_t cold_memory_t::reserve(size_t size) const {
    const size_t pages = has_large_pages_ ? large_page : page;
    const size_t whole = rounded_up(size, pages);
    block_t block(std::aligned_alloc(pages, whole));
    if (!block) throw std::bad_alloc();
    // A kernel that has none gives small ones.
    if (has_large_pages_) madvise(block.get(), whole, MADV_HUGEPAGE);
    std::memset(block.get(), 0, whole);
    return block;
}

void *cold_memory_t::of(size_t value, int copy) {
    const auto offset = offsets_.find(value);
    if (offset != offsets_.end())
        return static_cast<char *>(cold_[static_cast<size_t>(copy)].get())
               + offset->second;
    block_t &block = others_[value];
    if (!block) {
        const size_t size = size_of(file_.values.at(value));
        block = reserve(size);
        if (file_.producer(value) == nullptr)
            fill_value(file_, value, block.get(), size);
    }
    return block.get();
}

readable_bytes_t cold_memory_t::cold(int copy) const {
    return {cold_[static_cast<size_t>(copy)].get(), cold_size_};
}

int cold_copies(size_t bytes, long last_cache_bytes) {
    constexpr size_t fewest = 2, most = 16;
    const size_t wanted
            = 2 * static_cast<size_t>(std::max(last_cache_bytes, 0L)) / bytes
              + 1;
    return static_cast<int>(std::clamp(wanted, fewest, most));
}

} // namespace bench
} // namespace dnnl_dequant
