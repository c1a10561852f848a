#ifndef TESTS_PATTERNS_PATTERN_GRAPH_HPP
#define TESTS_PATTERNS_PATTERN_GRAPH_HPP

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/graph_record.hpp"
#include "lower/lower.hpp"
#include "partition/select.hpp"

namespace dnnl_dequant {

/// The ops of each partition, "ours: 0 1 2" or "0 1", by their least ids.
using parts_t = std::vector<std::string>;
using ids_t = std::vector<size_t>;
using attributes_t = std::map<int, attribute_t>;

/// The tensors that have shapes when ops are added; all have shapes at compile.
enum class shapes_t { all, of_inputs, none };

/// A graph that is built in oneDNN and recorded, without the exported
/// functions. Tensors and ops have ids from 0, in the order of their making.
class pattern_graph_t {
public:
    explicit pattern_graph_t(shapes_t shapes = shapes_t::all);
    ~pattern_graph_t();
    pattern_graph_t(const pattern_graph_t &) = delete;
    pattern_graph_t &operator=(const pattern_graph_t &) = delete;

    size_t tensor(data_type_t type, const dims_t &dims);
    /// Sets strides; a tensor without them is dense.
    void set_strides(size_t tensor, const dims_t &strides);

    /// Sets the mode that the recorded graph has.
    void set_fpmath_mode(dnnl_fpmath_mode_t mode) {
        record_.fpmath_mode = mode;
    }

    /// Adds an op and gives its output, a new tensor.
    size_t op(int kind, const ids_t &inputs, data_type_t type,
            const dims_t &dims, const attributes_t &attributes = {});
    /// Adds DynamicQuantizeLinear to u8, whose outputs are three tensors from
    /// the first one on: y, its scale and zero point. Their shape is that of a
    /// range per tensor.
    size_t dynamic_quantized(size_t x, const attributes_t &attributes);
    /// Adds an op without output.
    void end(size_t tensor);
    /// The status of the last add_op.
    dnnl_status_t status() const { return status_; }

    // Ops that are often wanted; types and dimensions follow.
    size_t cast(size_t value, data_type_t type);
    size_t relu(size_t value);
    size_t clamp(size_t value, float lower, float upper);
    size_t transpose(size_t value, const dims_t &order);
    size_t reshape(size_t value, const dims_t &shape);
    size_t reorder(size_t value);
    /// Add or Multiply, of the first one's type and dimensions.
    size_t binary(int kind, size_t value, size_t other);
    /// Adds DynamicDequantize per tensor of a new u8 src with a new scale of
    /// `type`. These are two tensors, then the output.
    size_t dequantized(const dims_t &dims, data_type_t type = data_type_t::f32);
    /// The same with a src that is there and scales in groups.
    size_t dequantize_groups(size_t src, const dims_t &group_shape);

    /// Finalizes the graph and lists its partitions.
    parts_t partitions(dnnl_graph_partition_policy_t policy
                       = dnnl_graph_partition_policy_fusion);
    /// The same in the order in which the partitions were listed.
    const parts_t &in_order() const { return in_order_; }
    /// Gives the ops in the order in which split_partition has them.
    std::vector<size_t> split(const ids_t &ops) const;
    /// The lines that were logged meanwhile.
    const std::string &log() const { return log_; }
    /// The partition of ours that holds the op, or null.
    const partition_t *ours(size_t op) const;
    /// The partition lowered with the tensors as they are here; dst in layout
    /// `any`.
    lowered_t lowered(size_t op) const;

private:
    void add(op_record_t op);

    const shapes_t shapes_;
    std::set<size_t> given_; // tensors that ops give
    dnnl_graph_graph_t graph_ = nullptr;
    graph_record_t record_;
    std::vector<logical_tensor_t> tensors_; // with shapes
    std::vector<listed_t> list_;
    parts_t in_order_;
    std::string log_;
    dnnl_status_t status_ = dnnl_success;
    size_t next_op_ = 0;
};

/// Whether a line of the log holds all of the words.
bool logs(const pattern_graph_t &g, const std::vector<std::string> &words);

} // namespace dnnl_dequant

#endif
