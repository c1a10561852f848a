// Bytes of keys by digits of the query, by vpdpbusd: keys have no sign, digits
// have one. Each token's sums by a row, one a lane of 32 bits, go to scratch
// memory; those of sixteen tokens are added up together by transposing.

#include <algorithm>

#include "base/text.hpp"
#include "kernels/attention/digits.hpp"
#include "kernels/jit/simd.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr size_t line = 64, all_tokens = digits_kernel_t::tokens_at_once;
constexpr dim_t most_chunks = 8, most_pitch = 64 * 1024;

using block_t = digits_kernel_t::block_t;

// Tokens whose sums fit into the registers next to their keys.
int tokens_of(int rows) {
    return rows == 1 ? 4 : rows <= 4 ? 2 : 1;
}

class generator_t : public jit_simd_t {
public:
    generator_t(const digits_format_t &format, int rows)
        : jit_simd_t("jit_digits")
        , format_(format)
        , rows_(rows)
        , tokens_(tokens_of(rows)) {}

private:
    using vectors_t = vector_registers_t<isa_avx512_core_vnni>;
    using zmms_t = vectors_t::range_t;

    const digits_format_t format_;
    const int rows_, tokens_;
    const Reg64 keys_ = general_.take("keys", rax),
                digits_ = general_.take("digits", rcx),
                constants_ = general_.take("constants of rows", rdx),
                scales_ = general_.take("scales", rbx),
                zps_ = general_.take("zero points", rsi),
                scores_ = general_.take("scores", r8),
                pitch_ = general_.take("pitch of scores", r9),
                groups_ = general_.take("groups to go", r10),
                sums_at_ = general_.take("sums of a group", r11),
                at_ = general_.take("sums of its tokens, or a row", r12),
                steps_ = general_.take("steps to go", r13);
    const Opmask k_tail_ {1};

    bool is_nibble() const { return bits_of(format_.type) == 4; }
    bool is_signed() const { return format_.bias() != 0; }
    int halves() const { return is_nibble() ? 2 : 1; }

    Address arg(size_t offset) { return qword[rdi + offset]; }

    void generate() override {
        preamble();
        mov(keys_, arg(offsetof(block_t, keys)));
        mov(digits_, arg(offsetof(block_t, digits)));
        mov(constants_, arg(offsetof(block_t, rows)));
        mov(scales_, arg(offsetof(block_t, scales)));
        mov(zps_, arg(offsetof(block_t, zps)));
        mov(scores_, arg(offsetof(block_t, scores)));
        mov(pitch_, arg(offsetof(block_t, scores_pitch)));
        mov(groups_, arg(offsetof(block_t, groups)));
        mov(sums_at_, arg(offsetof(block_t, sums)));
        if (const auto tail = format_.key_bytes() % format_.chunk; tail != 0) {
            mov(steps_, (uint64_t(1) << tail) - 1);
            kmovq(k_tail_, steps_);
        }
        Label l_group;
        L(l_group);
        multiply_tokens();
        make_scores();
        for (const Reg64 &pointer : {scales_, zps_, scores_})
            add(pointer, line);
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
        if (is_nibble()) vmovups(v.bits[0], constant(0x0f0f0f0f));
        else if (is_signed()) vmovups(v.bits[0], constant(0x80808080));
        mov(at_, sums_at_);
        mov(steps_, static_cast<uint64_t>(all_tokens)
                            / static_cast<uint64_t>(tokens_));
        Label l_step;
        align(32);
        L(l_step);
        begin_sums(v);
        for (int chunk = 0; chunk < static_cast<int>(format_.chunks()); ++chunk)
            multiply_chunk(v, chunk);
        store_sums(v);
        add(keys_, static_cast<uint32_t>(tokens_ * format_.pitch));
        add(at_, static_cast<uint32_t>(tokens_) * line);
        dec(steps_);
        jnz(l_step, T_NEAR);
    }

    void begin_sums(const step_vectors_t &v) {
        for (int r = 0; r < rows_; ++r)
            for (int d = 0; d < format_.digits; ++d) {
                load(sum(v, 0, r, d), of_row(r, begin_of(d)));
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
                    load(v.digits[d], digit_at(r, chunk * halves() + half, d));
                    for (int t = 0; t < tokens_; ++t)
                        dot4(sum(v, t, r, d), v.keys[t * halves() + half],
                                v.digits[d]);
                }
    }

    // The sums of the digits become one f32 a lane.
    void store_sums(const step_vectors_t &v) {
        for (int t = 0; t < tokens_; ++t)
            for (int r = 0; r < rows_; ++r) {
                const Zmm least = sum(v, t, r, 0), next = sum(v, t, r, 1);
                vpslld(next, next, 8);
                vpaddd(least, least, next);
                vcvtdq2ps(least, least);
                if (format_.digits == 3) {
                    const Zmm highest = sum(v, t, r, 2);
                    vcvtdq2ps(highest, highest);
                    vfmadd231ps(least, highest, constant(power_of_2(16)));
                }
                vmovaps(ptr[at_ + place_of(r) + static_cast<size_t>(t) * line],
                        least);
            }
    }

    static uint32_t power_of_2(int exponent) {
        return static_cast<uint32_t>(127 + exponent) << 23;
    }
    static size_t begin_of(int digit) {
        return offsetof(digits_row_t, begins)
               + static_cast<size_t>(digit) * line;
    }
    Address of_row(int row, size_t offset) {
        return ptr[constants_ + static_cast<size_t>(row) * sizeof(digits_row_t)
                   + offset];
    }
    Address float_of_row(int row, size_t offset) {
        return ptr_b[constants_
                     + static_cast<size_t>(row) * sizeof(digits_row_t)
                     + offset];
    }
    Address digit_at(int row, int vector, int digit) {
        return ptr[digits_ + static_cast<size_t>(row * format_.row_bytes())
                   + static_cast<size_t>(vector * format_.digits + digit)
                             * line];
    }

    // A chunk of a token's keys, without a sign.
    void load_keys(const zmms_t &keys, const Zmm &bits, int token, int chunk) {
        const size_t place = static_cast<size_t>(token * format_.pitch)
                             + static_cast<size_t>(chunk) * line;
        const bool is_short = (chunk + 1) * format_.chunk > format_.key_bytes();
        prefetch_early(ptr[keys_ + place + static_cast<size_t>(format_.ahead)]);
        const Zmm key = keys[token * halves()];
        const Address at = ptr[keys_ + place];
        if (is_short) vmovdqu8(key | k_tail_ | T_z, at);
        if (!is_nibble()) {
            if (is_signed()) {
                if (is_short) vpxord(key, key, bits);
                else vpxord(key, bits, at);
            } else if (!is_short) load(key, at);
            return;
        }
        if (!is_short) load(key, at);
        const Zmm high = keys[token * halves() + 1];
        if (is_signed()) vpxord(key, key, constant(0x88888888));
        vpsrlw(high, key, 4);
        bit_and(key, key, bits);
        bit_and(high, high, bits);
    }

    void make_scores() {
        vectors_t vectors;
        const zmms_t tokens = vectors.take("sums of tokens", all_tokens),
                     scratch = vectors.take("interleaved", 2);
        const Zmm x = tokens[0], zps = scratch[0];
        mov(at_, scores_);
        for (int r = 0; r < rows_; ++r) {
            add_up(place_of(r), tokens, scratch);
            vmulps(x, x, constant(power_of_2(1 - 8 * format_.digits)));
            if (format_.has_zps) {
                vmovups(zps, ptr[zps_]);
                vfnmadd231ps(
                        x, zps, float_of_row(r, offsetof(digits_row_t, total)));
            }
            vmulps(x, x, float_of_row(r, offsetof(digits_row_t, norm)));
            vmulps(x, x, ptr[scales_]);
            vmovups(ptr[at_], x);
            add(at_, pitch_);
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
        result_t made;
        for (dim_t r = 1; r <= std::min(rows, most_rows) && made.ok(); ++r)
            made = make_jit_as<generator_t>(
                    code_[static_cast<size_t>(r)], format, static_cast<int>(r));
        return made;
    }

    void run(dim_t rows, const block_t &block) const noexcept override {
        code_[static_cast<size_t>(rows)](block);
    }

private:
    std::array<jit_function_t<const block_t>, most_rows + 1> code_;
};

} // namespace

result_t make_jit_digits(const digits_format_t &format, dim_t rows, isa_t isa,
        std::shared_ptr<const digits_kernel_t> &kernel) {
    if (!has(isa, isa_avx512_core_vnni)) return refuse("no AVX-512 VNNI");
    if (format.chunks() > most_chunks)
        return refuse(text("a token has ", format.key_bytes(),
                " bytes; expected ", most_chunks * format.chunk, " at most"));
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
