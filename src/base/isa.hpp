#ifndef BASE_ISA_HPP
#define BASE_ISA_HPP

namespace dnnl_dequant {

/// What a kernel may use, as a set; a kernel is told, it never asks the CPU.
/// The limit is oneDNN's effective ISA (ONEDNN_MAX_CPU_ISA), see
/// upstream/mapping.hpp. Tiers are nested: avx512_core implies avx2.
enum isa_t : unsigned {
    isa_none = 0,
    isa_avx2 = 1u << 0,                               // AVX2 with FMA and F16C
    isa_avx512_core = isa_avx2 | 1u << 1,             // AVX-512 F, BW, VL, DQ
    isa_avx512_core_vnni = isa_avx512_core | 1u << 2, // and VNNI
    // and products of bf16 pairs: AVX512_BF16, on newer CPUs AMX too
    isa_avx512_core_bf16 = isa_avx512_core_vnni | 1u << 3,
    // and AMX with products of f16 pairs
    isa_avx512_core_amx_fp16 = isa_avx512_core_bf16 | 1u << 4,
};

inline bool has(isa_t available, isa_t wanted) {
    return (available & wanted) == wanted;
}

} // namespace dnnl_dequant

#endif
