#ifndef BASE_FLOAT_FORMAT_HPP
#define BASE_FLOAT_FORMAT_HPP

#include "base/data_type.hpp"

namespace dnnl_dequant {

/// These fields set one floating type apart from another. A code is an
/// element's bits: the sign, the exponent, the significand. A magnitude is a
/// code without its sign.
struct float_format_t {
    enum class special_t {
        none,              // every code is a number
        ieee,              // the largest exponent means infinity and NaN
        all_ones_nan,      // only the magnitude of all ones is NaN
        negative_zero_nan, // only the code of negative zero is NaN
    };

    int exponent_bits, significand_bits, bias;
    special_t special;

    int magnitude_bits() const { return exponent_bits + significand_bits; }
    unsigned sign() const { return 1u << magnitude_bits(); }
    bool has_infinity() const { return special == special_t::ieee; }
    bool has_nan() const { return special != special_t::none; }
    bool has_negative_zero() const {
        return special != special_t::negative_zero_nan;
    }

    /// The magnitude of infinity, where there is one.
    unsigned infinity() const { return sign() - (1u << significand_bits); }
    /// The code of a NaN, where there is one.
    unsigned nan() const { return has_negative_zero() ? sign() - 1u : sign(); }
    /// The largest magnitude that is a number.
    unsigned largest() const {
        if (has_infinity()) return infinity() - 1u;
        return sign() - (special == special_t::all_ones_nan ? 2u : 1u);
    }
    /// A number beyond the largest becomes infinity, NaN where the type has
    /// none, the largest number where it has neither.
    unsigned overflow() const {
        if (has_infinity()) return infinity();
        return has_nan() ? nan() : largest();
    }
};

/// A floating type's columns of data_type.def; all 0 for other types.
float_format_t float_format_of(data_type_t type);

} // namespace dnnl_dequant

#endif
