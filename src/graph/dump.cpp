#include "graph/dump.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <locale>
#include <sstream>

#include <unistd.h>

#include "base/config.hpp"
#include "base/log.hpp"
#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/logical_tensor.hpp"
#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

struct name_t {
    const char *name;
    int value;
};

constexpr name_t attributes[] = {
#define X(name, value) {#name, value},
#include "graph/op_attributes.def"
#undef X
};

template <size_t n>
std::string name_of(const name_t (&names)[n], int value) {
    for (const auto &known : names)
        if (known.value == value) return known.name;
    return "unknown " + std::to_string(value);
}

std::string type_name(const logical_tensor_t &tensor) {
    // boolean is the one type of oneDNN that data_type_t lacks.
    if (tensor.data_type == dnnl_boolean) return "boolean";
    return to_string(type_of(tensor));
}

std::string quoted(const std::string &text) {
    std::string escaped = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') escaped += '\\';
        if (static_cast<unsigned char>(c) < 0x20) escaped += "\\u0020";
        else escaped += c;
    }
    return escaped + '"';
}

// Numbers with all their digits, whatever the process's locale.
std::ostringstream number_stream() {
    std::ostringstream stream;
    stream.imbue(std::locale::classic());
    stream.precision(std::numeric_limits<float>::max_digits10);
    return stream;
}

// JSON has no infinity: the largest number does as well for a bound.
float finite(float value) {
    constexpr float largest = std::numeric_limits<float>::max();
    return std::min(std::max(value, -largest), largest);
}
int64_t finite(int64_t value) {
    return value;
}

template <typename T>
std::string list(const T *values, size_t count) {
    std::ostringstream stream = number_stream();
    stream << '[';
    for (size_t i = 0; i < count; i++)
        stream << (i == 0 ? "" : ", ") << finite(values[i]);
    stream << ']';
    return stream.str();
}

// One number stands by itself where the attribute is no list by nature; so it
// does in oneDNN's dumps.
template <typename T>
std::string numbers(
        const char *type, const std::vector<T> &values, bool is_list) {
    const std::string text = list(values.data(), values.size());
    if (is_list || values.size() != 1)
        return "{\"type\": \"" + std::string(type) + "[]\", \"value\": " + text
               + "}";
    return "{\"type\": \"" + std::string(type)
           + "\", \"value\": " + text.substr(1, text.size() - 2) + "}";
}

// oneDNN's attributes lie in ranges by their kind: lists of f32 from 0x20, of
// s64 from 0x40 to 0x5f.
bool is_list(int attribute) {
    return (attribute >= 0x20 && attribute < 0x30)
           || (attribute >= 0x40 && attribute < 0x60);
}

std::string attribute_json(int name, const attribute_t &value) {
    if (const auto *floats = std::get_if<std::vector<float>>(&value))
        return numbers("f32", *floats, is_list(name));
    if (const auto *integers = std::get_if<std::vector<int64_t>>(&value))
        return numbers("s64", *integers, is_list(name));
    if (const auto *text = std::get_if<std::string>(&value))
        return "{\"type\": \"string\", \"value\": " + quoted(*text) + "}";
    const auto &bytes = std::get<std::vector<uint8_t>>(value);
    const bool truth = !bytes.empty() && bytes[0] != 0;
    return std::string("{\"type\": \"bool\", \"value\": ")
           + (truth ? "1}" : "0}");
}

const char *layout_name(const logical_tensor_t &tensor) {
    switch (tensor.layout_type) {
    case dnnl_graph_layout_type_strided: return "strided";
    case dnnl_graph_layout_type_any: return "any";
    case dnnl_graph_layout_type_opaque: return "opaque";
    default: return "undef";
    }
}

const char *property_name(const logical_tensor_t &tensor) {
    const int property = tensor.property;
    return property == dnnl_graph_tensor_property_variable   ? "variable"
           : property == dnnl_graph_tensor_property_constant ? "constant"
           : property == property_host_scalar                ? "host_scalar"
                                                             : "undef";
}

std::string tensor_json(const logical_tensor_t &tensor) {
    const size_t rank
            = has_rank(tensor) ? static_cast<size_t>(tensor.ndims) : 0;
    const bool strided = tensor.layout_type == dnnl_graph_layout_type_strided;
    return "    {\"id\": " + std::to_string(tensor.id)
           + ", \"dtype\": " + quoted(type_name(tensor))
           + ", \"shape\": " + list(tensor.dims, rank)
           + ", \"stride\": " + list(tensor.layout.strides, strided ? rank : 0)
           + ", \"layout_type\": " + quoted(layout_name(tensor))
           + ", \"property_type\": " + quoted(property_name(tensor)) + "}";
}

std::string tensors_json(const std::vector<logical_tensor_t> &tensors) {
    std::string text;
    for (const auto &tensor : tensors)
        text += (text.empty() ? "\n" : ",\n") + tensor_json(tensor);
    return "[" + text + "]";
}

std::string op_json(const op_record_t &op) {
    std::string attrs;
    for (const auto &item : op.attributes)
        attrs += (attrs.empty() ? "\n    " : ",\n    ")
                 + quoted(name_of(attributes, item.first)) + ": "
                 + attribute_json(item.first, item.second);
    return "  {\"id\": " + std::to_string(op.id)
           + ", \"name\": " + quoted(op.name)
           + ", \"kind\": " + quoted(kind_name(op.kind)) + ",\n   \"attrs\": {"
           + attrs + "},\n   \"inputs\": " + tensors_json(op.inputs)
           + ",\n   \"outputs\": " + tensors_json(op.outputs) + "}";
}

const char *fpmath_name(dnnl_fpmath_mode_t mode) {
    switch (mode) {
    case dnnl_fpmath_mode_bf16: return "bf16";
    case dnnl_fpmath_mode_f16: return "f16";
    case dnnl_fpmath_mode_tf32: return "tf32";
    case dnnl_fpmath_mode_any: return "any";
    default: return "strict";
    }
}

// The version of the oneDNN that runs. The build may have seen another one.
std::string onednn_version() {
    const auto version = upstream::api().dnnl_version;
    if (version == nullptr) return "unknown";
    const auto *v = version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "."
           + std::to_string(v->patch);
}

} // namespace

bool dump_wanted() {
    const char *wanted = environment("ONEDNN_GRAPH_DUMP");
    std::istringstream list(wanted != nullptr ? wanted : "");
    for (std::string word; std::getline(list, word, ',');)
        if (word == "graph") return true;
    return false;
}

std::string graph_json(const graph_record_t &graph) {
    std::string ops;
    for (const auto &op : graph.ops)
        ops += (ops.empty() ? "" : ",\n") + op_json(op);
    return "{\"version\": \"" + onednn_version()
           + "\",\n \"engine_kind\": \"cpu\",\n \"fpmath_mode\": \""
           + fpmath_name(graph.fpmath_mode)
           + "\",\n \"fpmath_mode_apply_to_int\": \""
           + (graph.fpmath_apply_to_int ? "true" : "false")
           + "\",\n \"graph\": [\n" + ops + "]}\n";
}

void dump(const graph_record_t &graph) {
    static std::atomic<int> count {0};
    std::string path;
    FILE *file = nullptr;
    do {
        path = "graph-dnnl_dequant-" + std::to_string(getpid()) + "-"
               + std::to_string(count++) + ".json";
        // Never what is there already, nor where a link of that name leads.
        file = std::fopen(path.c_str(), "wxe");
    } while (file == nullptr && errno == EEXIST);
    if (file == nullptr) return;
    const std::string json = graph_json(graph);
    size_t written = std::fwrite(json.data(), 1, json.size(), file);
    if (std::fclose(file) != 0) written = 0;
    if (written == json.size() && log_enabled(log_profile_create))
        log_line("info,serialize graph to a json file " + path);
}

} // namespace dnnl_dequant
