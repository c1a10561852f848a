#ifndef BENCHMARKS_REPLAY_VALUE_MEMORY_HPP
#define BENCHMARKS_REPLAY_VALUE_MEMORY_HPP

#include <cstdlib>
#include <map>
#include <memory>

#include "dequantize_run.hpp"
#include "graph_file.hpp"

namespace dnnl_dequant {
namespace bench {

/// The memory of a graph's values: what comes from outside once, and what ops
/// make once for each owner, poisoned.
class value_memory_t {
public:
    /// `values` may still learn shapes; both must outlive this.
    value_memory_t(const graph_file_t &file,
            const std::map<size_t, graph_value_t> &values)
        : file_(file)
        , values_(values) {}

    /// Returns the bytes of a value, gaps included.
    size_t size_of(size_t value) const;

    /// Returns the memory that both owners read: the published result or, if
    /// nobody made the value, a filling.
    void *shared(size_t value);
    /// Returns the memory that the owner writes the value to.
    void *made(size_t value, owner_t owner);
    /// From now on others read what this owner made.
    void publish(size_t value, owner_t owner);
    bool is_published(size_t value) const {
        return published_.count(value) != 0;
    }

    /// So many bytes for a loop to write to, other than any value's.
    void *scratch(size_t size);

private:
    struct free_t {
        void operator()(void *memory) const { std::free(memory); }
    };
    using block_t = std::unique_ptr<void, free_t>;

    static block_t reserve(size_t size);

    const graph_file_t &file_;
    const std::map<size_t, graph_value_t> &values_;
    std::map<size_t, block_t> outside_, stock_, plugin_;
    std::map<size_t, void *> published_;
    block_t scratch_;
    size_t scratch_size_ = 0;
};

/// Throws file_error_t where the graph needs more memory than this process can
/// have, or a tensor more than can be said. Unknown shapes count nothing.
void check_memory(const graph_file_t &file);

} // namespace bench
} // namespace dnnl_dequant

#endif
