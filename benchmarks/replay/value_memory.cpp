#include "value_memory.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>

#include <sys/resource.h>

#include "fill.hpp"

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

double first_number(const char *path, const char *key) {
    std::ifstream file(path);
    std::string word;
    while (file >> word) {
        if (*key == '\0' || word == key) {
            double number = 0;
            if (*key == '\0') return std::atof(word.c_str());
            file >> number;
            return number;
        }
    }
    return 0;
}

// What this process can still have.
double available_memory() {
    double most = first_number("/proc/meminfo", "MemAvailable:") * 1024;
    if (most <= 0) most = std::numeric_limits<double>::infinity();
    const double group = first_number("/sys/fs/cgroup/memory.max", "");
    if (group > 0)
        most = std::min(most,
                group - first_number("/sys/fs/cgroup/memory.current", ""));
    rlimit limit {};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        most = std::min(most, static_cast<double>(limit.rlim_cur));
    return most;
}

std::string gigabytes(double bytes) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.3g GB", bytes / 1e9);
    return text;
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
    const double needed = inputs + 3 * made, most = available_memory();
    if (needed > most)
        throw file_error_t("it needs " + gigabytes(needed)
                           + " of memory and there are " + gigabytes(most));
}

size_t value_memory_t::size_of(size_t value) const {
    const double bytes = extent_of(values_.at(value));
    if (bytes > available_memory())
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
