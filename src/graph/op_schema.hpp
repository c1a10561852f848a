#ifndef GRAPH_OP_SCHEMA_HPP
#define GRAPH_OP_SCHEMA_HPP

#include <string>
#include <vector>

#include "base/data_type.hpp"
#include "base/status.hpp"
#include "graph/op_record.hpp"

namespace dnnl_dequant {

enum class attribute_kind_t { f32s, s64s, bools, str }; // attribute_t's order

struct port_schema_t {
    const char *name;
    bool optional;
    std::vector<data_type_t> types;
};

struct attribute_schema_t {
    int name;
    const char *spelling;
    attribute_kind_t kind;
    size_t max_count;                 // values in a list; 0 for any number
    std::vector<std::string> choices; // of a string; empty for any
};

/// The rules for an op. They are wider than oneDNN's schema of the same op if
/// we can do more.
struct op_schema_t {
    int kind;
    const char *name;
    std::vector<port_schema_t> inputs;
    std::vector<port_schema_t> outputs;
    std::vector<attribute_schema_t> attributes;
    /// Checks the rules that the lists above cannot say; may be null.
    result_t (*check)(const op_record_t &op);
};

/// Null for a kind that is not ours.
const op_schema_t *find_schema(int kind);

/// Checks an op against its schema: number of inputs and outputs, data types,
/// attributes, and whatever the known shapes tell.
/// @returns success, or one of these with a sentence:
/// - unimplemented for what is outside our schema but might be inside another
///   oneDNN's: other kinds of op, data types, attributes, numbers of inputs;
/// - invalid_graph_op for what no oneDNN can give a meaning: a qtype that does
///   not exist, an axis out of range, a group of size 0.
result_t verify(const op_record_t &op);

/// The name of input or output `index` in messages: "scales".
std::string input_name(const op_record_t &op, size_t index);
std::string output_name(const op_record_t &op, size_t index);

} // namespace dnnl_dequant

#endif
