#include "random/compare.hpp"

#include <algorithm>
#include <cstring>

#include "random/compare_described.hpp"
#include "random/reference.hpp"

namespace dnnl_dequant {
namespace random_graphs {
namespace {

// The calls that end the process without the plugin, up to the partitions.
std::set<int> skipped(const trace_t &stock) {
    std::set<int> steps;
    const int ops = static_cast<int>(stock.added.size());
    for (int id = 0; id < ops; ++id)
        if (stock.added[static_cast<size_t>(id)] == crashed) steps.insert(id);
    if (stock.finalized == crashed) steps.insert(ops);
    if (stock.partitioned == crashed) steps.insert(ops + 1);
    return steps;
}

class comparison_t : described_comparison_t {
public:
    comparison_t(const spec_t &spec, const trace_t &stock,
            const std::vector<trace_t> &again, const std::string &note,
            bool disabled, tally_t &tally)
        : described_comparison_t(spec, stock, disabled, tally)
        , again_(again)
        , steps_(note, stock.seed, skipped(stock))
        , expected_(initial_values(spec, stock.seed)) {}

    std::vector<std::string> make() {
        made_graph_t graph(spec_, steps_, trace_);
        compare_statuses();
        if (!complaints_.empty() || is_other_) return complaints_;
        for (const auto &p : graph.partitions)
            trace_.partitions.push_back(described(p));
        compare_partitions(graph.partitions);
        if (!complaints_.empty()) return complaints_;
        if (spec_.any_layouts && gains_) {
            tally_.count("graphs of any layouts that were not executed");
            return complaints_;
        }
        for (size_t n = 0; n < graph.partitions.size(); ++n)
            run_partition(graph.partitions[n], trace_.partitions[n]);
        tally_kinds();
        return complaints_;
    }

private:
    // Counts the kinds of ops that were executed at all.
    void tally_kinds() {
        for (const auto &p : trace_.partitions)
            for (const uint64_t op : p.ops)
                tally_.count(
                        std::string(p.executed == dnnl_success ? executed_kind
                                                               : refused_kind)
                        + std::to_string(static_cast<int>(spec_.ops[op].kind)));
    }

    void run_partition(const partition &p, traced_partition_t &traced) {
        const traced_partition_t *const same = of_stock(traced.ops);
        if (is_ours(p)) return run_ours(p, traced, same);
        if (same) run_theirs(p, traced, *same);
    }

    void run_theirs(const partition &p, traced_partition_t &ours,
            const traced_partition_t &theirs) {
        if (ends_process(theirs)) {
            tally_.count("calls that end the process in oneDNN");
            return;
        }
        if (!ours.is_supported && theirs.compiled == not_reached) return;
        run(spec_, p, steps_, ports_, expected_, ours);
        const std::string name = "partition of " + list(ours.ops) + ": ";
        if (ours.compiled != theirs.compiled)
            complain(name, "compile ", ours.compiled, " instead of ",
                    theirs.compiled);
        if (ours.executed != theirs.executed)
            complain(name, "execute ", ours.executed, " instead of ",
                    theirs.executed);
        compare_ports(name + "compiled output ", theirs.compiled_outputs,
                ours.compiled_outputs);
        if (ours.sizes != theirs.sizes || ours.inplace != theirs.inplace)
            complain(name, "other sizes or in-place ports");
        const bool varies = varies_in_onednn(theirs);
        if (ours.results != theirs.results && !varies)
            complain(name, "other results");
        keep(theirs);
        if (varies)
            tally_.count("partitions of oneDNN that vary without the plugin");
        else if (theirs.executed == dnnl_success)
            tally_.count("partitions of oneDNN executed, equal to the bit");
        else tally_.count("partitions of oneDNN refused with the same status");
    }

    // Returns the same partition of another trace without the plugin.
    const traced_partition_t &counterpart(
            const traced_partition_t &theirs, const trace_t &again) const {
        return again.partitions.at(
                static_cast<size_t>(&theirs - stock_.partitions.data()));
    }

    bool varies_in_onednn(const traced_partition_t &theirs) const {
        return std::any_of(
                again_.begin(), again_.end(), [&](const trace_t &again) {
            return counterpart(theirs, again).results != theirs.results;
        });
    }

    bool ends_process(const traced_partition_t &theirs) const {
        for (const auto *one : {&theirs, &counterpart(theirs, again_.front())})
            if (one->compiled == crashed || one->executed == crashed)
                return true;
        return false;
    }

    // Later partitions go on from stock's values.
    void keep(const traced_partition_t &theirs) {
        for (size_t n = 0; n < theirs.results.size(); ++n) {
            buffer_t &buffer = expected_.at(theirs.outputs[n].id);
            const auto &bytes = theirs.results[n];
            if (buffer.size() < bytes.size()) buffer = buffer_t(bytes.size());
            std::memcpy(buffer.data(), bytes.data(), bytes.size());
        }
        if (spec_.any_layouts) return;
        for (const traced_port_t &port : theirs.compiled_outputs) {
            ports_.erase(port.id);
            ports_.emplace(port.id,
                    logical_tensor(port.id, static_cast<type_t>(port.type),
                            port.dims, port.strides));
        }
    }

    void run_ours(const partition &p, traced_partition_t &ours,
            const traced_partition_t *same) {
        const std::string name = "partition of " + list(ours.ops) + ": ";
        const auto parts = overlapping(ours.ops);
        const bool runs
                = std::all_of(parts.begin(), parts.end(), [](const auto *part) {
            return part->executed == dnnl_success;
        });
        const bool crashes
                = std::any_of(parts.begin(), parts.end(), [](const auto *part) {
            return part->compiled == crashed || part->executed == crashed;
        });
        values_t reference = copy();
        const bool known
                = !crashes && run_one_by_one(spec_, ours.ops, reference);
        ports_t ports = ports_;
        values_t got = copy();
        run(spec_, p, steps_, ports, got, ours);
        // The shapes of some tensors do not fit the op. oneDNN has other
        // statuses for some, and reads parameters of a wrong size as they come.
        const bool has_parameters = std::any_of(
                ours.ops.begin(), ours.ops.end(), [this](size_t id) {
            const op::kind kind = spec_.ops[id].kind;
            return kind == op::kind::DynamicDequantize
                   || kind == op::kind::DynamicQuantize;
        });
        const bool refused = ours.compiled != dnnl_success;
        if (!spec_.spoilt.empty() && refused
                && (!runs || ours.compiled == dnnl_invalid_shape
                        || (has_parameters
                                && ours.compiled == dnnl_invalid_arguments))) {
            tally_.count("partitions of the plugin refused for their shapes");
            for (const auto *part : parts)
                keep(*part);
            return;
        }
        if (runs && ours.executed != dnnl_success)
            complain(name, "compile ", ours.compiled, ", execute ",
                    ours.executed, " where stock gives results");
        if (!runs && same && !crashes && refused
                && ours.compiled != same->compiled)
            complain(name, "compile ", ours.compiled, " instead of ",
                    same->compiled);
        if (ours.executed == dnnl_success && known)
            compare_results(name, ours, reference, got);
        else if (ours.executed == dnnl_success)
            tally_.count("partitions of the plugin with nothing to compare");
        else tally_.count("partitions of the plugin refused");
        for (const auto *part : parts)
            keep(*part);
    }

    values_t copy() const {
        values_t copied;
        for (const auto &entry : expected_) {
            const auto made = copied.emplace(
                    entry.first, buffer_t(entry.second.size()));
            std::memcpy(made.first->second.data(), entry.second.data(),
                    entry.second.size());
        }
        return copied;
    }

    void compare_results(const std::string &name,
            const traced_partition_t &ours, const values_t &reference,
            const values_t &got) {
        const bound_t bound = bound_of(spec_, ours.ops, reference);
        bool all_exact = true;
        for (const auto &port : ours.outputs) {
            bool exact = true;
            const std::string off = difference(spec_.tensors[port.id],
                    reference.at(port.id).data(), got.at(port.id).data(), bound,
                    exact);
            if (!off.empty()) complain(name, "t", port.id, ": ", off);
            if (!got.at(port.id).is_intact())
                complain(name, "t", port.id, ": written beyond its end");
            all_exact = all_exact && exact;
        }
        tally_.count(all_exact ? "partitions of the plugin equal to their ops"
                               : "partitions of the plugin within the bound");
    }

    const std::vector<trace_t> &again_;
    steps_t steps_;
    values_t expected_;
    ports_t ports_;
};

} // namespace

std::vector<std::string> compare(const spec_t &spec, const trace_t &stock,
        const std::vector<trace_t> &again, const std::string &note,
        bool disabled, tally_t &tally) {
    return comparison_t(spec, stock, again, note, disabled, tally).make();
}

} // namespace random_graphs
} // namespace dnnl_dequant
