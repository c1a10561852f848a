#include "graph_run.hpp"

#include "replay/parts.hpp"

namespace dnnl_dequant {
namespace bench {

graph_run_t::graph_run_t(
        const graph_file_t &file, owner_t owner, cold_memory_t &memory)
    : stream_(cpu_engine())
    , copies_(static_cast<size_t>(memory.copies())) {
    auto values = file.values;
    const auto tensors = [&](const std::vector<size_t> &ids, int copy) {
        std::vector<dnnl::graph::tensor> all;
        for (const size_t id : ids)
            all.emplace_back(values.at(id).concrete(), cpu_engine(),
                    memory.of(id, copy));
        return all;
    };
    for (auto &part : partitions_of(file, owner)) {
        compile(part, values);
        refusal_ = part.refusal;
        if (!refusal_.empty()) return;
        if (part.ours()) kernel_ += (kernel_.empty() ? "" : ", ") + part.kernel;
        bound_part_t bound {part.compiled, {}, {}};
        for (int copy = 0; copy < memory.copies(); copy++) {
            bound.inputs.push_back(tensors(part.inputs, copy));
            bound.outputs.push_back(tensors(part.outputs, copy));
        }
        parts_.push_back(std::move(bound));
    }
}

void graph_run_t::execute() {
    for (auto &part : parts_)
        part.compiled.execute(stream_, part.inputs[next_], part.outputs[next_]);
    next_ = (next_ + 1) % copies_;
}

double try_out(graph_run_t &run, bool cpu_time, contender_t &contender) {
    contender.refusal = run.refusal();
    contender.kernel = run.kernel();
    if (!contender.refusal.empty()) return 0;
    try {
        return seconds_of([&] { run.execute(); }, cpu_time);
    } catch (const std::exception &e) {
        contender.refusal = e.what();
        return 0;
    }
}

void enter_reading(contest_t &contest, const cold_memory_t &memory, int threads,
        samples_t &time) {
    // Nothing is made of what it reads, so one line is written.
    alignas(64) static char unused[64];
    std::vector<byte_mover_t> readers;
    for (int copy = 0; copy < memory.copies(); copy++)
        readers.emplace_back(std::vector<readable_bytes_t> {memory.cold(copy)},
                writable_bytes_t {unused, sizeof(unused)}, stores_t::ordinary,
                threads);
    contest.enter(timed_here([readers, next = size_t {0}]() mutable {
        readers[next].read();
        next = (next + 1) % readers.size();
    }),
            time);
}

double enter_peak(
        contest_t &contest, peak_kind_t kind, int threads, samples_t &time) {
    const peak_loop_t peak(kind, threads);
    if (!peak.is_there()) return 0;
    contest.enter(timed_here([peak] { peak.run(); }), time);
    return peak.operations();
}

} // namespace bench
} // namespace dnnl_dequant
