#ifndef BASE_BITS_HPP
#define BASE_BITS_HPP

#include <cstdint>
#include <cstring>

namespace dnnl_dequant {

/// The 32 bits of an f32, and back.
inline uint32_t bits_of_f32(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

inline float f32_of_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

} // namespace dnnl_dequant

#endif
