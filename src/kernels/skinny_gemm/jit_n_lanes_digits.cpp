// A skinny GEMM of f32 by [K,N] weights of 4 bits on AVX-512 VNNI, N lanes.
// Each row of src is integers of 24 bits, whose digits of 8 bits meet four rows
// of weights at once:
//
//   for each chunk of rows of weights: for each panel of 128 columns:
//     for each row of src: for each four rows of weights:
//         interleave them, so that a lane has four weights of a column
//         for each digit: sums += weights * digits of four elements
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

constexpr int panel_vectors = 8, panel_cols = panel_vectors * 16;

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
    const zmms_t sums_ = vectors_.take("sums", panel_vectors *digits),
                 rows_of_weights_ = vectors_.take("interleaved rows", 4),
                 weights_of_ = vectors_.take("weights", 2);
    const Zmm bits_ = vectors_.take("low bits");

    bool has_zps() const { return w_.zps.type != data_type_t::undef; }
    uint32_t bias() const { return w_.sign_bit(); }
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
        load(bits_, constant(0x0f0f0f0fu));
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
                add(at, panel_cols * 4);
        });
        postamble();
    }

    void multiply_row(bool prefetches) {
        Label l_end;
        multiply(0, prefetches);
        add_to_c(offsetof(digit_rows_t::about_t, unit), true);
        cmp(dword[about(offsetof(digit_rows_t::about_t, has_rest))], 0);
        je(l_end, T_NEAR);
        multiply(a_rows_.digits_bytes(), false);
        add_to_c(offsetof(digit_rows_t::about_t, rest_unit), false);
        L(l_end);
    }

    // Sums the products of a panel's chunk by digits.
    void multiply(size_t place, bool prefetches) {
        for (int i = 0; i < sums_.count(); ++i)
            clear(sums_[i]);
        mov(at_, weights_);
        lea(digits_at_, ptr[a_ + place]);
        mov(steps_, static_cast<uint64_t>(a_rows_.elements() / rows_of_step));
        align(32);
        repeat(steps_, [&] {
            step(prefetches);
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

    void step(bool prefetches) {
        if (prefetches)
            for (int r = 0; r < rows_of_step; ++r)
                prefetch_stream(ptr[row_of(ahead_, r)]);
        // Pairs of rows, then all four.
        const Zmm a_high = rows_of_weights_[0], a_low = rows_of_weights_[1],
                  b_high = rows_of_weights_[2], b_low = rows_of_weights_[3];
        load(a_high, ptr[row_of(at_, 0)]);
        vpunpcklbw(a_low, a_high, ptr[row_of(at_, 1)]);
        vpunpckhbw(a_high, a_high, ptr[row_of(at_, 1)]);
        load(b_high, ptr[row_of(at_, 2)]);
        vpunpcklbw(b_low, b_high, ptr[row_of(at_, 3)]);
        vpunpckhbw(b_high, b_high, ptr[row_of(at_, 3)]);
        const Zmm low = weights_of_[0], high = weights_of_[1];
        for (int v = 0; v < 4; ++v) {
            const Zmm &a = v < 2 ? a_low : a_high, &b = v < 2 ? b_low : b_high;
            if (v % 2 == 0) vpunpcklwd(low, a, b);
            else vpunpckhwd(low, a, b);
            vpsrlw(high, low, 4);
            split(low);
            split(high);
            for (int d = 0; d < digits; ++d)
                for (int half = 0; half < 2; ++half)
                    dot4(sum(2 * v + half, d), weights_of_[half],
                            ptr_b[digits_at_
                                    + static_cast<size_t>(
                                            d * a_rows_.elements())]);
        }
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

    void add_to_c(size_t unit, bool corrects) {
        for (int v = 0; v < panel_vectors; ++v)
            join_digits(v);
        order_columns();
        const Zmm of_unit = weights_of_[0], of_src = weights_of_[1], zp = bits_;
        vbroadcastss(of_unit, ptr[about(unit)]);
        vbroadcastss(of_src, ptr[about(offsetof(digit_rows_t::about_t, sums))]);
        for (int v = 0; v < panel_vectors; ++v) {
            const Zmm x = ordered(v);
            const size_t at = static_cast<size_t>(v) * line;
            vmulps(x, x, of_unit);
            if (corrects && has_zps()) {
                vmovups(zp, ptr[zps_ + at]);
                if (bias() != 0)
                    vaddps(zp, zp,
                            constant(bits_of_f32(static_cast<float>(bias()))));
                vfnmadd231ps(x, of_src, zp);
            } else if (corrects && bias() != 0) {
                vfnmadd231ps(x, of_src,
                        constant(bits_of_f32(static_cast<float>(bias()))));
            }
            vmulps(x, x, ptr[scales_ + at]);
            vaddps(x, x, ptr[row_c_ + at]);
            vmovups(ptr[row_c_ + at], x);
        }
        load(bits_, constant(0x0f0f0f0fu));
    }

    // --- the order of columns
    //
    // Lane 4 i + j of vector 2 v + half has column 32 i + 8 v + 2 j + half.
    // Halves are interleaved first: 128 bits have four columns then. These are
    // transposed, four vectors at a time.

    // A joined vector, and the vector after order_columns().
    Zmm joined(int v) const { return sum(v, digits - 1); }
    Zmm ordered(int v) const { return sum(v, digits - 2); }

    void order_columns() {
        for (int v = 0; v < 4; ++v) {
            const Zmm low = joined(2 * v), high = joined(2 * v + 1),
                      other = sum(2 * v, 0);
            vunpckhps(other, low, high);
            vunpcklps(low, low, high);
            copy(high, other);
        }
        // The quarters of four vectors: every second vector of columns.
        for (int set = 0; set < 2; ++set) {
            const auto from = [&](int i) { return joined(4 * set + i); };
            const Zmm t[] = {sum(4 * set, 0), sum(4 * set + 1, 0),
                    sum(4 * set + 2, 0), sum(4 * set + 3, 0)};
            constexpr uint8_t lower = 0x44, upper = 0xee, even = 0x88,
                              odd = 0xdd;
            vshuff32x4(t[0], from(0), from(1), lower);
            vshuff32x4(t[1], from(0), from(1), upper);
            vshuff32x4(t[2], from(2), from(3), lower);
            vshuff32x4(t[3], from(2), from(3), upper);
            vshuff32x4(ordered(set), t[0], t[2], even);
            vshuff32x4(ordered(set + 2), t[0], t[2], odd);
            vshuff32x4(ordered(set + 4), t[1], t[3], even);
            vshuff32x4(ordered(set + 6), t[1], t[3], odd);
        }
    }
};

// One row waits for memory, if rows of weights share one or two sets of L1.
// More rows wait for their multiplications. Groups of 32 have chunks of 32
// anyway.
rows_by_turns_t turns_of(const skinny_weights_t &w, dim_t rows) {
    constexpr rows_by_turns_t of_rows {128, 512};
    constexpr dim_t half_page = 2048;
    const rows_by_turns_t of_row
            = this_machine().policy.kn_digits_of_half_pages;
    return rows == 1 && bytes_of(w.type, w.pitch) % half_page == 0
                           && w.group >= of_row.rows
                   ? of_row
                   : of_rows;
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

    dim_t nr() const override { return panel_cols; }

    void run(void *const *buffers,
            const block_t &block) const noexcept override {
        const dim_t chunk = a_rows_.elements();
        const dim_t panel_bytes = bytes_of(weights_.type, panel_cols);
        for (dim_t r = 0; r < block.rows; ++r)
            std::fill_n(block.c + r * block.c_pitch, block.cols, 0.f);
        args_t args;
        args.pitch = row_bytes(block);
        args.a_pitch = packed_bytes(1);
        args.c_pitch = block.c_pitch * 4;
        args.panels = block.cols / panel_cols;
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
