// Makes the oneDNN graph of a group of ONNX nodes, for given input shapes.
#ifndef DNNL_DEQUANT_ORT_BUILDER_HPP
#define DNNL_DEQUANT_ORT_BUILDER_HPP

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"
#include "program.hpp"

namespace dnnl_dequant::ort {

using tensor_t = dnnl::graph::logical_tensor;
using op_t = dnnl::graph::op;

// Maps a value to a tensor of the kernel.
struct kernel_ports_t {
    std::vector<const value_t *> inputs, outputs;
};

// Constants that a form makes of others, kept for all shapes of a node.
using owned_t = std::map<std::string, std::shared_ptr<const bytes_t>>;

// A value in the graph. A product sees its activation with two dimensions,
// so the tensor's dimensions may differ from ONNX's.
struct bound_t {
    tensor_t tensor;
    dims_t dims;
};

class builder_t {
public:
    // `shapes`: of ports.inputs.
    builder_t(const kernel_ports_t &ports, std::vector<dims_t> shapes,
            owned_t &owned);

    // Dimensions of a value that is an input or was bound.
    const dims_t &dims(const value_t &value) const;
    // Whether an op of the graph, or use(), has made it a tensor.
    bool is_bound(const value_t &value) const {
        return bound_.count(&value) != 0;
    }
    // Whether the value comes from outside.
    bool is_input(const value_t &value) const;
    // Activations are seen with two dimensions, for weights that have two.
    bool flattens() const { return flattens_; }
    void set_flattens(bool flattens) { flattens_ = flattens; }
    // Constants are marked as such, for the plugin to repack.
    void set_marks_constants(bool marks) { marks_constants_ = marks; }
    // The graph is refused where it becomes several partitions.
    void set_wants_one_partition() { wants_one_partition_ = true; }
    // The graph computes the value in f32, though ONNX has it in 16 bits.
    void widen(const value_t &value) { wide_.insert(&value); }
    // The value as a tensor; an input becomes one at its first use.
    tensor_t use(const value_t &value);
    // An input seen with other dimensions and strides over the same bytes,
    // perhaps as another type.
    tensor_t view(const value_t &value, type_t type, const dims_t &dims,
            const dims_t &strides);
    // A constant of the form's own, dense unless strides are given.
    tensor_t constant(const std::string &name, type_t type, const dims_t &dims,
            const std::function<bytes_t()> &make,
            const dims_t &strides = dims_t());
    // An interior tensor.
    tensor_t temporary(type_t type, const dims_t &dims);
    // Makes the tensor of a value that an op computes. `dims` are ONNX's,
    // `seen` those in the graph, where they differ.
    tensor_t result(const value_t &value, const dims_t &dims);
    tensor_t result(
            const value_t &value, const dims_t &dims, const dims_t &seen);

    // A value that is another one's tensor, with dimensions of its own.
    void alias(const value_t &value, const value_t &of, const dims_t &dims);

    op_t &op(op_t::kind kind, const std::vector<tensor_t> &inputs,
            const std::vector<tensor_t> &outputs);

    // Why the graph would not compile; empty where it would.
    std::string refusal();
    program_t compile(const dnnl::engine &engine);

private:
    tensor_t add(type_t type, const dims_t &dims, const dims_t &strides,
            bool is_constant, argument_t argument);
    size_t input_index(const value_t &value) const;
    std::vector<dnnl::graph::partition> partitions();
    argument_t argument_of(const tensor_t &port, program_t &program);

    const kernel_ports_t &ports_;
    std::vector<dims_t> shapes_;
    owned_t &owned_;
    std::map<const value_t *, bound_t> bound_;
    std::set<const value_t *> wide_;
    // by id
    std::vector<argument_t> arguments_;
    // deque: references to its elements stay
    std::deque<op_t> ops_;
    bool flattens_ = false;
    bool marks_constants_ = false;
    bool wants_one_partition_ = false;
};

} // namespace dnnl_dequant::ort

#endif
