// The parts that skinny integer GEMMs share for either order of weights.

#include "kernels/integer_gemm/integer_stream.hpp"

#include "kernels/dequantize/jit_params.hpp"
#include "kernels/integer_gemm/jit_integer_stream_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

jit_integer_stream_base_t::jit_integer_stream_base_t(
        const char *name, const integer_stream_weights_t &weights, int bias)
    : jit_generator_t(name)
    , w_(weights)
    , bias_(bias) {}

uint32_t jit_integer_stream_base_t::flipped_bits() const {
    if (bias_ == 0) return 0;
    return is_nibble() ? 0x88888888u : 0x80808080u;
}

void jit_integer_stream_base_t::load_zps(const Xmm &zps, const Address &from) {
    vcvtps2dq(zps, from);
    if (bias_ != 0) vpaddd(zps, zps, constant(static_cast<uint32_t>(bias_)));
}

void jit_integer_stream_vnni_t::load_constants() {
    const uint32_t bits = h_.flipped_bits();
    h_.vmovups(mask_, h_.constant(0x0f0f0f0fu));
    h_.vmovups(
            flipped_, h_.constant(bits & (h_.is_nibble() ? 0x0f0f0f0fu : ~0u)));
}

void jit_integer_stream_vnni_t::make_bytes(const Zmm &low, const Zmm &high) {
    constexpr uint8_t masked_and_flipped = 0x6a; // (low & mask) ^ flipped
    const bool flips = h_.flipped_bits() != 0;
    if (!h_.is_nibble()) {
        if (flips) h_.vpxord(low, low, flipped_);
        return;
    }
    h_.vpsrlw(high, low, 4);
    for (const Zmm &nibbles : {low, high})
        if (flips) h_.vpternlogd(nibbles, mask_, flipped_, masked_and_flipped);
        else h_.vpandd(nibbles, nibbles, mask_);
}

void jit_integer_stream_vnni_t::multiply(
        const Zmm &sums, const Zmm &weights, const Zmm &src) {
    if (h_.is_src_signed()) h_.vpdpbusd(sums, weights, src);
    else h_.vpdpbusd(sums, src, weights);
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
