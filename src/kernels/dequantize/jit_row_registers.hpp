// Who has which register in the row kernel (vector registers from the top on
// belong to io):
//   rdi                the arguments
//   rdx rsi rcx        src and dst of the first row of the block, rows to do
//   r8 r9 rbx          src and dst of the current step, elements to do
//   r10 r11 r12        scales and zps of the current row or step; the table of
//                      groups, or reciprocals of scales (kernels/quantize)
//   r13 r14, r15 rbp   src and dst pitch, and three times that or, where
//                      prefetching single rows, how far ahead
//   rax                scratch; dst of the high halves of the current step
//   r8 rbx, r9 rax     of short rows: the pitch, and three times that, of
//                      scales and of zps
//   vmm0 - vmm3        a step's containers, values and scratch
//   vmm4 - vmm9        scales, zps + bias, zps_high, of one or two fields
//   vmm10 - vmm13      the nibble table; that of f8, or of bytes, instead of
//                      all these
//   vmm5, vmm9         that of AVX2, next to scales and zps of one a row

#ifndef KERNELS_DEQUANTIZE_JIT_ROW_REGISTERS_HPP
#define KERNELS_DEQUANTIZE_JIT_ROW_REGISTERS_HPP

#include <xbyak/xbyak.h>

#include "kernels/dequantize/jit_params.hpp"

namespace dnnl_dequant {

struct jit_row_registers_t {
    const Xbyak::Reg64 reg_args = Xbyak::util::rdi; // where the ABI has it
    const Xbyak::Reg64 reg_src_row = Xbyak::util::rdx;
    const Xbyak::Reg64 reg_dst_row = Xbyak::util::rsi;
    const Xbyak::Reg64 reg_rows = Xbyak::util::rcx;
    const Xbyak::Reg64 reg_src = Xbyak::util::r8;
    const Xbyak::Reg64 reg_dst = Xbyak::util::r9;
    const Xbyak::Reg64 reg_count = Xbyak::util::rbx;
    const Xbyak::Reg64 reg_scales = Xbyak::util::r10;
    const Xbyak::Reg64 reg_zps = Xbyak::util::r11;
    const Xbyak::Reg64 reg_group_table = Xbyak::util::r12;
    const Xbyak::Reg64 reg_reciprocals = reg_group_table;
    const Xbyak::Reg64 reg_src_pitch = Xbyak::util::r13;
    const Xbyak::Reg64 reg_dst_pitch = Xbyak::util::r14;
    const Xbyak::Reg64 reg_src_pitch3 = Xbyak::util::r15;
    const Xbyak::Reg64 reg_dst_pitch3 = Xbyak::util::rbp;

    // One row at a time has no use for the third.
    const Xbyak::Reg64 reg_src_ahead = reg_src_pitch3;
    const Xbyak::Reg64 reg_dst_ahead = reg_dst_pitch3;

    // The dst of both halves' high rows, as reg_dst is of the low ones, until
    // the next step.
    const Xbyak::Reg64 reg_dst_high = Xbyak::util::rax;

    // Short rows have no use for cursors and counts.
    const Xbyak::Reg64 reg_scales_pitch = reg_src;
    const Xbyak::Reg64 reg_zps_pitch = reg_dst;
    const Xbyak::Reg64 reg_scales_pitch3 = reg_count;
    const Xbyak::Reg64 reg_zps_pitch3 = Xbyak::util::rax;

    static constexpr int vmm_raw_at = 0, vmm_value_at = 1, vmm_tmp2_at = 2,
                         vmm_tmp_at = 3;
    static constexpr int vmm_scales_at = 4, vmm_zps_at = 6;
    static constexpr int vmm_groups_at = 5; // of the second field's scales
    static constexpr int vmm_zps_high_at = 8, vmm_table_at = 10;
    static constexpr int vmm_groups_by_table_at = vmm_tmp_at;
    static constexpr int vmm_f8_table_at = vmm_scales_at,
                         vmm_byte_table_at = vmm_scales_at;
    static constexpr int vmm_low_bytes_at = vmm_scales_at + 1,
                         vmm_high_bytes_at = vmm_zps_high_at + 1;

    // Row `r` (0 to 3) of a block: the bases are those of row 0, at the current
    // step or `at_begin`.
    Xbyak::RegExp src_row(uint32_t r, bool at_begin = false) const {
        return row_address(at_begin ? reg_src_row : reg_src, reg_src_pitch,
                reg_src_pitch3, r);
    }
    Xbyak::RegExp dst_row(uint32_t r, bool at_begin = false) const {
        return row_address(at_begin ? reg_dst_row : reg_dst, reg_dst_pitch,
                reg_dst_pitch3, r);
    }

    Xbyak::RegExp dst_high_row(uint32_t r) const {
        return row_address(reg_dst_high, reg_dst_pitch, reg_dst_pitch3, r);
    }

    // Addresses of the parameters that row `r` of a block of short rows has one
    // of; r = 0 works for any block.
    Xbyak::RegExp scales_row(uint32_t r) const {
        return row_address(reg_scales, reg_scales_pitch, reg_scales_pitch3, r);
    }
    Xbyak::RegExp zps_row(uint32_t r) const {
        return row_address(reg_zps, reg_zps_pitch, reg_zps_pitch3, r);
    }
    Xbyak::RegExp zps_high_row(uint32_t r) const {
        return zps_row(r) + zps_high_at;
    }

private:
    static Xbyak::RegExp row_address(const Xbyak::Reg64 &base,
            const Xbyak::Reg64 &pitch, const Xbyak::Reg64 &pitch3, uint32_t r) {
        switch (r) {
        case 0: return Xbyak::RegExp(base);
        case 3: return base + pitch3;
        default: return base + pitch * static_cast<int>(r);
        }
    }
};

} // namespace dnnl_dequant

#endif
