// The generated code for tiles of dwords:
//
//      for each dword of rows          four rows, of nibbles eight
//        for each group of columns
//          load parameters of the rows, unless they vary along the columns
//          for each step of columns    64, then those of one vector of dst
//            load parameters, if they vary
//            for each row: take out, subtract, multiply, round, store
//
// An element becomes a float where it is, by one logic instruction that puts
// its bits into the significand of a power of two. The second of two neighbours
// takes a smaller power, so that both weigh the same. A shift then brings the
// next two to the same place.

#include "kernels/dequantize/jit_dword_rows.hpp"

#include <cstddef>
#include <cstring>

#include "kernels/dequantize/jit_pack_dwords.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr uint32_t vmm_bytes = 64;
constexpr int most_vectors = 4; // of a step

class jit_dword_rows_t : public jit_generator_t, public jit_row_kernel_t {
public:
    using io_t = jit_io_t<isa_avx512_core>;

    jit_dword_rows_t(const jit_row_desc_t &desc, const char *name)
        : jit_generator_t(name)
        , desc_(desc)
        , rows_(static_cast<int>(dword_rows(desc.src.bits)))
        , io_(*this, desc_.src, desc_.dst, vmm_io_at, desc_.in_halves) {
        io_.set_streaming(desc.streaming);
        io_.set_dot_products(desc.dot_products);
        io_.set_bf16_conversion(desc.bf16_conversion);
    }

    void operator()(jit_row_args_t &args) const override {
        getCode<void (*)(jit_row_args_t *)>()(&args);
    }
    dim_t width() const override { return io_.width(); }
    bool is_paired() const override { return false; }

private:
    void generate() override {
        preamble();
        io_.load_constants();
        vmovups(vmm_mask(0), constant(mask_at(0)));
        vmovups(vmm_mask(1), constant(mask_at(1)));
        mov(reg_src_row, arg(offsetof(jit_row_args_t, src)));
        mov(reg_dst_row, arg(offsetof(jit_row_args_t, dst)));
        mov(reg_rows, arg(offsetof(jit_row_args_t, rows)));
        mov(reg_pitch, arg(offsetof(jit_row_args_t, dst_pitch)));
        lea(reg_pitch3, ptr[reg_pitch + reg_pitch * 2]);
        Label l_rows;
        L(l_rows);
        rows_of_dword();
        add(reg_src_row, arg(offsetof(jit_row_args_t, src_pitch)));
        lea(reg_dst_row, ptr[reg_dst_row + reg_pitch * rows_]);
        sub(reg_rows, static_cast<uint32_t>(rows_));
        jg(l_rows, T_NEAR);
        postamble();
    }

    void rows_of_dword() {
        mov(reg_src, reg_src_row);
        mov(reg_dst, reg_dst_row);
        if (rows_ > 4) lea(reg_dst_high, ptr[reg_dst_row + reg_pitch * 4]);
        if (desc_.prefetching) {
            mov(reg_dst_ahead, reg_dst_row);
            add(reg_dst_ahead, arg(offsetof(jit_row_args_t, dst_ahead)));
        }
        mov(reg_scales, arg(offsetof(jit_row_args_t, scales)));
        mov(reg_zps, arg(offsetof(jit_row_args_t, zps)));
        mov(reg_groups, arg(offsetof(jit_row_args_t, group_rows)));
        Label l_groups;
        L(l_groups);
        if (!vary()) load_rows();
        mov(reg_count, arg(offsetof(jit_row_args_t, cols)));
        steps_while(most_vectors);
        steps_while(vectors());
        if (!vary()) {
            add(reg_scales, arg(offsetof(jit_row_args_t, scales_jump)));
            add(reg_zps, arg(offsetof(jit_row_args_t, zps_jump)));
        }
        dec(reg_groups);
        jg(l_groups, T_NEAR);
        if (vary()) return;
        next_rows(offsetof(jit_row_args_t, scales),
                offsetof(jit_row_args_t, scales_pitch));
        next_rows(offsetof(jit_row_args_t, zps),
                offsetof(jit_row_args_t, zps_pitch));
    }

    void next_rows(size_t pointer, size_t pitch) {
        imul(rax, arg(pitch), rows_);
        add(arg(pointer), rax);
    }

    bool vary() const { return desc_.scales_vary || desc_.zps_vary; }
    // Vectors of src to one of dst.
    int vectors() const { return io_.fields(); }

    // Loads a scale and a zero point a row.
    void load_rows() {
        mov(rax, reg_scales);
        for (int r = 0; r < rows_; ++r) {
            vbroadcastss(vmm_scale(r), ptr[rax]);
            add(rax, arg(offsetof(jit_row_args_t, scales_pitch)));
        }
        mov(rax, reg_zps);
        for (int r = 0; r < rows_; ++r) {
            vbroadcastss(vmm_tmp, ptr[rax]);
            vaddps(vmm_zp(r), vmm_tmp, constant(bias_at(r % 2)));
            add(rax, arg(offsetof(jit_row_args_t, zps_pitch)));
        }
    }

    // Loads a scale and a zero point a column, or what all columns share.
    void load_cols(int count) {
        const auto load
                = [this](const Zmm &to, const Reg64 &from, bool varies, int v) {
            if (varies) vmovups(to, ptr[from + vector(v)]);
            else vbroadcastss(to, ptr[from]);
        };
        for (int v = 0; v < count; ++v) {
            load(vmm_scale_of_cols(v), reg_scales, desc_.scales_vary, v);
            load(vmm_tmp, reg_zps, desc_.zps_vary, v);
            for (int place : {0, 1})
                vaddps(vmm_zp_of_cols(place, v), vmm_tmp,
                        constant(bias_at(place)));
        }
    }

    void steps_while(int count) {
        Label l_steps, l_end;
        const auto cols = static_cast<uint32_t>(count * io_t::simd_w);
        cmp(reg_count, cols);
        jl(l_end, T_NEAR);
        align(16);
        L(l_steps);
        step(count);
        sub(reg_count, cols);
        cmp(reg_count, cols);
        jge(l_steps, T_NEAR);
        L(l_end);
    }

    void step(int count) {
        const uint32_t src_bytes = vector(count);
        const uint32_t dst_bytes
                = io_.dst_bytes(static_cast<uint32_t>(count * io_t::simd_w));
        for (int v = 0; v < count; ++v)
            vmovups(vmm_src(v), ptr[reg_src + vector(v)]);
        if (vary()) load_cols(count);
        for (int r = 0; r < rows_; ++r) {
            if (r > 0 && r % 2 == 0)
                for (int v = 0; v < count; ++v)
                    vpsrld(vmm_src(v), vmm_src(v),
                            static_cast<uint8_t>(2 * desc_.src.bits));
            row(r, count);
        }
        if (desc_.prefetching) prefetch(dst_bytes);
        add(reg_src, src_bytes);
        add(reg_dst, dst_bytes);
        if (rows_ > 4) add(reg_dst_high, dst_bytes);
        if (desc_.prefetching) add(reg_dst_ahead, dst_bytes);
        if (desc_.scales_vary) add(reg_scales, src_bytes);
        if (desc_.zps_vary) add(reg_zps, src_bytes);
    }

    void row(int r, int count) {
        for (int v = 0; v < count; v += vectors()) {
            for (int f = 0; f < vectors(); ++f)
                compute(vmm_value(f), r, v + f);
            const uint32_t place
                    = io_.dst_bytes(static_cast<uint32_t>(v * io_t::simd_w));
            const Reg64 &base = r < 4 ? reg_dst : reg_dst_high;
            io_.store(row_address(base, r % 4) + place, vmm_value(0),
                    vmm_value(1), vmm_tmp, io_t::extent_t::full);
        }
    }

    void compute(const Zmm &value, int r, int v) {
        constexpr uint8_t masked_bits_of = 0x6a; // (value & mask) ^ magic
        const int place = r % 2;
        vmovdqa32(value, vmm_src(v));
        vpternlogd(value, vmm_mask(place), constant(magic_at(place)),
                masked_bits_of);
        vsubps(value, value, vary() ? vmm_zp_of_cols(place, v) : vmm_zp(r));
        vmulps(value, value, vary() ? vmm_scale_of_cols(v) : vmm_scale(r));
    }

    void prefetch(uint32_t bytes) {
        if (rows_ > 4) lea(rax, ptr[reg_dst_ahead + reg_pitch * 4]);
        for (int r = 0; r < rows_; ++r)
            for (uint32_t b = 0; b < bytes; b += vmm_bytes) {
                const Reg64 &base = r < 4 ? reg_dst_ahead : rax;
                const Address line = ptr[row_address(base, r % 4) + b];
                if (desc_.prefetches_dst_into_l2) prefetcht1(line);
                else prefetcht0(line);
            }
    }

    RegExp row_address(const Reg64 &base, int r) const {
        if (r == 0) return RegExp(base);
        return r == 3 ? base + reg_pitch3 : base + reg_pitch * r;
    }

    // An element is at place 0 or 1 of two neighbours in a lane. The magic
    // number is the power of two that gives its lowest bit the weight 1. The
    // bias is subtracted later.
    int shift_at(int place) const { return place * desc_.src.bits; }
    uint32_t mask_at(int place) const {
        return ((1u << desc_.src.bits) - 1u) << shift_at(place);
    }
    static constexpr int significand_bits = 23;
    bool is_signed() const {
        return family_of(desc_.src.type) == type_family_t::signed_int;
    }
    uint32_t magic_at(int place) const {
        const int power = significand_bits - shift_at(place);
        const uint32_t bits = static_cast<uint32_t>(127 + power)
                              << significand_bits;
        return is_signed() ? bits ^ 1u << (shift_at(place) + desc_.src.bits - 1)
                           : bits;
    }
    uint32_t bias_at(int place) const {
        const int half = is_signed() ? 1 << (desc_.src.bits - 1) : 0;
        return bits_of_float(static_cast<float>(
                (1 << (significand_bits - shift_at(place))) + half));
    }
    static uint32_t bits_of_float(float value) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof(bits));
        return bits;
    }

    static uint32_t vector(int i) {
        return static_cast<uint32_t>(i) * vmm_bytes;
    }
    Address arg(size_t offset) { return qword[reg_args + offset]; }

    // io has 14 from vmm_io_at on, of which its integers leave the last seven.
    static constexpr int vmm_io_at
            = jit_isa_t<isa_avx512_core>::vmm_count - io_t::vmm_needed;
    static constexpr int vmm_free_at = vmm_io_at + io_t::vmm_own;
    static constexpr int vmm_params_at = 9;
    static Zmm vmm_src(int v) { return Zmm(v); }
    static Zmm vmm_value(int f) { return Zmm(4 + f); }
    static Zmm vmm_mask(int place) { return Zmm(7 + place); }
    static Zmm vmm_param(int i) {
        constexpr int low = vmm_io_at - vmm_params_at;
        return Zmm(i < low ? vmm_params_at + i : vmm_free_at + i - low);
    }
    static Zmm vmm_scale(int r) { return vmm_param(r); }
    static Zmm vmm_zp(int r) { return vmm_param(8 + r); }
    static Zmm vmm_scale_of_cols(int v) { return vmm_param(v); }
    static Zmm vmm_zp_of_cols(int place, int v) {
        return vmm_param(most_vectors * (1 + place) + v);
    }

    const Zmm vmm_tmp {6};
    const Reg64 reg_args = rdi, reg_src_row = rdx, reg_dst_row = rsi,
                reg_rows = rcx, reg_src = r8, reg_dst = r9, reg_count = rbx,
                reg_scales = r10, reg_zps = r11, reg_groups = r12,
                reg_dst_ahead = r13, reg_pitch = r14, reg_pitch3 = r15,
                reg_dst_high = rbp;
    const jit_row_desc_t desc_;
    const int rows_;
    io_t io_;
};

} // namespace

result_t make_jit_dword_rows(const jit_row_desc_t &desc, const char *name,
        std::unique_ptr<const jit_row_kernel_t> &kernel) {
    return make_jit_as<jit_dword_rows_t>(kernel, desc, name);
}

} // namespace dnnl_dequant
