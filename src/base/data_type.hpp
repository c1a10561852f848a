#ifndef BASE_DATA_TYPE_HPP
#define BASE_DATA_TYPE_HPP

#include "base/types.hpp"

namespace dnnl_dequant {

enum class data_type_t : int {
    undef = 0,
#define X(name, value, bits, family) name = (value),
#include "base/data_type.def"
#undef X
};

enum class type_family_t { undef, unsigned_int, signed_int, floating };

/// "f32", "u4"...; "undef" for a value that is no type of ours.
const char *to_string(data_type_t type);

/// Bits of one element; 0 for a value that is no type of ours.
constexpr int bits_of(data_type_t type) {
    switch (type) {
#define X(name, value, bits, family) \
    case data_type_t::name: return bits;
#include "base/data_type.def"
#undef X
    case data_type_t::undef: break;
    }
    return 0;
}

constexpr type_family_t family_of(data_type_t type) {
    switch (type) {
#define X(name, value, bits, family) \
    case data_type_t::name: return type_family_t::family;
#include "base/data_type.def"
#undef X
    case data_type_t::undef: break;
    }
    return type_family_t::undef;
}

constexpr bool is_known(data_type_t type) {
    return bits_of(type) != 0;
}
constexpr bool is_floating(data_type_t type) {
    return family_of(type) == type_family_t::floating;
}
constexpr bool is_integer(data_type_t type) {
    return is_known(type) && !is_floating(type);
}

/// Bytes that `count` elements take when stored one after the other; types
/// below a byte share bytes, the last byte may be partly used.
inline dim_t bytes_of(data_type_t type, dim_t count) {
    return (count * bits_of(type) + 7) / 8;
}

} // namespace dnnl_dequant

#endif
