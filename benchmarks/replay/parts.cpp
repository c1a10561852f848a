#include "parts.hpp"

#include <algorithm>

#include "oneapi/dnnl/dnnl_debug.h"

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

using dnnl::graph::graph;
using dnnl::graph::op;

// Later versions write attributes that earlier ones refuse, whatever their
// value; what says nothing new is left out.
bool is_default(const std::string &name, const graph_op_t::attribute_t &value) {
    const auto is = [&](const char *text) {
        return value == graph_op_t::attribute_t(std::string(text));
    };
    return (name == "accumulation_mode" && is("strict"))
           || (name == "mode" && (is("none") || is("gelu_erf")));
}

void set_attributes(op &to, const graph_op_t &from) {
    for (const auto &item : from.attributes) {
        if (is_default(item.first, item.second)) continue;
        const op_attr_t name = *attribute_named(item.first);
        std::visit([&](const auto &value) { to.set_attr(name, value); },
                item.second);
    }
}

op make_op(const graph_file_t &file, const graph_op_t &from, op_kind_t kind) {
    op made(from.id, kind, from.name);
    for (const size_t id : from.inputs)
        made.add_input(file.values.at(id).described());
    for (const size_t id : from.outputs)
        made.add_output(file.values.at(id).described());
    return made;
}

// Adds the op, or a Wildcard in its place; why, or nothing.
std::string add(graph &to, const graph_file_t &file, const graph_op_t &from) {
    try {
        op made = make_op(file, from, from.kind);
        set_attributes(made, from);
        to.add_op(made);
        return "";
    } catch (const dnnl::error &e) {
        to.add_op(make_op(file, from, op_kind_t::Wildcard));
        return "add_op of " + from.kind_name + ": " + dnnl_status2str(e.status);
    }
}

std::vector<size_t> ids_of(const std::vector<lt_t> &ports) {
    std::vector<size_t> ids;
    for (const auto &port : ports)
        ids.push_back(port.get_id());
    return ids;
}

part_t as_part(const dnnl::graph::partition &partition,
        const std::map<size_t, std::string> &refused) {
    part_t part;
    part.partition = partition;
    part.ops = partition.get_ops();
    part.inputs = ids_of(partition.get_input_ports());
    part.outputs = ids_of(partition.get_output_ports());
    for (const size_t id : part.ops)
        if (const auto found = refused.find(id); found != refused.end())
            part.refusal = found->second;
    if (part.refusal.empty() && !partition.is_supported())
        part.refusal = "unsupported";
    return part;
}

// A supported partition knows its ports; of a Wildcard they may be missing.
void complete_ports(const graph_file_t &file, part_t &part) {
    if (part.ops.size() != 1) return;
    const graph_op_t *op = file.op_with(part.ops.front());
    if (part.inputs.empty()) part.inputs = op->inputs;
    if (part.outputs.empty()) part.outputs = op->outputs;
}

void learn_shape(graph_value_t &value, const lt_t &inferred) {
    if (value.has_shape()) return;
    value.dims = inferred.get_dims();
    value.has_rank = true;
    if (inferred.get_layout_type() == lt_t::layout_type::strided)
        value.strides = inferred.get_strides();
}

// Groups by the ops that parts of either owner share.
class groups_t {
public:
    void add(part_t &part, bool plugin) {
        size_t into = groups_.size();
        for (size_t i = 0; i < groups_.size(); i++)
            if (shares_ops(groups_[i], part)) {
                if (into == groups_.size()) into = i;
                else absorb(into, i);
            }
        if (into == groups_.size()) groups_.emplace_back();
        auto &group = groups_[into];
        group.ops.insert(part.ops.begin(), part.ops.end());
        (plugin ? group.plugin : group.stock).push_back(&part);
    }

    std::vector<part_group_t> result() {
        groups_.erase(std::remove_if(groups_.begin(), groups_.end(),
                              [](const auto &g) { return g.ops.empty(); }),
                groups_.end());
        return std::move(groups_);
    }

private:
    static bool shares_ops(const part_group_t &group, const part_t &part) {
        return std::any_of(part.ops.begin(), part.ops.end(),
                [&](size_t op) { return group.ops.count(op) != 0; });
    }

    void absorb(size_t into, size_t from) {
        part_group_t taken = std::move(groups_[from]);
        groups_[from] = {};
        auto &group = groups_[into];
        group.ops.insert(taken.ops.begin(), taken.ops.end());
        const auto append = [](auto &to, const auto &more) {
            to.insert(to.end(), more.begin(), more.end());
        };
        append(group.stock, taken.stock);
        append(group.plugin, taken.plugin);
    }

    std::vector<part_group_t> groups_;
};

} // namespace

std::vector<part_t> partition_graph(
        const graph_file_t &file, dnnl::graph::partition::policy policy) {
    std::map<size_t, std::string> refused;
    std::vector<part_t> parts;
    try {
        graph built(dnnl::engine::kind::cpu);
        built.set_fpmath_mode(file.fpmath, file.apply_to_int);
        for (const auto &op : file.ops) {
            const std::string why = add(built, file, op);
            if (!why.empty()) refused[op.id] = why;
        }
        built.finalize();
        for (const auto &partition : built.get_partitions(policy))
            parts.push_back(as_part(partition, refused));
    } catch (const dnnl::error &e) {
        throw file_error_t(std::string("oneDNN refuses the graph: ")
                           + dnnl_status2str(e.status));
    }
    for (auto &part : parts)
        complete_ports(file, part);
    return parts;
}

std::vector<part_t> partitions_of(const graph_file_t &file, owner_t owner) {
    struct switched_t {
        explicit switched_t(bool on) { set_enabled(on); }
        ~switched_t() { set_enabled(true); }
    };
    const switched_t switched(owner == owner_t::plugin);
    return partition_graph(file);
}

std::vector<part_t> single_ops_of(const graph_file_t &file) {
    return partition_graph(file, dnnl::graph::partition::policy::debug);
}

void compile(part_t &part, std::map<size_t, graph_value_t> &values) {
    if (!part.refusal.empty()) return;
    std::vector<lt_t> inputs, outputs;
    for (const size_t id : part.inputs) {
        if (!values.at(id).has_shape()) {
            part.refusal = "the shape of its input " + std::to_string(id)
                           + " is not known";
            return;
        }
        inputs.push_back(values.at(id).concrete());
    }
    for (const size_t id : part.outputs)
        outputs.push_back(values.at(id).concrete());
    try {
        part.compiled = part.partition.compile(inputs, outputs, cpu_engine());
        part.kernel = impl_info(part.compiled);
        for (const size_t id : part.outputs)
            learn_shape(values.at(id), part.compiled.query_logical_tensor(id));
    } catch (const dnnl::error &e) {
        part.refusal = std::string("compile: ") + dnnl_status2str(e.status);
    } catch (const std::exception &e) {
        // oneDNN lets others pass too (3.7.2: a broken promise of its cache).
        part.refusal = e.what();
    }
}

std::vector<part_group_t> group_parts(
        std::vector<part_t> &stock, std::vector<part_t> &plugin) {
    groups_t groups;
    // The plugin's first: groups then stand in its topological order.
    for (auto &part : plugin)
        groups.add(part, true);
    for (auto &part : stock)
        groups.add(part, false);
    return groups.result();
}

} // namespace bench
} // namespace dnnl_dequant
