// The parts that skinny integer GEMMs share for either order of weights.

#include "kernels/integer_gemm/jit_integer_stream.hpp"
#include "kernels/integer_gemm/jit_integer_stream_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

void jit_integer_stream_base_t::load_byte_constants() {
    vmovups(mask_of_bytes_, constant(0x0f0f0f0fu));
    vmovups(flipped_of_bytes_,
            constant(flipped_bits() & (is_nibble() ? 0x0f0f0f0fu : ~0u)));
}

void jit_integer_stream_base_t::make_bytes(const Zmm &low, const Zmm &high) {
    constexpr uint8_t masked_and_flipped = 0x6a; // (low & mask) ^ flipped
    const bool flips = flipped_bits() != 0;
    if (!is_nibble()) {
        if (flips) vpxord(low, low, flipped_of_bytes_);
        return;
    }
    vpsrlw(high, low, 4);
    for (const Zmm &nibbles : {low, high})
        if (flips)
            vpternlogd(nibbles, mask_of_bytes_, flipped_of_bytes_,
                    masked_and_flipped);
        else vpandd(nibbles, nibbles, mask_of_bytes_);
}

int integer_stream_weights_t::vnni_bias() const {
    switch (format.weights) {
    case data_type_t::s4: return 8;
    case data_type_t::s8: return is_src_signed ? 128 : 0;
    case data_type_t::u8: return is_src_signed ? 0 : -128;
    default: return 0;
    }
}

result_t make_integer_stream(const integer_stream_weights_t &weights, isa_t isa,
        std::shared_ptr<const integer_stream_t> &stream) {
    const integer_format_t &format = weights.format;
    if (!has(isa, isa_avx2)) return refuse("no AVX2");
    const bool by_column = format.depth_stride == 1;
    if (!by_column && format.col_stride != 1)
        return refuse("neither rows nor columns of the weights lie side by "
                      "side");
    const dim_t pitch = by_column ? format.col_stride : format.depth_stride;
    if (pitch * bits_of(format.weights) % 8 != 0)
        return refuse("rows of the weights begin within a byte");
    if (stage_floats_of(format.scales) == nullptr)
        return refuse("scales are no floats");
    return by_column ? make_integer_k_lanes(weights, isa, stream)
                     : make_integer_n_lanes(weights, isa, stream);
}

} // namespace dnnl_dequant
