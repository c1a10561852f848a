// A skinny GEMM of f32 by [N,K] weights of 2 or 4 bits on AVX-512 VNNI, K
// lanes. Each row of src is integers of 24 bits, whose digits of 8 bits meet
// the bits of weights as bytes:
//
//   for each chunk: for each column: split bytes of weights into vectors
//     for each row: for each digit, the highest one first:
//         sums = 256 * sums + vectors * digit
//       total += (sums * unit - zp * sums of src) * scale
//
// A lane's integer sums are exact: 2^30 at most. A chunk whose elements differ
// much has the digits of their rests too (digit_rows_t).

#include <algorithm>
#include <cstddef>

#include "base/bits.hpp"
#include "base/text.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/digits_gemm.hpp"
#include "kernels/skinny_gemm/jit_k_lanes_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// One generated function multiplies at most so many rows.
constexpr int most_rows = 2;
constexpr int most_cols = 7;

// Registers hold the totals of so many columns next to their weights and sums.
constexpr int cols_of(int rows, int vectors) {
    if (vectors > 2) return rows == 1 ? 4 : 3;
    return rows == 1 ? most_cols : 4;
}

struct args_t {
    const void *weights; // of the first column
    const void *ahead;   // what is prefetched of it
    const char *a;       // rows of digits
    const float *scales, *zps;
    float *sums; // rows x columns
    dim_t pitch; // of weights, bytes
};

digit_rows_t digit_rows_of(const skinny_weights_t &w) {
    digit_rows_t rows;
    rows.vectors = 8 / static_cast<int>(bits_of(w.type));
    rows.depth = w.depth;
    return rows;
}

class generator_t : public jit_simd_t {
public:
    generator_t(const skinny_weights_t &weights, bool is_one_column, int rows)
        : jit_simd_t("jit_k_lanes_digits")
        , w_(weights)
        , a_rows_(digit_rows_of(weights))
        , rows_(rows)
        , cols_(is_one_column ? 1 : cols_of(rows, a_rows_.vectors))
        , totals_(vectors_.take("totals", rows * cols_))
        , sums_(vectors_.take("sums of columns", cols_))
        , parts_(vectors_.take("weights of columns", cols_ * a_rows_.vectors))
        , digits_(vectors_.take("digits", 2))
        , order_(vectors_.take("order of groups")) {}

private:
    using zmms_t = vector_registers_t<isa_avx512_core_vnni>::range_t;
    static constexpr size_t line = digit_rows_t::line;
    static constexpr int cols_of_base = 3;

    const skinny_weights_t w_;
    const digit_rows_t a_rows_;
    const int rows_, cols_;
    const Reg64 columns_[3] = {general_.take("columns 0 to 2", rax),
            general_.take("columns 3 to 5", rcx),
            general_.take("column 6", rdx)};
    // The same columns of the next block, to be prefetched.
    const Reg64 ahead_[3] = {general_.take("0 to 2, ahead", rbp),
            general_.take("3 to 5, ahead", r14),
            general_.take("6, ahead", r15)};
    const Reg64 pitch_ = general_.take("pitch of columns", rbx),
                a_ = general_.take("a", rsi),
                scales_ = general_.take("scales", r8),
                zps_ = general_.take("zero points", r9),
                chunks_ = general_.take("chunks to go, of a group", r11),
                groups_ = general_.take("groups to go", r12),
                to_ = general_.take("sums", r13);
    vector_registers_t<isa_avx512_core_vnni> vectors_;
    const zmms_t totals_, sums_, parts_, digits_;
    const Zmm order_;

    int vectors() const { return a_rows_.vectors; }
    bool has_zps() const { return w_.zps.type != data_type_t::undef; }
    // Integers without a sign have this bias.
    uint32_t bias() const { return w_.sign_bit(); }
    Zmm total(int row, int col) const { return totals_[row * cols_ + col]; }
    Zmm part(int col, int vector) const {
        return parts_[col * vectors() + vector];
    }
    RegExp column(const Reg64 *bases, int c) const {
        const RegExp base(bases[c / cols_of_base]);
        return c % cols_of_base == 0 ? base
                                     : base + pitch_ * (c % cols_of_base);
    }
    RegExp of_row(int row, size_t place) const {
        return a_ + static_cast<size_t>(row) * a_rows_.row_bytes() + place;
    }
    RegExp about(int row, size_t member) const {
        return of_row(row, a_rows_.about_place() + member);
    }

    // Chunks that share scales, or groups in a chunk.
    dim_t chunks_a_group() const {
        return std::max<dim_t>(
                std::min(w_.group, w_.depth) / a_rows_.elements(), 1);
    }
    dim_t groups_a_chunk() const {
        return std::max<dim_t>(
                a_rows_.elements() / std::min(w_.group, w_.depth), 1);
    }

    void generate() override {
        preamble();
        load_arguments();
        if (groups_a_chunk() > 1) load_order();
        for (int i = 0; i < totals_.count(); ++i)
            clear(totals_[i]);
        if (const dim_t groups = a_rows_.chunks() / chunks_a_group();
                groups > 0) {
            mov(groups_, static_cast<uint64_t>(groups));
            repeat(groups_, [this] {
                group(chunks_a_group());
                add(scales_, disp(groups_a_chunk() * 4));
                if (has_zps()) add(zps_, disp(groups_a_chunk() * 4));
            });
        }
        if (const dim_t rest = a_rows_.chunks() % chunks_a_group(); rest > 0)
            group(rest);
        store_totals();
        postamble();
    }

    void load_arguments() {
        mov(columns_[0], arg(offsetof(args_t, weights)));
        mov(a_, arg(offsetof(args_t, a)));
        mov(scales_, arg(offsetof(args_t, scales)));
        mov(zps_, arg(offsetof(args_t, zps)));
        mov(to_, arg(offsetof(args_t, sums)));
        mov(pitch_, arg(offsetof(args_t, pitch)));
        mov(ahead_[0], arg(offsetof(args_t, ahead)));
        for (const Reg64 *bases : {columns_, ahead_})
            for (int i = 1; i * cols_of_base < cols_; ++i) {
                lea(bases[i], ptr[pitch_ + pitch_ * 2]);
                add(bases[i], bases[i - 1]);
            }
    }

    void group(dim_t chunks) {
        if (chunks == 1) return chunk();
        mov(chunks_, static_cast<uint64_t>(chunks));
        repeat(chunks_, [this] { chunk(); });
    }

    void chunk() {
        for (int c = 0; c < cols_; ++c)
            load_weights(c);
        for (int r = 0; r < rows_; ++r) {
            Label l_next;
            multiply(r, 0);
            scale(r, offsetof(digit_rows_t::about_t, unit), true);
            cmp(dword[about(r, offsetof(digit_rows_t::about_t, has_rest))], 0);
            je(l_next, T_NEAR);
            multiply(r, a_rows_.digits_bytes());
            scale(r, offsetof(digit_rows_t::about_t, rest_unit), false);
            L(l_next);
        }
        for (const Reg64 *bases : {columns_, ahead_})
            for (int c = 0; c < cols_; c += cols_of_base)
                add(bases[c / cols_of_base], disp(line));
        add(a_, disp(static_cast<dim_t>(a_rows_.chunk_bytes())));
    }

    // Splits a chunk of a column, the low bits first. Signed weights become
    // unsigned.
    void load_weights(int c) {
        constexpr uint8_t and_then_xor = 0x6a;
        const Zmm low = part(c, 0), bits = digits_[0], signs = digits_[1];
        if (c == 0) {
            load(bits, constant(bits_of(w_.type) == 4 ? 0x0f0f0f0fu
                                                      : 0x03030303u));
            if (bias() != 0) load(signs, constant(bias() * 0x01010101u));
        }
        load(low, ptr[column(columns_, c)]);
        prefetch_stream(ptr[column(ahead_, c)]);
        for (int v = vectors(); v-- > 0;) {
            const Zmm to = part(c, v);
            if (v > 0)
                vpsrlw(to, low,
                        static_cast<uint8_t>(
                                v * static_cast<int>(bits_of(w_.type))));
            if (bias() != 0) vpternlogd(to, bits, signs, and_then_xor);
            else bit_and(to, to, bits);
        }
    }

    void multiply(int row, size_t place) {
        for (int c = 0; c < cols_; ++c)
            clear(sums_[c]);
        for (int d = digit_rows_t::digits; d-- > 0;) {
            for (int v = 0; v < vectors(); ++v) {
                const Zmm digit = digits_[v % 2];
                load(digit, ptr[of_row(row, place
                                                    + static_cast<size_t>(
                                                              d * vectors() + v)
                                                              * line)]);
                for (int c = 0; c < cols_; ++c)
                    dot4(sums_[c], part(c, v), digit);
            }
            if (d > 0)
                for (int c = 0; c < cols_; ++c)
                    vpslld(sums_[c], sums_[c], 8);
        }
    }

    // Adds the sums of a row to its totals.
    void scale(int row, size_t unit, bool corrects) {
        const Zmm of_src = digits_[0], other = digits_[1];
        for (int c = 0; c < cols_; ++c)
            vcvtdq2ps(sums_[c], sums_[c]);
        for (int c = 0; c < cols_; ++c)
            vmulps(sums_[c], sums_[c], ptr_b[about(row, unit)]);
        if (corrects && (has_zps() || bias() != 0)) {
            vmovups(of_src,
                    ptr[about(row, offsetof(digit_rows_t::about_t, sums))]);
            for (int c = 0; c < cols_; ++c)
                correct(c, of_src, other);
        }
        for (int c = 0; c < cols_; ++c)
            if (groups_a_chunk() == 1)
                vfmadd231ps(
                        total(row, c), sums_[c], ptr_b[of_group(scales_, c)]);
            else {
                load_groups(other, of_group(scales_, c));
                vfmadd231ps(total(row, c), sums_[c], other);
            }
    }

    void correct(int c, const Zmm &of_src, const Zmm &zp) {
        const RegExp at = of_group(zps_, c);
        const float bias_f = static_cast<float>(bias());
        if (has_zps() && bias() == 0 && groups_a_chunk() == 1) {
            vfnmadd231ps(sums_[c], of_src, ptr_b[at]);
            return;
        }
        if (!has_zps()) {
            vfnmadd231ps(sums_[c], of_src, constant(bits_of_f32(bias_f)));
            return;
        }
        load_groups(zp, at);
        if (bias() != 0) vaddps(zp, zp, constant(bits_of_f32(bias_f)));
        vfnmadd231ps(sums_[c], of_src, zp);
    }

    RegExp of_group(const Reg64 &parameters, int c) const {
        return parameters + static_cast<size_t>(c * w_.groups() * 4);
    }

    void load_order() {
        lanes_t order;
        for (uint32_t lane = 0; lane < order.size(); ++lane)
            order[lane] = lane * disp(groups_a_chunk()) / disp(order.size());
        load(order_, constant(order));
    }

    // Loads the parameter of each lane's group.
    void load_groups(const Zmm &to, const RegExp &from) {
        switch (groups_a_chunk()) {
        case 1: return vbroadcastss(to, ptr[from]);
        case 2: vbroadcastf32x2(to, ptr[from]); break;
        case 4: vbroadcastf32x4(to, ptr[from]); break;
        default: vbroadcastf32x8(to, ptr[from]); break;
        }
        vpermps(to, order_, to);
    }

    void store_totals() {
        for (int i = 0; i < totals_.count(); ++i) {
            add_lanes(totals_[i], sums_[0]);
            vmovss(ptr[to_ + disp(4 * i)], Xmm(totals_[i].getIdx()));
        }
    }
};

class k_lanes_digits_t : public digits_gemm_t {
public:
    explicit k_lanes_digits_t(const skinny_weights_t &weights)
        : digits_gemm_t(weights, digit_rows_of(weights)) {}

    result_t make(dim_t rows) {
        const dim_t chunk = a_rows_.elements(), group = weights_.group;
        constexpr dim_t most_groups = 8; // in a chunk
        result_t made = check();
        if (made.ok() && group % chunk != 0 && weights_.groups() > 1
                && (chunk % group != 0 || chunk / group > most_groups))
            return refuse(text("groups of ", group, "; expected parts of ",
                    chunk, ", or a multiple"));
        const int most = static_cast<int>(std::min(rows, dim_t(most_rows)));
        if (made.ok()) made = code_.make<generator_t>(most, weights_, false);
        if (made.ok())
            made = one_column_.make<generator_t>(most, weights_, true);
        return made;
    }

    dim_t nr() const override { return 1; }

    void run(void *const *buffers,
            const block_t &block) const noexcept override {
        for_row_blocks(block.rows, most_rows, [&](dim_t row, dim_t rows) {
            run_rows(static_cast<const char *>(buffers[0]), block, row, rows);
        });
    }

private:
    // A short last block recomputes columns before it. Columns of a block that
    // is short itself are multiplied one by one.
    void run_rows(const char *weights, const block_t &block, dim_t row,
            dim_t rows) const noexcept {
        const dim_t most = cols_of(static_cast<int>(rows), a_rows_.vectors);
        const dim_t cols = block.cols < most ? 1 : most;
        const auto &code = block.cols < most ? one_column_ : code_;
        float sums[most_rows * most_cols];
        args_t args;
        args.a = row_of(block, row);
        args.sums = sums;
        args.pitch = bytes_of(weights_.type, weights_.pitch);
        for (dim_t next = 0; next < block.cols; next += cols) {
            const dim_t n = std::min(next, block.cols - cols);
            args.weights = weights + (block.first_col + n) * args.pitch;
            args.ahead = weights + (block.first_col + n + cols) * args.pitch;
            args.scales = block.scales + n * weights_.groups();
            args.zps = block.zps + n * weights_.groups();
            code(rows, args);
            for (dim_t r = 0; r < rows; ++r)
                std::copy_n(sums + r * cols, cols,
                        block.c + (row + r) * block.c_pitch + n);
        }
    }

    jit_code_by_rows_t<const args_t> code_, one_column_;
};

} // namespace

result_t make_k_lanes_digits_avx512(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<k_lanes_digits_t>(weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
