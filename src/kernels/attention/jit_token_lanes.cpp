// A vector has four bytes of each of sixteen tokens, so a lane's sums are those
// of a token: nothing is added up but digits. The bytes are transposed in
// registers, once for all rows.

#include <array>

#include "kernels/attention/jit_digits_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

class generator_t final : public jit_digits_code_t {
public:
    generator_t(const digits_format_t &format, int rows)
        : jit_digits_code_t("jit_token_lanes", format, rows) {}

private:
    static constexpr int lanes = all_tokens, quarter = 4;

    vectors_t vectors_;
    const vectors_t::range_t sums_
            = vectors_.take("sums", chains() * rows_ * format_.digits),
            all_keys_ = vectors_.take("keys, and a free register", lanes + 1);
    const Zmm bits_ = vectors_.take("signs, or low nibbles"),
              high_ = vectors_.take("high nibbles");
    const vectors_t::range_t signs_ = vectors_.take(
            "signs of low nibbles, of high ones", !takes_signs()         ? 0
                                                  : keeps_halves_apart() ? 2
                                                                         : 1);
    // Registers of all_keys_: those of the vectors, and the free one.
    std::array<int, lanes> order_ {};
    int free_ = lanes;

    void generate() override {
        preamble();
        load_arguments();
        add_up_begins();
        load_bits(bits_);
        for (int i = 0; i < signs_.count(); ++i)
            load(signs_[i], constant(nibble_signs << (4 * i)));
        Label l_group;
        L(l_group);
        for (int i = 0; i < sums_.count(); ++i)
            if (i < sums_.count() / chains()) load(sums_[i], begin_at(i));
            else clear(sums_[i]);
        for (int chunk = 0; chunk < static_cast<int>(format_.chunks()); ++chunk)
            multiply_chunk(chunk);
        mov(at_, scores_);
        for (int r = 0; r < rows_; ++r)
            store_scores(join_digits(r), high_, r);
        next_scores();
        add(keys_, static_cast<uint32_t>(lanes * format_.pitch));
        dec(groups_);
        jnz(l_group, T_NEAR);
        postamble();
    }

    // A few sums are added up twice each, so that fewer products wait for each
    // other.
    int chains() const {
        constexpr int many_sums = 6;
        return rows_ * format_.digits < many_sums ? 2 : 1;
    }
    bool takes_signs() const { return is_nibble() && is_signed(); }

    // High nibbles stay in the upper halves of their bytes where they have
    // sums of their own, which are 16 times as large.
    bool keeps_halves_apart() const { return is_nibble() && chains() == 2; }

    Zmm sum(int row, int digit, int chain = 0) const {
        return sums_[(chain * rows_ + row) * format_.digits + digit];
    }
    Address begin_at(int sum) {
        return ptr[sums_at_ + static_cast<size_t>(sum) * line];
    }

    // A part has the begins of a token's lanes. Their sum is a token's.
    void add_up_begins() {
        const Zmm x = high_, y = bits_;
        constexpr uint8_t halves = 0x4e, quarters = 0xb1;
        for (int r = 0; r < rows_; ++r)
            for (int d = 0; d < format_.digits; ++d) {
                load(x, ptr[of_part(r, 0) + begin_of(d)]);
                for (const uint8_t order : {halves, quarters}) {
                    vshufi32x4(y, x, x, order);
                    vpaddd(x, x, y);
                }
                for (const uint8_t order : {halves, quarters}) {
                    vpshufd(y, x, order);
                    vpaddd(x, x, y);
                }
                vmovdqu32(begin_at(r * format_.digits + d), x);
            }
    }

    void multiply_chunk(int chunk) {
        for (int t = 0; t < lanes; ++t) {
            order_[static_cast<size_t>(t)] = t;
            load_bytes(all_keys_[t], bits_, t, chunk);
        }
        free_ = lanes;
        transpose_quarters();
        for (int j = 0; j < quarter; ++j) {
            join_quarters(j);
            for (int q = 0; q < quarter; ++q)
                multiply(chunk, quarter * q + j);
        }
    }

    Zmm keys(int vector) const {
        return all_keys_[order_[static_cast<size_t>(vector)]];
    }

    // Two vectors become two others, by way of the free register.
    template <typename first_t, typename second_t>
    void exchange(int x, int y, const first_t &first, const second_t &second) {
        first(all_keys_[free_], keys(x), keys(y));
        second(keys(y), keys(x), keys(y));
        std::swap(order_[static_cast<size_t>(x)], free_);
    }

    // Quarter l of vector 4 i + j gets the four bytes 4 l + j of tokens 4 i to
    // 4 i + 3.
    void transpose_quarters() {
        const auto dwords_low = [this](const Zmm &to, const Zmm &x,
                                        const Zmm &y) { vpunpckldq(to, x, y); };
        const auto dwords_high
                = [this](const Zmm &to, const Zmm &x, const Zmm &y) {
            vpunpckhdq(to, x, y);
        };
        const auto qwords_low
                = [this](const Zmm &to, const Zmm &x, const Zmm &y) {
            vpunpcklqdq(to, x, y);
        };
        const auto qwords_high
                = [this](const Zmm &to, const Zmm &x, const Zmm &y) {
            vpunpckhqdq(to, x, y);
        };
        for (int i = 0; i < lanes; i += quarter) {
            for (const int pair : {i, i + 2})
                exchange(pair, pair + 1, dwords_low, dwords_high);
            for (const int j : {i, i + 1})
                exchange(j, j + 2, qwords_low, qwords_high);
            std::swap(order_[static_cast<size_t>(i + 1)],
                    order_[static_cast<size_t>(i + 2)]);
        }
    }

    // Vector 4 q + j gets the four bytes 4 q + j of all tokens.
    void join_quarters(int j) {
        constexpr uint8_t evens = 0x88, odds = 0xdd;
        const auto even = [this](const Zmm &to, const Zmm &x, const Zmm &y) {
            vshufi32x4(to, x, y, evens);
        };
        const auto odd = [this](const Zmm &to, const Zmm &x, const Zmm &y) {
            vshufi32x4(to, x, y, odds);
        };
        const auto at = [j](int q) { return quarter * q + j; };
        exchange(at(0), at(1), even, odd);
        exchange(at(2), at(3), even, odd);
        exchange(at(0), at(2), even, odd);
        exchange(at(1), at(3), even, odd);
    }

    // Multiplies four bytes of all tokens by all rows.
    void multiply(int chunk, int vector) {
        const dim_t place = chunk * format_.chunk + vector * 4;
        if (place >= format_.key_bytes()) return;
        const Zmm key = keys(vector);
        if (keeps_halves_apart()) part_nibbles(key);
        else if (takes_signs()) split_nibbles(key, high_, bits_, signs_[0]);
        else if (is_nibble()) split_nibbles(key, high_, bits_, bits_);
        for (int half = 0; half < halves(); ++half)
            for (int r = 0; r < rows_; ++r)
                for (int d = 0; d < format_.digits; ++d)
                    vpdpbusd(sum(r, d, chain_of(vector, half)),
                            half == 0 ? key : high_,
                            ptr_b[digit_at(r, chunk * halves() + half, d)
                                    + static_cast<size_t>(vector) * 4]);
    }

    int chain_of(int vector, int half) const {
        return keeps_halves_apart() ? half : vector % chains();
    }

    // Low nibbles stay, high ones go to another register, times 16; both
    // without a sign.
    void part_nibbles(const Zmm &key) {
        constexpr uint8_t without_then_xor = 0x9a;
        if (!is_signed()) {
            vpandnd(high_, bits_, key);
            return bit_and(key, key, bits_);
        }
        copy(high_, key);
        vpternlogd(high_, bits_, signs_[1], without_then_xor);
        vpternlogd(key, bits_, signs_[0], and_then_xor);
    }

    // The sums of the digits become one f32 a token.
    Zmm join_digits(int row) {
        const Zmm x = sum(row, 0);
        for (int d = 0; d < format_.digits; ++d) {
            for (int chain = 1; chain < chains(); ++chain) {
                const Zmm other = sum(row, d, chain);
                if (keeps_halves_apart()) vpsrad(other, other, 4);
                vpaddd(sum(row, d), sum(row, d), other);
            }
            vcvtdq2ps(sum(row, d), sum(row, d));
            if (d > 0) vfmadd231ps(x, sum(row, d), constant(power_of_2(8 * d)));
        }
        return x;
    }
};

} // namespace

result_t make_jit_token_lanes(
        const digits_format_t &format, int rows, digits_code_t &code) {
    return make_jit_as<generator_t>(code, format, rows);
}

} // namespace dnnl_dequant
