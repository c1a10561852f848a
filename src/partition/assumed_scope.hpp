#ifndef PARTITION_ASSUMED_SCOPE_HPP
#define PARTITION_ASSUMED_SCOPE_HPP

#include "graph/inferred_shapes.hpp"
#include "match/match.hpp"

namespace dnnl_dequant {

/// Another scope in which unknown dimensions of tensors from outside have an
/// extent, all the same one. Products and attention match by it before their
/// rows or tokens are known. Compile knows them, and holds them against each
/// other. A match by two extents does not depend on the divisors of one.
class assumed_scope_t : public scope_t {
public:
    /// @param ops All ops of the graph.
    assumed_scope_t(const scope_t &scope, const std::vector<op_record_t> &ops,
            dim_t extent);

    /// True if some dimension is unknown.
    bool assumes() const { return assumes_; }

    const op_record_t *producer(size_t tensor, int uses) const override {
        return scope_.producer(tensor, uses);
    }
    const op_record_t *any_producer(size_t tensor) const override {
        return scope_.any_producer(tensor);
    }
    bool is_given_from_outside(size_t tensor) const override {
        return scope_.is_given_from_outside(tensor);
    }
    size_t uses(size_t tensor) const override { return scope_.uses(tensor); }
    logical_tensor_t known(const logical_tensor_t &named) const override {
        return shapes_.complete(scope_.known(named));
    }
    /// A reason would name extents that nobody gave, if any are assumed.
    void log_not_fused(const std::string &reason) const override {
        if (!assumes_) scope_.log_not_fused(reason);
    }

private:
    const scope_t &scope_;
    const bool assumes_;
    const inferred_shapes_t shapes_;
};

} // namespace dnnl_dequant

#endif
