#include "support/guarded_buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace dnnl_dequant {
namespace support {

namespace {

constexpr unsigned char pattern = 0xa5;

size_t page_size() {
    static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

// Mappings are kept and used again: a cross product makes some hundred
// thousand buffers, nearly all of one page.
std::mutex pool_mutex;
std::map<size_t, std::vector<unsigned char *>> &pool() {
    static std::map<size_t, std::vector<unsigned char *>> free_pages;
    return free_pages;
}

unsigned char *map_pages(size_t pages) {
    void *const base = mmap(nullptr, (pages + 2) * page_size(), PROT_NONE,
            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    auto *const usable = static_cast<unsigned char *>(base) + page_size();
    if (mprotect(usable, pages * page_size(), PROT_READ | PROT_WRITE) != 0)
        throw std::bad_alloc();
    return usable;
}

unsigned char *acquire(size_t pages) {
    const std::lock_guard<std::mutex> lock(pool_mutex);
    auto &kept = pool()[pages];
    if (kept.empty()) return map_pages(pages);
    unsigned char *const usable = kept.back();
    kept.pop_back();
    return usable;
}

bool untouched(const unsigned char *begin, const unsigned char *end) {
    if (begin == end) return true;
    // All bytes equal their neighbour, and the first is the pattern.
    return *begin == pattern
           && std::memcmp(
                      begin, begin + 1, static_cast<size_t>(end - begin) - 1)
                      == 0;
}

} // namespace

guarded_buffer_t::guarded_buffer_t(size_t bytes, edge_t edge, size_t slack)
    : pages_(std::max<size_t>(
              1, (bytes + slack + page_size() - 1) / page_size()))
    , bytes_(bytes) {
    usable_ = acquire(pages_);
    std::memset(usable_, pattern, pages_ * page_size());
    data_ = edge == edge_t::start
                    ? usable_ + slack
                    : usable_ + pages_ * page_size() - slack - bytes;
}

guarded_buffer_t::guarded_buffer_t(guarded_buffer_t &&other) noexcept
    : usable_(other.usable_)
    , pages_(other.pages_)
    , data_(other.data_)
    , bytes_(other.bytes_) {
    other.usable_ = nullptr;
}

guarded_buffer_t::~guarded_buffer_t() {
    if (!usable_) return;
    const std::lock_guard<std::mutex> lock(pool_mutex);
    pool()[pages_].push_back(usable_);
}

bool guarded_buffer_t::intact() const {
    const unsigned char *const end = usable_ + pages_ * page_size();
    return untouched(usable_, data_) && untouched(data_ + bytes_, end);
}

} // namespace support
} // namespace dnnl_dequant
