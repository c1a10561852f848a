#include "graph/op_schema.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/granularity.hpp"
#include "graph/layout_op.hpp"
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
    static const list onnx_quantized
            = list {type::u8, type::s8, type::s32, type::s16, type::u16,
                      type::s4, type::u4, type::s2, type::u2}
              + small_floats;
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
    const size_t least = required_count(ports), most = ports.size();
    if (tensors.size() < least || tensors.size() > most)
        return foreign(
                op, text("has ", tensors.size(), " ", side, "; expected ",
                            least, least == most ? "" : text(" to ", most)));
    for (size_t i = 0; i < tensors.size(); ++i) {
        // oneDNN would read as many dimensions as it is told.
        if (!has_possible_rank(tensors[i]))
            return invalid(
                    op, text(ports[i].name, " is of rank ", tensors[i].ndims,
                                "; expected at most ", DNNL_MAX_NDIMS));
        const data_type_t found = type_of(tensors[i]);
        const auto &types = ports[i].types;
        if (std::find(types.begin(), types.end(), found) == types.end())
            return foreign(op,
                    text(ports[i].name, " is of type ", to_string(found), " (",
                            static_cast<int>(found), "); expected one of ",
                            joined(types, [](data_type_t t) {
                return to_string(t);
            })));
    }
    return {};
}

result_t check_value(const op_record_t &op, const attribute_schema_t &schema,
        const attribute_t &value) {
    const char *name = schema.spelling;
    if (value.index() != static_cast<size_t>(schema.kind))
        return invalid(op, text("attribute ", name, " is of the wrong type"));
    if (const auto *numbers = std::get_if<std::vector<int64_t>>(&value))
        if (schema.max_count != 0 && numbers->size() != schema.max_count)
            return invalid(
                    op, text("attribute ", name, " has ", numbers->size(),
                                " values; expected ", schema.max_count));
    const auto *word = std::get_if<std::string>(&value);
    const auto &choices = schema.choices;
    if (word == nullptr || choices.empty()
            || std::find(choices.begin(), choices.end(), *word)
                       != choices.end())
        return {};
    const auto same = [](const std::string &choice) { return choice; };
    return invalid(op, text(name, " is \"", printable(*word),
                               "\"; expected one of ", joined(choices, same)));
}

result_t check_attributes(const op_record_t &op, const op_schema_t &schema) {
    for (const auto &[name, value] : op.attributes) {
        const int wanted = name;
        const auto row = std::find_if(schema.attributes.begin(),
                schema.attributes.end(),
                [wanted](const attribute_schema_t &attribute) {
            return attribute.name == wanted;
        });
        if (row == schema.attributes.end()) {
            const auto spelling = [](const attribute_schema_t &attribute) {
                return attribute.spelling;
            };
            return foreign(
                    op, text("attribute ", name, " is not one of this op's: ",
                                joined(schema.attributes, spelling)));
        }
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

std::string output_name(const op_record_t &op, size_t index) {
    const op_schema_t *schema = find_schema(op.kind);
    if (schema != nullptr && index < schema->outputs.size())
        return schema->outputs[index].name;
    return "output " + std::to_string(index);
}

} // namespace dnnl_dequant
