// A few rows times a few columns of weights of 4 or 8 bits, whose elements lie
// one after the other along the depth, on AVX2.
//
//   for columns: for each piece of the depth:
//     load zero points and scales, or make tables of numbers
//     for each step: make weights of columns, times rows of a
//     add the piece's sums, scaled where weights are not, to those in memory
//
// A nibble that the graph rounds is looked up in a table of the 16 numbers it
// may stand for, a byte of them at a time: what is looked up in the table of
// the highest bytes and in that of the next, side by side, is the upper half of
// an f32. The lower half is zero where weights are rounded to bf16; for others
// there are tables of the lower bytes, too. A vector of weights costs two
// shuffles, and one or two more operations.
// One that nobody rounds is made a number as in jit_gemv_avx2_code.cpp, and it
// is a piece's sums that are scaled.
// Vectors of a step alternate between two sums, which are added up after each
// piece.

#include "kernels/matmul/jit_dot_avx2_code.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/matmul/jit_dot_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using args_t = jit_dot_avx2_args_t;

constexpr int most_unroll = 4, sums_each = 2;
constexpr int simd_w = jit_isa_t<isa_avx2>::simd_w;
constexpr uint32_t vector_bytes = simd_w * 4;

class generator_t : public jit_k_lanes_t<isa_avx2> {
public:
    generator_t(const gemv_weights_t &weights, int rows)
        : jit_k_lanes_t("jit_dot_avx2", weights, rows,
                  jit_dot_avx2_shape_t(weights).cols(rows))
        , shape_(weights)
        , lanes_(*this, jit_isa_t<isa_avx2>::vmm_count, data_type_t::undef) {}

private:
    const jit_dot_avx2_shape_t shape_;
    jit_lanes_t<isa_avx2> lanes_;
    jit_constants_t<isa_avx2> &kept_ = lanes_.constants();
    int at_ = 0; // of steps that are done without a branch between

    const Reg64 columns_[most_dot_avx2_cols]
            = {general_.take("column 0", rax), general_.take("column 1", rcx)};
    const Reg64 rows_of_a_[most_dot_avx2_rows]
            = {general_.take("row 0", rsi), general_.take("row 1", r9),
                    general_.take("row 2", r10), general_.take("row 3", rbx)};
    const Reg64 sums_at_ = general_.take("sums in memory", rdx),
                sums_pitch_3_ = general_.take("three pitches of sums", rbp),
                steps_ = general_.take("steps to go", r14),
                pieces_ = general_.take("pieces to go", r15);
    // Once rows are found.
    const Reg64 &sums_pitch_ = a_pitch_;

    bool looks_up() const { return is_nibble() && !shape_.scales_sums; }
    bool has_lower_halves() const { return shape_.planes > 2; }
    int sum_count() const { return rows_ * cols_ * sums_each; }
    int table_count() const { return cols_ * shape_.planes; }

    const vmms_t sums_ = vectors_.take("sums", sum_count());
    // A column's lookups have tables of the bytes 2, 3, 0 and 1 of a number,
    // other nibbles zero points at bits 0 and 8, bytes zero point and scale.
    const vmms_t tables_ = vectors_.take_at("tables", 8, table_count());
    const Ymm index_ = vectors_.take_at("index", 12, 1)[0],
              weight_ = vectors_.take_at("weight", 13, 1)[0],
              scratch_ = vectors_.take_at("scratch", 14, 1)[0];
    const vmms_t first_upper_
            = vectors_.take_at("upper halves", 15, looks_up() ? 1 : 0),
            halves_ = vectors_.take_at("halves", 4, has_lower_halves() ? 4 : 0);

    Ymm sum(int row, int col, int i) const {
        return sums_[(row * cols_ + col) * sums_each + i];
    }
    Ymm table(int col, int i) const { return tables_[2 * col + i]; }
    Ymm zp(int col) const { return table(col, 0); }
    Ymm scale(int col) const { return table(col, 1); }
    // Halves of the numbers of sixteen nibbles.
    Ymm upper(int i) const {
        if (has_lower_halves()) return halves_[i];
        return i == 0 ? first_upper_[0] : scratch_;
    }
    Ymm lower(int i) const { return halves_[2 + i]; }

    uint32_t parameter_bytes(int cols) const {
        const dim_t stride = w_.by_column ? w_.groups() : 1;
        return static_cast<uint32_t>(cols * stride * 4);
    }
    Address of_column(const Reg64 &parameters, int col) {
        return ptr[parameters + parameter_bytes(col)];
    }
    int vectors() const { return static_cast<int>(shape_.step) / simd_w; }
    uint32_t step_bytes() const {
        return static_cast<uint32_t>(bytes_of(w_.type, shape_.step));
    }
    Address next_weights(int c, int bytes = 0) {
        return ptr[columns_[c] + step_bytes() * static_cast<uint32_t>(at_)
                   + static_cast<uint32_t>(bytes)];
    }

    // Nibbles that are not looked up are cut out at bit 0 and at bit 8 of a
    // word, in the significands of 2^23 and 2^15.
    static lanes_t mask(int i) { return same_lanes(0x000f000fu << (8 * i)); }
    static uint32_t upper_half(int i) { return i == 0 ? 0x4b00 : 0x4700; }
    static lanes_t upper_halves(int i) {
        return same_lanes(upper_half(i) * 0x00010001u);
    }
    void keep_constants() {
        for (const lanes_t &lanes : {nibble_shifts(), mask(0), mask(1),
                     upper_halves(0), upper_halves(1)})
            if (vectors_.free_count() > 0)
                kept_.hold(lanes, vectors_.take("a constant"));
        kept_.load();
    }

    void generate() override {
        preamble();
        if (is_nibble() && !looks_up()) keep_constants();
        Label l_columns;
        L(l_columns);
        load_arguments();
        all_pieces();
        next_columns();
        dec(arg(offsetof(args_t, iterations)));
        jnz(l_columns, T_NEAR);
        postamble();
    }

    void load_arguments() {
        mov(columns_[0], arg(offsetof(args_t, weights)));
        if (cols_ > 1) {
            mov(columns_[1], arg(offsetof(args_t, weights_pitch)));
            add(columns_[1], columns_[0]);
        }
        mov(a_pitch_, arg(offsetof(args_t, a_pitch)));
        mov(rows_of_a_[0], arg(offsetof(args_t, a)));
        for (int r = 1; r < rows_; ++r)
            lea(rows_of_a_[r], ptr[rows_of_a_[r - 1] + a_pitch_]);
        mov(sums_at_, arg(offsetof(args_t, sums)));
        mov(sums_pitch_, arg(offsetof(args_t, sums_pitch)));
        lea(sums_pitch_3_, ptr[sums_pitch_ + sums_pitch_ * 2]);
        mov(scales_, arg(offsetof(args_t, scales)));
        mov(zps_, arg(offsetof(args_t, zps)));
        mov(ahead_, arg(offsetof(args_t, ahead)));
    }

    void next_columns() {
        const Reg64 &pitch = columns_[0];
        mov(pitch, arg(offsetof(args_t, weights_pitch)));
        for (int c = 0; c < cols_; ++c)
            add(arg(offsetof(args_t, weights)), pitch);
        add(arg(offsetof(args_t, scales)), parameter_bytes(cols_));
        add(arg(offsetof(args_t, zps)), parameter_bytes(cols_));
        add(arg(offsetof(args_t, sums)),
                static_cast<uint32_t>(cols_) * vector_bytes);
    }

    void all_pieces() {
        Label l_pieces, l_rest, l_end;
        mov(pieces_, arg(offsetof(args_t, pieces)));
        test(pieces_, pieces_);
        jz(l_rest, T_NEAR);
        L(l_pieces);
        piece(shape_.piece);
        dec(pieces_);
        jnz(l_pieces, T_NEAR);
        L(l_rest);
        cmp(arg(offsetof(args_t, has_rest)), 0);
        je(l_end, T_NEAR);
        if (shape_.rest != 0) piece(shape_.rest);
        L(l_end);
    }

    void piece(dim_t depth) {
        for (int i = 0; i < sums_.count(); ++i)
            vxorps(sums_[i], sums_[i], sums_[i]);
        for (int c = 0; c < cols_; ++c)
            load_parameters(c);
        all_steps(depth / shape_.step);
        const auto tail = static_cast<int>(depth % shape_.step);
        for (int c = 0; c < cols_ && tail != 0; ++c) {
            mov(columns_[c],
                    arg(offsetof(args_t, tails) + static_cast<size_t>(c) * 8));
            step(c, tail);
        }
        end_piece();
    }

    void all_steps(dim_t steps) {
        if (steps == 0) return;
        int unroll = most_unroll;
        while (steps % unroll != 0)
            unroll /= 2;
        Label l_steps;
        mov(steps_.cvt32(), static_cast<uint32_t>(steps / unroll));
        align(32);
        L(l_steps);
        for (at_ = 0; at_ < unroll; ++at_)
            for (int c = 0; c < cols_; ++c)
                step(c, 0);
        at_ = 0;
        for (int c = 0; c < cols_; ++c) {
            prefetcht0(ptr[columns_[c] + ahead_]);
            add(columns_[c], step_bytes() * static_cast<uint32_t>(unroll));
        }
        for (int r = 0; r < rows_; ++r)
            add(rows_of_a_[r], static_cast<uint32_t>(unroll * shape_.step * 4));
        dec(steps_);
        jnz(l_steps, T_NEAR);
    }

    void load_parameters(int c) {
        if (looks_up()) return make_table(c);
        if (is_nibble()) return load_zps(c);
        if (has_zps()) vbroadcastss(zp(c), of_column(zps_, c));
        if (!shape_.scales_sums) vbroadcastss(scale(c), of_column(scales_, c));
    }

    // Zero points carry what the numbers have more: 2^23 or 2^15, and the half
    // range by which nibbles with a sign were raised.
    void load_zps(int c) {
        const uint32_t sign = is_signed() ? 8 : 0;
        for (int i = 0; i < 2; ++i)
            vmovups(table(c, i),
                    constant(upper_half(i) << 16 | sign << (8 * i)));
        if (!has_zps()) return;
        vbroadcastss(scratch_, of_column(zps_, c));
        for (int i = 0; i < 2; ++i)
            vaddps(table(c, i), table(c, i), scratch_);
    }

    // Of sixteen numbers those of one byte are put side by side, in both lanes.
    void make_table(int c) {
        for (const Ymm &v : {index_, weight_}) {
            vmovups(v, constant(unpacked_numbers(w_.type, v == weight_)));
            if (has_zps()) {
                vbroadcastss(scratch_, of_column(zps_, c));
                vsubps(v, v, scratch_);
            }
            vbroadcastss(scratch_, of_column(scales_, c));
            scale_and_round(v, scratch_);
            vpshufb(v, v, constant(bytes_apart()));
        }
        constexpr uint8_t even = 0x88, odd = 0xdd;
        for (int i = 0; i < shape_.planes; i += 2) {
            if (i == 0) vpunpckhdq(scratch_, index_, weight_);
            else vpunpckldq(scratch_, index_, weight_);
            vpermq(table(c, i), scratch_, even);
            vpermq(table(c, i + 1), scratch_, odd);
        }
    }

    void scale_and_round(const Ymm &v, const Ymm &scale) {
        vmulps(v, v, scale);
        lanes_.round(v, w_.rounded, weights_rounding(w_), scratch_);
    }

    // `tail` elements, or all where that is 0.
    void step(int c, int tail) {
        if (is_nibble() && !looks_up()) return all_numbers(c);
        if (looks_up()) look_up(c, tail);
        for (int v = 0; v < vectors(); ++v) {
            if (is_nibble()) take_number(v);
            else make_weights(c, v, tail);
            multiply(weight_, c, v);
        }
    }

    void multiply(const Ymm &number, int c, int v) {
        for (int r = 0; r < rows_; ++r)
            vfmadd231ps(sum(r, c, v % sums_each), number,
                    ptr[rows_of_a_[r]
                            + static_cast<uint32_t>(at_ * vectors() + v)
                                      * vector_bytes]);
    }

    // What is beyond a tail meets zeros of src.
    void all_numbers(int c) {
        vbroadcasti128(index_, next_weights(c));
        if (is_signed()) vpxor(index_, index_, constant(0x88888888u));
        kept_.with(nibble_shifts(),
                [&](const Operand &by) { vpsrlvd(index_, index_, by); });
        for (int i = 0; i < 2; ++i) {
            kept_.with(mask(i), [&](const Operand &bits) {
                vpand(scratch_, index_, bits);
            });
            kept_.with(upper_halves(i), [&](const Operand &half) {
                vpunpcklwd(weight_, scratch_, half);
                vpunpckhwd(scratch_, scratch_, half);
            });
            vsubps(weight_, weight_, table(c, i));
            multiply(weight_, c, i);
            vsubps(scratch_, scratch_, table(c, i));
            multiply(scratch_, c, 2 + i);
        }
    }

    void look_up(int c, int tail) {
        vbroadcasti128(index_, next_weights(c));
        vpsrlvd(index_, index_, constant(nibble_shifts()));
        vpand(index_, index_, constant(0x0f0f0f0fu));
        if (tail != 0) vpor(index_, index_, constant(indices_beyond(tail)));
        unpack(table(c, 0), table(c, 1), upper(0), upper(1));
        if (has_lower_halves())
            unpack(table(c, 2), table(c, 3), lower(0), lower(1));
    }

    void unpack(const Ymm &low_bytes, const Ymm &high_bytes, const Ymm &first,
            const Ymm &second) {
        vpshufb(weight_, low_bytes, index_);
        vpshufb(scratch_, high_bytes, index_);
        vpunpcklbw(first, weight_, scratch_);
        vpunpckhbw(second, weight_, scratch_);
    }

    // Of each lane's two halves of numbers the lower or the upper.
    void take_number(int v) {
        constexpr uint8_t even = 0x55, odd = 0xaa;
        if (v % 2 == 0) {
            vpslld(weight_, upper(v / 2), 16);
            if (has_lower_halves())
                vpblendw(weight_, weight_, lower(v / 2), even);
        } else if (has_lower_halves()) {
            vpsrld(weight_, lower(v / 2), 16);
            vpblendw(weight_, weight_, upper(v / 2), odd);
        } else {
            vpand(weight_, upper(v / 2), constant(0xffff0000u));
        }
    }

    void make_weights(int c, int v, int tail) {
        load_bytes(weight_, next_weights(c, v * simd_w), zp(c));
        if (!shape_.scales_sums) scale_and_round(weight_, scale(c));
        if (tail == 0) return;
        lanes_t within {};
        for (int i = 0; i < std::min(tail - v * simd_w, simd_w); ++i)
            within[static_cast<size_t>(i)] = ~0u;
        vandps(weight_, weight_, constant(within));
    }

    void end_piece() {
        const RegExp rows[] = {sums_at_, sums_at_ + sums_pitch_,
                sums_at_ + sums_pitch_ * 2, sums_at_ + sums_pitch_3_};
        for (int c = 0; c < cols_; ++c) {
            if (shape_.scales_sums)
                vbroadcastss(scratch_, of_column(scales_, c));
            for (int r = 0; r < rows_; ++r) {
                const Ymm s = sum(r, c, 0);
                const Address at
                        = ptr[rows[r] + static_cast<size_t>(c) * vector_bytes];
                vaddps(s, s, sum(r, c, 1));
                if (shape_.scales_sums) vfmadd213ps(s, scratch_, at);
                else vaddps(s, s, at);
                vmovups(at, s);
            }
        }
        add(scales_, arg(offsetof(args_t, parameters_pitch)));
        add(zps_, arg(offsetof(args_t, parameters_pitch)));
    }
};

} // namespace

result_t make_jit_dot_avx2_code(
        const gemv_weights_t &weights, int rows, jit_dot_avx2_code_t &code) {
    return make_jit_as<generator_t>(code, weights, rows);
}

} // namespace dnnl_dequant
