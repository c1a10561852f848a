// Each token's sums by a row, one a lane of 32 bits, go to scratch memory;
// those of sixteen tokens are added up together by transposing. If a token has
// several groups, the lanes of each chunk are scaled before.

#include <algorithm>

#include "base/text.hpp"
#include "kernels/attention/jit_digits_code.hpp"
#include "kernels/attention/jit_make_digits.hpp"
#include "kernels/row_blocks.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr dim_t most_chunks = 8, most_pitch = 64 * 1024, lane_bytes = 4;
// One vector has the scales of a token.
constexpr dim_t most_groups = 16;

// Tokens whose sums fit into the registers next to their keys.
int tokens_of(int rows) {
    return rows == 1 ? 4 : rows <= 4 ? 2 : 1;
}

class generator_t : public jit_digits_code_t {
public:
    generator_t(const digits_format_t &format, int rows)
        : jit_digits_code_t("jit_digits", format, rows)
        , tokens_(tokens_of(rows)) {}

private:
    using zmms_t = vectors_t::range_t;

    const int tokens_;

    void generate() override {
        preamble();
        load_arguments();
        Label l_group;
        L(l_group);
        multiply_tokens();
        make_scores();
        next_scores();
        dec(groups_);
        jnz(l_group, T_NEAR);
        postamble();
    }

    // The offset of a row's sums, which lie token after token.
    static size_t place_of(int row) {
        return static_cast<size_t>(row) * all_tokens * line;
    }

    // The vectors of a step, which multiplies tokens_ tokens by all rows.
    struct step_vectors_t {
        zmms_t sums, keys, digits, bits;
    };

    Zmm sum(const step_vectors_t &v, int token, int row, int digit) const {
        return v.sums[(token * rows_ + row) * format_.digits + digit];
    }

    void multiply_tokens() {
        vectors_t vectors;
        const step_vectors_t v {
                vectors.take("sums", tokens_ * rows_ * format_.digits),
                vectors.take("keys", tokens_ * halves()),
                vectors.take("digits", format_.digits),
                vectors.take("signs, or low nibbles", 1)};
        load_bits(v.bits[0]);
        mov(at_, sums_at_);
        mov(steps_, static_cast<uint64_t>(all_tokens)
                            / static_cast<uint64_t>(tokens_));
        Label l_step;
        align(32);
        L(l_step);
        const auto parts = static_cast<int>(format_.parts());
        const int chunks = static_cast<int>(format_.chunks()) / parts;
        for (int part = 0; part < parts; ++part) {
            begin_sums(v, part);
            for (int chunk = part * chunks; chunk < (part + 1) * chunks;
                    ++chunk)
                multiply_chunk(v, chunk);
            store_sums(v, part);
        }
        if (has_groups()) {
            const auto bytes = static_cast<uint32_t>(tokens_) * groups_bytes();
            add(scales_, bytes);
            if (format_.has_zps) add(zps_, bytes);
        }
        add(keys_, static_cast<uint32_t>(tokens_ * format_.pitch));
        add(at_, static_cast<uint32_t>(tokens_) * line);
        dec(steps_);
        jnz(l_step, T_NEAR);
    }

    void begin_sums(const step_vectors_t &v, int part) {
        for (int r = 0; r < rows_; ++r)
            for (int d = 0; d < format_.digits; ++d) {
                load(sum(v, 0, r, d), ptr[of_part(r, part) + begin_of(d)]);
                for (int t = 1; t < tokens_; ++t)
                    copy(sum(v, t, r, d), sum(v, 0, r, d));
            }
    }

    void multiply_chunk(const step_vectors_t &v, int chunk) {
        for (int t = 0; t < tokens_; ++t)
            load_keys(v.keys, v.bits[0], t, chunk);
        for (int half = 0; half < halves(); ++half)
            for (int r = 0; r < rows_; ++r)
                for (int d = 0; d < format_.digits; ++d) {
                    load(v.digits[d],
                            ptr[digit_at(r, chunk * halves() + half, d)]);
                    for (int t = 0; t < tokens_; ++t)
                        dot4(sum(v, t, r, d), v.keys[t * halves() + half],
                                v.digits[d]);
                }
    }

    // The sums of the digits become one f32 a lane.
    void store_sums(const step_vectors_t &v, int part) {
        for (int t = 0; t < tokens_; ++t) {
            if (has_groups()) load_scales(v, t, part);
            for (int r = 0; r < rows_; ++r) {
                const Zmm x = join_digits(v, t, r);
                const Address at = ptr[at_ + place_of(r)
                                       + static_cast<size_t>(t) * line];
                if (has_groups()) scale_lanes(v, x, r, part, at);
                vmovaps(at, x);
            }
        }
    }

    Zmm join_digits(const step_vectors_t &v, int token, int row) {
        const Zmm least = sum(v, token, row, 0), next = sum(v, token, row, 1);
        vpslld(next, next, 8);
        vpaddd(least, least, next);
        vcvtdq2ps(least, least);
        if (format_.digits == 3) {
            const Zmm highest = sum(v, token, row, 2);
            vcvtdq2ps(highest, highest);
            vfmadd231ps(least, highest, constant(power_of_2(16)));
        }
        return least;
    }

    uint32_t groups_bytes() const {
        return static_cast<uint32_t>(format_.groups()) * 4;
    }

    // Loads those of each lane's group, where digits were.
    void load_scales(const step_vectors_t &v, int token, int chunk) {
        const size_t place = static_cast<size_t>(token) * groups_bytes();
        lanes_t order {};
        for (size_t lane = 0; lane < order.size(); ++lane) {
            const dim_t first = chunk * format_.chunk
                                + static_cast<dim_t>(lane) * lane_bytes;
            const dim_t group
                    = first * format_.numbers_a_byte() / format_.group;
            order[lane] = static_cast<uint32_t>(
                    std::min(group, format_.groups() - 1));
        }
        const auto load_one = [&](const Zmm &to, const Reg64 &from) {
            if (order.front() == order.back())
                return vbroadcastss(
                        to, ptr[from + place + size_t(order.front()) * 4]);
            vmovups(to, constant(order));
            vpermps(to, to, ptr[from + place]);
        };
        load_one(v.digits[0], scales_);
        if (format_.has_zps) load_one(v.digits[1], zps_);
    }

    // And adds the lanes of the chunks before.
    void scale_lanes(const step_vectors_t &v, const Zmm &x, int row, int chunk,
            const Address &before) {
        if (format_.has_zps)
            vfnmadd231ps(x, v.digits[1],
                    ptr[of_part(row, chunk) + offsetof(digits_part_t, totals)]);
        if (chunk == 0) vmulps(x, x, v.digits[0]);
        else vfmadd213ps(x, v.digits[0], before);
    }

    void load_keys(const zmms_t &keys, const Zmm &bits, int token, int chunk) {
        const Zmm key = keys[token * halves()];
        load_bytes(key, bits, token, chunk);
        if (is_nibble())
            split_nibbles(key, keys[token * halves() + 1], bits,
                    constant(nibble_signs));
    }

    void make_scores() {
        vectors_t vectors;
        const zmms_t tokens = vectors.take("sums of tokens", all_tokens),
                     scratch = vectors.take("interleaved", 2);
        mov(at_, scores_);
        for (int r = 0; r < rows_; ++r) {
            add_up(place_of(r), tokens, scratch);
            store_scores(tokens[0], scratch[0], r);
        }
    }

    // The sum of each token's lanes, token after token, in the first register.
    void add_up(size_t place, const zmms_t &v, const zmms_t &scratch) {
        const Zmm low = scratch[0], high = scratch[1];
        const auto at = [&](int token) {
            return ptr[sums_at_ + place + static_cast<size_t>(token) * line];
        };
        constexpr int count = all_tokens;
        for (int i = 0; i < count; i += 2) {
            vmovaps(v[i], at(i));
            vunpcklps(low, v[i], at(i + 1));
            vunpckhps(high, v[i], at(i + 1));
            vaddps(v[i], low, high);
        }
        for (int i = 0; i < count; i += 4) {
            vunpcklpd(low, v[i], v[i + 2]);
            vunpckhpd(high, v[i], v[i + 2]);
            vaddps(v[i], low, high);
        }
        // Quarters 0 and 2 of both, then 1 and 3.
        for (int step = 4; step < count; step *= 2)
            for (int i = 0; i < count; i += 2 * step) {
                vshuff32x4(low, v[i], v[i + step], 0x88);
                vshuff32x4(high, v[i], v[i + step], 0xdd);
                vaddps(v[i], low, high);
            }
    }
};

class jit_digits_t : public digits_kernel_t {
public:
    const char *name() const override { return "jit_digits_avx512_core_vnni"; }

    result_t make(const digits_format_t &format, dim_t rows) {
        result_t made = make_jit_make_digits(format, make_digits_);
        if (!format.has_groups()) at_once_ = most_token_lanes;
        for (dim_t r = 1; r <= std::min(rows, at_once_) && made.ok(); ++r) {
            const auto count = static_cast<int>(r);
            digits_code_t &code = code_[static_cast<size_t>(r)];
            made = takes_token_lanes(format, r)
                           ? make_jit_token_lanes(format, count, code)
                           : make_jit_as<generator_t>(code, format, count);
        }
        format_ = format;
        return made;
    }

    void make_digits(row_t row) const noexcept override { make_digits_(row); }
    void run(dim_t rows, const block_t &block) const noexcept override {
        for_row_blocks(rows, at_once_, [&](dim_t row, dim_t count) {
            block_t part = block;
            part.digits += row * format_.row_bytes();
            part.parts += row * format_.parts();
            part.scores += row * block.scores_pitch / 4;
            code_[static_cast<size_t>(count)](part);
        });
    }

private:
    static constexpr dim_t most_token_lanes = 4;

    // They are faster there (MEASURED.md).
    static bool takes_token_lanes(const digits_format_t &format, dim_t rows) {
        constexpr dim_t many_rows = 3;
        return !format.has_groups()
               && (rows >= many_rows || format.chunks() == 1);
    }

    digits_format_t format_;
    dim_t at_once_ = most_rows;
    make_digits_code_t make_digits_;
    std::array<digits_code_t, most_rows + 1> code_;
};

} // namespace

result_t make_jit_digits(const digits_format_t &format, dim_t rows, isa_t isa,
        std::shared_ptr<const digits_kernel_t> &kernel) {
    if (!has(isa, isa_avx512_core_vnni)) return refuse("no AVX-512 VNNI");
    if (format.chunks() > most_chunks)
        return refuse(text("a token has ", format.key_bytes(),
                " bytes; expected ", most_chunks * format.chunk, " at most"));
    if (format.groups() > most_groups)
        return refuse(text("a token has ", format.groups(),
                " groups; expected ", most_groups, " at most"));
    const dim_t unit = lane_bytes * format.numbers_a_byte();
    if (format.has_groups() && format.group % unit != 0)
        return refuse(text("groups have ", format.group,
                " numbers; expected a multiple of ", unit));
    // A short block's tokens are copied as they lie.
    if (format.pitch > most_pitch)
        return refuse(text("tokens lie ", format.pitch,
                " bytes apart; expected ", most_pitch, " at most"));
    auto made = std::make_shared<jit_digits_t>();
    const result_t result = made->make(format, rows);
    if (result.ok()) kernel = std::move(made);
    return result;
}

} // namespace dnnl_dequant
