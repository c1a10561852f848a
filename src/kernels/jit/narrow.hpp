#ifndef KERNELS_JIT_NARROW_HPP
#define KERNELS_JIT_NARROW_HPP

#include <optional>

#include "base/data_type.hpp"
#include "kernels/jit/generator.hpp"
#include "kernels/jit/registers.hpp"

namespace dnnl_dequant {

/// Stores lanes of 32-bit integers as integers of 8, 16 or 32 bits; those of 8
/// and 16 bits saturate. Bounds within their range cost little, since vectors
/// that are stored together are clamped when they are one.
template <isa_t isa>
class jit_narrow_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;

    /// `vmm_order`: a register of its own.
    jit_narrow_t(jit_generator_t &host, int bits, bool is_signed,
            const vmm_t &vmm_order);

    /// Integers of 8 and 16 bits are also clamped to these bounds, from now on.
    void clamp_to(int lower, int upper);

    /// Vectors that are stored together fastest.
    int group() const { return bits_ == 8 ? 4 : bits_ == 16 ? 2 : 1; }

    void load_constants();

    /// Stores group() vectors in a row and overwrites them. `streaming` stores
    /// past the caches, to a multiple of a vector's size.
    void store_group(const Xbyak::RegExp &dst, const vmm_t *vectors,
            bool streaming = false);

    /// The first half of storing four vectors as bytes: joins each two of them
    /// to saturated words, in the first and the third. Words are in the order
    /// that this function joins other vectors in.
    void join_words(const vmm_t *vectors);
    /// Joined vectors are even and odd elements in turns from now on; of their
    /// own are two registers more. AVX-512 and bytes only.
    void take_turns(const vmm_t &vmm_pairs, const vmm_t &vmm_order) {
        vmm_pairs_ = vmm_pairs;
        vmm_order_of_pairs_ = vmm_order;
        takes_turns_ = true;
    }
    /// The second half.
    void store_joined(const Xbyak::RegExp &dst, const vmm_t *vectors,
            bool streaming = false);

    /// Stores group() vectors, or one, that fit 4 bits, two a byte.
    /// `streaming` stores to a multiple of half a vector's size.
    void store_nibble_group(const Xbyak::RegExp &dst, const vmm_t *vectors,
            bool streaming = false);
    void store_joined_nibbles(const Xbyak::RegExp &dst, const vmm_t *vectors,
            bool streaming = false);
    void store_nibbles(const Xbyak::RegExp &dst, const vmm_t &vector);

    /// One vector, which dies; `tail` (AVX-512 only) of the lanes in `mask`.
    void store(const Xbyak::RegExp &dst, const vmm_t &vector, bool tail,
            const Xbyak::Opmask &mask);

    /// Lane 0.
    void store_single(const Xbyak::RegExp &dst, const vmm_t &vector);

private:
    static constexpr bool is_avx512 = isa == isa_avx512_core;

    void to_narrow(const vmm_t *vectors);
    void restore_order(const vmm_t &vector);
    void restore_joined_order(const vmm_t &vector);
    void join_bytes(const vmm_t *vectors);
    void store_whole(
            const Xbyak::RegExp &dst, const Xbyak::Xmm &vector, bool streaming);
    void load_constants_of_turns();
    void clamp_lanes(const vmm_t &vector);
    void clamp_narrow(const vmm_t &vector);
    template <typename Reg>
    void pair_nibbles(const Reg &bytes);
    void store_bytes_as_nibbles(
            const Xbyak::RegExp &dst, const vmm_t &bytes, bool streaming);
    void to_words(const vmm_t &to, const vmm_t &low, const vmm_t &high);
    void to_bytes(const vmm_t &to, const vmm_t &low, const vmm_t &high);
    void store_lanes(const Xbyak::Address &to, const vmm_t &vector);

    jit_generator_t &h_;
    const int bits_;
    const bool is_signed_;
    const vmm_t vmm_order_;
    vmm_t vmm_pairs_, vmm_order_of_pairs_;
    bool takes_turns_ = false;
    // Only bounds that saturation does not keep.
    std::optional<int> lower_, upper_;
};

} // namespace dnnl_dequant

#endif
