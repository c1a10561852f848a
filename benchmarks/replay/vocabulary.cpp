#include "vocabulary.hpp"

#include <map>

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

// The headers may be older than the library, so these are numbers.
constexpr op_kind_t rms_norm = static_cast<op_kind_t>(86);
constexpr op_kind_t dropout = static_cast<op_kind_t>(87);

const std::map<std::string, op_kind_t> &kinds() {
    static const std::map<std::string, op_kind_t> all {
#define X(name, value) {#name, static_cast<op_kind_t>(value)},
#include "graph/op_kinds.def"
#undef X
    };
    return all;
}

const std::map<std::string, op_attr_t> &attributes() {
    static const std::map<std::string, op_attr_t> all {
#define X(name, value) {#name, static_cast<op_attr_t>(value)},
#include "graph/op_attributes.def"
#undef X
    };
    return all;
}

template <typename map_t>
auto found(const map_t &map, const std::string &name)
        -> std::optional<typename map_t::mapped_type> {
    const auto at = map.find(name);
    if (at == map.end()) return std::nullopt;
    return at->second;
}

} // namespace

std::optional<op_kind_t> kind_named(const std::string &name) {
    return found(kinds(), name);
}

int version_of(op_kind_t kind) {
    return kind == rms_norm || kind == dropout ? 312 : 307;
}

std::optional<op_attr_t> attribute_named(const std::string &name) {
    return found(attributes(), name);
}

bool is_note(const std::string &attribute) {
    return attribute == "partition_id" || attribute == "backend"
           || attribute == "matched";
}

std::optional<type_t> type_named(const std::string &name) {
    for (const type_t type : known_types())
        if (name == to_string(type)) return type;
    return std::nullopt;
}

bool is_dequantize(op_kind_t kind) {
    return kind == op_kind_t::DynamicDequantize
           || kind == op_kind::DequantizeLinear
           || kind == op_kind::ExtendedDequantizeLinear;
}

bool is_exact(op_kind_t kind) {
    switch (kind) {
    case op_kind_t::Dequantize:
    case op_kind_t::TypeCast:
    case op_kind_t::Reorder:
    case op_kind_t::StaticTranspose:
    case op_kind_t::StaticReshape:
    case op_kind_t::Concat:
    case op_kind_t::Add:
    case op_kind_t::Subtract:
    case op_kind_t::Multiply:
    case op_kind_t::Maximum:
    case op_kind_t::Minimum:
    case op_kind_t::ReLU:
    case op_kind_t::Abs: return true;
    default: return is_dequantize(kind);
    }
}

} // namespace bench
} // namespace dnnl_dequant
