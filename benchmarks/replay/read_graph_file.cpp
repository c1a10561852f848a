// Makes a graph_file_t of JSON as oneDNN writes it: an object with "graph", a
// list of ops {id, name, kind, attrs, inputs, outputs}. A tensor is {id, dtype,
// shape, stride, layout_type, property_type}.

#include <algorithm>
#include <set>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "oneapi/dnnl/dnnl.hpp"

#include "data_file.hpp"
#include "graph_file.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

using json_t = nlohmann::json;

[[noreturn]] void refuse(const std::string &why) {
    throw file_error_t(why);
}

// Names come from the file: one line, and not a long one.
std::string in_quotes(const std::string &text) {
    std::string clean;
    for (const char c : text.substr(0, 60))
        clean += static_cast<unsigned char>(c) < 32 ? '?' : c;
    return '"' + clean + '"';
}

const json_t &at(const json_t &object, const char *key, const char *whose) {
    const auto found = object.find(key);
    if (found == object.end())
        refuse(std::string(whose) + " has no \"" + key + "\"");
    return *found;
}

// Whether every number of the value, one or a list, can become an integer.
bool holds_integers(const json_t &value, double least) {
    if (value.is_array())
        return std::all_of(value.begin(), value.end(),
                [&](const json_t &one) { return holds_integers(one, least); });
    if (!value.is_number_float()) return true;
    const double number = value.get<double>();
    return number >= least && number < 0x1p63;
}

template <typename T>
T as(const json_t &value, const std::string &what) {
    constexpr bool integers
            = std::is_integral_v<T> || std::is_same_v<T, dims_t>;
    if (integers
            && !holds_integers(value, std::is_same_v<T, size_t> ? 0 : -0x1p63))
        refuse(what + " has a number that no integer holds");
    try {
        return value.get<T>();
    } catch (const json_t::exception &) {
        refuse(what + " is not of the kind that oneDNN writes there");
    }
}

std::string text_or(
        const json_t &object, const char *key, const std::string &otherwise) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string()
                   ? found->get<std::string>()
                   : otherwise;
}

dnnl::fpmath_mode fpmath_named(const std::string &name) {
    using mode = dnnl::fpmath_mode;
    const std::map<std::string, mode> all {{"strict", mode::strict},
            {"bf16", mode::bf16}, {"f16", mode::f16}, {"tf32", mode::tf32},
            {"any", mode::any}};
    const auto found = all.find(name);
    if (found == all.end()) refuse("unknown fpmath_mode " + in_quotes(name));
    return found->second;
}

bool truth(const json_t &value) {
    if (value.is_string()) return value == "true" || value == "1";
    if (value.is_number()) return value != 0;
    return value.is_boolean() && value.get<bool>();
}

graph_op_t::attribute_t read_attribute(
        const json_t &attribute, const std::string &what) {
    if (!attribute.is_object()) refuse(what + " is no object");
    const std::string type = text_or(attribute, "type", "");
    const json_t &value = at(attribute, "value", what.c_str());
    if (type == "s64") return as<int64_t>(value, what);
    if (type == "s64[]") return as<std::vector<int64_t>>(value, what);
    if (type == "f32") return as<float>(value, what);
    if (type == "f32[]") return as<std::vector<float>>(value, what);
    if (type == "bool") return truth(value);
    if (type == "string") return as<std::string>(value, what);
    refuse(what + " is of unknown type " + in_quotes(type));
}

lt_t::property_type property_named(const std::string &name) {
    if (name == "constant") return lt_t::property_type::constant;
    if (name == "variable") return lt_t::property_type::variable;
    return lt_t::property_type::undef; // "host_scalar" too: see as_tensor()
}

// A host scalar of 3.12 is replayed as a tensor of one element.
void as_tensor(graph_value_t &value) {
    if (value.type == static_cast<type_t>(16)) value.type = type_t::s32;
    value.dims.clear();
    value.strides.clear();
}

graph_value_t read_value(const json_t &tensor, const std::string &of) {
    const std::string whose = "a tensor of " + of;
    if (!tensor.is_object()) refuse(whose + " is no object");
    graph_value_t value;
    value.id = as<size_t>(at(tensor, "id", whose.c_str()), "its id");
    const std::string name = "tensor " + std::to_string(value.id) + " of " + of;
    const std::string type = text_or(tensor, "dtype", "");
    const auto known = type_named(type);
    if (type == "unknown data_type")
        refuse(name
                + " is of a type that this oneDNN could not name; the "
                  "plugin's own dump next to it (graph-dnnl_dequant-...) does");
    if (!known) refuse(name + " has unknown type " + in_quotes(type));
    value.type = *known;
    value.dims = as<dims_t>(at(tensor, "shape", name.c_str()), name);
    if (value.dims.size() > DNNL_MAX_NDIMS)
        refuse(name + " has " + std::to_string(value.dims.size())
                + " dimensions; oneDNN has up to 12");
    const std::string property = text_or(tensor, "property_type", "undef");
    value.property = property_named(property);
    if (property == "host_scalar") as_tensor(value);
    // The file cannot tell more about opaque and any layouts: they become
    // dense.
    if (text_or(tensor, "layout_type", "strided") == "strided"
            && tensor.contains("stride"))
        value.strides = as<dims_t>(tensor["stride"], name);
    const auto &strides = value.strides;
    if (strides.size() != value.dims.size()
            || std::any_of(strides.begin(), strides.end(),
                    [](dim_t stride) { return stride < 0; }))
        value.strides.clear();
    return value;
}

// One value is described wherever it is used; the fullest word counts. A shape
// [] may be a scalar or an unknown rank.
void merge(graph_file_t &file, const graph_value_t &value) {
    const auto inserted = file.values.emplace(value.id, value);
    graph_value_t &known = inserted.first->second;
    if (inserted.second) return;
    const std::string name = "tensor " + std::to_string(value.id);
    if (known.type != value.type)
        refuse(name + " is " + to_string(known.type) + " in one place and "
                + to_string(value.type) + " in another");
    if (!value.dims.empty() && !known.dims.empty() && known.has_shape()
            && value.has_shape() && known.dims != value.dims)
        refuse(name + " has two shapes");
    if (known.dims.empty() || (!known.has_shape() && value.has_shape())) {
        known.dims = value.dims;
        known.strides = value.strides;
    }
    if (known.property == lt_t::property_type::undef)
        known.property = value.property;
}

std::vector<size_t> read_values(graph_file_t &file, const json_t &op,
        const char *side, const std::string &of) {
    std::vector<size_t> ids;
    const json_t &list = at(op, side, of.c_str());
    if (!list.is_array()) refuse(of + ": \"" + side + "\" is no list");
    for (const auto &tensor : list) {
        const graph_value_t value = read_value(tensor, of);
        merge(file, value);
        ids.push_back(value.id);
    }
    return ids;
}

graph_op_t read_op(graph_file_t &file, const json_t &json) {
    if (!json.is_object()) refuse("an op is no object");
    graph_op_t op;
    op.id = as<size_t>(at(json, "id", "an op"), "an op's id");
    op.name = text_or(json, "name", "");
    op.kind_name = as<std::string>(at(json, "kind", "an op"), "an op's kind");
    const std::string of
            = "op " + std::to_string(op.id) + " " + in_quotes(op.name);
    const auto kind = kind_named(op.kind_name);
    if (!kind) refuse(of + " is of unknown kind " + in_quotes(op.kind_name));
    op.kind = *kind;
    const auto *v = dnnl::version();
    if (v->major * 100 + v->minor < version_of(op.kind))
        refuse(of + " is of kind " + op.kind_name
                + ", which this oneDNN does not have yet");
    op.inputs = read_values(file, json, "inputs", of);
    op.outputs = read_values(file, json, "outputs", of);
    const auto attributes = json.find("attrs");
    if (attributes == json.end()) return op;
    for (const auto &item : attributes->items()) {
        if (is_note(item.key())) continue;
        const std::string what = of + ", attribute " + in_quotes(item.key());
        if (!attribute_named(item.key())) refuse(what + " is unknown");
        op.attributes[item.key()] = read_attribute(item.value(), what);
    }
    return op;
}

// Orders producers first. Ops that are left when nothing is ready form a cycle.
void order(graph_file_t &file) {
    std::set<size_t> made, waiting;
    for (const auto &op : file.ops)
        for (const size_t id : op.outputs)
            if (!made.insert(id).second)
                refuse("tensor " + std::to_string(id) + " has two producers");
    waiting = made;
    std::vector<graph_op_t> rest = std::move(file.ops), blocked;
    file.ops.clear();
    while (!rest.empty()) {
        blocked.clear();
        for (auto &op : rest) {
            const bool ready = std::none_of(op.inputs.begin(), op.inputs.end(),
                    [&](size_t id) { return waiting.count(id) != 0; });
            if (!ready) {
                blocked.push_back(std::move(op));
                continue;
            }
            for (const size_t id : op.outputs)
                waiting.erase(id);
            file.ops.push_back(std::move(op));
        }
        if (blocked.size() == rest.size())
            refuse("there is a cycle through op "
                    + std::to_string(blocked.front().id) + " "
                    + in_quotes(blocked.front().name));
        std::swap(rest, blocked);
    }
}

// Shape [] of what an op with larger inputs makes is no scalar but unknown,
// and inputs of the graph must be known.
void settle_shapes(graph_file_t &file) {
    for (const auto &op : file.ops)
        for (const size_t id : op.outputs) {
            auto &value = file.values.at(id);
            if (!value.dims.empty()) continue;
            value.has_rank = std::all_of(
                    op.inputs.begin(), op.inputs.end(), [&](size_t input) {
                const auto &v = file.values.at(input);
                return v.has_rank && v.dims.empty();
            });
        }
    for (const auto &item : file.values)
        if (!item.second.has_shape() && file.producer(item.first) == nullptr)
            refuse("tensor " + std::to_string(item.first)
                    + " comes from outside and its shape is unknown");
}

json_t parse(const std::string &path) {
    std::ifstream stream = readable_file(path);
    if (!stream.is_open()) refuse("cannot be read");
    json_t json;
    try {
        json = json_t::parse(stream);
    } catch (const json_t::parse_error &e) {
        refuse("no JSON: error at byte " + std::to_string(e.byte));
    } catch (const json_t::exception &) {
        refuse("no JSON that can be read: a number is out of range");
    }
    if (!json.is_object() || !json.contains("graph")
            || !json["graph"].is_array())
        refuse("no oneDNN graph: it has no list \"graph\"");
    if (json["graph"].empty()) refuse("no ops in it");
    return json;
}

} // namespace

graph_file_t read_graph_file(const std::string &path) {
    const json_t json = parse(path);
    graph_file_t file;
    file.path = path;
    file.version = text_or(json, "version", "?");
    file.fpmath_name = text_or(json, "fpmath_mode", "strict");
    file.fpmath = fpmath_named(file.fpmath_name);
    file.apply_to_int = json.contains("fpmath_mode_apply_to_int")
                        && truth(json["fpmath_mode_apply_to_int"]);
    std::set<size_t> ids;
    for (const auto &op : json["graph"]) {
        file.ops.push_back(read_op(file, op));
        if (!ids.insert(file.ops.back().id).second)
            refuse("two ops have the id " + std::to_string(file.ops.back().id));
    }
    order(file);
    settle_shapes(file);
    return file;
}

} // namespace bench
} // namespace dnnl_dequant
