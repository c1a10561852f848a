// A skinny GEMM of f32 by [K,N] weights of 2 or 4 bits on AVX-512 VNNI, N
// lanes. Each row of src is integers of 24 bits, whose digits of 8 bits meet
// four rows of weights at once:
//
//   for each chunk of rows of weights: for each panel, a line of 64 bytes:
//     for each row of src: for each half of a panel of 2 bits: for each four
//     rows of weights:
//         interleave them, so that a lane has four weights of some columns
//         for each of these columns: split its weights off
//           for each digit: sums += weights * digits of four elements
//       c += (sums * unit - zp * sum of src) * scale
//
// A chunk's integer sums are exact: 2^18 at most for each digit. A chunk whose
// elements differ much has the digits of their rests too (digit_rows_t).

#include <algorithm>
#include <cstddef>

#include "base/bits.hpp"
#include "base/text.hpp"
#include "kernels/jit/prefetch_rows.hpp"
#include "kernels/machine.hpp"
#include "kernels/skinny_gemm/digits_gemm.hpp"
#include "kernels/skinny_gemm/jit_weights.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

dim_t panel_cols(data_type_t weights) {
    constexpr dim_t bits = 8 * digit_rows_t::line;
    return bits / bits_of(weights);
}

struct args_t {
    const void *weights; // of a chunk
    const char *a;       // the chunk's digits
    const float *scales, *zps;
    float *c;
    dim_t pitch;            // of weights, bytes
    dim_t a_pitch, c_pitch; // bytes
    dim_t panels, rows;
    panels_ahead_t ahead;
};

class generator_t : public jit_simd_t {
public:
    generator_t(const skinny_weights_t &weights, const digit_rows_t &a_rows)
        : jit_simd_t("jit_n_lanes_digits")
        , w_(weights)
        , a_rows_(a_rows) {}

private:
    using zmms_t = vector_registers_t<isa_avx512_core_vnni>::range_t;
    static constexpr int digits = digit_rows_t::digits;
    static constexpr size_t line = digit_rows_t::line;
    static constexpr int rows_of_step = 4;
    // Columns have sums in so many vectors, in two sets.
    static constexpr int sum_vectors = 8, sets = 2, of_set = 4;

    const skinny_weights_t w_;
    const digit_rows_t a_rows_;
    const Reg64 weights_ = general_.take("weights", rax),
                at_ = general_.take("rows of weights", rcx),
                a_ = general_.take("digits", rdx),
                digits_at_ = general_.take("digits of four elements", rbx),
                pitch_ = general_.take("pitch of weights", rsi),
                pitch3_ = general_.take("three pitches", r8),
                scales_ = general_.take("scales", r9),
                zps_ = general_.take("zero points", r10),
                c_ = general_.take("c", r11),
                ahead_ = general_.take("prefetch distance", r12),
                panels_ = general_.take("panels to go", r13),
                steps_ = general_.take("steps to go", r14),
                row_c_ = general_.take("c of a row", r15),
                rows_ = general_.take("rows to go", rbp);
    vector_registers_t<isa_avx512_core_vnni> vectors_;
    const zmms_t sums_ = vectors_.take("sums", sum_vectors *digits),
                 rows_of_weights_ = vectors_.take("interleaved rows", 4),
                 weights_of_ = vectors_.take("weights", 3);
    const Zmm bits_ = vectors_.take("low bits");

    bool has_zps() const { return w_.zps.type != data_type_t::undef; }
    uint32_t bias() const { return w_.sign_bit(); }
    // Columns of a byte.
    int parts() const { return 8 / static_cast<int>(bits_of(w_.type)); }
    // A panel of 2 bits is multiplied half by half.
    int halves() const { return parts() * of_set / sum_vectors; }
    Zmm sum(int vector, int digit) const {
        return sums_[vector * digits + digit];
    }
    RegExp about(size_t member) const {
        return a_ + a_rows_.about_place() + member;
    }

    void generate() override {
        preamble();
        mov(weights_, arg(offsetof(args_t, weights)));
        mov(scales_, arg(offsetof(args_t, scales)));
        mov(zps_, arg(offsetof(args_t, zps)));
        mov(c_, arg(offsetof(args_t, c)));
        mov(pitch_, arg(offsetof(args_t, pitch)));
        mov(panels_, arg(offsetof(args_t, panels)));
        lea(pitch3_, ptr[pitch_ + pitch_ * 2]);
        load_bits();
        repeat(panels_, [this] {
            load_ahead(*this, ahead_, panels_, rdi + offsetof(args_t, ahead));
            add(ahead_, weights_);
            mov(a_, arg(offsetof(args_t, a)));
            mov(row_c_, c_);
            mov(rows_, arg(offsetof(args_t, rows)));
            Label l_row, l_end;
            multiply_row(true);
            L(l_row);
            dec(rows_);
            jz(l_end, T_NEAR);
            add(a_, arg(offsetof(args_t, a_pitch)));
            add(row_c_, arg(offsetof(args_t, c_pitch)));
            multiply_row(false);
            jmp(l_row, T_NEAR);
            L(l_end);
            add(weights_, disp(line));
            for (const Reg64 &at : {scales_, zps_, c_})
                add(at, disp(panel_cols(w_.type) * 4));
        });
        postamble();
    }

    void load_bits() {
        load(bits_, constant(parts() == 2 ? 0x0f0f0f0fu : 0x03030303u));
    }

    void multiply_row(bool prefetches) {
        for (int half = 0; half < halves(); ++half)
            multiply_half(half, prefetches && half == 0);
    }

    void multiply_half(int half, bool prefetches) {
        Label l_end;
        multiply(half, 0, prefetches);
        add_to_c(half, offsetof(digit_rows_t::about_t, unit), true);
        cmp(dword[about(offsetof(digit_rows_t::about_t, has_rest))], 0);
        je(l_end, T_NEAR);
        multiply(half, a_rows_.digits_bytes(), false);
        add_to_c(half, offsetof(digit_rows_t::about_t, rest_unit), false);
        L(l_end);
    }

    // Sums the products of a panel's chunk, or of its half, by digits.
    void multiply(int half, size_t place, bool prefetches) {
        for (int i = 0; i < sums_.count(); ++i)
            clear(sums_[i]);
        mov(at_, weights_);
        lea(digits_at_, ptr[a_ + place]);
        mov(steps_, static_cast<uint64_t>(a_rows_.elements() / rows_of_step));
        align(32);
        repeat(steps_, [&] {
            step(half, prefetches);
            lea(at_, ptr[at_ + pitch_ * 4]);
            if (prefetches) lea(ahead_, ptr[ahead_ + pitch_ * 4]);
            add(digits_at_, rows_of_step);
        });
    }

    RegExp row_of(const Reg64 &first, int row) const {
        return row == 0   ? RegExp(first)
               : row == 3 ? first + pitch3_
                          : first + pitch_ * row;
    }

    // Interleaves four rows to four vectors. A half of a panel of 2 bits has
    // two of them: the lower or the upper 8 of each 16 bytes.
    void step(int half, bool prefetches) {
        if (prefetches)
            for (int r = 0; r < rows_of_step; ++r)
                prefetch_stream(ptr[row_of(ahead_, r)]);
        // Pairs of rows, then all four.
        const bool has_low = half == 0, has_high = half == halves() - 1;
        interleave(0, has_low, has_high);
        interleave(2, has_low, has_high);
        const int of_half = of_set / halves();
        for (int v = 0; v < of_half; ++v) {
            const int side = half * of_half + v < 2 ? 1 : 0;
            const Zmm &a = rows_of_weights_[side],
                      &b = rows_of_weights_[2 + side], weights = weights_of_[0];
            if (v % 2 == 0) vpunpcklwd(weights, a, b);
            else vpunpckhwd(weights, a, b);
            for (int part = parts() - 2; part >= 0; part -= 2)
                multiply_parts(part, v * parts() + part);
        }
    }

    // Interleaves bytes of two rows.
    void interleave(int row, bool has_low, bool has_high) {
        const Zmm high = rows_of_weights_[row], low = rows_of_weights_[row + 1];
        const Address next = ptr[row_of(at_, row + 1)];
        load(high, ptr[row_of(at_, row)]);
        if (has_low) vpunpcklbw(low, high, next);
        if (has_high) vpunpckhbw(high, high, next);
    }

    // Multiplies two columns of each byte. The first ones overwrite the bytes.
    void multiply_parts(int part, int first_sum) {
        const int bits = 8 / parts();
        const Zmm all = weights_of_[0], high = weights_of_[1],
                  low = part == 0 ? all : weights_of_[2];
        vpsrlw(high, all, static_cast<uint8_t>((part + 1) * bits));
        if (part > 0) vpsrlw(low, all, static_cast<uint8_t>(part * bits));
        split(low);
        split(high);
        for (int d = 0; d < digits; ++d)
            for (const bool is_high : {false, true})
                dot4(sum(first_sum + is_high, d), is_high ? high : low,
                        ptr_b[digits_at_
                                + static_cast<size_t>(d * a_rows_.elements())]);
    }

    void split(const Zmm &x) {
        constexpr uint8_t and_then_xor = 0x6a;
        if (bias() == 0) return bit_and(x, x, bits_);
        vpternlogd(x, bits_, constant(bias() * 0x01010101u), and_then_xor);
    }

    // Digits of a vector of columns become one f32.
    void join_digits(int vector) {
        const Zmm to = sum(vector, digits - 1);
        for (int d = digits; d-- > 0;)
            vcvtdq2ps(sum(vector, d), sum(vector, d));
        for (int d = digits - 1; d-- > 0;)
            vfmadd132ps(to, sum(vector, d), constant(bits_of_f32(256)));
    }

    void add_to_c(int half, size_t unit, bool corrects) {
        for (int v = 0; v < sum_vectors; ++v)
            join_digits(v);
        const Zmm of_unit = weights_of_[0], of_src = weights_of_[1];
        vbroadcastss(of_unit, ptr[about(unit)]);
        vbroadcastss(of_src, ptr[about(offsetof(digit_rows_t::about_t, sums))]);
        for (int set = 0; set < sets; ++set) {
            order_columns(set);
            for (int i = 0; i < of_set; ++i) {
                const size_t at
                        = static_cast<size_t>(i * parts() + half * sets + set)
                          * line;
                const Zmm x = ordered(set, i);
                vmulps(x, x, of_unit);
                if (corrects) correct(x, of_src, zps_ + at);
                vmulps(x, x, ptr[scales_ + at]);
                vaddps(x, x, ptr[row_c_ + at]);
                vmovups(ptr[row_c_ + at], x);
            }
        }
    }

    void correct(const Zmm &x, const Zmm &of_src, const RegExp &zps) {
        const Zmm zp = rows_of_weights_[0];
        const float bias_f = static_cast<float>(bias());
        if (has_zps() && bias() != 0) {
            vmovups(zp, ptr[zps]);
            vaddps(zp, zp, constant(bits_of_f32(bias_f)));
            vfnmadd231ps(x, of_src, zp);
        } else if (has_zps()) {
            vfnmadd231ps(x, of_src, ptr[zps]);
        } else if (bias() != 0) {
            vfnmadd231ps(x, of_src, constant(bits_of_f32(bias_f)));
        }
    }

    // --- the order of columns
    //
    // Lane 4 i + j of sums has columns of byte 16 i + 4 v + j of the panel.
    // There is a vector for each v, for each part of the byte. A set has 16
    // columns in order of each i: four vectors of sums, and four in order.

    Zmm joined(int set, int v) const {
        return sum(set * of_set + v, digits - 1);
    }
    Zmm ordered(int set, int i) const {
        return sum(set * of_set + i, digits - 2);
    }

    void order_columns(int set) {
        constexpr uint8_t lower = 0x44, upper = 0xee;
        const auto halves = [&](int i) { return sum(set * of_set + i, 0); };
        for (int pair = 0; pair < 2; ++pair) {
            const Zmm a = joined(set, 2 * pair), b = joined(set, 2 * pair + 1);
            vshuff32x4(halves(pair), a, b, lower);
            vshuff32x4(halves(pair + 2), a, b, upper);
        }
        for (int i = 0; i < of_set; ++i) {
            load(ordered(set, i), constant(order_of(i % 2)));
            vpermi2ps(
                    ordered(set, i), halves(i / 2 * 2), halves(i / 2 * 2 + 1));
        }
    }

    // Returns the lanes of two vectors that have 16 columns in order. Each
    // vector has lanes 4 i + j, for two i, of two vectors of sums.
    lanes_t order_of(int i) const {
        lanes_t order;
        for (int lane = 0; lane < 16; ++lane) {
            const int bytes = lane / parts(), j = bytes % of_set,
                      v = bytes / of_set * parts() + lane % parts();
            order[static_cast<size_t>(lane)]
                    = static_cast<uint32_t>(v / 2 * 16 + v % 2 * 8 + i * 4 + j);
        }
        return order;
    }
};

// One row waits for memory, if rows of weights share one or two sets of L1.
// More rows wait for their multiplications. Groups of 32 have chunks of 32
// anyway.
rows_by_turns_t turns_of(const skinny_weights_t &w, dim_t rows) {
    constexpr dim_t half_page = 2048;
    const machine_policy_t &policy = this_machine().policy;
    const rows_by_turns_t of_row = policy.kn_digits_of_half_pages;
    return rows == 1 && bytes_of(w.type, w.pitch) % half_page == 0
                           && w.group >= of_row.rows
                   ? of_row
                   : policy.kn_digits;
}

digit_rows_t digit_rows_of(const skinny_weights_t &w, dim_t most) {
    constexpr dim_t least = 32;
    digit_rows_t rows;
    rows.vectors = 1;
    rows.depth = w.depth;
    rows.in_order = most;
    while (rows.in_order > least
            && (std::min(w.group, w.depth) % rows.in_order != 0
                    || w.depth % rows.in_order != 0))
        rows.in_order /= 2;
    return rows;
}

class n_lanes_digits_t : public digits_gemm_t {
public:
    n_lanes_digits_t(
            const skinny_weights_t &weights, const rows_by_turns_t &turns)
        : digits_gemm_t(weights, digit_rows_of(weights, turns.rows))
        , bytes_ahead_(turns.ahead) {}

    result_t make(dim_t rows) {
        const dim_t most = this_machine().policy.most_kn_digit_rows;
        const result_t made = check();
        if (!made.ok()) return made;
        if (rows > most)
            return refuse(text(rows, " rows; expected ", most, " at most"));
        return make_jit_as<generator_t>(code_, weights_, a_rows_);
    }

    dim_t nr() const override { return panel_cols(weights_.type); }

    void run(void *const *buffers,
            const block_t &block) const noexcept override {
        const dim_t chunk = a_rows_.elements();
        constexpr dim_t panel_bytes = digit_rows_t::line;
        for (dim_t r = 0; r < block.rows; ++r)
            std::fill_n(block.c + r * block.c_pitch, block.cols, 0.f);
        args_t args;
        args.pitch = row_bytes(block);
        args.a_pitch = packed_bytes(1);
        args.c_pitch = block.c_pitch * 4;
        args.panels = block.cols / nr();
        args.rows = block.rows;
        args.c = block.c;
        args.ahead = panels_ahead(bytes_ahead_, panel_bytes,
                bytes_of(weights_.type, block.cols), args.pitch * chunk);
        for (dim_t k = 0; k < weights_.depth; k += chunk) {
            const dim_t group = k / weights_.group;
            args.weights = static_cast<const char *>(buffers[0])
                           + k * args.pitch
                           + bytes_of(weights_.type, block.first_col);
            args.a = row_of(block, 0)
                     + k / chunk * static_cast<dim_t>(a_rows_.chunk_bytes());
            args.scales = block.scales + group * block.c_pitch;
            args.zps = block.zps + group * block.c_pitch;
            code_(args);
        }
    }

private:
    const dim_t bytes_ahead_;
    jit_function_t<const args_t> code_;
};

} // namespace

result_t make_n_lanes_digits_avx512(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    auto made = std::make_shared<n_lanes_digits_t>(
            weights, turns_of(weights, rows));
    const result_t result = made->make(rows);
    if (result.ok()) skinny_gemm = std::move(made);
    return result;
}

} // namespace dnnl_dequant
