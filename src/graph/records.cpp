#include "graph/records.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "dnnl_dequant/dnnl_dequant.h"

namespace dnnl_dequant {

namespace {

// Enough to recognise an op by; a name may be a megabyte long.
constexpr size_t shown_name_length = 64;

} // namespace

std::string printable(const std::string &text) {
    std::string result;
    for (const char c : text.substr(0, shown_name_length)) {
        const auto byte = static_cast<unsigned char>(c);
        // ASCII only: a byte above may be half a character, or a terminal's.
        if (byte >= 0x20 && byte < 0x7f && !std::strchr("\",\\", c)) {
            result += c;
        } else {
            char code[5];
            std::snprintf(code, sizeof(code), "\\x%02x", byte);
            result += code;
        }
    }
    return text.size() > shown_name_length ? result + "..." : result;
}

records_t &records() {
    static records_t *const all = new records_t;
    return *all;
}

const op_record_t *find_op(const graph_record_t &graph, size_t id) {
    const auto found = std::find_if(graph.ops.begin(), graph.ops.end(),
            [id](const op_record_t &op) { return op.id == id; });
    return found == graph.ops.end() ? nullptr : &*found;
}

std::string kind_name(int kind) {
    static constexpr std::pair<const char *, int> kinds[] = {
#define X(name, value) {#name, value},
#include "graph/op_kinds.def"
#undef X
    };
    for (const auto &[name, value] : kinds)
        if (value == kind) return name;
    return "op kind " + std::to_string(kind);
}

std::string describe(const op_record_t &op) {
    return text(kind_name(op.kind), " \"", printable(op.name), "\" (id ", op.id,
            ")");
}

} // namespace dnnl_dequant
