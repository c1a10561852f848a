#ifndef E2E_CHAIN_GRAPH_HPP
#define E2E_CHAIN_GRAPH_HPP

#include "e2e/dequantize_graph.hpp"
#include "support/guarded_buffer.hpp"

namespace dnnl_dequant {
namespace e2e {

/// One op of a graph of dequantizes and what stands around them.
struct chain_node_t {
    op::kind kind;
    std::vector<size_t> inputs;  // indices of tensors
    std::vector<size_t> outputs; // one, none (End), or two (SoftMax)

    std::vector<int64_t> order = {};               // StaticTranspose
    dims_t shape = {};                             // StaticReshape
    float lower = 0, upper = 0;                    // Clamp
    bool transpose_a = false, transpose_b = false; // MatMul
    int64_t along = -1;                            // SoftMax, GenIndex
    std::string mode = {};                         // SoftMax, if said
    // Dequantize: one scale and zero point, or one a channel along `axis`.
    std::vector<float> scales = {};
    std::vector<int64_t> zps = {};
    int64_t axis = 1;
    /// The other dequantize ops: granularity and seed.
    dequantize_case_t dequantize = {};
};

/// A graph as data, to be built as often as wanted: an op must not be added to
/// two graphs.
struct chain_graph_t {
    std::vector<chain_node_t> nodes;        // the index is the op's id
    std::vector<support::tensor_t> tensors; // the index is the tensor's id
    /// Whether the graph is built with shapes, or they come at compile.
    bool shaped = true;
    std::vector<size_t> unshaped = {}; // tensors that have none all the same
};

bool dequantizes(const chain_node_t &node);
/// An op that moves elements and changes none.
bool moves(const chain_node_t &node);

/// The case of a dequantize op with the graph's own tensors.
dequantize_case_t case_of(const chain_graph_t &g, const chain_node_t &node);

/// The op, its tensors named as the graph is built with them.
op op_of(const chain_graph_t &g, size_t id);

/// Adds all ops and finalizes.
void build(const chain_graph_t &g, graph &to);

/// The buffer of every tensor, by its id.
using chain_values_t = std::vector<support::guarded_buffer_t>;

/// Buffers of which those that no op writes have values: of dequantizes by
/// their seeds, else by `seed`.
chain_values_t initial_values(
        const chain_graph_t &g, support::values_t values, uint64_t seed);

/// Returns copies, each so many bytes before the end of its pages.
chain_values_t copies_of(const chain_values_t &values, size_t slack);

/// Writes the op's output as the formulas have it. False for an op that has
/// none here: what stock gives is right then.
bool compute(const chain_graph_t &g, size_t id, const chain_values_t &values);

/// Writes every element of one tensor to its place in another of the same type
/// and dimensions.
void move_elements(const support::tensor_t &from, const void *source,
        const support::tensor_t &to, void *destination);

/// Runs the op alone on stock oneDNN, into `output`; false if stock does not
/// run it. Tensors are dense, except for ops that move elements. Other strides
/// make oneDNN (3.7.2, 3.12.1) crash if two inputs differ in them. It also
/// reads a src1 wrongly in which a dimension of 1 has an odd stride.
bool run_stock(const chain_graph_t &g, size_t id, const chain_values_t &values,
        void *output);

/// Compares stock's result with the formula's. Stock may differ in
/// - the sign of zeros, and zeros for subnormals, if it rounds to 16 bits or
///   runs its reference code;
/// - ReLU of NaN, which its reference code keeps and its JIT makes 0;
/// - Quantize of NaN, which is the lower bound, but the upper one by SSE4.1.
///
/// Strides with gaps, and ISAs below AVX-512, most often get reference code.
std::string difference_from_stock(const chain_graph_t &g, size_t id,
        const void *expected, const void *stock);

/// A partition of the plugin's: its handle has bit 0 set.
bool is_ours(const partition &p);

/// Returns the graph's one partition, which is to be the plugin's.
partition only_partition(const chain_graph_t &g);

/// Compiles and executes a partition on the values, its ports given as the
/// tensors lie. Returns the kernel's name if the partition is ours.
std::string run(const chain_graph_t &g, const partition &p,
        const chain_values_t &values);

/// The same, each tensor's elements where the function says.
std::string run(const chain_graph_t &g, const partition &p,
        const std::function<void *(size_t)> &data_of);

/// Returns one line for each op.
std::string to_string(const chain_graph_t &g);

} // namespace e2e
} // namespace dnnl_dequant

#endif
