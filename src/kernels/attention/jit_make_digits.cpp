// Digits of a row of the query.

#include "kernels/attention/jit_make_digits.hpp"

#include <array>

#include "kernels/attention/jit_row_integers.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using row_t = digits_kernel_t::row_t;

constexpr size_t line = 64;

class generator_t : public jit_row_integers_t {
public:
    explicit generator_t(const digits_format_t &format)
        : jit_row_integers_t("jit_make_digits", format.digits)
        , format_(format) {}

private:
    const digits_format_t format_;
    const Reg64 numbers_ = general_.take("numbers", rax),
                scales_ = general_.take("scales", rcx),
                zps_ = general_.take("zero points", rdx),
                digits_ = general_.take("digits", rbx),
                parts_ = general_.take("parts", rsi),
                scaled_ = general_.take("scaled numbers", r8);
    const Opmask k_tail_ {1};
    const Zmm even_ = vectors_.take("order of even numbers"),
              odd_ = vectors_.take("order of odd numbers"),
              norm_ = vectors_.take("norm"),
              of_zps_ = vectors_.take("sums of zero points");

    bool is_nibble() const { return bits_of(format_.type) == 4; }
    bool has_number_zps() const { return format_.by_number && format_.has_zps; }
    dim_t vectors() const {
        return format_.chunks() * format_.numbers_a_byte();
    }

    void generate() override {
        preamble();
        const auto argument = [this](const Reg64 &reg, size_t offset) {
            mov(reg, qword[rdi + offset]);
        };
        argument(numbers_, offsetof(row_t, numbers));
        argument(scales_, offsetof(row_t, scales));
        argument(zps_, offsetof(row_t, zps));
        argument(digits_, offsetof(row_t, digits));
        argument(parts_, offsetof(row_t, parts));
        argument(scaled_, offsetof(row_t, scaled));
        if (const dim_t tail = format_.head % lanes; tail != 0) {
            mov(bits_.cvt32(), (1u << tail) - 1);
            kmovw(k_tail_, bits_.cvt32());
        }
        if (is_nibble()) {
            lanes_t even {}, odd {};
            for (uint32_t lane = 0; lane < even.size(); ++lane) {
                even[lane] = 2 * lane;
                odd[lane] = 2 * lane + 1;
            }
            load(even_, constant(even));
            load(odd_, constant(odd));
        }
        scale_numbers();
        find_unit(norm_);
        clear(of_zps_);
        for (dim_t v = 0; v < vectors(); v += format_.numbers_a_byte())
            for (dim_t i = 0; i < format_.chunk; i += lanes)
                take_digits(v, i);
        for (int part = 0; part < static_cast<int>(format_.parts()); ++part)
            describe(part);
        postamble();
    }

    // Loads numbers from `first` on, and zeros where there are none.
    void load_numbers(const Zmm &to, const Reg64 &from, dim_t first) {
        const Address at = ptr[from + static_cast<size_t>(first) * 4];
        if (first + lanes <= format_.head) vmovups(to, at);
        else if (first < format_.head) vmovups(to | k_tail_ | T_z, at);
        else clear(to);
    }

    // The numbers from `first` on of a chunk's vector, or of two: loads them in
    // the order of digits.
    void load_in_order(const Reg64 &from, dim_t vector, dim_t first) {
        const dim_t at
                = vector * format_.chunk + first * format_.numbers_a_byte();
        load_numbers(x_, from, at);
        if (!is_nibble()) return;
        load_numbers(y_, from, at + lanes);
        separate_halves();
    }

    // Brings the numbers of low nibbles into x_, those of high ones into y_.
    void separate_halves() {
        const auto all = vectors_.take("numbers of both", 1);
        copy(all[0], x_);
        vpermt2ps(x_, even_, y_);
        vpermt2ps(all[0], odd_, y_);
        copy(y_, all[0]);
        vectors_.give_back(all);
    }

    RegExp scaled(dim_t vector, dim_t first) const {
        return scaled_
               + static_cast<size_t>(vector * format_.chunk + first) * 4;
    }

    // Brings numbers into the order of digits, scaled, and finds the largest.
    void scale_numbers() {
        const auto of = vectors_.take("scales, magnitudes", 1);
        clear(largest_);
        for (dim_t v = 0; v < vectors(); v += format_.numbers_a_byte())
            for (dim_t i = 0; i < format_.chunk; i += lanes) {
                const dim_t at
                        = v * format_.chunk + i * format_.numbers_a_byte();
                for (dim_t half = 0; half < format_.numbers_a_byte(); ++half) {
                    const Zmm &x = half == 0 ? x_ : y_;
                    load_numbers(x, numbers_, at + half * lanes);
                    if (format_.by_number) {
                        load_numbers(of[0], scales_, at + half * lanes);
                        vmulps(x, x, of[0]);
                    }
                    join_largest(x, of[0]);
                }
                if (is_nibble()) {
                    separate_halves();
                    vmovups(ptr[scaled(v + 1, i)], y_);
                }
                vmovups(ptr[scaled(v, i)], x_);
            }
        vectors_.give_back(of);
    }

    // Sixteen numbers of each vector of a chunk.
    void take_digits(dim_t vector, dim_t first) {
        const auto of_zps = vectors_.take("zero points", 1);
        if (has_number_zps()) load_in_order(zps_, vector, first);
        const auto numbers = vectors_.take("integers", 2);
        for (dim_t half = 0; half < format_.numbers_a_byte(); ++half) {
            const dim_t v = vector + half;
            const Zmm n = numbers[0];
            make_integers(n, numbers[1], scaled(v, first));
            if (has_number_zps()) {
                vcvtdq2ps(of_zps[0], n);
                vfmadd231ps(of_zps_, of_zps[0], half == 0 ? x_ : y_);
            }
            turn_into_digits(n);
            for (int d = 0; d < format_.digits; ++d) {
                if (d > 0) vpsrld(n, n, 8);
                vpmovdb(ptr[digits_
                                + static_cast<size_t>(
                                        (v * format_.digits + d) * format_.chunk
                                        + first)],
                        n);
            }
        }
        vectors_.give_back(numbers);
        vectors_.give_back(of_zps);
    }

    // Adds up the digits of a part, and stores what belongs to it.
    void describe(int part) {
        const auto sums = vectors_.take("sums of digits", 3);
        const auto ones = vectors_.take("ones", 1);
        const Zmm total = x_, zero = y_;
        load(ones[0], constant(0x01010101u));
        for (int d = 0; d < 3; ++d)
            clear(sums[d]);
        const dim_t count = vectors() / format_.parts();
        for (dim_t v = part * count; v < (part + 1) * count; ++v)
            for (int d = 0; d < format_.digits; ++d)
                dot4(sums[d], ones[0],
                        ptr[digits_
                                + static_cast<size_t>(v * format_.digits + d)
                                          * line]);
        // 2^29 at most: 64 numbers of a lane by 2^23.
        copy(total, sums[format_.digits - 1]);
        for (int d = format_.digits - 1; d-- > 0;) {
            vpslld(total, total, 8);
            vpaddd(total, total, sums[d]);
        }
        store_totals(part, total);
        clear(zero);
        for (int d = 0; d < 3; ++d) {
            const Zmm sum = sums[d];
            if (format_.bias() == 0) copy(sum, zero);
            else {
                // Multiplies by 128 or 8.
                vpslld(sum, sum, is_nibble() ? 3 : 7);
                vpsubd(sum, zero, sum);
            }
            vmovups(of_part(part, static_cast<size_t>(d) * line), sum);
        }
        vmovss(of_part(part, offsetof(digits_part_t, norm)),
                Xmm(norm_.getIdx()));
        vectors_.give_back(sums);
        vectors_.give_back(ones);
    }

    Address of_part(int part, size_t offset) {
        return ptr[parts_ + static_cast<size_t>(part) * sizeof(digits_part_t)
                   + offset];
    }

    void store_totals(int part, const Zmm &total) {
        const Address at = of_part(part, offsetof(digits_part_t, totals));
        if (format_.has_groups()) {
            vcvtdq2ps(total, total);
            return vmovups(at, total);
        }
        const Zmm other = y_;
        const Ymm half(other.getIdx());
        if (has_number_zps()) {
            vextractf64x4(half, of_zps_, 1);
            vcvtps2pd(other, half);
            vcvtps2pd(total, Ymm(of_zps_.getIdx()));
        } else {
            vextracti64x4(half, total, 1);
            vcvtdq2pd(other, half);
            vcvtdq2pd(total, Ymm(total.getIdx()));
        }
        vaddpd(total, total, other);
        for (const uint8_t order : {uint8_t(0x4e), uint8_t(0xb1)}) {
            vshuff64x2(other, total, total, order);
            vaddpd(total, total, other);
        }
        vpermilpd(other, total, 0x55);
        vaddpd(total, total, other);
        vcvtpd2ps(half, total);
        vbroadcastss(total, Xmm(half.getIdx()));
        vmovups(at, total);
    }
};

} // namespace

result_t make_jit_make_digits(
        const digits_format_t &format, make_digits_code_t &code) {
    return make_jit_as<generator_t>(code, format);
}

} // namespace dnnl_dequant
