// A few rows times a few columns of weights of 4 or 8 bits, whose elements lie
// one after the other along the depth, on AVX2.
//
// A nibble is looked up in a table of the 16 numbers it may stand for, a byte
// of them at a time: what is looked up in the table of the highest bytes and in
// that of the next, side by side, is the upper half of an f32. The lower half
// is zero where the graph rounds weights to bf16, and where the numbers are
// differences to a zero point of 8 bits; of the latter it is a piece's sums
// that are scaled. For others there are tables of the lower bytes, too.
// A vector of weights costs a shuffle and two thirds, and one or two more
// operations. Two sums take turns, which are added up after each piece; sums of
// pieces are in memory, eight parts each.
//
// Registers: rax rcx the columns of weights; rsi r9 r10 rbx the rows of a; rdx
// sums, r8 and rbp their pitch and three times that; r11 r12 scales and zero
// points; r13 how far ahead weights are asked for; r14 r15 steps and pieces to
// go; rdi the arguments, which go on with the columns. The first eight vectors
// are sums (of four tables four, and the next what comes of lookups), then
// there are four tables, of 8 bits zero point and scale; four are scratch.

#include "kernels/matmul/jit_dot_avx2_code.hpp"

#if defined(__x86_64__)

#include <algorithm>
#include <cstddef>

#include "kernels/matmul/nibble_lookup.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int simd_w = jit_isa_t<isa_avx2>::simd_w;
constexpr int sums_in_turn = 2;
constexpr uint32_t vector_bytes = simd_w * 4;

class generator_t : public jit_generator_t, public jit_dot_avx2_code_t {
public:
    using args_t = jit_dot_avx2_args_t;

    generator_t(const gemv_weights_t &weights, int rows)
        : jit_generator_t("jit_dot_avx2")
        , w_(weights)
        , shape_(dot_avx2_shape_of(weights))
        , rows_(rows)
        , cols_(shape_.cols(rows))
        , lanes_(*this, jit_isa_t<isa_avx2>::vmm_count, data_type_t::undef) {}

    void operator()(args_t &args) const override {
        getCode<void (*)(args_t *)>()(&args);
    }

private:
    bool is_nibble() const { return bits_of(w_.type) == 4; }
    bool is_signed() const {
        return family_of(w_.type) == type_family_t::signed_int;
    }
    bool has_zps() const { return w_.zps.type != data_type_t::undef; }

    Ymm sum(int row, int col, int turn) const {
        return Ymm((row * cols_ + col) * sums_in_turn + turn);
    }
    // Of the bytes 2, 3, 0 and 1 of a number.
    Ymm table(int col, int i) const { return Ymm(8 + 2 * col + i); }
    Ymm zp(int col) const { return table(col, 0); }
    Ymm scale(int col) const { return table(col, 1); }
    const Ymm index_ {12}, weight_ {13}, scratch_ {14};
    // Halves of the numbers of sixteen nibbles.
    Ymm upper(int i) const {
        return shape_.planes > 2 ? Ymm(4 + i) : Ymm(15 - i);
    }
    Ymm lower(int i) const { return Ymm(6 + i); }

    Reg64 weights(int col) const { return col == 0 ? rax : rcx; }
    Reg64 row_of_a(int row) const {
        const Reg64 bases[] = {rsi, r9, r10, rbx};
        return bases[row];
    }
    RegExp sums(int row, int col) const {
        const RegExp rows[] = {rdx, rdx + r8, rdx + r8 * 2, rdx + rbp};
        return rows[row] + static_cast<size_t>(col) * vector_bytes;
    }
    Address arg(size_t offset) { return qword[rdi + offset]; }
    uint32_t parameter_bytes(int cols) const {
        const dim_t stride = w_.by_column ? w_.groups() : 1;
        return static_cast<uint32_t>(cols * stride * 4);
    }
    // A parameter of the column.
    Address of(const Reg64 &base, int col) {
        return ptr[base + parameter_bytes(col)];
    }

    void generate() override {
        preamble();
        Label l_columns;
        L(l_columns);
        load_arguments();
        all_pieces();
        next_columns();
        dec(arg(offsetof(args_t, turns)));
        jnz(l_columns, T_NEAR);
        postamble();
    }

    void load_arguments() {
        mov(rax, arg(offsetof(args_t, weights)));
        if (cols_ > 1) {
            mov(rcx, arg(offsetof(args_t, weights_pitch)));
            add(rcx, rax);
        }
        mov(r8, arg(offsetof(args_t, a_pitch)));
        mov(rsi, arg(offsetof(args_t, a)));
        for (int r = 1; r < rows_; ++r)
            lea(row_of_a(r), ptr[row_of_a(r - 1) + r8]);
        mov(rdx, arg(offsetof(args_t, sums)));
        mov(r8, arg(offsetof(args_t, sums_pitch)));
        lea(rbp, ptr[r8 + r8 * 2]);
        mov(r11, arg(offsetof(args_t, scales)));
        mov(r12, arg(offsetof(args_t, zps)));
        mov(r13, arg(offsetof(args_t, ahead)));
    }

    void next_columns() {
        mov(rax, arg(offsetof(args_t, weights_pitch)));
        for (int c = 0; c < cols_; ++c)
            add(arg(offsetof(args_t, weights)), rax);
        add(arg(offsetof(args_t, scales)), parameter_bytes(cols_));
        add(arg(offsetof(args_t, zps)), parameter_bytes(cols_));
        add(arg(offsetof(args_t, sums)),
                static_cast<uint32_t>(cols_) * vector_bytes);
    }

    void all_pieces() {
        Label l_pieces, l_rest, l_end;
        mov(r15, arg(offsetof(args_t, pieces)));
        test(r15, r15);
        jz(l_rest, T_NEAR);
        L(l_pieces);
        piece(shape_.piece);
        dec(r15);
        jnz(l_pieces, T_NEAR);
        L(l_rest);
        cmp(arg(offsetof(args_t, has_rest)), 0);
        je(l_end, T_NEAR);
        if (shape_.rest != 0) piece(shape_.rest);
        L(l_end);
    }

    void piece(dim_t depth) {
        for (int i = 0; i < rows_ * cols_ * sums_in_turn; ++i)
            vxorps(Ymm(i), Ymm(i), Ymm(i));
        for (int c = 0; c < cols_; ++c) {
            if (is_nibble()) make_table(c);
            else load_parameters(c);
        }
        if (depth >= shape_.step) {
            Label l_step;
            mov(r14d, static_cast<uint32_t>(depth / shape_.step));
            align(32);
            L(l_step);
            for (int c = 0; c < cols_; ++c)
                step(c, 0);
            go_on();
            dec(r14);
            jnz(l_step, T_NEAR);
        }
        for (int c = 0; c < cols_ && depth % shape_.step != 0; ++c) {
            mov(weights(c),
                    arg(offsetof(args_t, tails) + static_cast<size_t>(c) * 8));
            step(c, static_cast<int>(depth % shape_.step));
        }
        end_piece();
    }

    void go_on() {
        const auto bytes
                = static_cast<uint32_t>(bytes_of(w_.type, shape_.step));
        for (int c = 0; c < cols_; ++c) {
            prefetcht0(ptr[weights(c) + r13]);
            add(weights(c), bytes);
        }
        for (int r = 0; r < rows_; ++r)
            add(row_of_a(r), static_cast<uint32_t>(shape_.step * 4));
    }

    void load_parameters(int c) {
        if (has_zps()) vbroadcastss(zp(c), of(r12, c));
        if (!shape_.scales_sums) vbroadcastss(scale(c), of(r11, c));
    }

    // Of sixteen numbers those of one byte are put side by side, in both lanes.
    void make_table(int c) {
        const Ymm vectors[] = {index_, weight_};
        for (int i = 0; i < 2; ++i) {
            const Ymm v = vectors[i];
            vmovups(v, constant(numbers_of_table(i)));
            if (has_zps()) {
                vbroadcastss(scratch_, of(r12, c));
                vsubps(v, v, scratch_);
            }
            if (!shape_.scales_sums) {
                vbroadcastss(scratch_, of(r11, c));
                vmulps(v, v, scratch_);
            }
            lanes_.round(v, w_.rounded, weights_rounding(w_), scratch_);
            vpshufb(v, v, constant(bytes_apart()));
        }
        constexpr uint8_t even = 0x88, odd = 0xdd;
        vpunpckhdq(scratch_, index_, weight_);
        vpermq(table(c, 0), scratch_, even);
        vpermq(table(c, 1), scratch_, odd);
        if (shape_.planes == 2) return;
        vpunpckldq(scratch_, index_, weight_);
        vpermq(table(c, 2), scratch_, even);
        vpermq(table(c, 3), scratch_, odd);
    }

    // 0 to 3 and 8 to 11, or 4 to 7 and 12 to 15: unpacking puts them in order.
    lanes_t numbers_of_table(int i) const {
        const lanes_t all = nibble_numbers(w_.type);
        lanes_t some {};
        for (size_t n = 0; n < simd_w; ++n)
            some[n] = all[n % 4 + n / 4 * 8 + static_cast<size_t>(i) * 4];
        return some;
    }

    static lanes_t bytes_apart() {
        lanes_t lanes;
        for (uint32_t i = 0; i < lanes.size(); ++i)
            lanes[i] = 0x0c080400u + i % 4 * 0x01010101u;
        return lanes;
    }

    // `tail` elements, or all where that is 0.
    void step(int c, int tail) {
        if (is_nibble()) look_up(c, tail);
        const int vectors = static_cast<int>(shape_.step) / simd_w;
        for (int v = 0; v < vectors; ++v) {
            if (is_nibble()) take_number(v);
            else load_byte(c, v, tail);
            for (int r = 0; r < rows_; ++r)
                vfmadd231ps(sum(r, c, v % sums_in_turn), weight_,
                        ptr[row_of_a(r)
                                + static_cast<uint32_t>(v) * vector_bytes]);
        }
    }

    void look_up(int c, int tail) {
        lanes_t shifts;
        for (uint32_t i = 0; i < shifts.size(); ++i)
            shifts[i] = i % simd_w / 4 * 4;
        vbroadcasti128(index_, ptr[weights(c)]);
        vpsrlvd(index_, index_, constant(shifts));
        vpand(index_, index_, constant(0x0f0f0f0fu));
        if (tail != 0) vpor(index_, index_, constant(beyond(tail)));
        unpack(table(c, 0), table(c, 1), upper(0), upper(1));
        if (shape_.planes > 2)
            unpack(table(c, 2), table(c, 3), lower(0), lower(1));
    }

    // An index whose highest bit is set gets a zero.
    static lanes_t beyond(int tail) {
        lanes_t lanes {};
        for (int i = 0; i < 32; ++i) {
            const int element = i % 16 * 2 + i / 16;
            if (element >= tail)
                lanes[static_cast<size_t>(i / 4)] |= 0x80u << (i % 4 * 8);
        }
        return lanes;
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
        const bool has_lower = shape_.planes > 2;
        constexpr uint8_t even = 0x55, odd = 0xaa;
        if (v % 2 == 0) {
            vpslld(weight_, upper(v / 2), 16);
            if (has_lower) vpblendw(weight_, weight_, lower(v / 2), even);
        } else if (has_lower) {
            vpsrld(weight_, lower(v / 2), 16);
            vpblendw(weight_, weight_, upper(v / 2), odd);
        } else {
            vpand(weight_, upper(v / 2), constant(0xffff0000u));
        }
    }

    void load_byte(int c, int v, int tail) {
        const Address at = ptr[weights(c) + static_cast<uint32_t>(v * simd_w)];
        if (is_signed()) vpmovsxbd(weight_, at);
        else vpmovzxbd(weight_, at);
        vcvtdq2ps(weight_, weight_);
        if (has_zps()) vsubps(weight_, weight_, zp(c));
        if (!shape_.scales_sums) {
            vmulps(weight_, weight_, scale(c));
            lanes_.round(weight_, w_.rounded, weights_rounding(w_), scratch_);
        }
        if (tail == 0) return;
        lanes_t within {};
        for (int i = 0; i < std::min(tail - v * simd_w, simd_w); ++i)
            within[static_cast<size_t>(i)] = ~0u;
        vandps(weight_, weight_, constant(within));
    }

    void end_piece() {
        for (int c = 0; c < cols_; ++c) {
            if (shape_.scales_sums) vbroadcastss(scratch_, of(r11, c));
            for (int r = 0; r < rows_; ++r) {
                const Ymm s = sum(r, c, 0);
                const Address at = ptr[sums(r, c)];
                vaddps(s, s, sum(r, c, 1));
                if (shape_.scales_sums) vfmadd213ps(s, scratch_, at);
                else vaddps(s, s, at);
                vmovups(at, s);
            }
        }
        add(r11, arg(offsetof(args_t, parameters_pitch)));
        add(r12, arg(offsetof(args_t, parameters_pitch)));
    }

    const gemv_weights_t w_;
    const jit_dot_avx2_shape_t shape_;
    const int rows_, cols_;
    jit_lanes_t<isa_avx2> lanes_;
};

// A bf16 has every integer up to 256, but not -8 - 255.
bool differences_are_bf16(const gemv_weights_t &w) {
    const data_type_t zps = w.zps.type;
    if (zps == data_type_t::undef || bits_of(zps) < 8) return true;
    return zps == data_type_t::s8
           || (zps == data_type_t::u8 && w.type == data_type_t::u4);
}

} // namespace

jit_dot_avx2_shape_t dot_avx2_shape_of(const gemv_weights_t &weights) {
    // The only group's sums are added up so often, and as much of src stays in
    // the first cache; or of weights that are transposed.
    const dim_t longest_part = weights.by_column ? 1024 : 256;
    const bool is_nibble = bits_of(weights.type) == 4;
    const bool one_group = weights.group >= weights.depth;
    jit_dot_avx2_shape_t shape;
    shape.step = is_nibble ? 32 : 16;
    if (!one_group && weights.group % shape.step != 0) return {};
    shape.piece = one_group ? longest_part : weights.group;
    shape.pieces = weights.depth / shape.piece;
    shape.rest = weights.depth % shape.piece;
    shape.scales_sums = weights.rounded == data_type_t::f32
                        && (!is_nibble || differences_are_bf16(weights));
    if (is_nibble && !shape.scales_sums && weights.rounded != data_type_t::bf16)
        shape.planes = 4;
    return shape;
}

result_t make_jit_dot_avx2_code(const gemv_weights_t &weights, int rows,
        std::unique_ptr<jit_dot_avx2_code_t> &code) {
    return make_jit_as<generator_t>(code, weights, rows);
}

} // namespace dnnl_dequant

#endif
