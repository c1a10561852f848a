#include "product_memory.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "replay/fill.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr size_t page = 4096, line = 64;

size_t rounded_up(size_t size, size_t step) {
    return (size + step - 1) / step * step;
}

size_t size_of(const graph_value_t &value) {
    return bytes_of(value.type, product(value.dims));
}

} // namespace

product_memory_t::product_memory_t(const product_case_t &c, int copies)
    : file_(graph_of(c)) {
    for (const size_t id : {weights_value, scales_value, zps_value}) {
        offsets_[id] = packed_size_;
        packed_size_ += rounded_up(size_of(file_.values.at(id)), line);
    }
    for (int i = 0; i < copies; i++) {
        packed_.push_back(reserve(packed_size_));
        char *to = static_cast<char *>(packed_.back().get());
        if (i > 0) std::memcpy(to, packed_.front().get(), packed_size_);
        else
            for (const auto &item : offsets_)
                fill_value(file_, item.first, to + item.second,
                        size_of(file_.values.at(item.first)));
    }
}

product_memory_t::block_t product_memory_t::reserve(size_t size) {
    const size_t whole = rounded_up(size, page);
    block_t block(std::aligned_alloc(page, whole));
    if (!block) throw std::bad_alloc();
    std::memset(block.get(), 0, whole);
    return block;
}

void *product_memory_t::of(size_t value, int copy) {
    const auto offset = offsets_.find(value);
    if (offset != offsets_.end())
        return static_cast<char *>(packed_[static_cast<size_t>(copy)].get())
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

readable_bytes_t product_memory_t::packed(int copy) const {
    return {packed_[static_cast<size_t>(copy)].get(), packed_size_};
}

int cold_copies(const product_case_t &c, long last_cache_bytes) {
    constexpr size_t fewest = 2, most = 16;
    const size_t wanted
            = 2 * static_cast<size_t>(std::max(last_cache_bytes, 0L))
                      / c.packed_bytes()
              + 1;
    return static_cast<int>(std::clamp(wanted, fewest, most));
}

double bytes_needed(const product_case_t &c, long last_cache_bytes) {
    const auto bytes = [&c](dim_t rows, dim_t cols) {
        return static_cast<double>(bytes_of(c.floats(), rows * cols));
    };
    const double packed = static_cast<double>(c.packed_bytes())
                          * cold_copies(c, last_cache_bytes);
    // oneDNN's product of floats has as many copies, too.
    const double dense
            = c.in_integers()
                      ? 0
                      : bytes(c.depth, c.columns)
                                + 2 * static_cast<double>(last_cache_bytes);
    return packed + dense + bytes(c.rows, c.depth + c.columns);
}

} // namespace bench
} // namespace dnnl_dequant
