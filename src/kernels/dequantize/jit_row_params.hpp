#ifndef KERNELS_DEQUANTIZE_JIT_ROW_PARAMS_HPP
#define KERNELS_DEQUANTIZE_JIT_ROW_PARAMS_HPP

#include <algorithm>
#include <cstddef>

#include "kernels/dequantize/jit_row_kernel.hpp"
#include "kernels/dequantize/jit_row_registers.hpp"

namespace dnnl_dequant {

/// The row kernel's scales and zero points: emission that brings them to
/// registers, from where reg_scales and reg_zps point, and that applies them.
template <isa_t isa>
class jit_row_params_t : private jit_row_registers_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using io_t = jit_io_t<isa>;

    jit_row_params_t(
            jit_generator_t &host, const jit_row_desc_t &desc, io_t &io)
        : h_(host)
        , desc_(desc)
        , io_(io) {}

    static constexpr uint32_t f32_bytes = 4;
    static constexpr uint32_t vmm_bytes = io_t::simd_w * f32_bytes;

    bool vary() const { return desc_.scales_vary || desc_.zps_vary; }
    /// Parameters that vary are one value a group of columns.
    bool repeats() const { return vary() && desc_.group_cols > 1; }
    /// A table says which group a column is in. Without it groups are even, so
    /// that the group is the same in both fields.
    bool has_table() const { return repeats() && desc_.has_group_table(); }

    /// The least steps that go on from one value to another: those of a group
    /// that is longer than a step. Rows have whole groups then.
    uint32_t steps_of_group() const {
        if (!repeats() || has_table()) return 1;
        return std::max(desc_.group_cols / io_.width(), 1u);
    }

    vmm_t vmm_scales(int field) const { return vmm_t(vmm_scales_at + field); }
    vmm_t vmm_zps(int field) const { return vmm_t(vmm_zps_at + field); }
    vmm_t vmm_zps_high(int field) const {
        return vmm_t(vmm_zps_high_at + field);
    }

    /// Loads the groups of lanes, and the number that is subtracted if there
    /// are no zero points.
    void load_constants() {
        if (repeats() && !has_table())
            h_.vmovups(vmm_groups, h_.constant(groups()));
        if (desc_.has_zps) return;
        for (int f = 0; f < zps_fields(); ++f)
            if (io_.has_bias()) h_.vmovups(vmm_zps(f), io_.bias(f));
            else h_.vxorps(vmm_zps(f), vmm_zps(f), vmm_zps(f));
        const vmm_t high = vmm_zps_high(0);
        if (desc_.src.is_wide()) h_.vxorps(high, high, high);
    }

    /// Loads the parameters that a row has one of: row `r` of a block.
    void load_row(uint32_t r) {
        if (!desc_.scales_vary)
            h_.vbroadcastss(vmm_scales(0), h_.ptr[scales_row(r)]);
        if (!desc_.has_zps || desc_.zps_vary) return;
        h_.vbroadcastss(vmm_zps(0), h_.ptr[zps_row(r)]);
        if (desc_.two_part_zps)
            h_.vbroadcastss(vmm_zps_high(0), h_.ptr[zps_high_row(r)]);
        for (int f = zps_fields() - 1; f >= 0; --f)
            add_bias(vmm_zps(f), vmm_zps(0), f);
    }

    /// Loads the parameters that an element has one of, `offset` elements on.
    void load_step(uint32_t offset) {
        if (has_table()) return load_by_table(offset);
        if (repeats()) return load_groups(offset);
        for (int f = 0; f < io_.fields(); ++f) {
            const uint32_t place
                    = offset * f32_bytes + static_cast<uint32_t>(f) * vmm_bytes;
            if (desc_.scales_vary)
                h_.vmovups(vmm_scales(f), h_.ptr[reg_scales + place]);
            if (!desc_.zps_vary) continue;
            h_.vmovups(vmm_zps(f), h_.ptr[reg_zps + place]);
            add_bias(vmm_zps(f), vmm_zps(f), f);
            if (desc_.two_part_zps)
                h_.vmovups(
                        vmm_zps_high(f), h_.ptr[reg_zps + place + zps_high_at]);
        }
    }

    /// Loads the parameters of one element, `place` bytes on, into field 0.
    void load_single(uint32_t place) {
        using Xbyak::util::rax;
        if (has_table()) {
            h_.mov(rax.cvt32(), h_.dword[reg_group_table + place]);
            h_.shr(rax.cvt32(), group_table_shift);
        }
        const auto load = [&](const vmm_t &to, const Xbyak::RegExp &from) {
            const Xbyak::Xmm lane(to.getIdx());
            if (has_table()) h_.vmovss(lane, h_.ptr[from + rax * f32_bytes]);
            else h_.vmovss(lane, h_.ptr[from + place]);
        };
        if (desc_.scales_vary) load(vmm_scales(0), reg_scales);
        if (!desc_.zps_vary) return;
        load(vmm_zps(0), reg_zps);
        const Xbyak::Xmm zp(vmm_zps(0).getIdx());
        add_bias(zp, zp, 0);
        if (desc_.two_part_zps) load(vmm_zps_high(0), reg_zps + zps_high_at);
    }

    void advance(uint32_t bytes) {
        if (has_table()) return h_.add(reg_group_table, bytes);
        if (repeats()) bytes /= desc_.group_cols;
        if (desc_.scales_vary) h_.add(reg_scales, bytes);
        if (desc_.zps_vary) h_.add(reg_zps, bytes);
    }

    /// Points at the parameters of the first row or group, which the arguments
    /// name.
    void load_pointers() {
        h_.mov(reg_scales, arg(offsetof(jit_row_args_t, scales)));
        h_.mov(reg_zps, arg(offsetof(jit_row_args_t, zps)));
        if (has_table())
            h_.mov(reg_group_table, arg(offsetof(jit_row_args_t, group_table)));
    }

    /// Moves the arguments' pointers on by a pitch.
    void next_pitch() {
        using Xbyak::util::rax;
        h_.mov(rax, arg(offsetof(jit_row_args_t, scales_pitch)));
        h_.add(arg(offsetof(jit_row_args_t, scales)), rax);
        h_.mov(rax, arg(offsetof(jit_row_args_t, zps_pitch)));
        h_.add(arg(offsetof(jit_row_args_t, zps)), rax);
    }

    void next_group() {
        if (vary()) {
            next_pitch();
            return load_pointers();
        }
        h_.add(reg_scales, arg(offsetof(jit_row_args_t, scales_jump)));
        h_.add(reg_zps, arg(offsetof(jit_row_args_t, zps_jump)));
    }

    /// After a block of rows: to the next row's, or back to what all share.
    void advance_row() {
        if (vary()) {
            if (desc_.block_rows == 1) next_pitch();
            return load_pointers();
        }
        h_.add(reg_scales, arg(offsetof(jit_row_args_t, scales_pitch)));
        if (desc_.has_zps)
            h_.add(reg_zps, arg(offsetof(jit_row_args_t, zps_pitch)));
    }

    /// After so many short rows, whose pitches are in registers.
    void advance_rows(uint32_t rows) {
        const auto scale = static_cast<int>(rows);
        h_.lea(reg_scales, h_.ptr[reg_scales + reg_scales_pitch * scale]);
        h_.lea(reg_zps, h_.ptr[reg_zps + reg_zps_pitch * scale]);
    }

    /// Turns the value that io_.extract() gave into the result.
    void apply(const vmm_t &value, int field) {
        if (desc_.has_zps || io_.has_bias())
            h_.vsubps(value, value, vmm_zps(std::min(field, zps_fields() - 1)));
        const bool shares = repeats() && !has_table();
        // The first difference is exact; this one rounds. A parameter that does
        // not vary, or that is repeated, is the same in both fields, except its
        // bias.
        const auto field_of
                = [&](bool varies) { return varies && !shares ? field : 0; };
        if (desc_.two_part_zps)
            h_.vsubps(value, value, vmm_zps_high(field_of(desc_.zps_vary)));
        h_.vmulps(value, value, vmm_scales(field_of(desc_.scales_vary)));
    }

private:
    // Halves have the same bias.
    int zps_fields() const {
        return io_.in_halves() && !desc_.zps_vary ? 1 : io_.fields();
    }

    // Each lane's group, of those that a step begins with.
    jit_generator_t::lanes_t groups() const {
        jit_generator_t::lanes_t lanes {};
        const auto fields = static_cast<uint32_t>(io_.fields());
        for (uint32_t i = 0; i < lanes.size(); ++i)
            lanes[i] = i * fields / desc_.group_cols;
        return lanes;
    }

    // Spreads the values of a step's groups over the lanes. It loads as few as
    // possible: a whole vector would lie across two lines, and could not be
    // forwarded from the stores that staged the values.
    void spread(const vmm_t &to, const vmm_t &which, const Xbyak::Address &from,
            uint32_t groups) {
        if (groups == 1) return h_.vbroadcastss(to, from);
        if (groups > io_t::simd_w / 2) return h_.vpermps(to, which, from);
        if (isa == isa_avx512_core && desc_.halves_vectors) {
            // A broadcast to 512 bits would be two loads.
            if (groups <= 2) h_.vmovsd(Xbyak::Xmm(to.getIdx()), from);
            else if (groups <= 4) h_.vmovups(Xbyak::Xmm(to.getIdx()), from);
            else h_.vmovups(Xbyak::Ymm(to.getIdx()), from);
            return h_.vpermps(to, which, to);
        }
        if (groups <= 2) h_.vbroadcastsd(to, from);
        else if constexpr (isa != isa_avx512_core) h_.vbroadcastf128(to, from);
        else if (groups <= 4) h_.vbroadcastf32x4(to, from);
        else h_.vbroadcastf64x4(to, from);
        h_.vpermps(to, which, to);
    }

    void load_groups(uint32_t offset) {
        const uint32_t groups = std::max(io_.width() / desc_.group_cols, 1u);
        const auto load = [&](const vmm_t &to, const Xbyak::RegExp &from) {
            const uint32_t place = offset / desc_.group_cols * f32_bytes;
            spread(to, vmm_groups, h_.ptr[from + place], groups);
        };
        if (desc_.scales_vary) load(vmm_scales(0), reg_scales);
        if (!desc_.zps_vary) return;
        load(vmm_zps(0), reg_zps);
        for (int f = io_.fields() - 1; f >= 0; --f)
            add_bias(vmm_zps(f), vmm_zps(0), f);
        if (desc_.two_part_zps) load(vmm_zps_high(0), reg_zps + zps_high_at);
    }

    // A step spans fewer groups than a vector has lanes.
    void load_by_table(uint32_t offset) {
        using Xbyak::util::rax;
        const vmm_t vmm_which {vmm_groups_by_table_at};
        const uint32_t place = offset * f32_bytes;
        // The first may begin before the step and the last end after it.
        const uint32_t groups = (io_.width() - 2) / desc_.group_cols + 2;
        h_.mov(rax.cvt32(), h_.dword[reg_group_table + place]);
        h_.shr(rax.cvt32(), group_table_shift - 2); // in bytes
        for (int f = 0; f < io_.fields(); ++f) {
            const uint32_t field = static_cast<uint32_t>(f) * vmm_bytes;
            h_.vmovups(vmm_which, h_.ptr[reg_group_table + place + field]);
            if (desc_.scales_vary)
                spread(vmm_scales(f), vmm_which, h_.ptr[reg_scales + rax],
                        groups);
            if (!desc_.zps_vary) continue;
            spread(vmm_zps(f), vmm_which, h_.ptr[reg_zps + rax], groups);
            add_bias(vmm_zps(f), vmm_zps(f), f);
            if (desc_.two_part_zps)
                spread(vmm_zps_high(f), vmm_which,
                        h_.ptr[reg_zps + rax + zps_high_at], groups);
        }
    }

    Xbyak::Address arg(size_t offset) { return h_.qword[reg_args + offset]; }

    // Floats have no bias, and adding zero would lose the sign of another.
    void add_bias(const Xbyak::Xmm &to, const Xbyak::Xmm &zps, int field) {
        if (io_.has_bias()) h_.vaddps(to, zps, io_.bias(field));
        else if (to.getIdx() != zps.getIdx()) h_.vmovaps(to, zps);
    }

    jit_generator_t &h_;
    const jit_row_desc_t &desc_;
    io_t &io_;
    const vmm_t vmm_groups {vmm_groups_at};
};

} // namespace dnnl_dequant

#endif
