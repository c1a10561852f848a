#include "match/match.hpp"

namespace dnnl_dequant {

const char *to_string(partition_kind_t kind) {
    switch (kind) {
    case partition_kind_t::dequantize: return "dequantize";
    }
    return "unknown";
}

const char *to_string(role_t role) {
    switch (role) {
    case role_t::src: return "src";
    case role_t::scales: return "scales";
    case role_t::zps: return "zps";
    case role_t::dst: return "dst";
    }
    return "unknown";
}

} // namespace dnnl_dequant
