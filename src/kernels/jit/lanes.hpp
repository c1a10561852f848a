#ifndef KERNELS_JIT_LANES_HPP
#define KERNELS_JIT_LANES_HPP

#include <memory>

#include "base/data_type.hpp"
#include "kernels/jit/constants.hpp"
#include "kernels/jit/small_float.hpp"

namespace dnnl_dequant {

/// Numbers that stand one after the other: of `type`, each in a container of
/// `container_bits`. The container has the type's size; for 4 bits it may be a
/// byte whose upper half is ignored.
struct lane_format_t {
    data_type_t type = data_type_t::f32;
    int container_bits = 32;

    bool is_wide() const { return is_integer(type) && bits_of(type) > 16; }
    bool is_small_float() const {
        return is_floating(type) && bits_of(type) == 8;
    }
};

/// The rounding that f32 need to become bf16: none, if they are bf16 numbers
/// already; plain; or with care for a NaN whose payload might be rounded up.
/// Or `ordinary`, to bf16 and to f16, which takes round() two operations. Each
/// number is 0 then, or its magnitude is that of a normal number of the type,
/// below 2^111 (bf16) or 2^15 (f16).
enum class float_rounding_t { none, plain, with_nan, ordinary };

/// Numbers in memory to f32 lanes and back, lane i being element i. Code with
/// several operands of different types uses this, since jit_io_t has an order
/// of its own that would cost it shuffles. A step is simd_w elements.
template <isa_t isa>
class jit_lanes_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    static constexpr int simd_w = jit_isa_t<isa>::simd_w;
    static constexpr bool is_avx512 = isa == isa_avx512_core;

    /// `first_vmm`: the registers from here on hold constants. `small`: the
    /// one type of 8-bit floats that load() takes, undef for none.
    jit_lanes_t(jit_generator_t &host, int first_vmm, data_type_t small);

    /// Whether load() takes the type; of 8-bit floats, one of them.
    static bool is_loadable(data_type_t type);

    /// The lanes of a tail. AVX-512 only.
    const Xbyak::Opmask &tail_mask() const { return k_tail_; }

    /// For the code's own use.
    jit_constants_t<isa> &constants() { return constants_; }

    /// Loads the constants. It is generated after the code that uses them, and
    /// runs before it.
    void load_constants();

    /// Sets the masks of tails of reg_count (below simd_w) elements, which have
    /// `least_bits` or more; clobbers rcx and `tmp`. AVX-512 only: without
    /// opmasks no tail is taken.
    void load_tail_masks(const Xbyak::Reg64 &reg_count, const Xbyak::Reg64 &tmp,
            int least_bits = 4);

    /// Loads one step as f32; an integer is rounded once. `a` is scratch.
    void load(const vmm_t &v, const lane_format_t &format,
            const Xbyak::RegExp &from, bool tail, const vmm_t &a,
            const vmm_t &b);

    /// One step of elements of 32 bits, as they are.
    void load_bits(const vmm_t &v, const Xbyak::RegExp &from, bool tail) {
        h_.vmovups(masked(v, tail), h_.ptr[from]);
    }

    /// Loads an integer of 32 bits as the sum of two f32: its lowest ten bits
    /// and the rest.
    void load_parts(const vmm_t &low, const vmm_t &high,
            const lane_format_t &format, const Xbyak::RegExp &from, bool tail);

    /// To the nearest number of `type`, a result type. `rounding` is of bf16,
    /// unless it is ordinary.
    void round(const vmm_t &v, data_type_t type, float_rounding_t rounding,
            const vmm_t &a);

    /// Rounds ordinary numbers to bf16 or f16 that are multiplied already by
    /// factor_to_round(type), as a scale can be. It is a product and a
    /// subtraction, for which Zen has other units than for products.
    void round_multiplied(const vmm_t &v, data_type_t type, const vmm_t &a);
    static float factor_to_round(data_type_t type) {
        return type == data_type_t::bf16 ? 65536.f : 8192.f;
    }

    /// Rounds to `type`, a result type or an integer, and stores. `v` is
    /// overwritten.
    /// - 8 or 16 bits: `v` is within the range;
    /// - 32 bits: `v` is no NaN;
    /// - a float of 8 or 4 bits: lanes hold its codes, a byte each.
    ///
    /// `streaming` stores past the caches, to a multiple of the step's size,
    /// and clobbers rax.
    void store(const Xbyak::RegExp &to, data_type_t type, const vmm_t &v,
            float_rounding_t rounding, bool tail, bool streaming,
            const vmm_t &a);

    /// Stores two steps of bf16 at once, from `v` and `w`, which are
    /// overwritten.
    void store_pair_bf16(const Xbyak::RegExp &to, const vmm_t &v,
            const vmm_t &w, float_rounding_t rounding, bool streaming,
            const vmm_t &a);

private:
    void load_f8(const vmm_t &v, const lane_format_t &format,
            const Xbyak::RegExp &from, bool tail, const vmm_t &a,
            const vmm_t &b);
    void load_nibbles(const vmm_t &v, const lane_format_t &format,
            const Xbyak::RegExp &from, bool tail, const vmm_t &a);
    void load_quarters(const vmm_t &v, const lane_format_t &format,
            const Xbyak::RegExp &from, bool tail);
    void nibbles_to_f32(const vmm_t &v, data_type_t type, const vmm_t &a);
    void load_u32(const vmm_t &v, const lane_format_t &format,
            const Xbyak::RegExp &from, bool tail, const vmm_t &a);
    void split(const vmm_t &low, const vmm_t &high, bool is_signed);
    void clear_payload(const vmm_t &v, const vmm_t &a);
    void round_ordinary(const vmm_t &v, data_type_t type, const vmm_t &a);
    void round_upper_half(
            const vmm_t &v, float_rounding_t rounding, const vmm_t &a);
    void store_words(
            const Xbyak::RegExp &to, const vmm_t &v, bool tail, bool streaming);
    void to_wide_integers(const vmm_t &v, data_type_t type, const vmm_t &a);
    void store_narrow(const Xbyak::RegExp &to, data_type_t type, const vmm_t &v,
            bool tail, bool streaming);
    void store_full(
            const Xbyak::RegExp &to, const Xbyak::Xmm &v, bool streaming);
    // `v`, the lanes of the tail alone being read.
    vmm_t masked(const vmm_t &v, bool tail) const;

    jit_generator_t &h_;
    jit_small_float_t<isa> small_float_;
    const bool has_small_;
    jit_constants_t<isa> constants_;
    const Xbyak::Opmask k_tail_ {1}, k_tail_bytes_ {2}, k_upper_ {3},
            k_tail_quarters_ {4}, k_tmp_ {5};
    bool uses_upper_ = false;
};

} // namespace dnnl_dequant

#endif
