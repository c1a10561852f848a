#include "graph_replay.hpp"

#include <algorithm>
#include <cmath>

#include <omp.h>

#include "limit.hpp"
#include "reference.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

// Stock's reference code takes up to seconds a run: from this many times the
// plugin's time it runs once, by itself, instead of in every round.
constexpr double too_slow_for_rounds = 20;
constexpr double long_run = 0.3; // seconds, of either: once is enough

// The error that a sum of products may have, in addition to a few steps of the
// coarsest type that an op of the group rounds to.
constexpr double sum_bound = 1e-5;
constexpr double steps = 8;

// The distance of 1 from the next number of the coarsest floating type.
double coarsest_step(const graph_file_t &file, const std::set<size_t> &ops) {
    double step = 0;
    for (const auto &op : file.ops) {
        if (ops.count(op.id) == 0) continue;
        for (const size_t id : op.outputs) {
            const type_t type = file.values.at(id).type;
            if (is_floating(type))
                step = std::max(step, std::ldexp(1., -fraction_bits(type)));
        }
    }
    return step;
}

std::string owner_text(const std::vector<part_t *> &parts) {
    bool ours = false, theirs = false;
    for (const auto *part : parts)
        (part->ours() ? ours : theirs) = true;
    return ours && theirs ? "plugin+oneDNN" : ours ? "plugin" : "oneDNN";
}

} // namespace

graph_replay_t::graph_replay_t(graph_file_t file)
    : file_(std::move(file))
    , values_(file_.values)
    , memory_(file_, values_)
    , stream_(cpu_engine()) {
    check_memory(file_);
    stock_ = partitions_of(file_, owner_t::stock);
    plugin_ = partitions_of(file_, owner_t::plugin);
    groups_ = group_parts(stock_, plugin_);
}

std::string graph_replay_t::name_of(size_t group) const {
    std::string ops;
    for (const auto &op : file_.ops)
        if (groups_[group].ops.count(op.id) != 0)
            ops += (ops.empty() ? "" : "+") + op.kind_name;
    const size_t slash = file_.path.rfind('/');
    return file_.path.substr(slash == std::string::npos ? 0 : slash + 1) + "#"
           + std::to_string(group) + ":" + ops;
}

// Returns the values that the group reads and does not make itself.
std::vector<size_t> graph_replay_t::inputs_of(const part_group_t &group) const {
    std::vector<size_t> ids;
    for (const auto &op : file_.ops) {
        if (group.ops.count(op.id) == 0) continue;
        for (const size_t id : op.inputs) {
            const auto *producer = file_.producer(id);
            const bool outside
                    = producer == nullptr || group.ops.count(producer->id) == 0;
            if (outside && std::count(ids.begin(), ids.end(), id) == 0)
                ids.push_back(id);
        }
    }
    return ids;
}

// Returns the values of the group that others, or the user, read.
std::vector<size_t> graph_replay_t::outputs_of(
        const part_group_t &group) const {
    std::vector<size_t> ids;
    for (const auto &op : file_.ops) {
        if (group.ops.count(op.id) == 0) continue;
        for (const size_t id : op.outputs) {
            bool used = file_.is_output(id);
            for (const auto &other : file_.ops)
                used = used
                       || (group.ops.count(other.id) == 0
                               && std::count(other.inputs.begin(),
                                          other.inputs.end(), id)
                                          != 0);
            if (used) ids.push_back(id);
        }
    }
    return ids;
}

replay_row_t graph_replay_t::describe(size_t group) const {
    replay_row_t row;
    row.name = name_of(group);
    const auto &ops = groups_[group].ops;
    for (const auto &op : file_.ops)
        if (ops.count(op.id) != 0) row.ops.push_back(op.kind_name);
    for (const size_t id : inputs_of(groups_[group]))
        row.types.push_back(to_string(file_.values.at(id).type));
    row.types.push_back("->");
    for (const size_t id : outputs_of(groups_[group]))
        row.types.push_back(to_string(file_.values.at(id).type));
    return row;
}

// Compiles the parts and gives them tensors; fills in a refusal where one of
// them cannot run.
graph_replay_t::bound_t graph_replay_t::bind(
        const parts_t &parts, owner_t owner, contender_t &contender) {
    bound_t bound;
    std::set<size_t> made;
    if (parts.empty()) contender.refusal = "no partition has these ops";
    for (auto *part : parts) {
        compile(*part, values_);
        contender.refusal = part->refusal;
        if (!contender.refusal.empty()) return {};
        bound_part_t next {part->compiled, {}, {}};
        for (const size_t id : part->inputs)
            next.inputs.emplace_back(values_.at(id).concrete(), cpu_engine(),
                    made.count(id) != 0 ? memory_.made(id, owner)
                                        : memory_.shared(id));
        for (const size_t id : part->outputs) {
            made.insert(id);
            next.outputs.emplace_back(values_.at(id).concrete(), cpu_engine(),
                    memory_.made(id, owner));
        }
        bound.push_back(std::move(next));
        if (!part->kernel.empty())
            contender.kernel
                    += (contender.kernel.empty() ? "" : ", ") + part->kernel;
    }
    return bound;
}

// Into stock's memory where stock does not run, to be compared; else into the
// plugin's, which is compared by then.
graph_replay_t::bound_t graph_replay_t::bind_apart(
        const part_group_t &group, replay_row_t &row) {
    const bool all_ours = std::all_of(group.plugin.begin(), group.plugin.end(),
            [](const part_t *part) { return part->ours(); });
    if (!all_ours || group.ops.size() <= group.plugin.size()) return {};
    if (apart_.empty()) apart_ = single_ops_of(file_);
    parts_t parts;
    for (auto &part : apart_)
        if (group.ops.count(part.ops.front()) != 0) parts.push_back(&part);
    return bind(parts,
            row.stock.refusal.empty() ? owner_t::plugin : owner_t::stock,
            row.apart);
}

void graph_replay_t::execute(bound_t &parts) {
    for (auto &part : parts)
        part.compiled.execute(stream_, part.inputs, part.outputs);
}

double graph_replay_t::try_out(
        bound_t &parts, contender_t &contender, bool cpu_time) {
    if (!contender.refusal.empty()) return 0;
    try {
        return seconds_of([&] { execute(parts); }, cpu_time);
    } catch (const std::exception &e) {
        contender.refusal = std::string("execute: ") + e.what();
        return 0;
    }
}

// The formula decides if the group is one dequantize.
void graph_replay_t::check_formula(
        const part_group_t &group, replay_row_t &row) {
    const graph_op_t &op = *file_.op_with(*group.ops.begin());
    const auto made = check_dequantize(op, values_, [&](size_t id) {
        return id == op.outputs[0] ? memory_.made(id, owner_t::plugin)
                                   : memory_.shared(id);
    });
    auto &check = row.check;
    if (made.wrong != 0) {
        check.verdict = verdict_t::wrong;
        check.different = made.wrong;
        check.compared = made.checked;
    } else if (check.verdict != verdict_t::equal)
        check.verdict = verdict_t::formula;
}

// Compares the plugin's outputs with those in stock's memory.
void graph_replay_t::compare(const part_group_t &group, replay_row_t &row) {
    auto &check = row.check;
    bool exact = true;
    for (const auto &op : file_.ops)
        exact = exact && (group.ops.count(op.id) == 0 || is_exact(op.kind));
    for (const size_t id : outputs_of(group)) {
        const auto d = compare_bytes(file_.values.at(id).type,
                memory_.made(id, owner_t::plugin),
                memory_.made(id, owner_t::stock), memory_.size_of(id));
        check.compared += d.compared;
        check.different += d.different;
        if (d.different != 0)
            check.error = std::max(
                    check.error, d.largest / std::max(d.greatest, 1e-30));
    }
    check.bound
            = exact ? 0 : steps * coarsest_step(file_, group.ops) + sum_bound;
    const bool within
            = exact ? check.different == 0 : check.error <= check.bound;
    check.verdict = !within ? verdict_t::wrong
                    : exact ? verdict_t::equal
                            : verdict_t::bounded;
}

void graph_replay_t::check(
        const part_group_t &group, replay_row_t &row, bool ran_apart) {
    if (!row.plugin.refusal.empty()) return;
    const bool with_stock = row.stock.refusal.empty();
    row.check.with_apart = !with_stock && ran_apart;
    if (with_stock || ran_apart) compare(group, row);
    if (row.ops.size() == 1
            && is_dequantize(file_.op_with(*group.ops.begin())->kind))
        check_formula(group, row);
}

void graph_replay_t::enter_loops(
        const part_group_t &group, replay_row_t &row, contest_t &contest) {
    std::vector<readable_bytes_t> inputs;
    writable_bytes_t dst;
    for (const size_t id : inputs_of(group))
        inputs.push_back({memory_.shared(id), memory_.size_of(id)});
    for (const size_t id : outputs_of(group))
        dst.size += memory_.size_of(id);
    std::sort(inputs.begin(), inputs.end(),
            [](const auto &a, const auto &b) { return a.size > b.size; });
    row.bytes = dst.size;
    for (const auto &input : inputs)
        row.bytes += input.size;
    // Moving so few costs nothing; and the loop goes by whole vectors.
    if (inputs.empty() || row.bytes < 4096 || inputs[0].size < 128
            || dst.size < 128)
        return;
    dst.base = memory_.scratch(dst.size);
    const auto enter = [&](stores_t stores, samples_t &samples) {
        const byte_mover_t mover(inputs, dst, stores, row.threads);
        contest.enter(timed_here([mover] { mover.run(); }), samples);
    };
    enter(stores_t::ordinary, row.ordinary);
    enter(stores_t::streaming, row.streaming);
    enter(stores_t::prefetched, row.prefetched);
}

void graph_replay_t::publish(
        const part_group_t &group, const replay_row_t &row) {
    const bool plugin = row.plugin.refusal.empty();
    if (!plugin && !row.stock.refusal.empty()) return; // filled where needed
    for (const size_t id : outputs_of(group))
        memory_.publish(id,
                row.stock.refusal.empty() ? owner_t::stock : owner_t::plugin);
}

replay_row_t graph_replay_t::run(size_t at, const replay_options_t &options) {
    omp_set_num_threads(options.threads);
    const part_group_t &group = groups_[at];
    replay_row_t row = describe(at);
    row.threads = options.threads;
    bound_t plugin = bind(group.plugin, owner_t::plugin, row.plugin);
    bound_t stock;
    if (options.with_stock)
        stock = bind(group.stock, owner_t::stock, row.stock);
    else row.stock.refusal = not_asked;
    row.owner = owner_text(group.plugin);
    const double ours = try_out(plugin, row.plugin, options.cpu_time);
    const double once = try_out(stock, row.stock, options.cpu_time);
    bound_t apart = bind_apart(group, row);
    const bool with_stock = row.stock.refusal.empty();
    if (with_stock) check(group, row, false);
    const double by_ops
            = apart.empty() ? 0 : try_out(apart, row.apart, options.cpu_time);
    if (!with_stock)
        check(group, row, !apart.empty() && row.apart.refusal.empty());
    publish(group, row);

    contest_t contest;
    const auto enter = [&](bound_t &parts, contender_t &side, double seconds,
                               double other) {
        if (!side.refusal.empty()) return;
        if (seconds > long_run
                || (other > 0 && seconds > too_slow_for_rounds * other
                        && seconds > options.budget / 100))
            side.time.seconds = {seconds};
        else contest.enter(timed_here([&] { execute(parts); }), side.time);
    };
    enter(plugin, row.plugin, ours, 0);
    enter(stock, row.stock, once, ours);
    if (!apart.empty()) enter(apart, row.apart, by_ops, ours);
    if (row.plugin.refusal.empty() || row.stock.refusal.empty())
        enter_loops(group, row, contest);
    sampling_t sampling;
    sampling.budget = options.budget;
    sampling.min_rounds = ours + once > options.budget ? 3 : 7;
    sampling.cpu_time = options.cpu_time;
    contest.run(sampling);
    return row;
}

} // namespace bench
} // namespace dnnl_dequant
