#include "random/workers.hpp"

#include <sys/time.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include "e2e/plugin.hpp"
#include "oneapi/dnnl/dnnl.h"

namespace dnnl_dequant {
namespace random_graphs {
namespace {

// A graph that takes more CPU time counts as one that ends the process: some
// that are not valid keep oneDNN at work for minutes.
void begin_patience() {
    const itimerval limit {{0, 0}, {10, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
}

std::set<int> skipped_of(const chunk_t &chunk, uint64_t seed) {
    std::set<int> steps;
    for (const auto &one : chunk.skipped)
        if (one.first == seed) steps.insert(one.second);
    return steps;
}

trace_t trace_of(const chunk_t &chunk, const spec_t &spec, uint64_t seed) {
    trace_t trace;
    trace.seed = seed;
    steps_t steps(chunk.note, seed, skipped_of(chunk, seed));
    made_graph_t graph(spec, steps, trace);
    values_t values = initial_values(spec, seed);
    ports_t ports;
    for (const auto &p : graph.partitions) {
        traced_partition_t traced = described(p);
        // An unsupported partition says so when it is compiled, too.
        run(spec, p, steps, ports, values, traced);
        trace.partitions.push_back(traced);
    }
    return trace;
}

} // namespace

int onednn_minor() {
    return dnnl_version()->minor;
}

void record(const chunk_t &chunk) {
    std::ofstream out(chunk.records, std::ios::binary | std::ios::app);
    for (uint64_t n = 0; n < chunk.count; ++n) {
        const uint64_t seed = chunk.first + n;
        if (chunk.dropped.count(seed)) continue;
        begin_patience();
        write(out, trace_of(chunk, random_graph(seed, onednn_minor()), seed));
        out.flush();
    }
}

namespace {

bool have_same_statuses(const trace_t &one, const trace_t &other) {
    return one.added == other.added && one.finalized == other.finalized
           && one.partitioned == other.partitioned;
}

bool have_same_steps(const trace_t &one, const trace_t &other) {
    const auto same
            = [](const traced_partition_t &a, const traced_partition_t &b) {
        return a.compiled == b.compiled && a.executed == b.executed;
    };
    return have_same_statuses(one, other)
           && std::equal(one.partitions.begin(), one.partitions.end(),
                   other.partitions.begin(), other.partitions.end(), same);
}

// Returns the first trace of a seed, and all others whose statuses are the
// same. `next` is the one that was read last.
std::vector<trace_t> traces_of(uint64_t seed, std::istream &in, trace_t &next) {
    std::vector<trace_t> traces;
    while (in && next.seed != seed)
        read(in, next);
    for (; in && next.seed == seed; read(in, next))
        if (traces.empty() || have_same_steps(next, traces.front()))
            traces.push_back(next);
    return traces;
}

} // namespace

bool compare(const chunk_t &chunk, bool disabled) {
    std::ifstream in(chunk.records, std::ios::binary),
            in_again(chunk.again, std::ios::binary);
    std::ofstream seen(chunk.tally, std::ios::app),
            wrong(chunk.wrong, std::ios::app);
    trace_t stock, next;
    read(in_again, next);
    if (!e2e::plugin_present() || e2e::plugin_enabled() == disabled) {
        std::cout << "the plugin is not as it should be\n";
        return false;
    }
    while (read(in, stock)) {
        if (stock.seed < chunk.first || chunk.dropped.count(stock.seed))
            continue;
        const auto again = traces_of(stock.seed, in_again, next);
        begin_patience();
        tally_t tally;
        if (again.empty() || !have_same_statuses(again.front(), stock)) {
            seen << "1 graphs whose statuses vary without the plugin\n";
            continue;
        }
        const spec_t spec = random_graph(stock.seed, onednn_minor());
        const auto complaints
                = compare(spec, stock, again, chunk.note, disabled, tally);
        tally.count("graphs");
        tally.count("ops", spec.ops.size());
        if (!spec.spoilt.empty()) tally.count("graphs that were spoilt");
        std::ostringstream text;
        const bool tells = chunk.count == 1 && !complaints.empty();
        if (chunk.prints || tells)
            text << "graph of seed " << stock.seed
                 << (disabled ? ", plugin switched off" : "") << ": "
                 << to_string(spec);
        if (!complaints.empty()) wrong << stock.seed << std::endl;
        for (const auto &complaint : complaints)
            if (tells) text << "  WRONG: " << complaint << '\n';
        std::cout << text.str() << std::flush;
        for (const auto &entry : tally.counts)
            seen << entry.second << ' ' << entry.first << '\n';
        seen.flush();
    }
    return true;
}

} // namespace random_graphs
} // namespace dnnl_dequant
