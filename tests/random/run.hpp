#ifndef RANDOM_RUN_HPP
#define RANDOM_RUN_HPP

#include <functional>
#include <memory>
#include <set>

#include "random/trace.hpp"

namespace dnnl_dequant {
namespace random_graphs {

using dnnl::graph::partition;

/// The outcome of a call: dnnl_success, the status of the error it threw, or
/// `crashed` where it was left out since it ends the process.
int status_of(const std::function<void()> &call);

/// The calls that may end the process, counted, and a note in a file of the
/// one at work, for the parent to find.
class steps_t {
public:
    /// skipped  the numbers of calls that are known to end the process
    steps_t(const std::string &file, uint64_t seed, std::set<int> skipped);
    ~steps_t();
    steps_t(const steps_t &) = delete;
    steps_t &operator=(const steps_t &) = delete;

    int run(const std::function<void()> &call);

private:
    int descriptor_;
    uint64_t seed_;
    int next_ = 0;
    std::set<int> skipped_;
};

/// A buffer as wide as a cache line needs it, which knows what is behind it.
class buffer_t {
public:
    explicit buffer_t(size_t bytes);
    void *data() const { return data_.get(); }
    size_t size() const { return bytes_; }
    /// Whether what is behind it is as it was.
    bool is_intact() const;

private:
    struct release_t {
        void operator()(void *memory) const;
    };
    std::unique_ptr<void, release_t> data_;
    size_t bytes_;
};

/// The values of every tensor, by its id.
using values_t = std::map<size_t, buffer_t>;

/// The same for every process; integers of a few bits stay so.
values_t initial_values(const spec_t &spec, uint64_t seed);

/// The graph with all its ops, as far as they are accepted.
class made_graph_t {
public:
    made_graph_t(const spec_t &spec, steps_t &steps, trace_t &trace);

    std::vector<partition> partitions;

private:
    dnnl::graph::graph graph_;
};

/// How ports are given at compile, and what came of them.
using ports_t = std::map<size_t, logical_tensor>;

/// Compiles and executes a partition, and notes what a user sees. Inputs are
/// taken from `values`; results are written there too.
void run(const spec_t &spec, const partition &p, steps_t &steps, ports_t &ports,
        values_t &values, traced_partition_t &traced);

/// The facts that are told before compile.
traced_partition_t described(const partition &p);

} // namespace random_graphs
} // namespace dnnl_dequant

#endif
