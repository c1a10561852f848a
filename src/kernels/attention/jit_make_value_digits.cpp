// Digits of rows of weights, by AVX-512 VNNI.
//
// Digits have signs, so a digit of 128 or more takes 256 from the next one. To
// add 128 to every digit of an integer at once does that, and bytes with their
// highest bit turned are the digits then.

#include "kernels/attention/jit_make_value_digits.hpp"

#include "kernels/jit/simd.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr dim_t lanes = 16;
constexpr uint8_t upper_half = 0x4e, next_lane = 0xb1;

// The base of both passes: one row after the other, sixteen tokens at a time.
class weights_code_t : public jit_simd_t {
protected:
    using weights_t = value_digits_kernel_t::weights_t;

    explicit weights_code_t(const char *name)
        : jit_simd_t(name) {}

    const Reg64 weights_ = general_.take("weights", rax),
                scales_ = general_.take("scales", rdx),
                row_ = general_.take("row", rbx),
                first_ = general_.take("a row's first weight", rsi),
                rows_to_go_ = general_.take("rows to go", r8),
                groups_ = general_.take("groups to go", r9),
                shift_ = general_.take("a shift", rcx),
                bits_ = general_.take("bits", r10);
    const Opmask k_tail_ {1};
    vector_registers_t<isa_avx512_core_vnni> vectors_;
    const Zmm x_ = vectors_.take("numbers"), y_ = vectors_.take("others");

    virtual void load_constants() {}
    virtual void begin_row() = 0;
    // Takes sixteen weights, times their scales, in x_.
    virtual void take_sixteen() = 0;
    virtual void end_row() = 0;

    void generate() override {
        preamble();
        mov(row_, arg(offsetof(weights_t, rows)));
        mov(first_, arg(offsetof(weights_t, weights)));
        mov(rows_to_go_, arg(offsetof(weights_t, count)));
        mov(shift_, arg(offsetof(weights_t, tokens)));
        and_(shift_, lanes - 1);
        mov(bits_.cvt32(), 1);
        shl(bits_.cvt32(), cl);
        dec(bits_.cvt32());
        kmovw(k_tail_, bits_.cvt32());
        load_constants();
        repeat(rows_to_go_, [this] { run_row(); });
        postamble();
    }

    static Xmm xmm_of(const Zmm &x) { return Xmm(x.getIdx()); }
    static Ymm ymm_of(const Zmm &x) { return Ymm(x.getIdx()); }

private:
    // Whole sixteens, then the last weights with zeros behind them.
    void run_row() {
        Label l_tail, l_done;
        mov(weights_, first_);
        mov(scales_, arg(offsetof(weights_t, scales)));
        mov(groups_, arg(offsetof(weights_t, tokens)));
        begin_row();
        shr(groups_, 4);
        jz(l_tail, T_NEAR);
        repeat(groups_, [this] {
            vmovups(x_, ptr[weights_]);
            vmulps(x_, x_, ptr[scales_]);
            take_sixteen();
            add(weights_, 64);
            add(scales_, 64);
        });
        L(l_tail);
        test(bits_.cvt32(), bits_.cvt32());
        jz(l_done, T_NEAR);
        vmovups(x_ | k_tail_ | T_z, ptr[weights_]);
        vmulps(x_ | k_tail_ | T_z, x_, ptr[scales_]);
        take_sixteen();
        L(l_done);
        end_row();
        add(row_, sizeof(value_digits_row_t));
        add(first_, arg(offsetof(weights_t, pitch)));
    }
};

class measure_t final : public weights_code_t {
public:
    measure_t()
        : weights_code_t("jit_measure_weights") {}

private:
    const Zmm largest_ = vectors_.take("largest"),
              total_ = vectors_.take("sum"),
              magnitude_ = vectors_.take("bits without a sign");

    void load_constants() override { load(magnitude_, constant(0x7fffffffu)); }
    void begin_row() override {
        clear(largest_);
        clear(total_);
    }
    void take_sixteen() override {
        bit_and(x_, x_, magnitude_);
        vmaxps(largest_, largest_, x_);
        vaddps(total_, total_, x_);
    }
    void end_row() override {
        vextractf64x4(ymm_of(x_), largest_, 1);
        vextractf64x4(ymm_of(y_), total_, 1);
        vmaxps(ymm_of(largest_), ymm_of(largest_), ymm_of(x_));
        vaddps(ymm_of(total_), ymm_of(total_), ymm_of(y_));
        vextractf128(xmm_of(x_), ymm_of(largest_), 1);
        vextractf128(xmm_of(y_), ymm_of(total_), 1);
        join();
        for (const uint8_t order : {upper_half, next_lane}) {
            vpermilps(xmm_of(x_), xmm_of(largest_), order);
            vpermilps(xmm_of(y_), xmm_of(total_), order);
            join();
        }
        vmovss(ptr[row_ + offsetof(value_digits_row_t, largest)],
                xmm_of(largest_));
        vmovss(ptr[row_ + offsetof(value_digits_row_t, total)], xmm_of(total_));
    }
    void join() {
        vmaxps(xmm_of(largest_), xmm_of(largest_), xmm_of(x_));
        vaddps(xmm_of(total_), xmm_of(total_), xmm_of(y_));
    }
};

class make_digits_t final : public weights_code_t {
public:
    make_digits_t(const value_digits_t &format, int digits)
        : weights_code_t("jit_make_value_digits")
        , format_(format)
        , digits_count_(digits) {}

private:
    const value_digits_t format_;
    const int digits_count_;
    const Reg64 zps_ = general_.take("zero points", r11),
                digits_at_ = general_.take("digits", r12),
                first_digits_ = general_.take("a row's first digits", r13);
    const Zmm unit_ = vectors_.take("unit"),
              biases_ = vectors_.take("128 of each digit"),
              order_ = vectors_.take("order of digits"),
              of_zps_ = vectors_.take("sums of digits times zero points"),
              sums_ = vectors_.take("sums of digits"),
              ones_ = vectors_.take("ones"),
              zps_order_ = vectors_.take("order of zero points"),
              zps_bias_ = vectors_.take("bias of zero points");

    // Values have another bias than their zero points.
    int bias() const { return format_.bias() - format_.zps_bias(); }

    void load_constants() override {
        mov(first_digits_, arg(offsetof(weights_t, digits)));
        load(biases_, constant(digits_count_ == 3 ? 0x00808080u : 0x00008080u));
        // Four integers become four bytes of each digit.
        constexpr uint32_t bytes = 0x0c080400, next = 0x01010101;
        lanes_t order {};
        for (uint32_t lane = 0; lane < order.size(); ++lane)
            order[lane] = bytes + lane % 4 * next;
        load(order_, constant(order));
        if (bias() != 0) load(ones_, constant(0x01010101u));
        if (!format_.has_zps()) return;
        load(zps_order_, constant(bytes));
        load(zps_bias_, constant(static_cast<uint32_t>(format_.zps_bias())));
    }

    void begin_row() override {
        vbroadcastss(unit_, ptr[row_ + offsetof(value_digits_row_t, unit)]);
        mov(zps_, arg(offsetof(weights_t, zps)));
        mov(digits_at_, first_digits_);
        clear(of_zps_);
        clear(sums_);
    }

    void take_sixteen() override {
        vmulps(x_, x_, unit_);
        vcvtps2dq(x_, x_);
        vpaddd(x_, x_, biases_);
        bit_xor(x_, x_, biases_);
        vpshufb(x_, x_, order_);
        vmovdqu32(ptr[digits_at_], x_);
        if (bias() != 0) dot4(sums_, ones_, x_);
        if (format_.has_zps()) {
            // Tokens that are missing have any zero points, which meet digits
            // of 0.
            vcvtps2dq(y_, ptr[zps_]);
            if (format_.zps_bias() != 0) vpaddd(y_, y_, zps_bias_);
            vpshufb(y_, y_, zps_order_);
            dot4(of_zps_, y_, x_);
            add(zps_, 64);
        }
        add(digits_at_, 64);
    }

    // The sums of values begin with -sum of digit * (zp + the values' bias).
    void end_row() override {
        if (bias() != 0) {
            vpmulld(sums_, sums_, constant(static_cast<uint32_t>(bias())));
            vpaddd(of_zps_, of_zps_, sums_);
        }
        vextracti64x4(ymm_of(x_), of_zps_, 1);
        vpaddd(ymm_of(x_), ymm_of(x_), ymm_of(of_zps_));
        vextracti128(xmm_of(y_), ymm_of(x_), 1);
        vpaddd(xmm_of(x_), xmm_of(x_), xmm_of(y_));
        clear(xmm_of(y_));
        vpsubd(xmm_of(x_), xmm_of(y_), xmm_of(x_));
        vmovdqu(ptr[row_ + offsetof(value_digits_row_t, begins)], xmm_of(x_));
        add(first_digits_,
                static_cast<uint32_t>(value_digits_kernel_t::row_bytes));
    }
};

} // namespace

result_t make_jit_measure_weights(value_weights_code_t &code) {
    return make_jit_as<measure_t>(code);
}

result_t make_jit_make_value_digits(
        const value_digits_t &format, int digits, value_weights_code_t &code) {
    return make_jit_as<make_digits_t>(code, format, digits);
}

} // namespace dnnl_dequant
