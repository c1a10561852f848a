#include "kernels/integer_gemm/jit_integer_n_lanes_frame.hpp"

#include <cstddef>

namespace dnnl_dequant {

using namespace Xbyak;

void jit_integer_n_lanes_frame_t::load_arguments() {
    mov(rcx, arg(offsetof(args_t, weights)));
    mov(rsi, arg(offsetof(args_t, pitch)));
    lea(rdx, ptr[rsi + rsi * 2]);
    mov(r13, arg(offsetof(args_t, a_pitch)));
    mov(r8, arg(offsetof(args_t, partial)));
    mov(r11, arg(offsetof(args_t, scales)));
    mov(r12, arg(offsetof(args_t, zps)));
}

void jit_integer_n_lanes_frame_t::choose_ahead(const Reg64 &panels_to_go) {
    Label l_within;
    mov(r9, arg(offsetof(args_t, ahead)));
    cmp(panels_to_go, arg(offsetof(args_t, last_panels)));
    jg(l_within);
    mov(r9, arg(offsetof(args_t, ahead_last)));
    L(l_within);
}

void jit_integer_n_lanes_frame_t::next_panel(size_t partial_bytes) {
    constexpr uint32_t bytes_of_float = 4;
    const uint32_t cols = line * (is_nibble() ? 2 : 1);
    add(rcx, line);
    add(r8, static_cast<uint32_t>(partial_bytes));
    for (const Reg64 &at : {r11, r12, r15})
        add(at, cols * bytes_of_float);
}

void jit_integer_n_lanes_frame_t::add_scaled(
        const Xmm &sum, const Xmm &x, size_t at) {
    vcvtdq2ps(sum, sum);
    vmulps(sum, sum, ptr[r11 + at]);
    vbroadcastss(x, ptr[rbp + offsetof(row_group_t, scale)]);
    vfmadd213ps(sum, x, ptr[rax + at]);
    vmovups(ptr[rax + at], sum);
}

} // namespace dnnl_dequant
