#ifndef PARTITION_GRAPH_SCOPE_HPP
#define PARTITION_GRAPH_SCOPE_HPP

#include <map>
#include <set>

#include "match/match.hpp"

namespace dnnl_dequant {

/// The graph as it was built, less what is claimed already.
class graph_scope_t : public scope_t {
public:
    explicit graph_scope_t(const graph_record_t &graph)
        : fusing_(graph.fusing) {
        for (const op_record_t &op : graph.ops) {
            for (const logical_tensor_t &output : op.outputs)
                producers_[output.id] = &op;
            for (const logical_tensor_t &input : op.inputs)
                ++uses_[input.id];
        }
    }

    const op_record_t *producer(size_t tensor, int uses) const override {
        const auto found = producers_.find(tensor);
        if (!fusing_ || found == producers_.end()) return nullptr;
        const op_record_t *op = found->second;
        const bool inner = op->outputs.size() == 1 && uses_.at(tensor) == uses;
        return inner && !is_taken(*op) ? op : nullptr;
    }

    logical_tensor_t known(const logical_tensor_t &named) const override {
        return named;
    }

    /// From now on only ops that are let in are producers.
    void let_in(size_t op) { let_in_.insert(op); }

    /// Claimed, or not let in.
    bool is_taken(const op_record_t &op) const {
        return claimed_.count(op.id) != 0
               || (!let_in_.empty() && let_in_.count(op.id) == 0);
    }

    void take(const std::vector<const op_record_t *> &ops) {
        for (const op_record_t *op : ops)
            claimed_.insert(op->id);
    }

private:
    const bool fusing_;
    std::map<size_t, const op_record_t *> producers_;
    std::map<size_t, int> uses_;
    std::set<size_t> claimed_, let_in_;
};

} // namespace dnnl_dequant

#endif
