#ifndef KERNELS_SKINNY_GEMM_JIT_N_LANES_FRAME_HPP
#define KERNELS_SKINNY_GEMM_JIT_N_LANES_FRAME_HPP

#include <cstddef>

#include "kernels/jit/prefetch_rows.hpp"
#include "kernels/skinny_gemm/jit_weights.hpp"

namespace dnnl_dequant {

/// Multiplies some rows by panels of columns, down some rows of weights of one
/// group. Scales, zero points and sums have the order of the panel.
struct jit_n_lanes_args_t {
    const void *a, *weights;
    const float *scales, *zps;
    float *c, *partial;
    dim_t a_pitch, weights_pitch, c_pitch; // bytes
    dim_t depth, panels; // rows of weights, or pairs of rows of bf16
    panels_ahead_t ahead;
    dim_t continues, ends; // a group's sums: begun before, scaled here
};

/// The columns of a panel: `vectors` of them. If `deinterleaved`, vector j has
/// every `vectors`-th column, and on AVX2 the order is that of
/// make_jit_deinterleave(). Otherwise columns are in order.
struct jit_n_lanes_panel_t {
    int vectors = 0;
    bool deinterleaved = false;
};

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
class jit_n_lanes_frame_t : public jit_weights_t {
public:
    using args_t = jit_n_lanes_args_t;
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    static constexpr int simd_w = jit_isa_t<isa>::simd_w;

protected:
    /// @param has_zps See jit_weights_t.
    /// @param first_rounding The first of the vectors that rounding keeps
    ///     constants in.
    jit_n_lanes_frame_t(const char *name, const skinny_weights_t &weights,
            bool has_zps, const jit_n_lanes_panel_t &panel, int first_rounding,
            int rows)
        : jit_weights_t(name, isa, weights.type, has_zps, weights.multiplied)
        , w_(weights)
        , rows_(rows)
        , vectors_(panel.vectors)
        , rounds_(is_bf16() || weights.rounded != data_type_t::f32)
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
    static uint32_t bytes(int vectors) { return disp(vectors * simd_w * 4); }
    uint32_t weights_bytes(int vectors) const {
        return disp(bytes_of(w_.type, dim_t(vectors) * simd_w));
    }
    RegExp row_of_a(int row) const { return row_of(bases_of_a_, rsi, row); }

    const skinny_weights_t w_;
    const int rows_, vectors_;
    const bool rounds_;
    jit_lanes_t<isa> lanes_;

private:
    const Reg64 bases_of_a_[4] {rax, rbx, rbp, r12};

    void generate() override {
        generate_behind_constants(lanes_, [this] {
            load_constants();
            all_panels();
        });
    }

    void all_panels() {
        mov(rcx, arg(offsetof(args_t, weights)));
        mov(rdx, arg(offsetof(args_t, c)));
        mov(rsi, arg(offsetof(args_t, a_pitch)));
        mov(r8, arg(offsetof(args_t, weights_pitch)));
        mov(r11, arg(offsetof(args_t, zps)));
        mov(r13, arg(offsetof(args_t, scales)));
        mov(r14, arg(offsetof(args_t, panels)));
        mov(r15, arg(offsetof(args_t, partial)));
        repeat(r14, [this] {
            load_ahead(*this, r9, r14, rdi + offsetof(args_t, ahead));
            mov(rax, arg(offsetof(args_t, a)));
            point_to_rows(bases_of_a_, rsi, rows_);
            begin_sums();
            begin_panel();
            down_the_group();
            end_sums();
            add(rcx, weights_bytes(vectors_));
            for (const Reg64 &at : {rdx, r11, r13, r15})
                add(at, bytes(vectors_));
        });
    }

    void begin_sums() {
        Label l_zero, l_end;
        cmp(arg(offsetof(args_t, continues)), 0);
        je(l_zero, T_NEAR);
        move_partial(true);
        jmp(l_end, T_NEAR);
        L(l_zero);
        for (int i = 0; i < rows_ * vectors_; ++i)
            vxorps(vmm_t(i), vmm_t(i), vmm_t(i));
        L(l_end);
    }

    void down_the_group() {
        mov(r10, arg(offsetof(args_t, depth)));
        push(rcx);
        align(32);
        repeat(r10, [this] {
            row_of_weights();
            for (int i = 0; i < (is_bf16() ? 2 : 1); ++i)
                add(rcx, r8);
            for (int i = 0; i * 3 < rows_; ++i)
                add(bases_of_a_[i], 4);
        });
        pop(rcx);
    }

    // Stores a group's sums, or adds them to c if the group is complete.
    void end_sums() {
        Label l_scale, l_end;
        cmp(arg(offsetof(args_t, ends)), 0);
        jne(l_scale, T_NEAR);
        move_partial(false);
        jmp(l_end, T_NEAR);
        L(l_scale);
        for_sums_at(rdx, [this](int r, int v, const Address &at) {
            const vmm_t c = free_vmm();
            // Weights that are rounded were already scaled one by one.
            if (rounds_) {
                vaddps(c, sum(r, v), at);
            } else {
                vmovups(c, at);
                vfmadd231ps(c, sum(r, v), ptr[r13 + bytes(v)]);
            }
            vmovups(at, c);
        });
        L(l_end);
    }

    void move_partial(bool loads) {
        for_sums_at(r15, [&](int r, int v, const Address &at) {
            move(sum(r, v), at, loads);
        });
    }

    template <typename use_t>
    void for_sums_at(const Reg64 &first, use_t &&use) {
        mov(r10, first);
        for_sums(r10, arg(offsetof(args_t, c_pitch)), rows_, vectors_, bytes(1),
                use);
    }
};

} // namespace dnnl_dequant

#endif
