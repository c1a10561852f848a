#ifndef KERNELS_JIT_IO_HPP
#define KERNELS_JIT_IO_HPP

#include "base/data_type.hpp"
#include "kernels/jit/generator.hpp"
#include "kernels/jit/registers.hpp"
#include "kernels/jit/small_float.hpp"

namespace dnnl_dequant {

/// The layout of numbers in memory: one every `container_bits` (2, 4, 8, 16 or
/// 32, the low bits of a byte first). The number has `bits` bits, from bit
/// `shift` of its container on. The container's other bits are ignored.
struct src_format_t {
    data_type_t type;
    int container_bits;
    int bits;
    int shift;

    bool is_floating() const { return dnnl_dequant::is_floating(type); }
    bool is_signed() const {
        return family_of(type) == type_family_t::signed_int;
    }
    /// An integer that is no f32: it is read in two parts.
    bool is_wide() const { return !is_floating() && bits > 16; }
};

/// The format of a dense buffer of `type`; container_bits 0 for a type that is
/// none of ours.
src_format_t dense_format(data_type_t type);

/// All emission that depends on a data type: numbers in memory to f32 lanes,
/// f32 lanes to floats in memory.
///
/// Work goes in steps of width() elements, held in fields() vectors of 32-bit
/// lanes. Their order is
///   one vector    lane i is element i;
///   pairs         lane i of vector f is element 2 * i + f;
///   halves        lane i of vector f is element 16 * f + i.
/// Pairs serve bf16 results from sources of at most 16 bits, since two f32 that
/// round to the halves of one dword need no shuffle. f16, and types that are
/// read as f16, are excepted, because the machine converts them in lanes.
/// Halves serve sources from which the machine makes two vectors of one. A
/// generator asks for them, see takes_halves().
///
/// An integer x of up to 16 bits becomes the float 2^k + x + (signed: half the
/// type's range) by putting its bits into the significand of 2^k. This takes
/// one logic instruction, or with AVX2 a mask and one, or unpacking words, and
/// no conversion. The zero point and bias() are subtracted in one exact
/// subtraction, for |zp| <= 2^22. Floats are their value and have no bias.
/// Integers of 32 bits are split into two parts. With AVX-512 the lower part
/// has a bias.
template <isa_t isa>
class jit_io_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;

    /// `first_vmm`: the lowest of the registers that are io's own, which are
    /// vmm_needed of them.
    jit_io_t(jit_generator_t &host, const src_format_t &src, data_type_t dst,
            int first_vmm, bool in_halves = false);

    /// Integers of 4 to 16 bits, to 16 bits, and f16 to bf16, with AVX-512.
    static bool takes_halves(const src_format_t &src, data_type_t dst) {
        if (isa != isa_avx512_core) return false;
        if (src.type == data_type_t::f16) return dst == data_type_t::bf16;
        return !src.is_floating() && src.container_bits >= 4
               && src.container_bits <= 16 && bits_of(dst) == 16;
    }

    static constexpr int vmm_own = isa == isa_avx512_core ? 7 : 6;
    static constexpr int vmm_needed
            = vmm_own + jit_small_float_t<isa>::vmm_needed;
    static constexpr int simd_w = jit_isa_t<isa>::simd_w;

    int fields() const { return fields_; }
    bool in_halves() const { return in_halves_; }
    uint32_t width() const { return static_cast<uint32_t>(simd_w * fields_); }
    uint32_t src_bytes(uint32_t elements) const {
        return elements * static_cast<uint32_t>(src_.container_bits) / 8;
    }
    uint32_t dst_bytes(uint32_t elements) const {
        return static_cast<uint32_t>(bytes_of(dst_, elements));
    }

    void load_constants();

    /// Full steps go past the caches from here on. Each must begin at a
    /// multiple of its size.
    void set_streaming(bool streaming) { streaming_ = streaming; }

    /// Rounds to bf16 by VNNI, two instructions instead of three.
    void set_dot_products(bool has_them) { dot_products_ = has_them; }

    /// Rounds a vector to f16 in a register, not on its way to memory.
    void set_rounding_in_registers(bool rounds) { in_registers_ = rounds; }

    /// Rounds to bf16 by AVX512_BF16, which takes subnormal f32 for zeros: of
    /// halves, none of which is one.
    void set_bf16_conversion(bool has_it) { bf16_conversion_ = has_it; }

    /// Integers of 4 bits, one to a lane: those of odd lanes stay in the upper
    /// half of their byte, which saves a shift; extract() has masks to suit.
    /// AVX-512 only.
    void set_nibbles_in_place(bool in_place) {
        in_place_ = in_place && lane_bits() == 4 && src_.bits == 4
                    && !src_.is_floating();
    }

    /// Sets the masks of steps cut short: `reg_count` (below width()) elements.
    /// Clobbers rcx, `reg_tmp` and the opmasks. AVX-512 only.
    void load_tail_masks(
            const Xbyak::Reg64 &reg_count, const Xbyak::Reg64 &reg_tmp);

    /// Loads the raw containers of one step. `tail`: only the elements in the
    /// mask.
    void load_raw(const vmm_t &raw, const Xbyak::RegExp &src, bool tail);
    /// Loads the raw containers of both vectors of a step in halves.
    void load_halves(const vmm_t &first, const vmm_t &second,
            const Xbyak::RegExp &src, bool tail);
    /// Loads the container of element `e` (below singles()) from the byte at
    /// `src` on, as the first of a step. Clobbers `reg`.
    void load_raw_single(const vmm_t &raw, const Xbyak::RegExp &src, uint32_t e,
            const Xbyak::Reg32 &reg);
    /// The fewest elements that are whole bytes and whole fields.
    uint32_t singles() const;

    /// Vector `field` of the step; `raw` dies with the last field. In halves
    /// it is the field's own.
    void extract(const vmm_t &value, const vmm_t &raw, int field,
            const vmm_t &tmp_a, const vmm_t &tmp_b);
    bool has_bias() const {
        return !src_.is_floating() && (is_avx512 || !src_.is_wide());
    }
    /// A vector of what must be subtracted, where there is something.
    Xbyak::Address bias(int field);

    /// Instead of extract() for wide integers: `raw` becomes x - zp, rounded
    /// once, of a zero point in the two parts that jit_params.hpp has.
    void subtract_wide(const vmm_t &raw, const vmm_t &zps,
            const vmm_t &zps_high, const vmm_t &tmp);

    /// The same for no zero point, where the machine converts such integers.
    bool converts_wide() const { return is_avx512 || src_.is_signed(); }
    void convert_wide(const vmm_t &raw);

    /// The lines of so many elements, of dst to write, to this cache, and src
    /// to read.
    enum class cache_t { l1, l2 };
    void prefetch(const Xbyak::RegExp &dst, const Xbyak::RegExp &src,
            uint32_t elements, cache_t dst_cache = cache_t::l1);
    void prefetch_src(const Xbyak::RegExp &src, uint32_t elements);

    /// Rounds a step's vectors to dst and stores them; they die. `single`
    /// stores lane 0 of the first vector only.
    enum class extent_t { full, tail, single };
    void store(const Xbyak::RegExp &dst, const vmm_t &first,
            const vmm_t &second, const vmm_t &tmp, extent_t extent);

    /// A vector of f32, which dies, to bf16 in both halves of each lane.
    /// AVX-512 only.
    void round_to_bf16_pairs(
            const vmm_t &pairs, const vmm_t &values, const vmm_t &tmp);

    /// Rounds two vectors of f32 to bf16. The result of `first` goes into the
    /// even words and into its place. Both vectors are overwritten.
    void join_bf16(const vmm_t &first, const vmm_t &second, const vmm_t &tmp);

    /// Rounds to bf16, in the upper half of each lane. No value may be a NaN
    /// with a payload.
    void round_to_bf16(const vmm_t &value, const vmm_t &tmp);

    /// A whole vector or half of one, past the caches where that is wanted.
    void store_full(const Xbyak::RegExp &dst, const Xbyak::Xmm &v);

    const Xbyak::Opmask &k_src_tail() const { return k_src_tail_; }
    const Xbyak::Opmask &k_dst_tail() const { return k_dst_tail_; }

private:
    static constexpr bool is_avx512 = isa == isa_avx512_core;

    // Bits in a lane when it is loaded: one container or two.
    int lane_bits() const {
        return src_.container_bits * (in_halves_ ? 1 : fields_);
    }
    // 1 where an element is a byte or more.
    uint32_t elements_per_byte() const {
        return src_.container_bits < 8
                       ? 8 / static_cast<uint32_t>(src_.container_bits)
                       : 1;
    }
    bool is_small_float() const { return src_.is_floating() && src_.bits <= 8; }
    bool is_by_halves() const {
        return jit_small_float_t<isa>::by_halves(src_.type);
    }
    // AVX2: loads integers of 4 or 8 bits to two vectors, by unpack_pairs().
    bool unpacks() const {
        return !is_avx512 && fields_ == 2 && !src_.is_floating()
               && (src_.container_bits == 4 || src_.container_bits == 8);
    }
    bool is_masked(int field) const;
    bool is_shifted(int field) const;
    int position(int field) const;
    using lanes_t = jit_generator_t::lanes_t;
    lanes_t lanes_of(
            uint32_t (jit_io_t::*each)(int position) const, int field) const;
    uint32_t mask_at(int position) const;
    uint32_t magic_at(int position) const;
    uint32_t sign_at(int position) const;
    uint32_t bias_at(int position) const;
    lanes_t words_of(uint32_t (jit_io_t::*each)(int position) const) const;
    lanes_t order_of_words() const;
    uint32_t magic_word_at(int position) const;
    void load_integer_constants();
    void load_unpacking_constants();
    void load_rounding_constants();
    void set_odd_mask();
    void spread_nibbles_in_place(
            const vmm_t &raw, const Xbyak::RegExp &src, bool tail);
    void spread_bytes_of_nibbles(const vmm_t &raw);
    Xbyak::Address upper_words();
    Xbyak::Address upper_words_of_halves();
    void store_halves(const Xbyak::RegExp &dst, const vmm_t &first,
            const vmm_t &second, const vmm_t &tmp, bool tail);
    Xbyak::Address shifts();
    Xbyak::Address bytes_of_nibbles();
    void spread_bits(const vmm_t &raw, const Xbyak::RegExp &src, bool tail);
    void load_f8(const vmm_t &raw, const Xbyak::RegExp &src, bool tail);
    void load_f16(const vmm_t &raw, const Xbyak::RegExp &src, bool tail);
    void load_words(const vmm_t &first, const vmm_t &second,
            const Xbyak::RegExp &src, bool tail);
    void extract_bf16(const vmm_t &value, const vmm_t &raw, int field);
    void extract_integer(const vmm_t &value, const vmm_t &raw, int field);
    void unpack_pairs(const vmm_t &value, const vmm_t &raw, int field);
    void clear_payload(const vmm_t &value, const vmm_t &tmp);
    void store_f32(const Xbyak::RegExp &dst, const vmm_t &v, extent_t extent);
    void store_f16(const Xbyak::RegExp &dst, const vmm_t &v, extent_t extent);
    void store_bf16(const Xbyak::RegExp &dst, const vmm_t &v, extent_t extent);
    void store_bf16_lanes(
            const Xbyak::RegExp &dst, const vmm_t &v, extent_t extent);

    jit_generator_t &h_;
    const src_format_t src_;
    const data_type_t dst_;
    const bool in_halves_;
    const int fields_;
    bool streaming_ = false, dot_products_ = false, bf16_conversion_ = false,
         in_place_ = false, in_registers_ = false;
    // Wide integers: the parts' masks, the low part's bits of 2^23 or the high
    // part's weight.
    const vmm_t vmm_mask_[2], vmm_magic_[2];
    // In their places, of words: see unpack_pairs().
    const vmm_t vmm_word_masks_, vmm_word_order_, vmm_word_magic_,
            vmm_word_signs_;
    // Indices of the upper words, for bf16 in one field. They share a register
    // with the second field.
    const vmm_t vmm_upper_words_;
    // Nibbles one to a lane: the lanes' shifts or bytes. bf16: the rounding's
    // constants.
    const vmm_t vmm_shifts_, vmm_one_, vmm_to_even_, vmm_half_, vmm_odd_bit_;
    jit_small_float_t<isa> small_float_; // has k6 and k7
    const Xbyak::Opmask k_src_tail_ {1}, k_dst_tail_ {2}, k_upper_ {3},
            k_odd_ {4}, k_round_up_ {5};
};

} // namespace dnnl_dequant

#endif
