// A few rows times weights of 4 or 8 bits whose columns lie side by side, on
// AVX2: panel after panel of columns goes down some rows of one group, the sums
// in registers, and is scaled once at the group's end.
//
// Eight nibbles are four bytes, which every lane gets and shifts its own of to
// the right; in the mantissa of 2^23 an integer is the number 2^23 more, to
// which the zero points were raised before. Of a signed one the sign is turned
// over, which adds half its range.
//
// Registers: those of jit_gemv_frame_t. The first twelve vectors are sums.

#include "kernels/matmul/jit_gemv_code.hpp"

#if defined(__x86_64__)

#include "kernels/matmul/jit_gemv_frame.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int most_sums = 12;

class generator_t : public jit_gemv_frame_t<isa_avx2> {
public:
    generator_t(const gemv_weights_t &weights, const jit_gemv_panel_t &panel,
            int rows)
        : jit_gemv_frame_t("jit_gemv_avx2", weights, panel, rows) {}

private:
    bool is_nibble() const { return bits_of(w_.type) == 4; }
    Ymm weight(int v) const { return Ymm(most_sums + v % 2); }
    const Ymm shifts_ {14}, vmm_a_ {15};

    void generate() override {
        preamble();
        lanes_t shifts;
        for (uint32_t i = 0; i < shifts.size(); ++i)
            shifts[i] = i % simd_w * 4;
        vmovups(shifts_, constant(shifts));
        all_panels();
        postamble();
    }

    void row_of_weights() override {
        prefetcht0(ptr[rcx + r9]);
        if (rows_ == 1) vbroadcastss(vmm_a_, ptr[rax]);
        for (int v = 0; v < vectors_; ++v) {
            make_number(v, weight(v));
            for (int r = 0; r < rows_; ++r) {
                if (rows_ > 1) vbroadcastss(vmm_a_, ptr[row_of_a(r)]);
                vfmadd231ps(sum(r, v), weight(v), vmm_a_);
            }
        }
    }

    void make_number(int v, const Ymm &number) {
        constexpr uint32_t bits_of_2_to_23 = 0x4b000000;
        const bool is_signed = family_of(w_.type) == type_family_t::signed_int;
        const Address from = ptr[rcx + weights_bytes(v)];
        if (is_nibble()) {
            vpbroadcastd(number, from);
            vpsrlvd(number, number, shifts_);
            vpand(number, number, constant(0xfu));
        } else {
            vpmovzxbd(number, from);
        }
        const uint32_t sign = !is_signed ? 0 : is_nibble() ? 8 : 128;
        vpxor(number, number, constant(bits_of_2_to_23 | sign));
        vsubps(number, number, ptr[r11 + bytes(v)]);
    }

    void scale_sum(const Ymm &sum, int v, const Address &at) override {
        const Ymm c = weight(0);
        vmovups(c, at);
        vfmadd231ps(c, sum, ptr[r13 + bytes(v)]);
        vmovups(at, c);
    }
};

} // namespace

jit_gemv_panel_t gemv_panel_of_avx2(const gemv_weights_t &weights, dim_t rows) {
    if (rows > most_gemv_avx2_rows) return {};
    constexpr int simd_w = generator_t::simd_w;
    for (int vectors = 8; vectors >= 4; vectors /= 2)
        if (rows * vectors <= most_sums
                && weights.cols % (vectors * simd_w) == 0)
            return {vectors, false, simd_w};
    return {};
}

result_t make_jit_gemv_avx2_code(const gemv_weights_t &weights,
        const jit_gemv_panel_t &panel, int rows,
        std::unique_ptr<jit_gemv_code_t> &code) {
    return make_jit_as<generator_t>(code, weights, panel, rows);
}

} // namespace dnnl_dequant

#endif
