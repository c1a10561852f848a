#include "kernels/integer_gemm/jit_integer_k_lanes_frame.hpp"

#include <algorithm>

namespace dnnl_dequant {

using namespace Xbyak;

jit_integer_k_lanes_frame_t::jit_integer_k_lanes_frame_t(const char *name,
        const integer_stream_weights_t &weights, int bias, int simd_w, int rows)
    : jit_integer_stream_base_t(name, weights, bias)
    , bytes_(bytes_of(weights.format.weights, weights.depth))
    , group_bytes_(
              std::min(bytes_of(weights.format.weights, weights.group), bytes_))
    , groups_(weights.groups())
    , simd_w_(simd_w)
    , rows_(rows) {}

void jit_integer_k_lanes_frame_t::generate() {
    preamble();
    begin();
    mov(rsi, arg(offsetof(args_t, weights)));
    mov(r8, arg(offsetof(args_t, scales)));
    mov(r9, arg(offsetof(args_t, zps)));
    mov(rdx, arg(offsetof(args_t, scaled)));
    mov(r13, arg(offsetof(args_t, a_pitch)));
    mov(r10, arg(offsetof(args_t, count)));
    Label l_col;
    align(32);
    L(l_col);
    column();
    add(rsi, arg(offsetof(args_t, pitch)));
    add(rdx, static_cast<uint32_t>(simd_bytes()));
    dec(r10);
    jnz(l_col, T_NEAR);
    add_up();
    end();
    postamble();
}

void jit_integer_k_lanes_frame_t::column() {
    mov(rax, rsi);
    mov(rbx, arg(offsetof(args_t, a)));
    point_to_rows();
    mov(r12, arg(offsetof(args_t, of_rows)));
    mov(r14, rdx);
    const dim_t whole = whole_chunks(), done = whole * simd_w_;
    if (whole > 0) {
        Label l_chunk;
        mov(r11, static_cast<uint64_t>(whole));
        L(l_chunk);
        chunk(simd_w_ * group_bytes_);
        next_chunk(simd_w_);
        dec(r11);
        jnz(l_chunk, T_NEAR);
    }
    if (done == groups_) return;
    chunk(bytes_ - done * group_bytes_);
    next_chunk(static_cast<int>(groups_ - done));
}

void jit_integer_k_lanes_frame_t::next_chunk(int groups) {
    for (const Reg64 &at : {r8, r9, r12})
        add(at, static_cast<uint32_t>(groups * 4));
    add(r14, static_cast<uint32_t>(chunk_bytes()));
}

void jit_integer_k_lanes_frame_t::scale_row(int row, const Xmm &sums,
        const Xmm &of_weights, const Xmm &zps, const Xmm &x) {
    const auto r = static_cast<size_t>(row);
    const auto of_sums = r12 + 2 * r * row_bytes();
    if (has_zps()) {
        vpmulld(x, zps, ptr[of_sums]);
        vpsubd(sums, sums, x);
    }
    if (has_src_zps()) {
        vpmulld(x, of_weights, ptr[of_sums + row_bytes()]);
        vpsubd(sums, sums, x);
    }
    vcvtdq2ps(sums, sums);
    vmulps(sums, sums, ptr[r8]);
    vmovups(ptr[r14 + r * scaled_bytes()], sums);
}

void jit_integer_k_lanes_frame_t::add_up() {
    // A row has room for a multiple of sixteen groups. Shorter chunks may leave
    // a gap.
    const bool has_gaps = simd_w_ < args_t::cols;
    const Reg64 &scaled = has_gaps ? rdx : rax;
    mov(scaled, arg(offsetof(args_t, scaled)));
    mov(rcx, arg(offsetof(args_t, c)));
    mov(r8, arg(offsetof(args_t, row_groups)));
    mov(r10, static_cast<uint64_t>(rows_));
    Label l_row, l_chunk;
    const dim_t whole = groups_ / simd_w_, rest = groups_ % simd_w_;
    L(l_row);
    if (has_gaps) mov(rax, scaled);
    mov(rbx, r8);
    if (whole > 0) {
        mov(r11, static_cast<uint64_t>(whole));
        L(l_chunk);
        add_chunk(simd_w_);
        dec(r11);
        jnz(l_chunk, T_NEAR);
    }
    if (rest > 0) add_chunk(static_cast<int>(rest));
    if (has_gaps) add(scaled, static_cast<uint32_t>(scaled_bytes()));
    add(rcx, arg(offsetof(args_t, c_pitch)));
    add(r8, arg(offsetof(args_t, row_groups_pitch)));
    dec(r10);
    jnz(l_row, T_NEAR);
}

void jit_integer_k_lanes_frame_t::add_chunk(int groups) {
    add_groups(groups);
    add(rax, static_cast<uint32_t>(chunk_bytes()));
    add(rbx, static_cast<uint32_t>(
                     static_cast<size_t>(simd_w_) * sizeof(row_group_t)));
}

} // namespace dnnl_dequant
