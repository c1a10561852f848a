#ifndef KERNELS_SKINNY_GEMM_JIT_N_LANES_FRAME_HPP
#define KERNELS_SKINNY_GEMM_JIT_N_LANES_FRAME_HPP

#include <cstddef>

#include "kernels/jit/generator.hpp"
#include "kernels/jit/lanes.hpp"
#include "kernels/jit/registers.hpp"
#include "kernels/skinny_gemm/jit_n_lanes_code.hpp"

namespace dnnl_dequant {

/// The base of skinny GEMMs by [K,N] weights on every instruction set. It loops
/// over panels and down a group's rows of weights. A group that is not complete
/// leaves its sums in memory. It also knows whether weights are rounded, by the
/// graph or for the multiplication.
///
/// Registers:
///     rdi              arguments
///     rax rbx rbp r12  three rows of a each
///     rcx              weights
///     rdx              c
///     rsi r8           pitches of a and of weights
///     r9               prefetch distance
///     r10              depth to go, or a row of sums in memory
///     r11 r13          zero points and scales
///     r14              panels to go
///     r15              partial sums
/// The first vectors are sums.
template <isa_t isa>
class jit_n_lanes_frame_t : public jit_generator_t {
public:
    using args_t = jit_n_lanes_args_t;
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    static constexpr int simd_w = jit_isa_t<isa>::simd_w;

protected:
    /// @param first_rounding The first of the vectors that rounding keeps
    ///     constants in.
    jit_n_lanes_frame_t(const char *name, const skinny_weights_t &weights,
            const jit_n_lanes_panel_t &panel, int rows, int first_rounding)
        : jit_generator_t(name)
        , w_(weights)
        , rows_(rows)
        , vectors_(panel.vectors)
        , is_bf16_(weights.multiplied == data_type_t::bf16)
        , rounds_(is_bf16_ || weights.rounded != data_type_t::f32)
        , lanes_(*this, first_rounding, data_type_t::undef) {}

    /// Loads what serves all panels.
    virtual void load_constants() = 0;
    /// Loads what a panel needs besides its sums.
    virtual void begin_panel() {}
    /// Multiplies a row of a panel's weights, at rcx, or two rows of bf16.
    virtual void row_of_weights() = 0;
    /// Returns a vector that is free when a group ends.
    virtual vmm_t free_vmm() const = 0;

    vmm_t sum(int row, int v) const { return vmm_t(row * vectors_ + v); }
    Xbyak::Address arg(size_t offset) { return qword[rdi + offset]; }
    static uint32_t bytes(int vectors) {
        return static_cast<uint32_t>(vectors) * simd_w * 4;
    }
    uint32_t weights_bytes(int vectors) const {
        return static_cast<uint32_t>(
                bytes_of(w_.type, vectors * dim_t(simd_w)));
    }
    static Xbyak::RegExp row_of_a(int row) {
        const Xbyak::RegExp base(base_of_a(row / 3));
        return row % 3 == 0 ? base : base + Xbyak::util::rsi * (row % 3);
    }

    const skinny_weights_t w_;
    const int rows_, vectors_;
    const bool is_bf16_; // multiplied in pairs, one of each of two rows
    const bool rounds_;
    jit_lanes_t<isa> lanes_;

private:
    static Xbyak::Reg64 base_of_a(int i) {
        using Xbyak::Operand;
        const Xbyak::Reg64 bases[]
                = {Xbyak::Reg64(Operand::RAX), Xbyak::Reg64(Operand::RBX),
                        Xbyak::Reg64(Operand::RBP), Xbyak::Reg64(Operand::R12)};
        return bases[i];
    }

    void generate() override;
    void all_panels();
    void load_arguments();
    void panel();
    void choose_ahead();
    void point_to_rows();
    void begin_sums();
    void down_the_group();
    void end_sums();
    // Computes c += sum * scales for a panel's vector v; c is at an address.
    void scale_sum(const vmm_t &sum, int v, const Xbyak::Address &at);
    void move_partial(bool loads);
    // Calls row(r) with r10 at that row of the matrix at `first`.
    template <typename row_t>
    void for_rows(const Xbyak::Reg64 &first, row_t &&row);
};

extern template class jit_n_lanes_frame_t<isa_avx2>;
extern template class jit_n_lanes_frame_t<isa_avx512_core>;

} // namespace dnnl_dequant

#endif
