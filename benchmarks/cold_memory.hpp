#ifndef BENCHMARKS_COLD_MEMORY_HPP
#define BENCHMARKS_COLD_MEMORY_HPP

#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "limit.hpp"
#include "replay/graph_file.hpp"

namespace dnnl_dequant {
namespace bench {

/// The values of a graph. Values that are `cold` (packed weights with their
/// scales, a cache of keys and values) have so many copies that the next one is
/// in no cache of the CPU. A model has the same effect: its other layers run in
/// between.
class cold_memory_t {
public:
    /// @param has_large_pages Asks for pages of 2 MiB.
    cold_memory_t(graph_file_t file, std::vector<size_t> cold, int copies,
            bool has_large_pages = false);

    /// Returns the place of a value, or the place where ops write it.
    void *of(size_t value, int copy);
    /// All that is cold, in one piece.
    readable_bytes_t cold(int copy) const;
    int copies() const { return static_cast<int>(cold_.size()); }

private:
    struct free_t {
        void operator()(void *memory) const { std::free(memory); }
    };
    using block_t = std::unique_ptr<void, free_t>;

    block_t reserve(size_t size) const;

    const graph_file_t file_;
    const bool has_large_pages_;
    std::map<size_t, size_t> offsets_; // of what is cold
    size_t cold_size_ = 0;
    std::vector<block_t> cold_;
    std::map<size_t, block_t> others_;
};

/// @returns how many copies of so many bytes twice the last cache holds, within
///     reason
int cold_copies(size_t bytes, long last_cache_bytes);

} // namespace bench
} // namespace dnnl_dequant

#endif
