#include "partition/select.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/log.hpp"
#include "graph/logical_tensor.hpp"
#include "partition/assumed_scope.hpp"
#include "partition/graph_scope.hpp"
#include "partition/split.hpp"
#include "patterns/patterns.hpp"
#include "upstream/api.hpp"
#include "upstream/mapping.hpp"

namespace dnnl_dequant {

namespace {

using upstream::api_t;

struct candidate_t {
    upstream_partition_t handle;
    size_t id = 0;
    std::vector<size_t> ops; // ids
    bool supported = false;
    bool covered = false; // by one of ours
    std::shared_ptr<const partition_t> ours;
};

candidate_t candidate_of(upstream_partition_t partition) {
    const dnnl_graph_partition_t handle = partition.get();
    candidate_t candidate;
    candidate.handle = std::move(partition);
    const auto constant = const_dnnl_graph_partition_t(handle);
    size_t count = 0;
    uint8_t supported = 0;
    upstream::call(&api_t::dnnl_graph_partition_get_op_num, constant, &count);
    candidate.ops.resize(count);
    upstream::call(&api_t::dnnl_graph_partition_get_ops, handle, count,
            candidate.ops.data());
    upstream::call(
            &api_t::dnnl_graph_partition_is_supported, constant, &supported);
    upstream::call(
            &api_t::dnnl_graph_partition_get_id, constant, &candidate.id);
    candidate.supported = supported != 0;
    return candidate;
}

// Two extents for unknown dimensions. Most sizes of groups and heads divide the
// first.
constexpr dim_t assumed_extent = 3072, prime_extent = 3067;

class selector_t {
public:
    selector_t(const graph_record_t &graph,
            std::vector<upstream_partition_t> upstream)
        : graph_(graph)
        , scope_(graph)
        , assumed_(scope_, graph.ops, assumed_extent)
        , again_(scope_, graph.ops, prime_extent) {
        for (upstream_partition_t &handle : upstream)
            candidates_.push_back(candidate_of(std::move(handle)));
        init_homes();
    }

    std::vector<listed_t> run() {
        for (size_t i = candidates_.size(); i-- > 0;) {
            try_roots(i);
            if (candidates_[i].covered || candidates_[i].ops.size() < 2)
                continue;
            auto parts = split_partition(graph_, assumed_, candidates_[i].ops);
            if (!parts.empty()) select_parts(i, std::move(parts));
        }
        std::vector<listed_t> list;
        for (candidate_t &candidate : candidates_) {
            if (!candidate.ours && candidate.covered) continue;
            list.push_back(
                    {std::move(candidate.handle), std::move(candidate.ours)});
        }
        return list;
    }

private:
    void init_homes() {
        for (size_t i = 0; i < candidates_.size(); ++i)
            for (const size_t id : candidates_[i].ops)
                home_[id] = i;
    }

    // Claims what a partition was taken apart to, and makes one partition of
    // it again: where oneDNN has one, the user gets one.
    void select_parts(size_t at, std::vector<upstream_partition_t> handles) {
        std::vector<candidate_t> parts;
        for (upstream_partition_t &handle : handles) {
            parts.push_back(candidate_of(std::move(handle)));
            parts.back().id = candidates_[at].id;
        }
        candidate_t whole = std::move(candidates_[at]);
        replace(at, 1, std::move(parts));
        const size_t end = at + handles.size();
        for (size_t part = end; part-- > at;)
            try_roots(part);
        join(at, end, whole);
        parts.clear();
        parts.push_back(std::move(whole));
        replace(at, handles.size(), std::move(parts));
    }

    void replace(size_t at, size_t count, std::vector<candidate_t> by) {
        const auto begin
                = candidates_.begin() + static_cast<std::ptrdiff_t>(at);
        const auto end = begin + static_cast<std::ptrdiff_t>(count);
        candidates_.insert(candidates_.erase(begin, end),
                std::make_move_iterator(by.begin()),
                std::make_move_iterator(by.end()));
        init_homes();
    }

    // Gives `whole` our partitions of its parts, and oneDNN's of the others;
    // nothing if none is ours.
    void join(size_t begin, size_t end, candidate_t &whole) {
        std::vector<std::shared_ptr<const partition_t>> parts;
        for (size_t i = begin; i < end; ++i) {
            candidate_t &part = candidates_[i];
            whole.covered |= part.covered;
            if (part.ours) parts.push_back(std::move(part.ours));
            else if (!part.covered) parts.push_back(left_to_onednn(part));
        }
        if (parts.empty() || !whole.covered) return;
        whole.ours = parts.size() == 1 ? std::move(parts.front())
                                       : make_compound(graph_, std::move(parts),
                                                 std::move(whole.handle),
                                                 whole.ops.size());
    }

    std::shared_ptr<const partition_t> left_to_onednn(candidate_t &part) {
        match_t match;
        match.kind = partition_kind_t::onednn;
        for (const size_t id : part.ops)
            match.ops.push_back(find_op(graph_, id));
        auto result
                = std::make_shared<partition_t>(make_partition(graph_, match));
        result->id = part.id;
        result->upstream.push_back(std::move(part.handle));
        return result;
    }

    void try_roots(size_t at) {
        const std::vector<size_t> &ops = candidates_[at].ops;
        for (auto id = ops.rbegin();
                !candidates_[at].covered && id != ops.rend(); ++id)
            if (const op_record_t *root = find_op(graph_, *id))
                try_root(*root, at);
    }

    void try_root(const op_record_t &root, size_t at) {
        // Products and attention match before all extents are known.
        match_t match;
        if (matches_by_any_extents(root, at, match)
                && is_worth_selecting(match, homes_of(match)))
            return select(match, at);
        const result_t matched
                = match_whole_partitions(scope_, root, at, match);
        if (!matched.ok()) {
            // Graphs are full of ops that are none of our concern.
            if (match.dequantizes)
                log_refusal(log_dispatch, "select", matched.reason);
            return;
        }
        if (is_worth_selecting(match, homes_of(match))) select(match, at);
    }

    void select(const match_t &match, size_t at) {
        const op_record_t &root = *match.ops.back();
        const std::set<size_t> homes = homes_of(match);
        auto selected
                = std::make_shared<partition_t>(make_partition(graph_, match));
        selected->id = candidates_[at].id;
        scope_.take(match.ops);
        for (const op_record_t *op : match.ops)
            selected_with_[op->id] = match.ops;
        for (const size_t home : homes) {
            candidates_[home].covered = true;
            selected->upstream.push_back(std::move(candidates_[home].handle));
        }
        const bool leaves_early
                = selected->outputs.size() > root.outputs.size();
        candidates_[leaves_early ? *homes.begin() : at].ours
                = std::move(selected);
    }

    std::set<size_t> homes_of(const match_t &match) const {
        std::set<size_t> homes;
        for (const op_record_t *op : match.ops)
            homes.insert(home_.at(op->id));
        return homes;
    }

    // True for products and attention that match whatever their unknown extents
    // turn out to be, unless these fit no MatMul.
    bool matches_by_any_extents(
            const op_record_t &root, size_t at, match_t &match) {
        match_t again;
        return assumed_.assumes()
               && match_whole_partitions(assumed_, root, at, match).ok()
               && (match.kind == partition_kind_t::matmul
                       || match.kind == partition_kind_t::attention)
               && match_whole_partitions(again_, root, at, again).ok()
               && again.kind == match.kind && again.ops == match.ops
               && !may_broadcast(match);
    }

    // True if a tensor of unknown extents behind the last MatMul might turn out
    // to broadcast the product.
    bool may_broadcast(const match_t &match) const {
        for (auto op = match.ops.rbegin();
                op != match.ops.rend() && (*op)->kind != dnnl_graph_op_matmul;
                ++op) {
            const bool is_sum = (*op)->kind == dnnl_graph_op_add;
            const bool broadcasts = is_sum
                                    || (*op)->kind == dnnl_graph_op_multiply
                                    || (*op)->kind == dnnl_graph_op_divide;
            size_t unknown = 0;
            for (const logical_tensor_t &input : (*op)->inputs)
                unknown += !has_shape(scope_.known(input))
                           && (is_sum || !is_inside(match, input.id));
            // One value of a sum is the product.
            if (broadcasts && unknown > (is_sum ? 1 : 0)) return true;
        }
        return false;
    }

    static bool is_inside(const match_t &match, size_t tensor) {
        return std::any_of(match.ops.begin(), match.ops.end(),
                [tensor](const op_record_t *op) {
            return op->outputs.front().id == tensor;
        });
    }

    // Matches at the root. Ops of other partitions that would be matched in
    // part are left to these, and the match begins behind them.
    result_t match_whole_partitions(const scope_t &scope,
            const op_record_t &root, size_t at, match_t &match) {
        result_t matched;
        do {
            match = {};
            matched = match_at(scope, root, match);
        } while (matched.ok() && leaves_parts_of_others(match, at));
        scope_.give_back_all();
        return matched;
    }

    // Leaves partitions that are matched in part, and integers that oneDNN
    // multiplies. Returns true if there are any but the one at `at`.
    bool leaves_parts_of_others(const match_t &match, size_t at) {
        bool leaves = false;
        for (const size_t home : homes_of(match)) {
            const std::vector<size_t> &ops = candidates_[home].ops;
            const auto count = std::count_if(match.ops.begin(), match.ops.end(),
                    [&](const op_record_t *op) {
                return home_.at(op->id) == home;
            });
            const bool is_whole = ops.size() == static_cast<size_t>(count)
                                  && !is_product_of_integers(match, home);
            if (home == at || is_whole) continue;
            scope_.leave(ops);
            leaves = true;
        }
        return leaves;
    }

    // Whether the match is made of whole partitions, and gains something.
    bool is_worth_selecting(
            const match_t &match, const std::set<size_t> &homes) const {
        size_t ops = 0;
        bool supported = false;
        for (const size_t home : homes) {
            ops += candidates_[home].ops.size();
            supported |= candidates_[home].supported;
        }
        if (ops != match.ops.size()) {
            log_refusal(log_dispatch, "select",
                    describe(*match.ops.back())
                            + ": its chain is a part only of a partition of "
                              "oneDNN's");
            return false;
        }
        if (waits_for_itself(match)) {
            log_refusal(log_dispatch, "select",
                    describe(*match.ops.back())
                            + ": its chain needs what is made of a value that "
                              "leaves the chain before");
            return false;
        }
        if (!match.dequantizes) return !supported;
        // Plain C++ would serve, to which oneDNN's kernels do not lose.
        if (supported && match.is_onednns && !has(effective_isa(), isa_avx2))
            return false;
        if (std::any_of(homes.begin(), homes.end(), [&](size_t home) {
            return is_product_of_integers(match, home);
        })) {
            log_refusal(log_dispatch, "select",
                    describe(*match.ops.back())
                            + ": oneDNN multiplies its integers as such");
            return false;
        }
        // oneDNN's own keeps all scores in memory, and runs reference code.
        return homes.size() > 1 || ops == 1
               || match.kind == partition_kind_t::attention;
    }

    // True if an op inside needs what is made, by others too, of a value that
    // is not the last op's: of SoftMax's Stats, or a dynamic quantization's
    // scale.
    bool waits_for_itself(const match_t &match) const {
        const auto is_inside = [&match](const op_record_t *op) {
            return std::find(match.ops.begin(), match.ops.end(), op)
                   != match.ops.end();
        };
        std::vector<size_t> needed;
        bool leaves_early = false;
        for (const op_record_t *op : match.ops) {
            for (const logical_tensor_t &input : op->inputs) {
                const op_record_t *const maker = scope_.maker(input.id);
                if (maker == nullptr) continue;
                if (!is_inside(maker)) needed.push_back(input.id);
                else if (input.id != maker->outputs.front().id) return true;
            }
            leaves_early
                    |= op != match.ops.back() && is_used_outside(*op, match);
        }
        return leaves_early && leads_to(needed, is_inside);
    }

    bool is_used_outside(const op_record_t &op, const match_t &match) const {
        return std::any_of(op.outputs.begin(), op.outputs.end(),
                [&](const logical_tensor_t &output) {
            size_t inside = 0;
            for (const op_record_t *other : match.ops)
                for (const logical_tensor_t &input : other->inputs)
                    inside += input.id == output.id;
            return scope_.uses(output.id) > inside;
        });
    }

    // True if tensors are made of what such an op gives. The ops of a partition
    // wait for all that one of them needs.
    template <typename is_wanted_t>
    bool leads_to(
            std::vector<size_t> tensors, const is_wanted_t &is_wanted) const {
        std::set<size_t> seen; // ops
        while (!tensors.empty()) {
            const op_record_t *const maker = scope_.maker(tensors.back());
            tensors.pop_back();
            if (maker == nullptr || !seen.insert(maker->id).second) continue;
            if (is_wanted(maker)) return true;
            const auto add = [&](const op_record_t *op) {
                for (const logical_tensor_t &input : op->inputs)
                    tensors.push_back(input.id);
            };
            add(maker);
            const auto selected = selected_with_.find(maker->id);
            if (selected != selected_with_.end())
                std::for_each(
                        selected->second.begin(), selected->second.end(), add);
            const auto home = home_.find(maker->id);
            if (home == home_.end()) continue;
            for (const size_t id : candidates_[home->second].ops)
                if (const op_record_t *op = find_op(graph_, id)) add(op);
        }
        return false;
    }

    bool is_product_of_integers(const match_t &match, size_t home) const {
        return match.kind == partition_kind_t::matmul && is_integers(home);
    }

    // oneDNN's product of two statically quantized tensors.
    bool is_integers(size_t home) const {
        const auto has = [&](int kind) {
            const auto &ops = candidates_[home].ops;
            return std::any_of(ops.begin(), ops.end(), [&](size_t id) {
                const op_record_t *op = find_op(graph_, id);
                return op != nullptr && op->kind == kind;
            });
        };
        return candidates_[home].supported && has(dnnl_graph_op_matmul)
               && has(dnnl_graph_op_dequantize);
    }

    const graph_record_t &graph_;
    graph_scope_t scope_;
    const assumed_scope_t assumed_, again_;
    std::vector<candidate_t> candidates_;
    std::map<size_t, size_t> home_; // of each op: index of the candidate
    // The ops that are in one of our partitions with each op.
    std::map<size_t, std::vector<const op_record_t *>> selected_with_;
};

} // namespace

std::vector<listed_t> select_partitions(const graph_record_t &graph,
        std::vector<upstream_partition_t> upstream) {
    if (graph.engine_kind == dnnl_cpu && graph.selects)
        return selector_t(graph, std::move(upstream)).run();
    std::vector<listed_t> list;
    for (upstream_partition_t &handle : upstream)
        list.push_back({std::move(handle), nullptr});
    return list;
}

} // namespace dnnl_dequant
