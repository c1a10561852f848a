// Bytes times bytes by vpdpbusd, which sums four products a lane: a tile of six
// rows by some vectors stays in registers down a group, then is made f32 and
// added to c; group after group. Four vectors of AVX-512 are a whole panel. Of
// AVX-VNNI there are registers for two, four times for a panel.
//
//   dot = sum a b - zp_a sum_b - zp_b sum_a      all of it modulo 2^32
// where sums fit 16 bits, one vpmaddwd makes the corrections.
//
// Registers: as jit_integer_tile_t says; rax rbx a of three rows each; rcx
// quads of b; r11 c and r14 parameters of the second three rows; rsi r9 the
// pitches of a and c; r10 quads to go, in between the group's columns. The
// first vectors are sums, six rows of them; the last are b, and those in
// between a's broadcast.

#include "kernels/jit/registers.hpp"
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
    static constexpr int vectors = is_avx512 ? 4 : 2;

public:
    /// A panel's columns are done in so many turns.
    static constexpr int slices
            = static_cast<int>(quad_bytes / (vectors * vector_bytes));

    explicit generator_t(const integer_format_t &format)
        : jit_integer_tile_t("jit_integer_multiply", format, rows_at_once) {}

private:
    using Vmm = typename jit_isa_t<isa>::vmm_t;
    static constexpr int first_a = rows_at_once * vectors,
                         first_b = jit_isa_t<isa>::vmm_count - vectors;

    // Where a vector of the slice lies in a panel's quad, or in its columns.
    size_t place(int v) const {
        return static_cast<size_t>(slice_ * vectors + v) * vector_bytes;
    }
    bool begins_line(int v) const { return place(v) % line == 0; }

    void clear(const Vmm &x) {
        if constexpr (is_avx512) vpxord(x, x, x);
        else vpxor(x, x, x);
    }
    void load(const Vmm &x, const Address &from) {
        if constexpr (is_avx512) vmovdqu32(x, from);
        else vmovdqu(x, from);
    }
    void dot(const Vmm &sums, const Vmm &u8, const Vmm &s8) {
        vpdpbusd(sums, u8, s8, is_avx512 ? EvexEncoding : VexEncoding);
    }

    // One row or two have sums of even and of odd quads: more in flight.
    static int sets(int rows) { return rows <= 2 ? 2 : 1; }
    Vmm sum(int row, int v, int set = 0) const {
        return Vmm((set * 2 + row) * vectors + v);
    }
    Vmm vmm_a(int i) const { return Vmm(first_a + i % (first_b - first_a)); }
    Vmm vmm_b(int v) const { return Vmm(first_b + v); }

    RegExp row_of(const Reg64 &low, const Reg64 &high, const Reg64 &pitch,
            int row) const {
        const RegExp base(row < 3 ? low : high);
        return row % 3 == 0 ? base : base + pitch * (row % 3);
    }
    RegExp row_of_a(int row) const { return row_of(rax, rbx, rsi, row); }
    RegExp row_of_c(int row) const { return row_of(rdx, r11, r9, row); }
    RegExp parameters_of(int row) const { return row_of(r12, r14, r13, row); }
    void base_of_high(const Reg64 &high, const Reg64 &low, const Reg64 &pitch) {
        lea(high, ptr[pitch + pitch * 2]);
        add(high, low);
    }

    void load_arguments() override {
        mov(rsi, arg(offsetof(integer_tile_t, a_pitch)));
        base_of_high(r14, r12, r13);
        mov(r9, arg(offsetof(integer_tile_t, c_pitch)));
        shl(r9, 2);
        base_of_high(r11, rdx, r9);
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
        add(r8, sizeof(integer_group_t));
        add(r12, sizeof(row_group_t));
        add(r14, sizeof(row_group_t));
        dec(r15);
        jnz(l_group, T_NEAR);
    }

    void begin_group(int rows) {
        mov(rcx, ptr[r8 + offsetof(integer_group_t, quads)]);
        mov(rax, arg(offsetof(integer_tile_t, a)));
        add(rax, ptr[r8 + offsetof(integer_group_t, place)]);
        base_of_high(rbx, rax, rsi);
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
            const Vmm x = sum(row, v, set);
            if (corrects) vpmaddwd(x, vmm_a(row), vmm_b(v));
            else clear(x);
        }
    }

    // What the next tile takes of a and c is in a core's second cache.
    void call_for_next_rows(int rows) {
        constexpr size_t most_lines = 2;
        imul(r10, rsi, rows);
        add(r10, rax);
        for (int r = 0; r < rows; ++r) {
            for (size_t i = 0; i < most_lines; ++i)
                prefetcht0(ptr[r10 + i * line]);
            add(r10, rsi);
        }
        imul(r10, r9, rows);
        add(r10, rdx);
        for (int r = 0; r < rows; ++r) {
            for (size_t at = 0; at < quad_bytes; at += line)
                prefetcht0(ptr[r10 + at]);
            add(r10, r9);
        }
    }

    void all_quads(int rows) {
        Label l_loop, l_rest, l_single, l_end;
        mov(r10, ptr[r8 + offsetof(integer_group_t, quad_count)]);
        sub(r10, unroll);
        jl(l_rest, T_NEAR);
        align(32);
        L(l_loop);
        quads(rows, unroll);
        sub(r10, unroll);
        jge(l_loop, T_NEAR);
        L(l_rest);
        add(r10, unroll);
        jz(l_end, T_NEAR);
        L(l_single);
        quads(rows, 1);
        dec(r10);
        jnz(l_single, T_NEAR);
        L(l_end);
        if (sets(rows) == 1) return;
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < vectors; ++v)
                vpaddd(sum(r, v), sum(r, v), sum(r, v, 1));
    }

    void quads(int rows, int count) {
        if (count == unroll && format_.depth_stride == 1)
            ask_for_piece(*this, rbp);
        for (int i = 0; i < count; ++i) {
            const auto quad = rcx + static_cast<size_t>(i) * quad_bytes;
            for (int v = 0; v < vectors; ++v) {
                load(vmm_b(v), ptr[quad + place(v)]);
                if (!format_.has_short_sums && begins_line(v))
                    prefetcht0(ptr[quad + place(v) + bytes_ahead]);
            }
            for (int r = 0; r < rows; ++r) {
                vpbroadcastd(vmm_a(r),
                        ptr[row_of_a(r) + static_cast<size_t>(i) * 4]);
                for (int v = 0; v < vectors; ++v)
                    dot(sum(r, v, i % sets(rows)), vmm_b(v), vmm_a(r));
            }
        }
        add(rcx, static_cast<uint32_t>(count) * quad_bytes);
        add(rax, static_cast<uint32_t>(count) * 4);
        if (rows > 3) add(rbx, static_cast<uint32_t>(count) * 4);
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
        mov(r10, ptr[r8 + offsetof(integer_group_t, columns)]);
        for (int v = 0; v < vectors; ++v)
            vmovups(vmm_b(v), ptr[r10 + offset + place(v)]);
    }

    void subtract(int rows, size_t of_columns, size_t of_row) {
        load_columns(of_columns);
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < vectors; ++v) {
                multiply(vmm_a(v), vmm_b(v), parameters_of(r) + of_row);
                vpsubd(sum(r, v), sum(r, v), vmm_a(v));
            }
    }

    void multiply(const Vmm &to, const Vmm &by, const RegExp &one) {
        if constexpr (is_avx512) {
            vpmulld(to, by, ptr_b[one]);
            return;
        }
        vpbroadcastd(to, ptr[one]);
        vpmulld(to, to, by);
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
