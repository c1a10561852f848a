// The generated code for rows of groups of eight columns:
//
//      for each row
//        for each eight groups, then for each group that is left
//          load src, one vector of 256 bits a group
//          subtract and multiply by what memory has one of, round, store
//
// An integer x becomes the float 2^23 + x by its bits, as in
// kernels/jit/io.hpp; zero points have been biased so when they were staged.
// Loads bound it, so that src is loaded for two groups of nibbles or four of
// bytes at once.

#include "kernels/dequantize/jit_row_eights.hpp"

#include <cstddef>

#include "kernels/dequantize/jit_row_registers.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr uint32_t group = 8;
constexpr uint32_t f32_bytes = 4;
constexpr uint32_t bits_of_2_to_23 = 0x4b000000u;

class jit_row_eights_generator_t : public jit_generator_t,
                                   public jit_row_kernel_t,
                                   private jit_row_registers_t {
public:
    jit_row_eights_generator_t(const jit_row_desc_t &desc, const char *name)
        : jit_generator_t(name)
        , desc_(desc) {}

    void operator()(jit_row_args_t &args) const override {
        getCode<void (*)(jit_row_args_t *)>()(&args);
    }
    dim_t width() const override { return group; }
    bool is_paired() const override { return false; }

private:
    static constexpr uint32_t unroll = 8;

    void generate() override {
        preamble();
        load_constants();
        mov(reg_src_row, arg(offsetof(jit_row_args_t, src)));
        mov(reg_dst_row, arg(offsetof(jit_row_args_t, dst)));
        mov(reg_rows, arg(offsetof(jit_row_args_t, rows)));
        mov(reg_scales_row, arg(offsetof(jit_row_args_t, scales)));
        mov(reg_zps_row, arg(offsetof(jit_row_args_t, zps)));
        Label l_rows;
        L(l_rows);
        mov(reg_src, reg_src_row);
        mov(reg_dst, reg_dst_row);
        mov(reg_scales, reg_scales_row);
        mov(reg_zps, reg_zps_row);
        mov(reg_count, arg(offsetof(jit_row_args_t, cols)));
        groups_while(unroll);
        groups_while(1);
        add(reg_src_row, arg(offsetof(jit_row_args_t, src_pitch)));
        add(reg_dst_row, arg(offsetof(jit_row_args_t, dst_pitch)));
        add(reg_scales_row, arg(offsetof(jit_row_args_t, scales_pitch)));
        add(reg_zps_row, arg(offsetof(jit_row_args_t, zps_pitch)));
        dec(reg_rows);
        jnz(l_rows, T_NEAR);
        postamble();
    }

    bool is_nibbles() const { return desc_.src.bits == 4; }
    uint32_t src_bytes(uint32_t groups) const {
        return groups * static_cast<uint32_t>(desc_.src.bits);
    }
    uint32_t dst_bytes(uint32_t groups) const {
        return static_cast<uint32_t>(bytes_of(desc_.dst, groups * group));
    }
    // Groups that a load of src takes: by a broadcast, or a vector.
    uint32_t loaded_groups() const { return is_nibbles() ? 2 : 4; }

    void load_constants() {
        const uint32_t flipped = desc_.src.is_signed() ? 8u : 0u;
        if (is_nibbles()) {
            vmovups(vmm_mask, constant(0xfu));
            vmovups(vmm_magic, constant(bits_of_2_to_23 | flipped));
        } else {
            vmovups(vmm_magic, constant(bits_of_2_to_23 >> 16));
            if (desc_.src.is_signed()) vmovups(vmm_mask, constant(0x80808080u));
        }
        for (uint32_t g = 0; g < loaded_groups(); ++g)
            vmovups(vmm_order(g), constant(order(g)));
        if (!desc_.has_zps) vbroadcastss(vmm_bias, constant(bias_bits()));
    }

    uint32_t bias_bits() const {
        const uint32_t half = 1u << (desc_.src.bits - 1);
        return bits_of_2_to_23 | (desc_.src.is_signed() ? half : 0u);
    }

    // Returns, for group `g` of a load of src, the shifts of nibbles, in
    // the lowest byte of each lane; or bytes, with the float's others above.
    lanes_t order(uint32_t g) const {
        constexpr uint32_t other = 32, exponent = other + 1;
        constexpr uint32_t above = other << 8 | other << 16 | exponent << 24;
        lanes_t lanes {};
        for (uint32_t i = 0; i < group; ++i)
            lanes[i] = is_nibbles() ? 4 * (g * group + i)
                                    : (g * group + i) | above;
        return lanes;
    }

    void groups_while(uint32_t groups) {
        Label l_groups, l_end;
        const uint32_t elements = groups * group;
        cmp(reg_count, elements);
        jl(l_end, T_NEAR);
        align(16);
        L(l_groups);
        for (uint32_t g = 0; g < groups; ++g)
            emit_group(g, groups == 1);
        add(reg_src, src_bytes(groups));
        add(reg_dst, dst_bytes(groups));
        add(reg_scales, groups * f32_bytes);
        if (desc_.has_zps) add(reg_zps, groups * f32_bytes);
        sub(reg_count, elements);
        cmp(reg_count, elements);
        jge(l_groups, T_NEAR);
        L(l_end);
    }

    void emit_group(uint32_t g, bool single) {
        const Ymm value = vmm_value(g);
        load(value, g, single);
        if (desc_.has_zps) vsubps(value, value, ptr_b[reg_zps + g * f32_bytes]);
        else vsubps(value, value, vmm_bias);
        vmulps(value, value, ptr_b[reg_scales + g * f32_bytes]);
        store(value, g, single);
    }

    void load(const Ymm &value, uint32_t g, bool single) {
        const uint32_t place = g % loaded_groups();
        if (place == 0) load_src(ptr[reg_src + src_bytes(g)], single);
        if (is_nibbles()) {
            constexpr uint8_t masked_bits_of = 0x6a; // (value & mask) ^ magic
            vpmultishiftqb(value, vmm_order(place), vmm_src);
            vpternlogd(value, vmm_mask, vmm_magic, masked_bits_of);
        } else {
            vmovdqa32(value, vmm_order(place));
            vpermi2b(value, vmm_src, vmm_magic);
        }
    }

    void load_src(const Address &src, bool single) {
        if (is_nibbles()) {
            if (single) vpbroadcastd(vmm_src, src);
            else vpbroadcastq(vmm_src, src);
            return;
        }
        if (single) vmovq(Xmm(vmm_src.getIdx()), src);
        else vmovups(vmm_src, src);
        if (desc_.src.is_signed()) vpxord(vmm_src, vmm_src, vmm_mask);
    }

    void store(const Ymm &value, uint32_t g, bool single) {
        const RegExp dst = reg_dst + dst_bytes(g);
        const Xmm half(value.getIdx());
        if (desc_.dst == data_type_t::f32) {
            vmovups(ptr[dst], value);
        } else if (desc_.dst == data_type_t::f16) {
            // To memory it takes three times as long.
            vcvtps2ph(half, value, 0);
            vmovups(ptr[dst], half);
        } else if (single) {
            vcvtneps2bf16(half, value, EvexEncoding);
            vmovups(ptr[dst], half);
        } else if (g % 2 != 0) {
            vcvtne2ps2bf16(value, value, vmm_value(g - 1));
            vmovups(ptr[dst - dst_bytes(1)], value);
        }
    }

    Address arg(size_t offset) { return qword[reg_args + offset]; }
    static Ymm vmm_value(uint32_t g) { return Ymm(static_cast<int>(g)); }
    static Ymm vmm_order(uint32_t g) { return Ymm(static_cast<int>(8 + g)); }

    const jit_row_desc_t desc_;
    const Reg64 reg_scales_row = reg_src_pitch, reg_zps_row = reg_dst_pitch;
    const Ymm vmm_src {12}, vmm_mask {13}, vmm_magic {14}, vmm_bias {15};
};

} // namespace

float jit_row_eights_t::zps_bias(data_type_t src) {
    const bool is_signed = family_of(src) == type_family_t::signed_int;
    const int half = is_signed ? 1 << (bits_of(src) - 1) : 0;
    return static_cast<float>((1 << 23) + half);
}

bool jit_row_eights_t::takes(const jit_row_desc_t &desc) {
    const bool is_plain = !desc.in_groups && !desc.both_halves
                          && !desc.two_part_zps && !desc.streaming
                          && desc.stream_ahead == 0 && !desc.prefetching;
    const int bits = desc.src.bits;
    return is_plain && desc.group_cols == group && desc.block_rows == 1
           && desc.scales_vary && desc.zps_vary == desc.has_zps
           && !desc.src.is_floating() && (bits == 4 || bits == 8)
           && desc.src.container_bits == bits;
}

result_t make_jit_row_eights(const jit_row_desc_t &desc, const char *name,
        std::unique_ptr<const jit_row_kernel_t> &kernel) {
    return make_jit_as<jit_row_eights_generator_t>(kernel, desc, name);
}

} // namespace dnnl_dequant
