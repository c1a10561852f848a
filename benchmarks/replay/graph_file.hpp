#ifndef BENCHMARKS_REPLAY_GRAPH_FILE_HPP
#define BENCHMARKS_REPLAY_GRAPH_FILE_HPP

#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "vocabulary.hpp"

namespace dnnl_dequant {
namespace bench {

/// Why a file cannot be replayed, in one sentence.
struct file_error_t : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A tensor of the graph, as far as the file tells.
struct graph_value_t {
    size_t id = 0;
    type_t type = type_t::undef;
    bool has_rank = true;
    dims_t dims;    // negative where unknown
    dims_t strides; // empty: dense, as soon as the shape is known
    lt_t::property_type property = lt_t::property_type::undef;

    bool has_shape() const;
    /// For add_op: what is unknown stays so.
    lt_t described() const;
    /// Returns a strided logical tensor for compile. An input needs its shape.
    lt_t concrete() const;
};

struct graph_op_t {
    using attribute_t = std::variant<int64_t, std::vector<int64_t>, float,
            std::vector<float>, bool, std::string>;

    size_t id = 0;
    std::string name, kind_name;
    op_kind_t kind = op_kind_t::Wildcard;
    std::map<std::string, attribute_t> attributes;
    std::vector<size_t> inputs, outputs; // ids of values
};

/// A graph that oneDNN (ONEDNN_GRAPH_DUMP=graph), its benchdnn, or the plugin
/// wrote.
struct graph_file_t {
    std::string path, version;
    dnnl::fpmath_mode fpmath = dnnl::fpmath_mode::strict;
    std::string fpmath_name = "strict";
    bool apply_to_int = false;
    std::vector<graph_op_t> ops; // producers before consumers
    std::map<size_t, graph_value_t> values;

    const graph_op_t *op_with(size_t id) const;
    /// The op that makes the value; null for an input of the graph.
    const graph_op_t *producer(size_t value) const;
    bool is_output(size_t value) const; // used by no op
};

/// Throws file_error_t: no such file, no JSON, no oneDNN graph, unknown ops,
/// types or attributes, contradictions, a cycle.
graph_file_t read_graph_file(const std::string &path);

} // namespace bench
} // namespace dnnl_dequant

#endif
