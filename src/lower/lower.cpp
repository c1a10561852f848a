#include "lower/lower.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "graph/granularity.hpp"
#include "graph/logical_tensor.hpp"
#include "lower/attention.hpp"
#include "lower/chain_in_blocks.hpp"
#include "lower/decomposed_quantize.hpp"
#include "lower/dynamic_quantize.hpp"
#include "lower/matmul.hpp"
#include "lower/not_taken.hpp"
#include "lower/ports.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

namespace {

// The partition with the shapes of compile.
class partition_scope_t : public scope_t {
public:
    partition_scope_t(const partition_t &partition, const lowered_t &lowered)
        : partition_(partition)
        , lowered_(lowered)
        , has_shapes_of_graph_(has_shapes_of_graph(partition, lowered.inputs)) {
    }

    const op_record_t *producer(size_t tensor, int /*uses*/) const override {
        for (const op_record_t &op : partition_.ops)
            for (const logical_tensor_t &output : op.outputs)
                if (output.id == tensor) return &op;
        return nullptr;
    }

    const op_record_t *any_producer(size_t tensor) const override {
        return producer(tensor, 1);
    }

    bool is_given_from_outside(size_t tensor) const override {
        return producer(tensor, 1) == nullptr;
    }

    size_t uses(size_t tensor) const override {
        size_t count = 0;
        for (const op_record_t &op : partition_.ops)
            for (const logical_tensor_t &input : op.inputs)
                count += input.id == tensor;
        return count;
    }

    logical_tensor_t known(const logical_tensor_t &named) const override {
        const logical_tensor_t *port = find_port(lowered_.inputs, named.id);
        if (port != nullptr) return *port;
        logical_tensor_t tensor = named;
        // Then the graph's shapes of values inside are no longer theirs.
        if (!has_shapes_of_graph_) tensor.ndims = DNNL_GRAPH_UNKNOWN_NDIMS;
        return tensor;
    }

private:
    const partition_t &partition_;
    const lowered_t &lowered_;
    const bool has_shapes_of_graph_;
};

bool is_used_once(const lowered_t &lowered, size_t tensor) {
    return std::count_if(lowered.operands.begin(), lowered.operands.end(),
                   [tensor](const source_t &source) {
        return source.constant < 0 && source.tensor == tensor;
    }) == 1;
}

std::vector<dnnl_graph_inplace_pair_t> inplace_pairs(const lowered_t &lowered) {
    std::vector<dnnl_graph_inplace_pair_t> pairs;
    for (size_t o = 0; o + 1 < lowered.operands.size(); ++o) {
        const source_t &source = lowered.operands[o];
        if (source.constant < 0 && is_used_once(lowered, source.tensor)
                && may_overwrite(lowered.problem, o))
            pairs.push_back({source.tensor, lowered.outputs.front().id});
    }
    return pairs;
}

// The ops of the whole partition, with shapes.
result_t compose_partition(const partition_t &partition,
        const lowered_t &lowered, composition_t &composition) {
    const partition_scope_t scope(partition, lowered);
    const op_record_t &root = partition.ops.back();
    result_t result = compose(scope, root, composition);
    if (!result.ok()) return result;
    // An op may fit no longer if compile gives other shapes than the graph was
    // built with.
    if (composition.ops.size() != partition.ops.size())
        return refuse(root,
                text("its partition has ", partition.ops.size(),
                        " ops, of which ", composition.ops.size(),
                        " compose with the shapes given"),
                status_t::invalid_shape);
    return {};
}

// The problem of the whole partition, and dst's shape and layout.
result_t lower_chain(const partition_t &partition, composition_t &composition,
        isa_t isa, lowered_t &lowered) {
    const chain_t &chain = composition.chain;
    logical_tensor_t &dst = lowered.outputs.front();
    result_t result = infer_output(partition, chain.shape(),
            dense_strides_like(chain.shape(), chain.preferred_order()), dst);
    if (result.ok()) result = chain.finish(strides_of(dst), lowered.problem);
    if (!result.ok()) return result;
    lowered.operands = composition.sources;
    lowered.operands.push_back({dst.id, -1});
    lowered.constants = std::move(composition.constants);
    lowered.inplace = inplace_pairs(lowered);
    result = make_chain_in_blocks(
            chain, strides_of(dst), isa, lowered.implementation);
    if (result.is_final()) return result;
    return choose_implementation(lowered.problem, isa, lowered.implementation);
}

} // namespace

result_t lower(const partition_t &partition,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, isa_t isa, int threads,
        bool keeps_constants, lowered_t &lowered) {
    lowered = lowered_t();
    const not_taken_scope_t scope(lowered.not_taken);
    result_t result = resolve_ports(partition, inputs, outputs, lowered);
    if (result.ok() && is_range_quantize(partition.ops.front()))
        return lower_dynamic_quantize(partition, isa, lowered);
    if (result.ok() && partition.kind == partition_kind_t::quantize
            && partition.ops.size() > 1)
        return lower_decomposed_quantize(
                partition, partition_scope_t(partition, lowered), isa, lowered);
    composition_t composition;
    if (result.ok())
        result = compose_partition(partition, lowered, composition);
    if (!result.ok()) return result;
    for (const size_t tensor : composition.must_be_zero)
        lowered.must_be_zero.push_back(*find_port(lowered.inputs, tensor));
    if (composition.product && composition.product->attention)
        return lower_attention(partition, composition, isa, lowered);
    if (composition.product)
        return lower_matmul(partition, composition,
                {isa, threads, partition.fpmath_mode, keeps_constants},
                lowered);
    return lower_chain(partition, composition, isa, lowered);
}

} // namespace dnnl_dequant
