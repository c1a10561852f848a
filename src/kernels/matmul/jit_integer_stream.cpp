// What products of few rows of integers share, whatever the weights' order.

#include "kernels/matmul/integer_stream.hpp"

#if defined(__x86_64__)

#include "kernels/dequantize/jit_params.hpp"
#include "kernels/matmul/jit_integer_stream_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

jit_integer_stream_generator_t::jit_integer_stream_generator_t(
        const char *name, const integer_stream_weights_t &weights)
    : jit_generator_t(name)
    , w_(weights) {}

uint32_t jit_integer_stream_generator_t::turned_bits() const {
    if (w_.bias() == 0) return 0;
    return is_nibble() ? 0x88888888u : 0x80808080u;
}

void jit_integer_stream_generator_t::load_constants() {
    vmovups(mask_, constant(0x0f0f0f0fu));
    vmovups(turned_,
            constant(turned_bits() & (is_nibble() ? 0x0f0f0f0fu : ~0u)));
}

void jit_integer_stream_generator_t::make_bytes(
        const Zmm &low, const Zmm &high) {
    constexpr uint8_t masked_and_turned = 0x6a; // (low & mask) ^ turned
    if (!is_nibble()) {
        if (turned_bits() != 0) vpxord(low, low, turned_);
        return;
    }
    vpsrlw(high, low, 4);
    for (const Zmm &nibbles : {low, high})
        if (turned_bits() == 0) vpandd(nibbles, nibbles, mask_);
        else vpternlogd(nibbles, mask_, turned_, masked_and_turned);
}

void jit_integer_stream_generator_t::multiply(
        const Zmm &sums, const Zmm &weights, const Zmm &src) {
    if (w_.is_src_signed) vpdpbusd(sums, weights, src);
    else vpdpbusd(sums, src, weights);
}

void jit_integer_stream_generator_t::load_zps(
        const Zmm &zps, const Address &from) {
    vcvtps2dq(zps, from);
    if (w_.bias() != 0)
        vpaddd(zps, zps, constant(static_cast<uint32_t>(w_.bias())));
}

int integer_stream_weights_t::bias() const {
    switch (format.weights) {
    case data_type_t::s4: return 8;
    case data_type_t::s8: return is_src_signed ? 128 : 0;
    case data_type_t::u8: return is_src_signed ? 0 : -128;
    default: return 0;
    }
}

result_t make_integer_stream(const integer_stream_weights_t &weights, isa_t isa,
        std::shared_ptr<const integer_stream_t> &stream) {
    const auto refuse = [](const char *why) {
        return result_t(status_t::unimplemented, why);
    };
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
    return by_column ? make_integer_dot(weights, isa, stream)
                     : make_integer_gemv(weights, isa, stream);
}

} // namespace dnnl_dequant

#else

namespace dnnl_dequant {

result_t make_integer_stream(const integer_stream_weights_t &, isa_t,
        std::shared_ptr<const integer_stream_t> &) {
    return {status_t::unimplemented, "the machine is no x86-64"};
}

} // namespace dnnl_dequant

#endif
