// The parts that skinny integer GEMMs share for either order of weights.

#include "kernels/integer_gemm/jit_integer_stream.hpp"
#include "kernels/integer_gemm/jit_integer_stream_code.hpp"

namespace dnnl_dequant {

jit_integer_stream_base_t::jit_integer_stream_base_t(const char *name,
        const integer_stream_weights_t &weights, isa_t isa, int rows)
    : jit_simd_t(name)
    , w_(weights)
    , rows_(rows)
    , has_vnni_(has(isa, isa_avx_vnni) || has(isa, isa_avx512_core_vnni))
    , bias_(integer_bias(weights.format)
              - (has_vnni_ && !is_nibble() && !weights.is_src_signed ? 128 : 0))
    , vmm_bytes_(has(isa, isa_avx512_core_vnni) ? 64 : 32) {}

result_t make_integer_stream(const integer_stream_weights_t &weights, isa_t isa,
        std::shared_ptr<const integer_stream_t> &stream) {
    const integer_format_t &format = weights.format;
    if (!has(isa, isa_avx2)) return refuse("no AVX2");
    const bool by_column = format.is_by_column();
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
