#ifndef BENCHMARKS_PRODUCT_PRODUCT_MEMORY_HPP
#define BENCHMARKS_PRODUCT_PRODUCT_MEMORY_HPP

#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "limit.hpp"
#include "product_case.hpp"

namespace dnnl_dequant {
namespace bench {

/// The values of a product. Of the packed weights (with their scales and zero
/// points) there are so many copies that the next one is never in a cache, as
/// in a model, whose other layers run in between.
class product_memory_t {
public:
    product_memory_t(const product_case_t &c, int copies);

    /// Where a value is; of one that ops make, where they write it.
    void *of(size_t value, int copy);
    /// All that is packed, in one piece.
    readable_bytes_t packed(int copy) const;
    int copies() const { return static_cast<int>(packed_.size()); }

private:
    struct free_t {
        void operator()(void *memory) const { std::free(memory); }
    };
    using block_t = std::unique_ptr<void, free_t>;

    static block_t reserve(size_t size);

    const graph_file_t file_;
    std::map<size_t, size_t> offsets_; // of what is packed
    size_t packed_size_ = 0;
    std::vector<block_t> packed_;
    std::map<size_t, block_t> others_;
};

/// As many copies as twice the last cache holds, within reason.
int cold_copies(const product_case_t &c, long last_cache_bytes);

/// What measuring it takes, other libraries' copies of the weights aside.
double bytes_needed(const product_case_t &c, long last_cache_bytes);

} // namespace bench
} // namespace dnnl_dequant

#endif
