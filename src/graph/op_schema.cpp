#include "graph/op_schema.hpp"

#include <algorithm>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/granularity.hpp"
#include "graph/logical_tensor.hpp"

namespace dnnl_dequant {

namespace {

using type = data_type_t;
using list = std::vector<data_type_t>;

list operator+(list a, const list &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

const std::vector<op_schema_t> &all_schemas() {
    static const list floats {type::f32, type::bf16, type::f16};
    static const list small_floats {type::f8_e4m3, type::f8_e5m2,
            type::f8_e4m3fnuz, type::f8_e5m2fnuz, type::f4_e2m1};
    static const list integers {type::s8, type::u8, type::s4, type::u4,
            type::s16, type::u16, type::s32, type::u32, type::s2, type::u2};
    static const list onnx_quantized =
            list {type::u8, type::s8, type::s32, type::s16, type::u16, type::s4,
                    type::u4, type::s2, type::u2} +
            small_floats;
    static const list quark_quantized {type::s32, type::s16, type::s8,
            type::u32, type::u16, type::u8, type::f16, type::bf16, type::f32};
    static const std::vector<op_schema_t> schemas = {
#include "graph/op_schema.def"
    };
    return schemas;
}

result_t invalid(const op_record_t &op, const std::string &what) {
    return {status_t::invalid_graph_op, describe(op) + ": " + what};
}

// Not of our schema, but another oneDNN may know it.
result_t foreign(const op_record_t &op, const std::string &what) {
    return {status_t::unimplemented, describe(op) + ": " + what};
}

template <typename T, typename F>
std::string joined(const std::vector<T> &items, F text_of) {
    std::string result;
    for (const T &item : items)
        result += (result.empty() ? "" : " ") + std::string(text_of(item));
    return result;
}

size_t required_count(const std::vector<port_schema_t> &ports) {
    return static_cast<size_t>(std::count_if(ports.begin(), ports.end(),
            [](const port_schema_t &port) { return !port.optional; }));
}

// `side` is "inputs" or "outputs".
result_t check_ports(const op_record_t &op, const char *side,
        const std::vector<logical_tensor_t> &tensors,
        const std::vector<port_schema_t> &ports) {
    const size_t least = required_count(ports);
    if (tensors.size() < least || tensors.size() > ports.size())
        return invalid(
                op, "has " + std::to_string(tensors.size()) + " " + side +
                            "; expected " + std::to_string(least) +
                            (least == ports.size()
                                            ? ""
                                            : " to " + std::to_string(
                                                               ports.size())));
    for (size_t i = 0; i < tensors.size(); ++i) {
        const data_type_t given = type_of(tensors[i]);
        const auto &types = ports[i].types;
        if (std::find(types.begin(), types.end(), given) == types.end())
            return foreign(op, std::string(ports[i].name) + " is of type " +
                                       to_string(given) + " (" +
                                       std::to_string(static_cast<int>(given)) +
                                       "); expected one of " +
                                       joined(types, [](data_type_t t) {
                return to_string(t);
            }));
    }
    return {};
}

result_t check_value(const op_record_t &op, const attribute_schema_t &schema,
        const attribute_t &value) {
    if (value.index() != static_cast<size_t>(schema.kind))
        return invalid(op, std::string("attribute ") + schema.spelling +
                                   " is of the wrong type");
    if (const auto *numbers = std::get_if<std::vector<int64_t>>(&value))
        if (schema.max_count != 0 && numbers->size() != schema.max_count)
            return invalid(op, std::string("attribute ") + schema.spelling +
                                       " has " +
                                       std::to_string(numbers->size()) +
                                       " values; expected " +
                                       std::to_string(schema.max_count));
    if (const auto *text = std::get_if<std::string>(&value)) {
        const auto &choices = schema.choices;
        if (!choices.empty() && std::find(choices.begin(), choices.end(),
                                        *text) == choices.end())
            return invalid(
                    op, std::string(schema.spelling) + " is \"" +
                                printable(*text) + "\"; expected one of " +
                                joined(choices, [](const std::string &choice) {
                return choice;
            }));
    }
    return {};
}

result_t check_attributes(const op_record_t &op, const op_schema_t &schema) {
    for (const auto &[name, value] : op.attributes) {
        const int wanted = name;
        const auto row =
                std::find_if(schema.attributes.begin(), schema.attributes.end(),
                        [wanted](const attribute_schema_t &attribute) {
            return attribute.name == wanted;
        });
        if (row == schema.attributes.end())
            return foreign(op,
                    "attribute " + std::to_string(name) +
                            " is not one of this op's: " +
                            joined(schema.attributes,
                                    [](const attribute_schema_t &attribute) {
                return attribute.spelling;
            }));
        if (result_t result = check_value(op, *row, value); !result.ok())
            return result;
    }
    return {};
}

} // namespace

const op_schema_t *find_schema(int kind) {
    const auto &schemas = all_schemas();
    const auto found = std::find_if(schemas.begin(), schemas.end(),
            [kind](const op_schema_t &schema) { return schema.kind == kind; });
    return found == schemas.end() ? nullptr : &*found;
}

result_t verify(const op_record_t &op) {
    const op_schema_t *schema = find_schema(op.kind);
    if (schema == nullptr)
        return {status_t::unimplemented, describe(op) + ": not an op of ours"};
    result_t result = check_ports(op, "inputs", op.inputs, schema->inputs);
    if (result.ok())
        result = check_ports(op, "outputs", op.outputs, schema->outputs);
    if (result.ok()) result = check_attributes(op, *schema);
    if (result.ok() && schema->check != nullptr) result = schema->check(op);
    return result;
}

std::string input_name(const op_record_t &op, size_t index) {
    const op_schema_t *schema = find_schema(op.kind);
    if (schema != nullptr && index < schema->inputs.size())
        return schema->inputs[index].name;
    return "input " + std::to_string(index);
}

} // namespace dnnl_dequant
