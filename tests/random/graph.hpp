#ifndef RANDOM_GRAPH_HPP
#define RANDOM_GRAPH_HPP

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/data_type.hpp"
#include "oneapi/dnnl/dnnl_graph.hpp"

namespace dnnl_dequant {
namespace random_graphs {

using dnnl::graph::logical_tensor;
using dnnl::graph::op;
using type_t = logical_tensor::data_type;

/// How a tensor is described when the graph is built.
enum class described_t { fully, by_rank, by_type };

struct spec_tensor_t {
    type_t type = type_t::undef;
    std::vector<int64_t> dims;
    std::vector<int64_t> strides; // in elements
    described_t described = described_t::fully;
    bool is_constant = false;
    bool is_small = false;  // values of some 1/64: scales of integers
    bool is_output = false; // of some op
};

using attribute_value_t = std::variant<float, std::vector<float>, int64_t,
        std::vector<int64_t>, bool, std::string>;

struct spec_op_t {
    op::kind kind;
    std::vector<size_t> inputs, outputs; // indices of tensors
    std::vector<std::pair<op::attr, attribute_value_t>> attributes = {};
};

/// A graph as data, which every process makes anew from its seed.
struct spec_t {
    std::vector<spec_op_t> ops;         // the index is the op's id
    std::vector<spec_tensor_t> tensors; // the index is the tensor's id
    dnnl::fpmath_mode fpmath = dnnl::fpmath_mode::strict;
    bool fpmath_of_integers = false;
    bool is_fused = true; // the policy; else debug
    /// Outputs are compiled with layout `any`.
    bool any_layouts = false;
    /// The part that was spoilt, empty in a graph that means to be valid.
    std::string spoilt;
};

/// Valid for the oneDNN of that minor version of 3, but for what `spoilt` says.
spec_t random_graph(uint64_t seed, int onednn_minor);

/// An op to be added to one graph, its tensors described as the graph says, or
/// all fully.
op op_of(const spec_t &spec, size_t id, bool fully = false);

/// Returns the tensor with its shape and strides.
logical_tensor described_fully(const spec_t &spec, size_t id);

/// Returns the bytes of a dense buffer for the tensor.
size_t bytes_of(const spec_tensor_t &tensor);

/// Returns one line for each op.
std::string to_string(const spec_t &spec);

} // namespace random_graphs
} // namespace dnnl_dequant

#endif
