#ifndef KERNELS_SKINNY_GEMM_JIT_WEIGHTS_HPP
#define KERNELS_SKINNY_GEMM_JIT_WEIGHTS_HPP

#include <memory>
#include <utility>
#include <vector>

#include "kernels/jit/f8_halves.hpp"
#include "kernels/jit/lanes.hpp"
#include "kernels/jit/nibble_numbers.hpp"
#include "kernels/jit/simd.hpp"
#include "kernels/jit/two_bits.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"

namespace dnnl_dequant {

/// The base of generators that load weights of 2, 4 or 8 bits.
class jit_weights_t : public jit_simd_t {
protected:
    /// @param has_zps Whether zero points are subtracted from weights. All of a
    ///     type have them if they include a bias.
    /// @param multiplied The type that numbers are multiplied in, f32 or bf16.
    jit_weights_t(const char *name, isa_t isa, data_type_t type, bool has_zps,
            data_type_t multiplied)
        : jit_simd_t(name)
        , is_avx512_(has(isa, isa_avx512_core))
        , has_zps_(has_zps)
        , is_bf16_(multiplied == data_type_t::bf16)
        , type_(type) {}

    bool is_nibble() const { return bits_of(type_) <= 4; }
    bool has_two_bits() const { return bits_of(type_) == 2; }
    bool is_f8() const { return jit_f8_halves_t::takes(type_); }
    bool is_signed() const {
        return family_of(type_) == type_family_t::signed_int;
    }
    bool has_zps() const { return has_zps_; }
    bool is_bf16() const { return is_bf16_; }

    /// Points to every third of some rows, of which the first pointer has the
    /// first. row_of() returns the address of one.
    void point_to_rows(const Reg64 *bases, const Reg64 &pitch, int rows) {
        for (int i = 1; i * 3 < rows; ++i) {
            lea(bases[i], ptr[pitch + pitch * 2]);
            add(bases[i], bases[i - 1]);
        }
    }
    static RegExp row_of(const Reg64 *bases, const Reg64 &pitch, int row) {
        const RegExp base(bases[row / 3]);
        return row % 3 == 0 ? base : base + pitch * (row % 3);
    }

    /// Loads a vector of f32, or stores it.
    void move(const Vmm &v, const Address &at, bool loads) {
        if (loads) vmovups(v, at);
        else vmovups(at, v);
    }
    /// Calls use(r, v, address) for vectors of rows of sums, of which `row` has
    /// the first.
    template <typename use_t>
    void for_sums(const Reg64 &row, const Operand &pitch, int rows, int vectors,
            dim_t vector_pitch, use_t &&use) {
        for (int r = 0; r < rows; ++r) {
            for (int v = 0; v < vectors; ++v)
                use(r, v, ptr[row + disp(v * vector_pitch)]);
            if (r + 1 < rows) add(row, pitch);
        }
    }

    /// Generates a whole function. The constants of rounding are known after
    /// all other code is generated. So the code that loads them stands at the
    /// end and jumps back.
    template <isa_t isa, typename body_t>
    void generate_behind_constants(jit_lanes_t<isa> &lanes, body_t &&body) {
        Label l_constants, l_begin;
        preamble();
        jmp(l_constants, T_NEAR);
        L(l_begin);
        body();
        postamble();
        L(l_constants);
        lanes.load_constants();
        jmp(l_begin, T_NEAR);
    }

    /// Loads a vector of 8-bit weights as f32. Floats count in units.
    void load_f32(const Vmm &to, const Operand &from, const Vmm &scratch,
            const Opmask *mask = nullptr) {
        const Vmm loaded = mask ? to | *mask | T_z : to;
        if (is_f8() && is_avx512_)
            return f8_.load_f32<isa_avx512_core>(loaded, from, scratch);
        if (is_f8()) return f8_.load_f32<isa_avx2>(loaded, from, scratch);
        if (is_signed()) vpmovsxbd(loaded, from);
        else vpmovzxbd(loaded, from);
        vcvtdq2ps(to, to);
    }
    /// Multiplies scales, or numbers, by the unit of floats of 8 bits.
    void multiply_by_unit(const Vmm &v) { f8_.multiply_by_unit(v); }
    /// Loads two vectors of floats of 8 bits as f32, in units. AVX-512 only.
    void load_f8_pair(const Zmm &first, const Zmm &second, const Operand &from,
            const Zmm &scratch) {
        const Ymm half(second.getIdx());
        f8_.load<isa_avx512_core>(second, from, scratch);
        vcvtph2ps(first, half);
        vextracti64x4(half, second, 1);
        vcvtph2ps(second, half);
    }

    /// Loads nibbles, or 2 bits as nibbles.
    /// @param to A vector of as many bytes as there are pairs.
    /// @param scratch A vector of any width, for 2 bits only.
    void load_nibbles_of(
            const Vmm &to, const Operand &from, const Vmm &scratch) {
        const Vmm sized(to.getKind(), scratch.getIdx());
        if (!has_two_bits()) vmovups(to, from);
        else if (is_avx512_)
            load_two_bits<isa_avx512_core>(*this, to, from, sized);
        else load_two_bits<isa_avx2>(*this, to, from, sized);
    }
    /// Loads 32 nibbles, or 2 bits as nibbles, twice: into each 128-bit lane.
    void load_in_both_lanes(
            const Ymm &to, const Address &from, const Ymm &scratch) {
        if (!has_two_bits()) return vbroadcasti128(to, from);
        const Xmm nibbles(to.getIdx());
        load_nibbles_of(nibbles, from, scratch);
        vinserti128(to, to, nibbles, 1);
    }
    /// Gives each lane of a vector nibbles, its lowest bits first.
    /// @param lane_bits 16 or 32.
    /// @param widening How many times wider a lane is than its nibbles: 1 or 2,
    ///     or 4 for lanes of 32 bits.
    /// @param scratch See load_nibbles_of().
    void spread_nibbles(const Vmm &to, const Operand &from, int lane_bits,
            int widening, const Vmm &scratch) {
        if (widening == 1) {
            if (has_two_bits()) load_nibbles_of(to, from, scratch);
            else load(to, from);
            return;
        }
        const Vmm nibbles = widening == 2 ? half_of(to) : Vmm(to.getIdx());
        if (has_two_bits()) load_nibbles_of(nibbles, from, scratch);
        const Operand &packed = has_two_bits() ? nibbles : from;
        if (lane_bits == 16) vpmovzxbw(to, packed);
        else if (widening == 2) vpmovzxwd(to, packed);
        else vpmovzxbd(to, packed);
    }

    const bool is_avx512_;

private:
    const bool has_zps_, is_bf16_;
    const data_type_t type_;
    jit_f8_halves_t f8_ {*this, type_};
};

/// Generated functions, one for each number of rows.
template <typename args_t>
class jit_code_by_rows_t {
public:
    /// @param args The arguments of the generator in front of the rows.
    template <typename generator_t, typename... generator_args_t>
    result_t make(dim_t most_rows, const generator_args_t &...args) {
        code_.resize(static_cast<size_t>(most_rows + 1));
        result_t made;
        for (int rows = 1; rows <= most_rows && made.ok(); ++rows)
            made = make_jit_as<generator_t>(
                    code_[static_cast<size_t>(rows)], args..., rows);
        return made;
    }
    void operator()(dim_t rows, args_t &args) const {
        code_[static_cast<size_t>(rows)](args);
    }

private:
    std::vector<jit_function_t<args_t>> code_;
};

/// Returns how weights are rounded. A NaN of a bf16 scale has no bits below
/// those of a bf16. Nor has the product of that scale and a weight.
inline float_rounding_t weights_rounding(const skinny_weights_t &weights) {
    if (weights.are_ordinary) return float_rounding_t::ordinary;
    return weights.scales.type == data_type_t::bf16
                   ? float_rounding_t::plain
                   : float_rounding_t::with_nan;
}

/// Makes a kernel object and calls its make(), which generates the code.
template <typename kernel_t>
result_t make_skinny_kernel_as(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    auto made = std::make_shared<kernel_t>(weights);
    const result_t result = made->make(rows);
    if (result.ok()) skinny_gemm = std::move(made);
    return result;
}

} // namespace dnnl_dequant

#endif
