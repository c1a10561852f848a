#ifndef GRAPH_PLACEHOLDER_HPP
#define GRAPH_PLACEHOLDER_HPP

#include <memory>

#include "graph/op_record.hpp"

namespace dnnl_dequant {

/// True for op kinds of our own, which no oneDNN may be shown.
bool is_extension_kind(int kind);

/// A fresh op of oneDNN's: a Wildcard of the same id, name and tensors, which
/// stands in oneDNN's graph for an op that oneDNN would refuse. Null where
/// oneDNN refuses even that.
std::shared_ptr<dnnl_graph_op> make_placeholder(const op_record_t &op);

/// A fresh op of oneDNN's that is the recorded one. An op must not be in two
/// graphs. Null where oneDNN refuses it.
std::shared_ptr<dnnl_graph_op> make_copy(const op_record_t &op);

} // namespace dnnl_dequant

#endif
