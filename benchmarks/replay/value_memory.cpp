#include "value_memory.hpp"

#include <algorithm>
#include <cstring>

#include "fill.hpp"
#include "memory_left.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr size_t page = 4096;
constexpr int poison = 0xa5;

// Bytes from the first to the last element; in floating point, which cannot
// overflow.
double extent_of(const graph_value_t &value) {
    double last = 0, count = 1;
    for (size_t d = 0; d < value.dims.size(); d++) {
        const double dim = static_cast<double>(value.dims[d]);
        count *= dim;
        if (!value.strides.empty())
            last += (dim - 1) * static_cast<double>(value.strides[d]);
    }
    if (count == 0) return 0;
    const double elements = std::max(count, last + 1);
    return elements * static_cast<double>(bits_of(value.type)) / 8;
}

} // namespace

void check_memory(const graph_file_t &file) {
    double inputs = 0, made = 0;
    for (const auto &item : file.values) {
        const auto &value = item.second;
        if (!value.has_shape()) continue;
        const bool outside = file.producer(item.first) == nullptr;
        (outside ? inputs : made) += extent_of(value);
    }
    // Results once for each owner, and once more to move the bytes.
    const double needed = inputs + 3 * made, most = memory_left();
    if (needed > most)
        throw file_error_t("it needs " + gigabytes(needed)
                           + " of memory and there are " + gigabytes(most));
}

size_t value_memory_t::size_of(size_t value) const {
    const double bytes = extent_of(values_.at(value));
    if (bytes > memory_left())
        throw file_error_t("tensor " + std::to_string(value) + " needs "
                           + gigabytes(bytes)
                           + ", more memory than there is left");
    return static_cast<size_t>(bytes + 0.875);
}

value_memory_t::block_t value_memory_t::reserve(size_t size) {
    const size_t whole = (size + page) / page * page;
    block_t block(std::aligned_alloc(page, whole));
    if (!block)
        throw file_error_t("there is no memory for "
                           + gigabytes(static_cast<double>(size)));
    std::memset(block.get(), poison, whole);
    return block;
}

void *value_memory_t::shared(size_t value) {
    if (const auto found = published_.find(value); found != published_.end())
        return found->second;
    auto &block = outside_[value];
    if (!block) {
        const size_t size = size_of(value);
        block = reserve(size);
        fill_value(file_, value, block.get(), size);
    }
    return block.get();
}

void *value_memory_t::made(size_t value, owner_t owner) {
    auto &block = (owner == owner_t::stock ? stock_ : plugin_)[value];
    if (!block) block = reserve(size_of(value));
    return block.get();
}

void value_memory_t::publish(size_t value, owner_t owner) {
    published_[value] = made(value, owner);
}

void *value_memory_t::scratch(size_t size) {
    if (scratch_size_ < size) {
        scratch_.reset();
        scratch_ = reserve(size);
        scratch_size_ = size;
    }
    return scratch_.get();
}

} // namespace bench
} // namespace dnnl_dequant
