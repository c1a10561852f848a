#include "kernels/skinny_gemm/jit_n_lanes_code.hpp"

#include "kernels/skinny_gemm/jit_n_lanes_frame.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

template <isa_t isa>
void jit_n_lanes_frame_t<isa>::generate() {
    // The constants of rounding are known after all other code is generated. So
    // this part stands at the end and jumps back.
    Label l_constants, l_begin;
    preamble();
    jmp(l_constants, T_NEAR);
    L(l_begin);
    load_constants();
    all_panels();
    postamble();
    L(l_constants);
    lanes_.load_constants();
    jmp(l_begin, T_NEAR);
}

template <isa_t isa>
void jit_n_lanes_frame_t<isa>::all_panels() {
    load_arguments();
    Label l_panel;
    L(l_panel);
    panel();
    add(rcx, weights_bytes(vectors_));
    for (const Reg64 &at : {rdx, r11, r13, r15})
        add(at, bytes(vectors_));
    dec(r14);
    jnz(l_panel, T_NEAR);
}

template <isa_t isa>
void jit_n_lanes_frame_t<isa>::load_arguments() {
    mov(rcx, arg(offsetof(args_t, weights)));
    mov(rdx, arg(offsetof(args_t, c)));
    mov(rsi, arg(offsetof(args_t, a_pitch)));
    mov(r8, arg(offsetof(args_t, weights_pitch)));
    mov(r11, arg(offsetof(args_t, zps)));
    mov(r13, arg(offsetof(args_t, scales)));
    mov(r14, arg(offsetof(args_t, panels)));
    mov(r15, arg(offsetof(args_t, partial)));
}

template <isa_t isa>
void jit_n_lanes_frame_t<isa>::panel() {
    choose_ahead();
    point_to_rows();
    begin_sums();
    begin_panel();
    down_the_group();
    end_sums();
}

template <isa_t isa>
void jit_n_lanes_frame_t<isa>::choose_ahead() {
    Label l_within;
    mov(r9, arg(offsetof(args_t, ahead)));
    cmp(r14, arg(offsetof(args_t, last_panels)));
    jg(l_within);
    mov(r9, arg(offsetof(args_t, ahead_last)));
    L(l_within);
}

template <isa_t isa>
void jit_n_lanes_frame_t<isa>::point_to_rows() {
    mov(rax, arg(offsetof(args_t, a)));
    for (int i = 1; i * 3 < rows_; ++i) {
        lea(base_of_a(i), ptr[rsi + rsi * 2]);
        add(base_of_a(i), base_of_a(i - 1));
    }
}

template <isa_t isa>
void jit_n_lanes_frame_t<isa>::begin_sums() {
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

template <isa_t isa>
void jit_n_lanes_frame_t<isa>::down_the_group() {
    Label l_depth;
    mov(r10, arg(offsetof(args_t, depth)));
    push(rcx);
    align(32);
    L(l_depth);
    row_of_weights();
    for (int i = 0; i < (is_bf16_ ? 2 : 1); ++i)
        add(rcx, r8);
    for (int i = 0; i * 3 < rows_; ++i)
        add(base_of_a(i), 4);
    dec(r10);
    jnz(l_depth, T_NEAR);
    pop(rcx);
}

template <isa_t isa>
void jit_n_lanes_frame_t<isa>::end_sums() {
    Label l_scale, l_end;
    cmp(arg(offsetof(args_t, ends)), 0);
    jne(l_scale, T_NEAR);
    move_partial(false);
    jmp(l_end, T_NEAR);
    L(l_scale);
    for_rows(rdx, [&](int r) {
        for (int v = 0; v < vectors_; ++v)
            scale_sum(sum(r, v), v, ptr[r10 + bytes(v)]);
    });
    L(l_end);
}

// Weights that are rounded were already scaled one by one.
template <isa_t isa>
void jit_n_lanes_frame_t<isa>::scale_sum(
        const vmm_t &sum, int v, const Address &at) {
    const vmm_t c = free_vmm();
    if (rounds_) {
        vaddps(c, sum, at);
    } else {
        vmovups(c, at);
        vfmadd231ps(c, sum, ptr[r13 + bytes(v)]);
    }
    vmovups(at, c);
}

// Loads or stores the sums of a group that is not complete.
template <isa_t isa>
void jit_n_lanes_frame_t<isa>::move_partial(bool loads) {
    for_rows(r15, [&](int r) {
        for (int v = 0; v < vectors_; ++v) {
            const Address at = ptr[r10 + bytes(v)];
            if (loads) vmovups(sum(r, v), at);
            else vmovups(at, sum(r, v));
        }
    });
}

template <isa_t isa>
template <typename row_t>
void jit_n_lanes_frame_t<isa>::for_rows(const Reg64 &first, row_t &&row) {
    mov(r10, first);
    for (int r = 0; r < rows_; ++r) {
        row(r);
        if (r + 1 < rows_) add(r10, arg(offsetof(args_t, c_pitch)));
    }
}

template class jit_n_lanes_frame_t<isa_avx2>;
template class jit_n_lanes_frame_t<isa_avx512_core>;

} // namespace dnnl_dequant
