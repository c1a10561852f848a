// Bytes times bytes by vpdpbusd, which sums four products a lane: a tile of six
// rows by some vectors stays in registers down a group, then is made f32 and
// added to c; group after group. Four vectors of AVX-512 are a whole panel. Of
// AVX-VNNI there are registers for two, four times for a panel.
//
//   dot = sum a b - zp_a sum_b - zp_b sum_a      all of it modulo 2^32
// where sums fit 16 bits, one vpmaddwd makes the corrections.

#include "kernels/matmul/jit_integer_tile_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int rows_at_once = 6, unroll = 4;
constexpr size_t line = 64;
constexpr uint32_t quad_bytes = integer_panel * 4;
// What is asked for of b, which is in a core's second cache where groups are
// long.
constexpr size_t bytes_ahead = 8 * quad_bytes;

template <isa_t isa>
class generator_t : public jit_integer_tile_t {
    static constexpr bool is_avx512 = isa == isa_avx512_core_vnni;
    static constexpr size_t vector_bytes = jit_isa_t<isa>::simd_w * 4;
    static constexpr int vectors = is_avx512 ? 4 : 2,
                         sum_count = rows_at_once * vectors;

public:
    /// A panel's columns are done in so many turns.
    static constexpr int slices
            = static_cast<int>(quad_bytes / (vectors * vector_bytes));

    explicit generator_t(const integer_format_t &format)
        : jit_integer_tile_t("jit_integer_multiply", format, rows_at_once) {}

private:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using vmms_t = vmm_range_t<vmm_t>;

    const Reg64 a_ = general_.take("a of three rows", rax),
                a_high_ = general_.take("a of the other rows", rbx),
                a_pitch_ = general_.take("pitch of a", rsi),
                b_ = general_.take("quads of b", rcx),
                c_high_ = general_.take("c of the other rows", r11),
                c_pitch_ = general_.take("pitch of c", r9),
                parameters_high_
                = general_.take("parameters of the other rows", r14),
                quads_ = general_.take("quads to go", r10);
    // Free outside the loop of quads.
    const Reg64 &at_ = quads_;
    vector_registers_t<isa> vectors_;
    const vmms_t sums_ = vectors_.take("sums", sum_count),
                 vmms_b_ = vectors_.take_last("b", vectors),
                 vmms_a_ = vectors_.take("a", vectors_.free_count());

    // Where a vector of the slice lies in a panel's quad, or in its columns.
    size_t place(int v) const {
        return static_cast<size_t>(slice_ * vectors + v) * vector_bytes;
    }
    bool begins_line(int v) const { return place(v) % line == 0; }

    // One row or two have sums of even and of odd quads: more in flight.
    static int sets(int rows) { return rows <= 2 ? 2 : 1; }
    vmm_t sum(int row, int v, int set = 0) const {
        return sums_[(set * 2 + row) * vectors + v];
    }
    // a's broadcast in turns.
    vmm_t vmm_a(int i) const { return vmms_a_[i % vmms_a_.count()]; }
    vmm_t vmm_b(int v) const { return vmms_b_[v]; }

    RegExp row_of(const Reg64 &low, const Reg64 &high, const Reg64 &pitch,
            int row) const {
        const RegExp base(row < 3 ? low : high);
        return row % 3 == 0 ? base : base + pitch * (row % 3);
    }
    RegExp row_of_a(int row) const {
        return row_of(a_, a_high_, a_pitch_, row);
    }
    RegExp row_of_c(int row) const {
        return row_of(c_, c_high_, c_pitch_, row);
    }
    RegExp parameters_of(int row) const {
        return row_of(parameters_, parameters_high_, parameters_pitch_, row);
    }
    void base_of_high(const Reg64 &high, const Reg64 &low, const Reg64 &pitch) {
        lea(high, ptr[pitch + pitch * 2]);
        add(high, low);
    }

    void load_arguments() override {
        mov(a_pitch_, arg(offsetof(integer_tile_t, a_pitch)));
        base_of_high(parameters_high_, parameters_, parameters_pitch_);
        mov(c_pitch_, arg(offsetof(integer_tile_t, c_pitch)));
        shl(c_pitch_, 2);
        base_of_high(c_high_, c_, c_pitch_);
    }

    void clear_c(int rows) override {
        clear(vmm_a(0));
        for (int r = 0; r < rows; ++r)
            for (size_t at = 0; at < quad_bytes; at += vector_bytes)
                vmovups(ptr[row_of_c(r) + at], vmm_a(0));
    }

    void all_groups(int rows) override {
        Label l_group;
        L(l_group);
        for (slice_ = 0; slice_ < slices; ++slice_) {
            begin_group(rows);
            all_quads(rows);
            correct(rows);
            add_to_c(rows);
        }
        add(group_, sizeof(integer_group_t));
        add(parameters_, sizeof(row_group_t));
        add(parameters_high_, sizeof(row_group_t));
        dec(groups_);
        jnz(l_group, T_NEAR);
    }

    void begin_group(int rows) {
        mov(b_, ptr[group_ + offsetof(integer_group_t, quads)]);
        mov(a_, arg(offsetof(integer_tile_t, a)));
        add(a_, ptr[group_ + offsetof(integer_group_t, place)]);
        base_of_high(a_high_, a_, a_pitch_);
        if (slice_ == 0) call_for_next_rows(rows);
        begin_sums(rows);
    }

    // Short sums begin with the corrections.
    void begin_sums(int rows) {
        const bool corrects = format_.has_short_sums;
        if (corrects) load_columns(offsetof(integer_columns_t, shorts));
        for (int set = 0; set < sets(rows); ++set)
            for (int r = 0; r < rows; ++r)
                begin_sums_of_row(r, set, corrects && set == 0);
    }

    void begin_sums_of_row(int row, int set, bool corrects) {
        if (corrects)
            vpbroadcastd(vmm_a(row),
                    ptr[parameters_of(row) + offsetof(row_group_t, short_zp)]);
        for (int v = 0; v < vectors; ++v) {
            const vmm_t x = sum(row, v, set);
            if (corrects) vpmaddwd(x, vmm_a(row), vmm_b(v));
            else clear(x);
        }
    }

    // What the next tile takes of a and c is in a core's second cache.
    void call_for_next_rows(int rows) {
        constexpr size_t most_lines = 2;
        imul(at_, a_pitch_, rows);
        add(at_, a_);
        for (int r = 0; r < rows; ++r) {
            for (size_t i = 0; i < most_lines; ++i)
                prefetcht0(ptr[at_ + i * line]);
            add(at_, a_pitch_);
        }
        imul(at_, c_pitch_, rows);
        add(at_, c_);
        for (int r = 0; r < rows; ++r) {
            for (size_t at = 0; at < quad_bytes; at += line)
                prefetcht0(ptr[at_ + at]);
            add(at_, c_pitch_);
        }
    }

    void all_quads(int rows) {
        Label l_loop, l_rest, l_single, l_end;
        mov(quads_, ptr[group_ + offsetof(integer_group_t, quad_count)]);
        sub(quads_, unroll);
        jl(l_rest, T_NEAR);
        align(32);
        L(l_loop);
        quads(rows, unroll);
        sub(quads_, unroll);
        jge(l_loop, T_NEAR);
        L(l_rest);
        add(quads_, unroll);
        jz(l_end, T_NEAR);
        L(l_single);
        quads(rows, 1);
        dec(quads_);
        jnz(l_single, T_NEAR);
        L(l_end);
        if (sets(rows) == 1) return;
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < vectors; ++v)
                vpaddd(sum(r, v), sum(r, v), sum(r, v, 1));
    }

    void quads(int rows, int count) {
        if (count == unroll && format_.depth_stride == 1)
            ask_for_piece(*this, asked_);
        for (int i = 0; i < count; ++i) {
            const auto quad = b_ + static_cast<size_t>(i) * quad_bytes;
            for (int v = 0; v < vectors; ++v) {
                load(vmm_b(v), ptr[quad + place(v)]);
                if (!format_.has_short_sums && begins_line(v))
                    prefetcht0(ptr[quad + place(v) + bytes_ahead]);
            }
            for (int r = 0; r < rows; ++r) {
                vpbroadcastd(vmm_a(r),
                        ptr[row_of_a(r) + static_cast<size_t>(i) * 4]);
                for (int v = 0; v < vectors; ++v)
                    dot4(sum(r, v, i % sets(rows)), vmm_b(v), vmm_a(r));
            }
        }
        add(b_, static_cast<uint32_t>(count) * quad_bytes);
        add(a_, static_cast<uint32_t>(count) * 4);
        if (rows > 3) add(a_high_, static_cast<uint32_t>(count) * 4);
    }

    void correct(int rows) {
        if (format_.has_short_sums) return;
        subtract(rows, offsetof(integer_columns_t, zps),
                offsetof(row_group_t, sum));
        if (format_.has_src_zps)
            subtract(rows, offsetof(integer_columns_t, sums),
                    offsetof(row_group_t, zp));
    }

    void load_columns(size_t offset) {
        mov(at_, ptr[group_ + offsetof(integer_group_t, columns)]);
        for (int v = 0; v < vectors; ++v)
            vmovups(vmm_b(v), ptr[at_ + offset + place(v)]);
    }

    void subtract(int rows, size_t of_columns, size_t of_row) {
        load_columns(of_columns);
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < vectors; ++v) {
                multiply_low(vmm_a(v), vmm_b(v), parameters_of(r) + of_row);
                vpsubd(sum(r, v), sum(r, v), vmm_a(v));
            }
    }

    void add_to_c(int rows) {
        load_columns(offsetof(integer_columns_t, scales));
        for (int r = 0; r < rows; ++r) {
            vbroadcastss(vmm_a(r),
                    ptr[parameters_of(r) + offsetof(row_group_t, scale)]);
            for (int v = 0; v < vectors; ++v) {
                const Address c = ptr[row_of_c(r) + place(v)];
                vcvtdq2ps(sum(r, v), sum(r, v));
                vmulps(sum(r, v), sum(r, v), vmm_b(v));
                vfmadd213ps(sum(r, v), vmm_a(r), c);
                vmovups(c, sum(r, v));
            }
        }
    }

    int slice_ = 0; // of the panel's columns
};

template <isa_t isa>
result_t make(
        const integer_format_t &format, jit_integer_multiply_t &multiply) {
    multiply.most_rows = rows_at_once;
    multiply.quads = unroll;
    multiply.pieces = generator_t<isa>::slices;
    return make_jit_as<generator_t<isa>>(multiply.code, format);
}

} // namespace

void ask_for_piece(jit_generator_t &code, const Reg64 &at) {
    using namespace Xbyak::util;
    const auto asked = [](size_t offset) {
        return qword[rdi + offsetof(integer_tile_t, asked) + offset];
    };
    constexpr auto piece = static_cast<uint32_t>(integer_asked_t::piece);
    Label l_within;
    for (uint32_t i = 0; i < piece; i += 64)
        code.prefetcht1(code.ptr[at + i]);
    code.add(at, piece);
    code.cmp(at, asked(offsetof(integer_asked_t, end)));
    code.jb(l_within);
    code.sub(at, asked(offsetof(integer_asked_t, width)));
    code.add(at, asked(offsetof(integer_asked_t, pitch)));
    code.mov(asked(offsetof(integer_asked_t, at)), at);
    code.add(at, asked(offsetof(integer_asked_t, width)));
    code.mov(asked(offsetof(integer_asked_t, end)), at);
    code.mov(at, asked(offsetof(integer_asked_t, at)));
    code.L(l_within);
}

result_t make_jit_integer_multiply(
        const integer_format_t &format, jit_integer_multiply_t &multiply) {
    return make<isa_avx512_core_vnni>(format, multiply);
}

result_t make_jit_integer_multiply_avx_vnni(
        const integer_format_t &format, jit_integer_multiply_t &multiply) {
    return make<isa_avx_vnni>(format, multiply);
}

} // namespace dnnl_dequant
