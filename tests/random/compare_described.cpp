#include "random/compare_described.hpp"

#include <algorithm>
#include <numeric>

namespace dnnl_dequant {
namespace random_graphs {

using k = op::kind;

// A handle of ours has bit 0 set.
bool is_ours(const partition &p) {
    return (reinterpret_cast<uintptr_t>(p.get()) & 1u) != 0;
}

std::string list(const ids_t &ids) {
    std::string text;
    for (const uint64_t id : ids)
        text += (text.empty() ? "op" : " op") + std::to_string(id);
    return text;
}

namespace {

bool contains(const ids_t &ids, uint64_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool is_within(const ids_t &some, const ids_t &all) {
    return std::all_of(some.begin(), some.end(),
            [&](uint64_t id) { return contains(all, id); });
}

// A partition of ours names a port once that two inputs of its ops share.
std::vector<traced_port_t> each_once(const std::vector<traced_port_t> &ports) {
    std::vector<traced_port_t> found;
    for (const auto &port : ports)
        if (std::find(found.begin(), found.end(), port) == found.end())
            found.push_back(port);
    return found;
}

// Returns the places of the ids in rising order of the ids.
std::vector<size_t> order_of(const std::vector<size_t> &ids) {
    std::vector<size_t> order(ids.size());
    std::iota(order.begin(), order.end(), size_t {0});
    std::sort(order.begin(), order.end(),
            [&](size_t one, size_t other) { return ids[one] < ids[other]; });
    return order;
}

} // namespace

// Ops of ours may be accepted where oneDNN refuses them.
bool described_comparison_t::may_be_accepted(size_t op) const {
    const std::vector<k> kinds {k::DynamicDequantize, k::DynamicQuantize,
            k::Reorder, k::StaticReshape, k::StaticTranspose};
    return !disabled_
           && std::count(kinds.begin(), kinds.end(), spec_.ops[op].kind);
}

// HACKING.md: add_op refuses what has no meaning in any oneDNN, though oneDNN
// itself may refuse it only at compile. Examples are a qtype that does not
// exist, and groups without their shape.
bool described_comparison_t::is_meaningless(size_t op) const {
    return !spec_.spoilt.empty() && may_be_accepted(op);
}

void described_comparison_t::compare_statuses() {
    size_t accepted = 0, meaningless = 0;
    for (size_t op = 0; op < stock_.added.size(); ++op) {
        const int theirs = stock_.added[op], ours = trace_.added[op];
        if (theirs == ours) continue;
        if (ours == dnnl_success && may_be_accepted(op)) ++accepted;
        else if (ours == dnnl_invalid_graph_op && is_meaningless(op))
            ++meaningless;
        else complain("op", op, ": add_op ", ours, " instead of ", theirs);
    }
    tally_.count("ops that only the plugin accepts", accepted);
    tally_.count("meaningless ops that only the plugin refuses", meaningless);
    gains_ = accepted > 0;
    is_other_ = meaningless > 0;
    if (gains_ || is_other_) return;
    if (trace_.finalized != stock_.finalized)
        complain("finalize ", trace_.finalized, " instead of ",
                stock_.finalized);
    if (trace_.partitioned != stock_.partitioned)
        complain("get_partitions ", trace_.partitioned, " instead of ",
                stock_.partitioned);
}

const traced_partition_t *described_comparison_t::of_stock(
        const ids_t &ops) const {
    for (const auto &p : stock_.partitions)
        if (p.ops == ops) return &p;
    return nullptr;
}

std::vector<const traced_partition_t *> described_comparison_t::overlapping(
        const ids_t &ops) const {
    std::vector<const traced_partition_t *> found;
    for (const auto &p : stock_.partitions)
        if (std::any_of(p.ops.begin(), p.ops.end(),
                    [&](uint64_t op) { return contains(ops, op); }))
            found.push_back(&p);
    return found;
}

void described_comparison_t::compare_partitions(
        const std::vector<partition> &made) {
    std::vector<size_t> places, ids, their_ids;
    for (size_t n = 0; n < made.size(); ++n) {
        const traced_partition_t &p = trace_.partitions[n];
        if (disabled_ && is_ours(made[n]))
            complain("a partition of ours while the plugin is switched off");
        tally_.count(is_ours(made[n]) ? "partitions of the plugin"
                                      : "partitions of oneDNN");
        const traced_partition_t *const same = of_stock(p.ops);
        if (same) {
            compare_described(*same, p, is_ours(made[n]));
            places.push_back(
                    static_cast<size_t>(same - stock_.partitions.data()));
            ids.push_back(p.id);
            their_ids.push_back(same->id);
        } else {
            compare_fused(p, is_ours(made[n]));
        }
    }
    if (!std::is_sorted(places.begin(), places.end()))
        complain("partitions that are both's come in another order");
    // A process that makes other partitions too has other numbers.
    if (order_of(ids) != order_of(their_ids))
        complain("ids of partitions that are both's have another order");
    compare_counts();
}

// Ports and all else of a partition that stock has too.
void described_comparison_t::compare_described(const traced_partition_t &theirs,
        const traced_partition_t &ours, bool is_ours) {
    const std::string name = "partition of " + list(ours.ops) + ": ";
    const bool gained = is_ours && ours.is_supported;
    if (gained && !theirs.is_supported) {
        tally_.count("partitions that only the plugin supports");
        gains_ = true;
    } else if (ours.is_supported != theirs.is_supported) {
        complain(name, "is_supported ", ours.is_supported);
    }
    if (ours.engine != theirs.engine) complain(name, "another engine");
    compare_ports(name + "input ",
            is_ours ? each_once(theirs.inputs) : theirs.inputs, ours.inputs);
    compare_ports(name + "output ", theirs.outputs, ours.outputs);
    if (is_ours) gains_ = true;
}

void described_comparison_t::compare_ports(const std::string &name,
        const std::vector<traced_port_t> &theirs,
        const std::vector<traced_port_t> &ours) {
    if (ours.size() != theirs.size())
        return complain(
                name, "count ", ours.size(), " instead of ", theirs.size());
    for (size_t n = 0; n < ours.size(); ++n)
        if (!(ours[n] == theirs[n]))
            complain(name, n, ": ", to_string(ours[n]), " instead of ",
                    to_string(theirs[n]));
}

// One that stock has not: it is ours, and of whole partitions of stock's.
void described_comparison_t::compare_fused(
        const traced_partition_t &p, bool is_ours) {
    const std::string name = "partition of " + list(p.ops) + ": ";
    gains_ = true;
    if (!is_ours) return complain(name, "stock has none such");
    for (const auto *part : overlapping(p.ops))
        if (!is_within(part->ops, p.ops))
            complain(name, "a part only of stock's of ", list(part->ops));
    tally_.count("partitions of the plugin that fuse several of oneDNN's");
}

// Every op is in one partition, and no more partitions than before.
void described_comparison_t::compare_counts() {
    ids_t ours, theirs;
    for (const auto &p : trace_.partitions)
        ours.insert(ours.end(), p.ops.begin(), p.ops.end());
    for (const auto &p : stock_.partitions)
        theirs.insert(theirs.end(), p.ops.begin(), p.ops.end());
    for (const uint64_t op : theirs)
        if (std::count(ours.begin(), ours.end(), op) != 1)
            complain("op", op, " is not in exactly one partition");
    for (const uint64_t op : ours)
        if (!contains(theirs, op) && !may_be_accepted(op))
            complain("op", op, " is in no partition of stock's");
    if (trace_.partitions.size()
            > stock_.partitions.size() + ours.size() - theirs.size())
        complain(trace_.partitions.size(), " partitions instead of ",
                stock_.partitions.size());
}

} // namespace random_graphs
} // namespace dnnl_dequant
