// Bytes of values by digits of a row of weights, by vpdpbusd: values have no
// sign, digits have one. The bytes of four tokens are interleaved, so that a
// lane of 32 bits has those of one column. A lane's sums over digits are exact.

#include <array>
#include <utility>

#include "base/text.hpp"
#include "kernels/attention/jit_row_integers.hpp"
#include "kernels/attention/value_digits.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr dim_t tokens_at_once = value_digits_kernel_t::tokens_at_once;
constexpr int digits = value_digits_t::digits;
// Tokens whose bytes of a column are side by side in a lane.
constexpr int interleaved = 4;
constexpr size_t digit_bytes = tokens_at_once; // of a digit
constexpr dim_t most_chunks = 8, most_pitch = 64 * 1024;

// --- digits of weights

class make_digits_t : public jit_row_integers_t {
public:
    explicit make_digits_t(const value_digits_t &format)
        : jit_row_integers_t("jit_make_value_digits", digits)
        , format_(format) {}

private:
    using row_t = value_digits_kernel_t::row_t;
    using xmms_t = std::array<Xmm, digits>;

    const value_digits_t format_;
    const Reg64 weights_ = general_.take("weights", rax),
                scales_ = general_.take("scales", rdx),
                zps_ = general_.take("zero points", rbx),
                scaled_ = general_.take("scaled weights", rsi),
                digits_at_ = general_.take("digits", r8),
                row_ = general_.take("row", r10),
                groups_ = general_.take("groups to go", r11),
                shift_ = general_.take("a shift", rcx);
    const Opmask k_tail_ {1};
    const Zmm norm_ = vectors_.take("norm"),
              upper_ = vectors_.take("numbers of the upper half");
    const vmm_range_t<Zmm> sums_
            = vectors_.take("sums of digits", digits),
            of_zps_ = vectors_.take("sums of digits times zero points", digits);
    const Xmm ones_ = xmm_of(vectors_.take("ones")),
              zps_bytes_ = xmm_of(vectors_.take("zero points")),
              digit_ = xmm_of(vectors_.take("digits"));

    static Xmm xmm_of(const Zmm &x) { return Xmm(x.getIdx()); }

    void generate() override {
        preamble();
        mov(weights_, arg(offsetof(row_t, weights)));
        mov(scales_, arg(offsetof(row_t, scales)));
        mov(zps_, arg(offsetof(row_t, zps)));
        mov(scaled_, arg(offsetof(row_t, scaled)));
        mov(digits_at_, arg(offsetof(row_t, digits)));
        mov(row_, arg(offsetof(row_t, row)));
        scale_weights();
        find_unit(norm_);
        vmovss(ptr[row_ + offsetof(value_digits_row_t, norm)], xmm_of(norm_));
        load(ones_, constant(same_lanes(0x01010101u)));
        for (int d = 0; d < digits; ++d) {
            clear(sums_[d]);
            clear(of_zps_[d]);
        }
        mov(scaled_, arg(offsetof(row_t, scaled)));
        mov(groups_, arg(offsetof(row_t, tokens)));
        add(groups_, tokens_at_once - 1);
        shr(groups_, 4);
        repeat(groups_, [this] { take_digits(); });
        for (int d = 0; d < digits; ++d)
            store_begin(d);
        postamble();
    }

    // Whole sixteens, then the last weights with zeros behind them.
    void scale_weights() {
        Label l_whole, l_tail, l_done;
        mov(groups_, arg(offsetof(row_t, tokens)));
        mov(shift_, groups_);
        and_(shift_, tokens_at_once - 1);
        mov(bits_.cvt32(), 1);
        shl(bits_.cvt32(), cl);
        dec(bits_.cvt32());
        kmovw(k_tail_, bits_.cvt32());
        clear(largest_);
        shr(groups_, 4);
        jz(l_tail, T_NEAR);
        repeat(groups_, [this] {
            vmovups(x_, ptr[weights_]);
            vmulps(x_, x_, ptr[scales_]);
            store_scaled();
            for (const Reg64 &at : {weights_, scales_, scaled_})
                add(at, 64);
        });
        L(l_tail);
        test(shift_, shift_);
        jz(l_done, T_NEAR);
        vmovups(x_ | k_tail_ | T_z, ptr[weights_]);
        vmulps(x_ | k_tail_ | T_z, x_, ptr[scales_]);
        store_scaled();
        L(l_done);
    }

    void store_scaled() {
        vmovups(ptr[scaled_], x_);
        join_largest(x_, y_);
    }

    // Makes the digits of sixteen tokens, and adds them up.
    void take_digits() {
        make_integers(x_, upper_, scaled_);
        turn_into_digits(x_);
        if (format_.has_zps()) load_zps();
        for (int d = 0; d < digits; ++d) {
            if (d > 0) vpsrld(x_, x_, 8);
            vpmovdb(digit_, x_);
            load_to(digits_at_, d);
            dot(sums_[d], ones_);
            if (format_.has_zps()) dot(of_zps_[d], zps_bytes_);
        }
        add(scaled_, 64);
        add(zps_, 64);
        add(digits_at_, digits * digit_bytes);
    }

    void load_to(const Reg64 &at, int digit) {
        vmovdqu(ptr[at + static_cast<size_t>(digit) * digit_bytes], digit_);
    }

    void dot(const Zmm &sum, const Xmm &bytes) {
        vpdpbusd(xmm_of(sum), bytes, digit_, EvexEncoding);
    }

    // Tokens that are missing have any zero points, which meet digits of 0.
    void load_zps() {
        vcvtps2dq(y_, ptr[zps_]);
        if (const int bias = format_.zps_bias(); bias != 0)
            vpaddd(y_, y_, constant(static_cast<uint32_t>(bias)));
        vpmovdb(zps_bytes_, y_);
    }

    // The sums of values begin with -sum of digit * (zp + the values' bias).
    void store_begin(int digit) {
        const Xmm sum = xmm_of(sums_[digit]), of_zps = xmm_of(of_zps_[digit]),
                  x = xmm_of(x_);
        const int bias = format_.bias() - format_.zps_bias();
        vpmulld(sum, sum, constant(static_cast<uint32_t>(-bias)));
        if (format_.has_zps()) vpsubd(sum, sum, of_zps);
        for (const uint8_t order : {uint8_t(0x4e), uint8_t(0xb1)}) {
            vpshufd(x, sum, order);
            vpaddd(sum, sum, x);
        }
        vmovd(dword[row_ + offsetof(value_digits_row_t, begins)
                      + static_cast<size_t>(digit) * 4],
                sum);
    }
};

// --- their products with values

class multiply_t : public jit_simd_t {
public:
    explicit multiply_t(const value_digits_t &format)
        : jit_simd_t("jit_value_digits")
        , format_(format) {}

private:
    using block_t = value_digits_kernel_t::block_t;

    const value_digits_t format_;
    const Reg64 values_ = general_.take("values", rax),
                digits_at_ = general_.take("digits", rdx),
                row_ = general_.take("row", rbx),
                sums_at_ = general_.take("sums", rsi),
                groups_ = general_.take("groups to go", r8),
                bits_ = general_.take("bits", r9),
                last_ = general_.take("the last group", r10);
    const Opmask k_tail_ {1};
    vector_registers_t<isa_avx512_core_vnni> vectors_;
    const vmm_range_t<Zmm> sums_
            = vectors_.take("sums", most_sums(format_) * digits),
            values_of_
            = vectors_.take("values of four tokens", interleaved + 1);
    const Zmm mask_ = vectors_.take("low nibbles, or signs"),
              signs_ = vectors_.take("signs of nibbles");

    bool is_nibble() const { return bits_of(format_.type) == 4; }
    int halves() const { return is_nibble() ? 2 : 1; }
    int sums_a_chunk() const { return interleaved * halves(); }

    // Vectors of columns that have sums in registers: as many whole chunks as
    // there is room for.
    static int most_sums(const value_digits_t &format) {
        constexpr int room = 8;
        const int a_chunk
                = interleaved * static_cast<int>(format.numbers_a_byte());
        return std::min(room / a_chunk, static_cast<int>(format.chunks()))
               * a_chunk;
    }

    void generate() override {
        preamble();
        mov(row_, arg(offsetof(block_t, row)));
        mov(sums_at_, arg(offsetof(block_t, sums)));
        const dim_t tail = format_.value_bytes() % format_.chunk;
        if (tail != 0) {
            mov(bits_, (uint64_t(1) << tail) - 1);
            kmovq(k_tail_, bits_);
        }
        if (is_nibble()) {
            load(mask_, constant(0x0f0f0f0fu));
            load(signs_, constant(0x08080808u));
        } else load(mask_, constant(0x80808080u));
        const dim_t together = most_sums(format_) / sums_a_chunk();
        for (dim_t chunk = 0; chunk < format_.chunks(); chunk += together)
            multiply_chunks(
                    chunk, std::min(together, format_.chunks() - chunk));
        postamble();
    }

    void multiply_chunks(dim_t first, dim_t count) {
        mov(values_, arg(offsetof(block_t, values)));
        mov(digits_at_, arg(offsetof(block_t, digits)));
        mov(groups_, arg(offsetof(block_t, groups)));
        mov(last_, arg(offsetof(block_t, last)));
        for (int d = 0; d < digits; ++d)
            for (int v = 0; v < count * sums_a_chunk(); ++v)
                if (v > 0) copy(sum(v, d), sum(0, d));
                else
                    vpbroadcastd(sum(v, d),
                            ptr[row_ + offsetof(value_digits_row_t, begins)
                                    + static_cast<size_t>(d) * 4]);
        Label l_groups, l_last, l_done;
        test(groups_, groups_);
        jz(l_last, T_NEAR);
        align(32);
        L(l_groups);
        repeat(groups_, [&] {
            for (int four = 0; four < tokens_at_once / interleaved; ++four)
                for (dim_t c = 0; c < count; ++c)
                    multiply_four(four, first + c,
                            static_cast<int>(c) * sums_a_chunk());
            add(values_, static_cast<uint32_t>(tokens_at_once * format_.pitch));
            add(digits_at_, digits * digit_bytes);
        });
        L(l_last);
        test(last_, last_);
        jz(l_done, T_NEAR);
        mov(values_, last_);
        xor_(last_, last_);
        mov(groups_, 1);
        jmp(l_groups, T_NEAR);
        L(l_done);
        for (dim_t c = 0; c < count; ++c)
            for (int half = 0; half < halves(); ++half)
                join_digits(static_cast<int>(c) * sums_a_chunk()
                            + half * interleaved);
        for (dim_t c = 0; c < count; ++c)
            store(first + c, static_cast<int>(c) * sums_a_chunk());
    }

    Zmm sum(int vector, int digit) const {
        return sums_[vector * digits + digit];
    }

    // Multiplies a chunk of four tokens by their digits.
    void multiply_four(int four, dim_t chunk, int first_sum) {
        interleave(four, chunk);
        // The order of columns (see interleave()).
        const int order[] = {2, 4, 0, 1};
        const Zmm high = values_of_[3];
        for (int i = 0; i < interleaved; ++i) {
            const Zmm x = values_of_[order[i]];
            if (is_nibble()) {
                vpsrlw(high, x, 4);
                split(high);
                split(x);
                multiply(four, high, first_sum + interleaved + i);
            } else if (format_.bias() != 0) bit_xor(x, x, mask_);
            multiply(four, x, first_sum + i);
        }
    }

    // Leaves a nibble of each byte, without a sign.
    void split(const Zmm &x) {
        constexpr uint8_t and_then_xor = 0x6a;
        if (format_.bias() == 0) bit_and(x, x, mask_);
        else vpternlogd(x, mask_, signs_, and_then_xor);
    }

    void multiply(int four, const Zmm &values, int vector) {
        for (int d = 0; d < digits; ++d)
            vpdpbusd(sum(vector, d), values,
                    ptr_b[digits_at_ + static_cast<size_t>(d) * digit_bytes
                            + static_cast<size_t>(four) * interleaved]);
    }

    // Loads a chunk of four tokens. A lane of 32 bits gets the bytes of one
    // column. Lane 4 q + n has that of byte 16 q + 4 i + n, where i counts the
    // registers 2, 4, 0 and 1.
    void interleave(int four, dim_t chunk) {
        const auto &v = values_of_;
        for (int t = 0; t < interleaved; ++t)
            load_bytes(v[t], four * interleaved + t, chunk);
        vpunpcklbw(v[4], v[0], v[1]);
        vpunpckhbw(v[1], v[0], v[1]);
        vpunpcklbw(v[0], v[2], v[3]);
        vpunpckhbw(v[3], v[2], v[3]);
        vpunpcklwd(v[2], v[4], v[0]);
        vpunpckhwd(v[4], v[4], v[0]);
        vpunpcklwd(v[0], v[1], v[3]);
        vpunpckhwd(v[1], v[1], v[3]);
    }

    void load_bytes(const Zmm &to, int token, dim_t chunk) {
        const RegExp at = values_ + static_cast<size_t>(token * format_.pitch)
                          + static_cast<size_t>(chunk * format_.chunk);
        prefetch_early(ptr[at + static_cast<size_t>(format_.ahead)]);
        const bool is_short
                = (chunk + 1) * format_.chunk > format_.value_bytes();
        if (is_short) vmovdqu8(to | k_tail_ | T_z, ptr[at]);
        else load(to, ptr[at]);
    }

    // The sums of four vectors' digits become f32, in the first digit's
    // registers, and four columns of each quarter become sixteen of one.
    void join_digits(int first) {
        for (int v = first; v < first + interleaved; ++v) {
            const Zmm x = sum(v, 0);
            for (int d = 0; d < digits; ++d)
                vcvtdq2ps(sum(v, d), sum(v, d));
            vfmadd231ps(x, sum(v, 1), constant(power_of_2(8)));
            vfmadd231ps(x, sum(v, 2), constant(power_of_2(16)));
            vmulps(x, x, constant(power_of_2(1 - 8 * digits)));
            vmulps(x, x, ptr_b[row_ + offsetof(value_digits_row_t, norm)]);
        }
        constexpr uint8_t lower = 0x44, upper = 0xee, even = 0x88, odd = 0xdd;
        const auto in = [&](int v) { return sum(first + v, 0); };
        const auto half = [&](int v) { return sum(first + v, 1); };
        vshuff32x4(half(0), in(0), in(1), lower);
        vshuff32x4(half(1), in(0), in(1), upper);
        vshuff32x4(half(2), in(2), in(3), lower);
        vshuff32x4(half(3), in(2), in(3), upper);
        for (int v = 0; v < 2; ++v) {
            vshuff32x4(in(2 * v), half(v), half(2 + v), even);
            vshuff32x4(in(2 * v + 1), half(v), half(2 + v), odd);
        }
    }

    static uint32_t power_of_2(int exponent) {
        return static_cast<uint32_t>(127 + exponent) << 23;
    }

    void store(dim_t chunk, int first) {
        const size_t place = static_cast<size_t>(
                chunk * format_.chunk * format_.numbers_a_byte());
        const auto at = [&](int vector) {
            return ptr[sums_at_
                       + (place + static_cast<size_t>(vector) * 16) * 4];
        };
        if (is_nibble()) {
            lanes_t lower {}, upper {};
            for (uint32_t lane = 0; lane < lower.size(); ++lane) {
                lower[lane] = lane / 2 + lane % 2 * 16;
                upper[lane] = lower[lane] + 8;
            }
            load(values_of_[0], constant(lower));
            load(values_of_[1], constant(upper));
        }
        for (int v = 0; v < interleaved; ++v) {
            const Zmm x = sum(first + v, 0);
            if (!is_nibble()) {
                vmovups(at(v), x);
                continue;
            }
            const Zmm high = sum(first + interleaved + v, 0);
            for (int half = 0; half < 2; ++half) {
                const Zmm both = values_of_[2];
                copy(both, x);
                vpermt2ps(both, values_of_[half], high);
                vmovups(at(2 * v + half), both);
            }
        }
    }
};

class jit_value_digits_t : public value_digits_kernel_t {
public:
    const char *name() const override {
        return "jit_value_digits_avx512_core_vnni";
    }

    result_t make(const value_digits_t &format) {
        result_t made = make_jit_as<make_digits_t>(make_digits_, format);
        if (made.ok()) made = make_jit_as<multiply_t>(multiply_, format);
        return made;
    }

    void make_digits(const row_t &row) const noexcept override {
        make_digits_(row);
    }
    void run(const block_t &block) const noexcept override { multiply_(block); }

private:
    jit_function_t<const row_t> make_digits_;
    jit_function_t<const block_t> multiply_;
};

} // namespace

result_t make_jit_value_digits(const value_digits_t &format, isa_t isa,
        std::shared_ptr<const value_digits_kernel_t> &kernel) {
    if (!has(isa, isa_avx512_core_vnni)) return refuse("no AVX-512 VNNI");
    if (format.chunks() > most_chunks)
        return refuse(text("a token has ", format.value_bytes(),
                " bytes; expected ", most_chunks * format.chunk, " at most"));
    // A short block's tokens are copied as they lie.
    if (format.pitch > most_pitch)
        return refuse(text("tokens lie ", format.pitch,
                " bytes apart; expected ", most_pitch, " at most"));
    auto made = std::make_shared<jit_value_digits_t>();
    const result_t result = made->make(format);
    if (result.ok()) kernel = std::move(made);
    return result;
}

} // namespace dnnl_dequant
