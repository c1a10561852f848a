#ifndef KERNELS_JIT_NIBBLE_NUMBERS_HPP
#define KERNELS_JIT_NIBBLE_NUMBERS_HPP

#include <cstring>

#include "base/convert.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// The table of every type of 4 bits, or of 2 bits four times: lane i holds, as
/// f32, the number that nibble i stands for.
inline jit_generator_t::lanes_t nibble_numbers(data_type_t type) {
    jit_generator_t::lanes_t lanes;
    for (uint8_t nibble = 0; nibble < 16; ++nibble) {
        const float number = load_f32(type, &nibble, 0);
        std::memcpy(&lanes[nibble], &number, sizeof(number));
    }
    return lanes;
}

} // namespace dnnl_dequant

#endif
