#ifndef E2E_RANDOM_GRAPH_HPP
#define E2E_RANDOM_GRAPH_HPP

#include <map>

#include "e2e/dequantize_graph.hpp"
#include "support/guarded_buffer.hpp"

namespace dnnl_dequant {
namespace e2e {

struct node_t {
    op::kind kind;
    std::vector<size_t> inputs; // ids of tensors
    size_t output;
    bool transpose_b = false; // MatMul
};

/// A graph as data, to be built as often as wanted: ops of one graph must not
/// be added to another.
struct graph_spec_t {
    std::vector<node_t> nodes; // the index is the op's id
    std::map<size_t, support::tensor_t> tensors;
    std::map<size_t, dequantize_case_t> dequantizes; // by op id
    /// Whether the graph is built with the shapes of what ops give.
    bool names_outputs = true;
};

/// Returns chains of oneDNN's ops over f32 tensors of one shape: Add, Multiply,
/// ReLU, Reorder, SoftMax, MatMul and attention (MatMul, Divide, Add, SoftMax,
/// MatMul). DynamicDequantize is the source of some of their inputs.
graph_spec_t random_graph(uint64_t seed);

void build(const graph_spec_t &spec, graph &g);

/// Every tensor's buffer; those that no op writes are filled.
using values_of_t = std::map<size_t, support::guarded_buffer_t>;
values_of_t initial_values(const graph_spec_t &spec, uint64_t seed);

/// Compiles and executes the partition on these values.
void run(const graph_spec_t &spec, const partition &p, values_of_t &values);

/// Computes op `id`, which does not dequantize, by its formula in double.
void run_formula(const graph_spec_t &spec, size_t id, values_of_t &values);

/// Computes op `id`, a dequantize.
void run_reference(const graph_spec_t &spec, size_t id, values_of_t &values);

} // namespace e2e
} // namespace dnnl_dequant

#endif
