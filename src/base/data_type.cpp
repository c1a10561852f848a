#include "base/data_type.hpp"

namespace dnnl_dequant {

const char *to_string(data_type_t type) {
    switch (type) {
#define X(name, value, bits, family) \
    case data_type_t::name: return #name;
#include "base/data_type.def"
#undef X
    case data_type_t::undef: break;
    }
    return "undef";
}

int bits_of(data_type_t type) {
    switch (type) {
#define X(name, value, bits, family) \
    case data_type_t::name: return bits;
#include "base/data_type.def"
#undef X
    case data_type_t::undef: break;
    }
    return 0;
}

type_family_t family_of(data_type_t type) {
    switch (type) {
#define X(name, value, bits, family) \
    case data_type_t::name: return type_family_t::family;
#include "base/data_type.def"
#undef X
    case data_type_t::undef: break;
    }
    return type_family_t::undef;
}

} // namespace dnnl_dequant
