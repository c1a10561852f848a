#include "base/data_type.hpp"

#include "base/float_format.hpp"

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

float_format_t float_format_of(data_type_t type) {
    using special_t = float_format_t::special_t;
    switch (type) {
#define X(name, value, bits, family)
#define FLOAT(name, value, bits, exponent, significand, bias, special) \
    case data_type_t::name:                                            \
        return {exponent, significand, bias, special_t::special};
#include "base/data_type.def"
#undef X
    default: return {0, 0, 0, special_t::none};
    }
}

} // namespace dnnl_dequant
