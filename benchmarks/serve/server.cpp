#include "server.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <mutex>
#include <random>
#include <thread>

#include <omp.h>
#include <unistd.h>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "replay/fill.hpp"
#include "serve_mix.hpp"
#include "timing.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

using clock_type = std::chrono::steady_clock;

// Ids of values that a renumbered graph has apart from the last one's.
constexpr size_t ids_a_graph = size_t {1} << 24;

} // namespace

void served_calls_t::add(const served_calls_t &other) {
    execute.add(other.execute);
    hit.add(other.hit);
    miss.add(other.miss);
    seconds += other.seconds;
    bytes += other.bytes;
    if (failure.empty()) failure = other.failure;
}

// A graph with its compiled partitions, and its inputs' memory, which threads
// share.
struct server_t::graph_t {
    explicit graph_t(const graph_file_t &g)
        : file(g)
        , values(file.values)
        , memory(file, values) {
        parts = partition_graph(file);
        for (auto &part : parts) {
            compile(part, values);
            if (refusal.empty()) refusal = part.refusal;
        }
        for (const auto &item : values) {
            memory.shared(item.first); // fills it, before threads ask
            bytes += static_cast<double>(memory.size_of(item.first));
        }
    }

    graph_file_t file;
    std::map<size_t, graph_value_t> values;
    value_memory_t memory;
    std::vector<part_t> parts;
    std::string refusal;
    double bytes = 0;
};

// One thread: results of its own, and what its calls took.
struct server_t::worker_t {
    struct bound_part_t {
        dnnl::graph::compiled_partition compiled;
        std::vector<dnnl::graph::tensor> inputs, outputs;
    };
    struct bound_graph_t {
        std::shared_ptr<graph_t> graph;
        std::vector<bound_part_t> parts;
    };

    explicit worker_t(const std::vector<std::shared_ptr<graph_t>> &graphs)
        : stream(cpu_engine()) {
        for (const auto &graph : graphs) {
            bound_graph_t bound {graph, {}};
            for (const auto &part : graph->parts)
                bound.parts.push_back(bind(*graph, part));
            bound_graphs.push_back(std::move(bound));
        }
    }

    // Inner values are read from the filling like all others: what is served
    // is each partition by itself.
    bound_part_t bind(graph_t &graph, const part_t &part) {
        bound_part_t bound {part.compiled, {}, {}};
        for (const size_t id : part.inputs)
            bound.inputs.emplace_back(graph.values.at(id).concrete(),
                    cpu_engine(), graph.memory.shared(id));
        for (const size_t id : part.outputs) {
            results.emplace_back(graph.memory.size_of(id) + 64);
            bound.outputs.emplace_back(graph.values.at(id).concrete(),
                    cpu_engine(), results.back().data());
        }
        return bound;
    }

    void execute(bound_graph_t &bound) {
        calls.execute.add(seconds_of([&] {
            for (auto &part : bound.parts)
                part.compiled.execute(stream, part.inputs, part.outputs);
        }));
        calls.bytes += bound.graph->bytes;
    }

    // Asks for what the cache has.
    void compile_again(const graph_t &graph) {
        auto values = graph.values;
        double seconds = 0;
        for (part_t part : graph.parts) {
            seconds += seconds_of([&] { compile(part, values); });
            if (!part.refusal.empty()) calls.failure = part.refusal;
        }
        calls.hit.add(seconds);
    }

    // Only compiling counts, building the graph does not.
    void compile_anew(const graph_t &graph, size_t offset) {
        const graph_file_t other = renumbered(graph.file, offset);
        auto values = other.values;
        double seconds = 0;
        for (auto &part : partition_graph(other)) {
            seconds += seconds_of([&] { compile(part, values); });
            if (!part.refusal.empty()) calls.failure = part.refusal;
        }
        calls.miss.add(seconds);
    }

    dnnl::stream stream;
    std::vector<bound_graph_t> bound_graphs;
    std::vector<std::vector<char>> results;
    served_calls_t calls;
};

server_t::server_t(const std::vector<graph_file_t> &graphs, owner_t owner)
    : owner_(owner) {
    set_enabled(owner == owner_t::plugin);
    for (const auto &graph : graphs) {
        graphs_.push_back(std::make_shared<graph_t>(graph));
        refusals_.push_back(graphs_.back()->refusal);
    }
    set_enabled(true);
}

void server_t::keep(const std::vector<bool> &wanted) {
    std::vector<std::shared_ptr<graph_t>> kept;
    for (size_t i = 0; i < graphs_.size(); i++)
        if (wanted[i]) kept.push_back(graphs_[i]);
    graphs_ = std::move(kept);
}

served_calls_t server_t::serve(int threads, int omp_threads, double seconds) {
    set_enabled(owner_ == owner_t::plugin);
    served_calls_t all;
    std::mutex mutex;
    const auto end = clock_type::now()
                     + std::chrono::duration_cast<clock_type::duration>(
                             std::chrono::duration<double>(seconds));
    const auto work = [&](int number) {
        omp_set_num_threads(omp_threads);
        worker_t worker(graphs_);
        std::minstd_rand random(static_cast<unsigned>(number) + 1);
        const auto start = clock_type::now();
        try {
            for (size_t call = 0;
                    clock_type::now() < end && worker.calls.failure.empty();
                    call++) {
                auto &bound
                        = worker.bound_graphs[(random() >> 8) % graphs_.size()];
                // The first of all compiles anew, however short the time is.
                if (call % 64 == 0)
                    worker.compile_anew(
                            *bound.graph, renumberings_++ * ids_a_graph);
                else if (call % 16 == 1) worker.compile_again(*bound.graph);
                else worker.execute(bound);
            }
        } catch (const std::exception &e) {
            worker.calls.failure = e.what();
        }
        const std::lock_guard<std::mutex> lock(mutex);
        const std::chrono::duration<double> spent = clock_type::now() - start;
        worker.calls.seconds = spent.count() / threads;
        all.add(worker.calls);
    };
    std::vector<std::thread> running;
    for (int i = 0; i < threads; i++)
        running.emplace_back(work, i);
    for (auto &thread : running)
        thread.join();
    set_enabled(true);
    return all;
}

double resident_bytes() {
    std::ifstream file("/proc/self/statm");
    double whole = 0, resident = 0;
    file >> whole >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

} // namespace bench
} // namespace dnnl_dequant
