// The generated code that quantizes rows of 16-bit floats by one product an
// element:
//
//   sum = x * factor + (1.5 * 2^23 + zp)      in one rounding
//   dst = saturate(low word of sum)
//
// The unit in the last place of such a sum is 1. So the addition rounds to the
// nearest integer, and the low word holds it. A row without a factor takes the
// quotient of jit_quantizer.hpp, which is rounded likewise, and its zero point
// is added to the words.
//
//   for each row
//     load parameters
//     for each 64 elements
//       spread to f32     bf16: even and odd elements; f16: halves
//       multiply, add
//       join the low words in order, pack, store
//
// Registers:
//   rdi                  the arguments
//   rsi, rdx             src, dst
//   r8, r9               how far ahead to prefetch src and dst
//   r10, r11             parameters of the row, rows left
//   rcx                  steps left of the row
//   zmm0 - 3             values
//   zmm4, 5, 6           factor or reciprocal, what is added, scale of the row
//   zmm7, 8              quotients; zero points of the row as words
//   zmm9 - 12            upper words, order of words and of quadwords, lowest

#include "kernels/quantize/jit_one_product.hpp"

#include <cstddef>

#include "base/bits.hpp"
#include "kernels/quantize/jit_row_factors.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

class jit_one_product_t : public jit_generator_t {
public:
    explicit jit_one_product_t(const one_product_desc_t &desc)
        : jit_generator_t("jit_one_product")
        , desc_(desc)
        , groups_(static_cast<uint32_t>(desc.cols) / group)
        , unroll_(groups_ % 4 == 0   ? 4
                  : groups_ % 2 == 0 ? 2
                                     : 1) {}

private:
    static constexpr uint32_t group = 64, line = 64;
    static constexpr uint32_t src_bytes = 2 * group;
    static constexpr int values = 4;

    bool is_bf16() const { return desc_.src == data_type_t::bf16; }
    bool to_u8() const { return desc_.dst == data_type_t::u8; }

    void generate() override {
        preamble();
        mov(reg_src, arg(offsetof(one_product_args_t, src)));
        mov(reg_dst, arg(offsetof(one_product_args_t, dst)));
        mov(reg_src_ahead, arg(offsetof(one_product_args_t, src_ahead)));
        mov(reg_dst_ahead, arg(offsetof(one_product_args_t, dst_ahead)));
        mov(reg_row, arg(offsetof(one_product_args_t, made)));
        mov(reg_rows, arg(offsetof(one_product_args_t, rows)));
        load_constants();
        Label l_rows, l_exact, l_next;
        align(16);
        L(l_rows);
        mov(eax, parameter(offsetof(row_parameters_t, factors)));
        test(eax, eax);
        jz(l_exact, T_NEAR);
        vbroadcastss(
                vmm_factor, parameter(offsetof(row_parameters_t, factors)));
        if (desc_.has_zps)
            vbroadcastss(vmm_sum, parameter(offsetof(row_parameters_t, sums)));
        columns(false);
        L(l_next);
        add(reg_row, sizeof(float));
        dec(reg_rows);
        jnz(l_rows, T_NEAR);
        postamble();
        L(l_exact);
        load_exact_parameters();
        columns(true);
        jmp(l_next, T_NEAR);
    }

    void load_constants() {
        // The order takes words of two vectors: bf16 in turns, all f16 of one
        // before those of the other.
        lanes_t words {}, quadwords {};
        for (uint32_t i = 0; i < words.size(); ++i)
            words[i] = is_bf16() ? 2 * i | (32 + 2 * i) << 16
                                 : 4 * i | (4 * i + 2) << 16;
        for (uint32_t i = 0; i < quadwords.size(); i += 2)
            quadwords[i] = i < 8 ? i : i - 7;
        vmovups(vmm_words, constant(words));
        vmovups(vmm_quadwords, constant(quadwords));
        if (is_bf16()) vmovups(vmm_upper, constant(0xffff0000u));
        if (clamps()) vmovups(vmm_lowest, constant(0x81818181u));
        if (!desc_.has_zps) vmovups(vmm_sum, lowest_integer());
    }

    void load_exact_parameters() {
        vbroadcastss(
                vmm_factor, parameter(offsetof(row_parameters_t, reciprocals)));
        vbroadcastss(vmm_scale, parameter(offsetof(row_parameters_t, scales)));
        if (!desc_.has_zps) return;
        vmovups(vmm_sum, lowest_integer());
        vpbroadcastw(vmm_zps, parameter(offsetof(row_parameters_t, zps)));
    }

    void columns(bool exactly) {
        Label l_steps;
        const bool loops = groups_ > unroll_;
        if (loops) mov(reg_steps, groups_ / unroll_);
        align(16);
        L(l_steps);
        for (uint32_t u = 0; u < unroll_; ++u) {
            quantize(u, exactly);
            prefetch(u);
        }
        add(reg_src, unroll_ * src_bytes);
        add(reg_dst, unroll_ * group);
        if (!loops) return;
        dec(reg_steps);
        jnz(l_steps, T_NEAR);
    }

    // 64 elements, so many times as many from the cursors on.
    void quantize(uint32_t u, bool exactly) {
        const Zmm first(0), second(2);
        load(0, reg_src + u * src_bytes);
        load(2, reg_src + u * src_bytes + src_bytes / 2);
        for (int v = 0; v < values; ++v) {
            if (exactly) divide(Zmm(v));
            else vfmadd213ps(Zmm(v), vmm_factor, vmm_sum);
        }
        vpermt2w(first, vmm_words, Zmm(1));
        vpermt2w(second, vmm_words, Zmm(3));
        if (exactly && desc_.has_zps) {
            vpaddw(first, first, vmm_zps);
            vpaddw(second, second, vmm_zps);
        }
        if (to_u8()) vpackuswb(first, first, second);
        else vpacksswb(first, first, second);
        if (clamps()) vpmaxsb(first, first, vmm_lowest);
        vpermq(first, vmm_quadwords, first);
        const Address to = ptr[reg_dst + u * group];
        if (desc_.streaming) vmovntps(to, first);
        else vmovups(to, first);
    }

    // Quotients without zero points are at least -127.
    bool clamps() const { return !to_u8() && desc_.has_zps; }

    // 32 elements as f32 in this vector and the next.
    void load(int v, const RegExp &from) {
        const Zmm first(v), second(v + 1);
        if (is_bf16()) {
            vmovups(first, ptr[from]);
            vpandd(second, first, vmm_upper);
            vpslld(first, first, 16);
        } else {
            vcvtph2ps(first, ptr[from]);
            vcvtph2ps(second, ptr[from + line / 2]);
        }
    }

    void divide(const Zmm &x) {
        vmulps(vmm_quotient, x, vmm_factor);
        vfnmadd231ps(x, vmm_quotient, vmm_scale);
        vfmadd132ps(x, vmm_quotient, vmm_factor);
        vaddps(x, x, vmm_sum);
    }

    void prefetch(uint32_t u) {
        for (uint32_t at = 0; at < src_bytes; at += line)
            prefetcht1(ptr[reg_src + reg_src_ahead + u * src_bytes + at]);
        if (!desc_.streaming)
            prefetchw(ptr[reg_dst + reg_dst_ahead + u * group]);
    }

    Address lowest_integer() { return constant(bits_of_f32(integers_from)); }
    Address arg(size_t offset) { return qword[abi_param + offset]; }
    Address parameter(size_t offset) { return ptr[reg_row + offset]; }

    const one_product_desc_t desc_;
    const uint32_t groups_, unroll_; // of a row
    const Reg64 reg_src = rsi, reg_dst = rdx, reg_src_ahead = r8,
                reg_dst_ahead = r9, reg_row = r10, reg_rows = r11,
                reg_steps = rcx;
    const Zmm vmm_factor {4}, vmm_sum {5}, vmm_scale {6}, vmm_quotient {7},
            vmm_zps {8}, vmm_upper {9}, vmm_words {10}, vmm_quadwords {11},
            vmm_lowest {12};
};

} // namespace

result_t make_jit_one_product(const one_product_desc_t &desc,
        jit_function_t<one_product_args_t> &code) {
    return make_jit_as<jit_one_product_t>(code, desc);
}

} // namespace dnnl_dequant
