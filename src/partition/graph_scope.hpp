#ifndef PARTITION_GRAPH_SCOPE_HPP
#define PARTITION_GRAPH_SCOPE_HPP

#include <map>
#include <set>

#include "graph/inferred_shapes.hpp"
#include "match/match.hpp"

namespace dnnl_dequant {

/// The graph as it was built, less what is claimed already.
class graph_scope_t : public scope_t {
public:
    explicit graph_scope_t(const graph_record_t &graph)
        : fusing_(graph.fusing)
        , shapes_(graph.ops) {
        for (const op_record_t &op : graph.ops) {
            for (const logical_tensor_t &output : op.outputs)
                producers_[output.id] = &op;
            for (const logical_tensor_t &input : op.inputs)
                ++uses_[input.id];
        }
    }

    const op_record_t *producer(size_t tensor, int wanted) const override {
        const op_record_t *op = any_producer(tensor);
        const bool inner = op && op->outputs.size() == 1
                           && uses(tensor) == static_cast<size_t>(wanted);
        return inner ? op : nullptr;
    }

    const op_record_t *any_producer(size_t tensor) const override {
        const auto found = producers_.find(tensor);
        if (!fusing_ || found == producers_.end()) return nullptr;
        const op_record_t &op = *found->second;
        return is_taken(op) || left_.count(op.id) != 0 ? nullptr : &op;
    }

    bool is_given_from_outside(size_t tensor) const override {
        return producers_.count(tensor) == 0;
    }

    size_t uses(size_t tensor) const override {
        const auto found = uses_.find(tensor);
        return found == uses_.end() ? 0 : found->second;
    }

    logical_tensor_t known(const logical_tensor_t &named) const override {
        return shapes_.complete(named);
    }

    /// Returns the op that gives a tensor, taken or not; null if none does.
    const op_record_t *maker(size_t tensor) const {
        const auto found = producers_.find(tensor);
        return found == producers_.end() ? nullptr : found->second;
    }

    bool is_taken(const op_record_t &op) const {
        return claimed_.count(op.id) != 0;
    }

    void take(const std::vector<const op_record_t *> &ops) {
        for (const op_record_t *op : ops)
            claimed_.insert(op->id);
    }

    /// Until give_back_all(), the values of these ops come from outside.
    void leave(const std::vector<size_t> &ops) {
        left_.insert(ops.begin(), ops.end());
    }
    void give_back_all() { left_.clear(); }

private:
    const bool fusing_;
    const inferred_shapes_t shapes_;
    std::map<size_t, const op_record_t *> producers_;
    std::map<size_t, size_t> uses_;
    std::set<size_t> claimed_, left_;
};

} // namespace dnnl_dequant

#endif
