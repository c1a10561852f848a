// Bytes of values by digits of rows of weights, by vpdpbusd: values have no
// sign, digits have one. The bytes of four tokens are interleaved, so that a
// lane of 32 bits has those of one column. A lane's sums over digits are exact.
//
// A register then has a part of a chunk. Lane 4 q + n of part i has the four
// bytes 16 q + 4 i + n. The parts that have sums in registers are multiplied at
// once, for all tokens. Then come the next parts.

#include <array>

#include "base/text.hpp"
#include "kernels/attention/jit_make_value_digits.hpp"
#include "kernels/attention/value_digits.hpp"
#include "kernels/jit/simd.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int at_once = value_digits_kernel_t::tokens_at_once;
constexpr int parts_a_chunk = 4;
constexpr dim_t most_chunks = 8, most_pitch = 64 * 1024;
constexpr size_t line = 64;

struct multiply_format_t : value_digits_t {
    int digits, rows;
};

class multiply_t : public jit_simd_t {
public:
    explicit multiply_t(const multiply_format_t &format)
        : jit_simd_t("jit_value_digits")
        , format_(format) {}

private:
    using block_t = value_digits_kernel_t::block_t;
    using parts_t = std::array<int, parts_a_chunk>;

    const multiply_format_t format_;
    const Reg64 values_ = general_.take("values", rax),
                digits_at_ = general_.take("digits", rdx),
                rows_ = general_.take("rows", rbx),
                sums_at_ = general_.take("sums", rsi),
                fours_ = general_.take("fours of tokens to go", r8),
                bits_ = general_.take("bits", r9),
                last_ = general_.take("the last four", r10);
    const Opmask k_tail_ {1};
    vector_registers_t<isa_avx512_core_vnni> vectors_;
    const vmm_range_t<Zmm> values_of_
            = vectors_.take("values of four tokens", at_once + 1);
    const Zmm mask_ = vectors_.take("low nibbles, or signs"),
              signs_ = vectors_.take("signs of nibbles");
    static constexpr int most_sums = 24;
    const vmm_range_t<Zmm> sums_ = vectors_.take("sums", most_sums);

    bool is_nibble() const { return bits_of(format_.type) == 4; }
    int halves() const { return is_nibble() ? 2 : 1; }
    int sums_a_part() const { return halves() * format_.rows * format_.digits; }
    // A chunk's parts that are multiplied at once, or those of some chunks.
    int parts() const {
        int count = parts_a_chunk;
        while (count > 1 && count * sums_a_part() > most_sums)
            count /= 2;
        return count;
    }
    int chunks_together() const {
        const int room = most_sums / (parts_a_chunk * sums_a_part());
        return std::min(std::max(room, 1), static_cast<int>(format_.chunks()));
    }

    void generate() override {
        preamble();
        mov(rows_, arg(offsetof(block_t, rows)));
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
        const auto chunks = static_cast<int>(format_.chunks());
        for (int chunk = 0; chunk < chunks; chunk += chunks_together())
            for (int part = 0; part < parts_a_chunk; part += parts())
                multiply_parts(chunk,
                        std::min(chunks_together(), chunks - chunk), part);
        postamble();
    }

    // Multiplies the parts from `part` on of some chunks by all tokens.
    void multiply_parts(int first_chunk, int chunks, int part) {
        mov(values_, arg(offsetof(block_t, values)));
        mov(digits_at_, arg(offsetof(block_t, digits)));
        mov(fours_, arg(offsetof(block_t, fours)));
        mov(last_, arg(offsetof(block_t, last)));
        const int vectors = chunks * parts() * halves();
        for (int r = 0; r < format_.rows; ++r)
            for (int d = 0; d < format_.digits; ++d)
                for (int v = 0; v < vectors; ++v)
                    if (v > 0) copy(sum(r, d, v), sum(r, d, 0));
                    else vpbroadcastd(sum(r, d, 0), begin_of(r, d));
        Label l_fours, l_last, l_done;
        test(fours_, fours_);
        jz(l_last, T_NEAR);
        align(32);
        L(l_fours);
        repeat(fours_, [&] {
            for (int c = 0; c < chunks; ++c)
                multiply_four(first_chunk + c, part, c * parts() * halves());
            add(values_, static_cast<uint32_t>(at_once * format_.pitch));
            add(digits_at_, at_once * 4);
        });
        L(l_last);
        test(last_, last_);
        jz(l_done, T_NEAR);
        mov(values_, last_);
        xor_(last_, last_);
        mov(fours_, 1);
        jmp(l_fours, T_NEAR);
        L(l_done);
        for (int r = 0; r < format_.rows; ++r)
            for (int v = 0; v < vectors; ++v)
                store(r, v, first_chunk, part);
    }

    // @param vector Counts those with sums: low nibbles, high ones, parts,
    //     chunks.
    Zmm sum(int row, int digit, int vector) const {
        return sums_[(vector * format_.rows + row) * format_.digits + digit];
    }
    RegExp of_row(int row) const {
        return rows_ + static_cast<size_t>(row) * sizeof(value_digits_row_t);
    }
    Address begin_of(int row, int digit) {
        return ptr[of_row(row) + offsetof(value_digits_row_t, begins)
                   + static_cast<size_t>(digit) * 4];
    }

    // Multiplies parts of a chunk of four tokens by their digits.
    void multiply_four(int chunk, int part, int first_sum) {
        for (int t = 0; t < at_once; ++t)
            load_bytes(values_of_[t], t, chunk, part);
        const parts_t registers = interleave(part);
        const Zmm high = values_of_[3];
        for (int p = 0; p < parts(); ++p) {
            const Zmm x = values_of_[registers[static_cast<size_t>(p)]];
            const int vector = first_sum + p * halves();
            if (is_nibble()) {
                vpsrlw(high, x, 4);
                split(high);
                split(x);
                multiply(high, vector + 1);
            } else if (format_.bias() != 0) bit_xor(x, x, mask_);
            multiply(x, vector);
        }
    }

    // Leaves a nibble of each byte, without a sign.
    void split(const Zmm &x) {
        constexpr uint8_t and_then_xor = 0x6a;
        if (format_.bias() == 0) bit_and(x, x, mask_);
        else vpternlogd(x, mask_, signs_, and_then_xor);
    }

    void multiply(const Zmm &values, int vector) {
        for (int r = 0; r < format_.rows; ++r)
            for (int d = 0; d < format_.digits; ++d)
                vpdpbusd(sum(r, d, vector), values,
                        ptr_b[digits_at_
                                + static_cast<size_t>(
                                        r * value_digits_kernel_t::row_bytes)
                                + static_cast<size_t>(d) * 4]);
    }

    // Returns the registers that have the parts, none of which is the last but
    // one.
    parts_t interleave(int part) {
        const auto &v = values_of_;
        if (parts() < parts_a_chunk) {
            if (part < 2) {
                vpunpcklbw(v[0], v[0], v[1]);
                vpunpcklbw(v[1], v[2], v[3]);
            } else {
                vpunpckhbw(v[0], v[0], v[1]);
                vpunpckhbw(v[1], v[2], v[3]);
            }
            if (part % 2 == 0) vpunpcklwd(v[2], v[0], v[1]);
            if (part % 2 == 1 || parts() == 2) vpunpckhwd(v[4], v[0], v[1]);
            if (part % 2 == 1) return {4};
            return {2, 4};
        }
        vpunpcklbw(v[4], v[0], v[1]);
        vpunpckhbw(v[1], v[0], v[1]);
        vpunpcklbw(v[0], v[2], v[3]);
        vpunpckhbw(v[3], v[2], v[3]);
        vpunpcklwd(v[2], v[4], v[0]);
        vpunpckhwd(v[4], v[4], v[0]);
        vpunpcklwd(v[0], v[1], v[3]);
        vpunpckhwd(v[1], v[1], v[3]);
        return {2, 4, 0, 1};
    }

    // Each part of a chunk prefetches some of the four tokens.
    void load_bytes(const Zmm &to, int token, int chunk, int part) {
        const size_t place = static_cast<size_t>(token * format_.pitch)
                             + static_cast<size_t>(chunk * format_.chunk);
        const RegExp at = values_ + place;
        if (token % (parts_a_chunk / parts()) == part / parts()
                && place / line % static_cast<size_t>(format_.lines) == 0)
            prefetch_early(ptr[at + static_cast<size_t>(format_.ahead)]);
        const bool is_short
                = (chunk + 1) * format_.chunk > format_.value_bytes();
        if (is_short) vmovdqu8(to | k_tail_ | T_z, ptr[at]);
        else load(to, ptr[at]);
    }

    // Adds a row's sums of digits in a vector to its sums.
    void store(int row, int vector, int first_chunk, int first_part) {
        constexpr uint32_t f32_256 = 0x43800000, f32_65536 = 0x47800000;
        const int half = vector % halves(), p = vector / halves(),
                  part = first_part + p % parts(),
                  chunk = first_chunk + p / parts();
        const Zmm x = sum(row, 0, vector);
        for (int d = 0; d < format_.digits; ++d)
            vcvtdq2ps(sum(row, d, vector), sum(row, d, vector));
        vfmadd231ps(x, sum(row, 1, vector), constant(f32_256));
        if (format_.digits == 3)
            vfmadd231ps(x, sum(row, 2, vector), constant(f32_65536));
        const dim_t place = (chunk * halves() + half) * parts_a_chunk + part;
        const auto at
                = ptr[sums_at_
                        + static_cast<size_t>(row * format_.sum_floats()) * 4
                        + static_cast<size_t>(place) * line];
        const Zmm norm = values_of_[0];
        vbroadcastss(
                norm, ptr[of_row(row) + offsetof(value_digits_row_t, norm)]);
        vfmadd213ps(x, norm, at);
        vmovups(at, x);
    }
};

// A chunk's low nibbles have four vectors of sums, a part each, then its high
// ones.
class put_in_order_t : public jit_simd_t {
public:
    explicit put_in_order_t(const value_digits_t &format)
        : jit_simd_t("jit_order_value_sums")
        , format_(format) {}

    struct args_t {
        float *sums;
        dim_t chunks; // of all rows
    };

private:
    const value_digits_t format_;
    const Reg64 sums_at_ = general_.take("sums", rax),
                chunks_ = general_.take("chunks to go", rdx);
    vector_registers_t<isa_avx512_core_vnni> vectors_;
    const vmm_range_t<Zmm> parts_ = vectors_.take("parts", 2 * parts_a_chunk),
                           halves_ = vectors_.take("halves", parts_a_chunk),
                           orders_ = vectors_.take("orders of nibbles", 2);

    bool is_nibble() const { return bits_of(format_.type) == 4; }

    void generate() override {
        preamble();
        mov(sums_at_, arg(offsetof(args_t, sums)));
        mov(chunks_, arg(offsetof(args_t, chunks)));
        if (is_nibble()) {
            lanes_t lower {}, upper {};
            for (uint32_t lane = 0; lane < lower.size(); ++lane) {
                lower[lane] = lane / 2 + lane % 2 * 16;
                upper[lane] = lower[lane] + 8;
            }
            load(orders_[0], constant(lower));
            load(orders_[1], constant(upper));
        }
        const int vectors = is_nibble() ? 2 * parts_a_chunk : parts_a_chunk;
        repeat(chunks_, [&] {
            for (int first = 0; first < vectors; first += parts_a_chunk)
                join_quarters(first);
            for (int p = 0; p < parts_a_chunk; ++p)
                store(p);
            add(sums_at_, static_cast<uint32_t>(vectors) * line);
        });
        postamble();
    }

    Address vector_at(int vector) {
        return ptr[sums_at_ + static_cast<size_t>(vector) * line];
    }

    // Four columns of each quarter become sixteen of one.
    void join_quarters(int first) {
        constexpr uint8_t lower = 0x44, upper = 0xee, even = 0x88, odd = 0xdd;
        for (int p = 0; p < parts_a_chunk; ++p)
            vmovups(parts_[first + p], vector_at(first + p));
        for (int pair = 0; pair < 2; ++pair) {
            const Zmm x = parts_[first + 2 * pair],
                      y = parts_[first + 2 * pair + 1];
            vshuff32x4(halves_[2 * pair], x, y, lower);
            vshuff32x4(halves_[2 * pair + 1], x, y, upper);
        }
        for (int half = 0; half < 2; ++half) {
            const Zmm x = halves_[half], y = halves_[2 + half];
            vshuff32x4(parts_[first + 2 * half], x, y, even);
            vshuff32x4(parts_[first + 2 * half + 1], x, y, odd);
        }
    }

    void store(int part) {
        const Zmm x = parts_[part];
        if (!is_nibble()) return vmovups(vector_at(part), x);
        const Zmm high = parts_[parts_a_chunk + part];
        for (int half = 0; half < 2; ++half) {
            const Zmm both = halves_[half];
            copy(both, x);
            vpermt2ps(both, orders_[half], high);
            vmovups(vector_at(2 * part + half), both);
        }
    }
};

class jit_value_digits_t : public value_digits_kernel_t {
public:
    const char *name() const override {
        return "jit_value_digits_avx512_core_vnni";
    }

    result_t make(const value_digits_t &format, dim_t rows) {
        format_ = format;
        result_t made = make_jit_measure_weights(measure_);
        if (made.ok()) made = make_jit_as<put_in_order_t>(order_, format);
        constexpr int most = value_digits_t::most_digits;
        for (int digits = format.tolerance > 0 ? 2 : most;
                digits <= most && made.ok(); ++digits)
            made = make(digits, std::min(rows, most_rows));
        return made;
    }

    void measure(const weights_t &weights) const noexcept override {
        measure_(weights);
    }
    void make_digits(
            int digits, const weights_t &weights) const noexcept override {
        of_digits_[at(digits)].make(weights);
    }
    void run(int digits, dim_t rows,
            const block_t &block) const noexcept override {
        of_digits_[at(digits)].multiply[static_cast<size_t>(rows)](block);
    }
    void put_in_order(dim_t rows, float *sums) const noexcept override {
        put_in_order_t::args_t args {sums, rows * format_.chunks()};
        order_(args);
    }

private:
    struct of_digits_t {
        value_weights_code_t make;
        std::array<jit_function_t<const block_t>, most_rows + 1> multiply;
    };
    static size_t at(int digits) { return static_cast<size_t>(digits) - 2; }

    result_t make(int digits, dim_t rows) {
        of_digits_t &code = of_digits_[at(digits)];
        result_t made = make_jit_make_value_digits(format_, digits, code.make);
        for (dim_t r = 1; r <= rows && made.ok(); ++r)
            made = make_jit_as<multiply_t>(
                    code.multiply[static_cast<size_t>(r)],
                    multiply_format_t {format_, digits, static_cast<int>(r)});
        return made;
    }

    value_digits_t format_;
    value_weights_code_t measure_;
    jit_function_t<put_in_order_t::args_t> order_;
    std::array<of_digits_t, 2> of_digits_; // two digits, three
};

} // namespace

result_t make_jit_value_digits(const value_digits_t &format, dim_t rows,
        isa_t isa, std::shared_ptr<const value_digits_kernel_t> &kernel) {
    if (!has(isa, isa_avx512_core_vnni)) return refuse("no AVX-512 VNNI");
    if (format.chunks() > most_chunks)
        return refuse(text("a token has ", format.value_bytes(),
                " bytes; expected ", most_chunks * format.chunk, " at most"));
    // A short block's tokens are copied as they lie.
    if (format.pitch > most_pitch)
        return refuse(text("tokens lie ", format.pitch,
                " bytes apart; expected ", most_pitch, " at most"));
    auto made = std::make_shared<jit_value_digits_t>();
    const result_t result = made->make(format, rows);
    if (result.ok()) kernel = std::move(made);
    return result;
}

} // namespace dnnl_dequant
