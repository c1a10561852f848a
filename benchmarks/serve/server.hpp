#ifndef BENCHMARKS_SERVE_SERVER_HPP
#define BENCHMARKS_SERVE_SERVER_HPP

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "latencies.hpp"
#include "replay/parts.hpp"
#include "replay/value_memory.hpp"

namespace dnnl_dequant {
namespace bench {

/// The times of one owner's calls, over all threads. One call serves one graph:
/// all its partitions.
struct served_calls_t {
    latencies_t execute, hit, miss; // compiles out of the cache, and new ones
    double seconds = 0;             // that were spent serving
    double bytes = 0;               // that the executes read and wrote
    std::string failure;            // of any call; empty where none failed

    void add(const served_calls_t &other);
};

/// The graphs, ready to be served by one owner.
class server_t {
public:
    /// Builds all graphs; those that this owner cannot run are in refusals().
    server_t(const std::vector<graph_file_t> &graphs, owner_t owner);

    /// A sentence a graph; empty where it runs.
    const std::vector<std::string> &refusals() const { return refusals_; }
    /// Serves no more what `wanted` does not say.
    void keep(const std::vector<bool> &wanted);

    /// So many threads, each with `omp_threads` of its own, call for a time:
    /// of 64 calls one compiles anew, four compile what the cache has, and the
    /// others execute.
    served_calls_t serve(int threads, int omp_threads, double seconds);

private:
    struct graph_t;
    struct worker_t;

    std::vector<std::shared_ptr<graph_t>> graphs_;
    std::vector<std::string> refusals_;
    owner_t owner_;
    std::atomic<size_t> renumberings_ {1};
};

/// Returns the resident bytes of this process.
double resident_bytes();

} // namespace bench
} // namespace dnnl_dequant

#endif
