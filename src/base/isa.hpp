#ifndef BASE_ISA_HPP
#define BASE_ISA_HPP

namespace dnnl_dequant {

/// The instructions that a kernel may use, as a set; a kernel is told, it never
/// asks the CPU. The limit is oneDNN's effective ISA (ONEDNN_MAX_CPU_ISA), see
/// upstream/mapping.cpp. A feature's value has the features that no CPU has it
/// without: AVX-512 comes with AVX2. Client CPUs have AVX-VNNI and no AVX-512.
enum isa_t : unsigned {
    isa_none = 0,
    isa_avx2 = 1u << 0, // AVX2 with FMA and F16C
    // vpdpbusd, in whichever encoding. No CPU has it by itself.
    isa_vnni = isa_avx2 | 1u << 9,
    isa_avx_vnni = isa_vnni | 1u << 1,    // vpdpbusd of 256 bits
    isa_avx512_core = isa_avx2 | 1u << 2, // AVX-512 F, BW, VL, DQ
    // vpdpbusd of 512 bits.
    isa_avx512_core_vnni = isa_avx512_core | isa_vnni | 1u << 3,
    // Products of pairs of bf16.
    isa_avx512_core_bf16 = isa_avx512_core_vnni | 1u << 4,
    // Tiles of bytes and of pairs of bf16, or also of f16, as oneDNN says.
    isa_amx_int8 = isa_avx512_core_bf16 | isa_avx_vnni | 1u << 5,
    isa_amx_fp16 = isa_amx_int8 | 1u << 6,
    // Permutations of bytes. oneDNN has no level for them. The CPU has them,
    // and oneDNN allows VNNI.
    isa_avx512_core_vbmi = isa_avx512_core_vnni | 1u << 7,
    // The same, by code of our own: the CPU itself has them, not only oneDNN's
    // level, and oneDNN has asked Linux for them. It permutes bytes, too.
    isa_amx_bf16 = isa_amx_int8 | isa_avx512_core_vbmi | 1u << 8,
};

inline bool has(isa_t available, isa_t wanted) {
    return (available & wanted) == wanted;
}

/// Returns the features that both have.
inline isa_t common(isa_t a, isa_t b) {
    return static_cast<isa_t>(a & b);
}

struct named_isa_t {
    isa_t isa;
    const char *name;
};

/// The sets from the least to the best, with the names that kernels' names end
/// in. Sets of 256 bits stand before AVX-512.
constexpr named_isa_t named_isas[] = {
        {isa_none, "none"},
        {isa_avx2, "avx2"},
        {isa_avx_vnni, "avx_vnni"},
        {isa_avx512_core, "avx512_core"},
        {isa_avx512_core_vnni, "avx512_core_vnni"},
        {isa_avx512_core_vbmi, "avx512_core_vbmi"},
        {isa_avx512_core_bf16, "avx512_core_bf16"},
        {isa_amx_int8, "amx_int8"},
        {isa_amx_fp16, "amx_fp16"},
        {isa_amx_bf16, "amx_bf16"},
};

/// Returns the name of the least set that has all features that code uses, such
/// as "avx_vnni" for isa_vnni.
inline const char *name_of(isa_t used) {
    for (const named_isa_t &named : named_isas)
        if (has(named.isa, used)) return named.name;
    return "several";
}

} // namespace dnnl_dequant

#endif
