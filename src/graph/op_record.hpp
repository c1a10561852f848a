#ifndef GRAPH_OP_RECORD_HPP
#define GRAPH_OP_RECORD_HPP

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "upstream/declarations.hpp"

namespace dnnl_dequant {

/// The value of an op attribute, as it was set. A bool is a list of bytes, as
/// the C API has it.
using attribute_t = std::variant<std::vector<float>, std::vector<int64_t>,
        std::vector<uint8_t>, std::string>;

/// An op as the user described it. oneDNN's op object has no getters, so the
/// record is kept next to it.
struct op_record_t {
    size_t id = 0;
    int kind = 0; // a dnnl_graph_op_kind_t or a dnnl_dequant_op_kind_t
    std::string name;
    std::map<int, attribute_t> attributes; // by dnnl_graph_op_attr_t
    std::vector<logical_tensor_t> inputs;
    std::vector<logical_tensor_t> outputs;
};

/// The attribute as a T, or null where it is absent or of another type.
template <typename T>
const T *find_attribute(const op_record_t &op, int name) {
    const auto found = op.attributes.find(name);
    return found == op.attributes.end() ? nullptr
                                        : std::get_if<T>(&found->second);
}

/// `text` as a log line may hold it: quotes, commas, backslashes and whatever
/// is no printable ASCII escaped as \xNN, cut after 64 bytes.
std::string printable(const std::string &text);

/// "DynamicDequantize" for a kind that any oneDNN or we know, else
/// "op kind 170".
std::string kind_name(int kind);

/// How messages call an op: `DynamicDequantize "name" (id 3)`.
std::string describe(const op_record_t &op);

} // namespace dnnl_dequant

#endif
