#ifndef BENCHMARKS_REPLAY_VOCABULARY_HPP
#define BENCHMARKS_REPLAY_VOCABULARY_HPP

#include <optional>
#include <string>

#include "types.hpp"

namespace dnnl_dequant {
namespace bench {

using op_kind_t = dnnl::graph::op::kind;
using op_attr_t = dnnl::graph::op::attr;

/// A kind by the name that graph dumps give it: oneDNN's own up to 3.13 and
/// the plugin's. Nothing for a name that nobody knows.
std::optional<op_kind_t> kind_named(const std::string &name);

/// The first oneDNN that has the kind, as 100 * major + minor.
int version_of(op_kind_t kind);

/// An attribute by its name in graph dumps.
std::optional<op_attr_t> attribute_named(const std::string &name);

/// True for attributes that oneDNN itself notes in the dumps of its partitions.
bool is_note(const std::string &attribute);

/// A data type by its name in graph dumps.
std::optional<type_t> type_named(const std::string &name);

/// The ops that turn small types into floats: x, scales, [zero points] in.
bool is_dequantize(op_kind_t kind);

/// Whether every implementation of the op gives the same bits: one rounding an
/// element, or none.
bool is_exact(op_kind_t kind);

} // namespace bench
} // namespace dnnl_dequant

#endif
