#ifndef KERNELS_INTEGER_GEMM_JIT_INTEGER_TILE_HPP
#define KERNELS_INTEGER_GEMM_JIT_INTEGER_TILE_HPP

#include "kernels/integer_gemm/jit_integer_code.hpp"

namespace dnnl_dequant {

/// The base of all generators that multiply by unpacked, packed or repacked
/// panels: the registers that each of them has, and the epilogue.
class jit_integer_gemm_t : public jit_integer_base_t {
protected:
    jit_integer_gemm_t(const char *name, const integer_format_t &format,
            const Reg64 &c_pitch)
        : jit_integer_base_t(name, format)
        , c_pitch_(general_.take("pitch of c", c_pitch)) {}

    /// Runs the body if the argument has the flag.
    template <typename body_t>
    void when(size_t flag, const body_t &body) {
        Label l_end;
        cmp(byte[rdi + flag], 0);
        je(l_end, T_NEAR);
        body();
        L(l_end);
    }
    /// Runs `yes` if the argument has the flag, or else `no`.
    template <typename yes_t, typename no_t>
    void choose_by(size_t flag, const yes_t &yes, const no_t &no) {
        Label l_end;
        when(flag, [&] {
            yes();
            jmp(l_end, T_NEAR);
        });
        no();
        L(l_end);
    }

    /// Subtracts a column's parameter times a row's one.
    void subtract_product(const Vmm &x, const Vmm &product,
            const Vmm &of_column, const RegExp &of_row) {
        multiply_low(product, of_column, of_row);
        vpsubd(x, x, product);
    }
    /// Subtracts what the zero points of columns and of the row add to sums.
    void subtract_zps(const Vmm &x, const Vmm &product, const Vmm &zps,
            const Vmm &sums, const RegExp &row) {
        subtract_product(x, product, zps, row + offsetof(row_group_t, sum));
        if (format_.has_src_zps)
            subtract_product(x, product, sums, row + offsetof(row_group_t, zp));
    }
    /// Prefetches a step of the next weights into L2: those at `prefetch`, of
    /// the argument's integer_prefetch_t at an offset.
    void prefetch_step(const Reg64 &prefetch, size_t offset) {
        constexpr auto step = static_cast<uint32_t>(integer_prefetch_t::step);
        const auto at = arg(offset + offsetof(integer_prefetch_t, at)),
                   end = arg(offset + offsetof(integer_prefetch_t, end)),
                   width = arg(offset + offsetof(integer_prefetch_t, width)),
                   pitch = arg(offset + offsetof(integer_prefetch_t, pitch));
        Label l_within;
        for (uint32_t i = 0; i < step; i += line)
            prefetch_early(ptr[prefetch + i]);
        add(prefetch, step);
        cmp(prefetch, end);
        jb(l_within);
        sub(prefetch, width);
        add(prefetch, pitch);
        mov(at, prefetch);
        add(prefetch, width);
        mov(end, prefetch);
        mov(prefetch, at);
        L(l_within);
    }
    /// Loads a row's scale and, with short sums, its zero point.
    void load_row(const Vmm &scale, const Vmm &zp, const RegExp &row) {
        vbroadcastss(scale, ptr[row + offsetof(row_group_t, scale)]);
        if (format_.has_short_sums)
            vpbroadcastd(zp, ptr[row + offsetof(row_group_t, short_zp)]);
    }
    /// The epilogue: corrected sums, which may be in memory, become f32, are
    /// scaled by those of the columns and of the row, and are added to c.
    void add_to_c(const Vmm &x, const Operand &sums, const Operand &scales,
            const Vmm &scale_of_row, const Address &c) {
        vcvtdq2ps(x, sums);
        vmulps(x, x, scales);
        vfmadd213ps(x, scale_of_row, c);
        vmovups(c, x);
    }

    const Reg64 a_ = general_.take("a", rax),
                a_pitch_ = general_.take("pitch of a or of its k4 blocks", rsi),
                b_ = general_.take("k4 blocks of b", rcx),
                k4_blocks_ = general_.take("k4 blocks to go", r10),
                parameters_ = general_.take("parameters of rows", r12),
                parameters_pitch_ = general_.take("pitch of parameters", r13),
                c_ = general_.take("c", rdx), c_pitch_;
};

/// A tile of integers, whether its weights are bytes or packed. The base has
/// the arguments, and separate code for each number of rows.
class jit_integer_tile_t : public jit_integer_gemm_t {
protected:
    jit_integer_tile_t(const char *name, const integer_format_t &format,
            int most_rows, const Reg64 &c_pitch)
        : jit_integer_gemm_t(name, format, c_pitch)
        , most_rows_(most_rows) {}

    virtual void load_pitches() {
        mov(a_pitch_,
                arg(format_.is_packed ? offsetof(integer_tile_t, a_k4_pitch)
                                      : offsetof(integer_tile_t, a_pitch)));
        mov(c_pitch_, arg(offsetof(integer_tile_t, c_pitch)));
        shl(c_pitch_, 2);
    }
    virtual void clear_c(int rows) = 0;
    virtual void all_groups(int rows) = 0;

    void generate() final {
        preamble();
        mov(parameters_, arg(offsetof(integer_tile_t, row_groups)));
        imul(parameters_pitch_, arg(offsetof(integer_tile_t, row_groups_pitch)),
                sizeof(row_group_t));
        mov(group_, arg(offsetof(integer_tile_t, groups)));
        mov(groups_, arg(offsetof(integer_tile_t, group_count)));
        mov(prefetch_, of_prefetch(offsetof(integer_prefetch_t, at)));
        mov(c_, arg(offsetof(integer_tile_t, c)));
        load_pitches();
        Label l_end;
        for (int rows = most_rows_; rows > 0; --rows) {
            Label l_next, l_accumulate;
            cmp(arg(offsetof(integer_tile_t, rows)),
                    static_cast<uint32_t>(rows));
            jne(l_next, T_NEAR);
            cmp(byte[rdi + offsetof(integer_tile_t, accumulates)], 0);
            jne(l_accumulate, T_NEAR);
            clear_c(rows);
            L(l_accumulate);
            all_groups(rows);
            jmp(l_end, T_NEAR);
            L(l_next);
        }
        L(l_end);
        mov(of_prefetch(offsetof(integer_prefetch_t, at)), prefetch_);
        postamble();
    }

    /// Clears rows of c; `at` advances from row to row.
    void clear_rows(int rows, const Reg64 &at, const Vmm &zero) {
        clear(zero);
        mov(at, c_);
        for (int r = 0; r < rows; ++r) {
            for (uint32_t i = 0; i < k4_bytes; i += zero.getBit() / 8)
                vmovups(ptr[at + i], zero);
            add(at, c_pitch_);
        }
    }
    void next_group() {
        add(group_, sizeof(integer_group_t));
        add(parameters_, sizeof(row_group_t));
    }

    void prefetch_step() {
        jit_integer_gemm_t::prefetch_step(
                prefetch_, offsetof(integer_tile_t, prefetch));
    }

private:
    Address of_prefetch(size_t offset) {
        return arg(offsetof(integer_tile_t, prefetch) + offset);
    }

    const int most_rows_;

protected:
    const Reg64 group_ = general_.take("group", r8),
                groups_ = general_.take("groups to go", r15),
                prefetch_ = general_.take("weights to prefetch", rbp);
};

/// Up to six rows by weights that are bytes.
class jit_integer_bytes_t : public jit_integer_tile_t {
public:
    static constexpr int rows_at_once = 6;

protected:
    jit_integer_bytes_t(const char *name, const integer_format_t &format)
        : jit_integer_tile_t(name, format, rows_at_once, r9) {}

    /// Returns the address of a row; rows 3 to 5 are relative to `high`.
    static RegExp row_of(
            const Reg64 &low, const Reg64 &high, const Reg64 &pitch, int row) {
        const RegExp base(row < 3 ? low : high);
        return row % 3 == 0 ? base : base + pitch * (row % 3);
    }
    void base_of_high(const Reg64 &high, const Reg64 &low, const Reg64 &pitch) {
        lea(high, ptr[pitch + pitch * 2]);
        add(high, low);
    }
    RegExp row_of_a(int row) const {
        return row_of(a_, a_high_, a_pitch_, row);
    }
    void load_a() {
        mov(a_, arg(offsetof(integer_tile_t, a)));
        add(a_, ptr[group_ + offsetof(integer_group_t, place)]);
        base_of_high(a_high_, a_, a_pitch_);
    }
    void step_k4_blocks(int rows, uint32_t count) {
        add(b_, count * k4_bytes);
        add(a_, count * 4);
        if (rows > 3) add(a_high_, count * 4);
    }
    /// Short sums begin with their corrections instead.
    void correct(int rows) {
        if (format_.has_short_sums) return;
        subtract(rows, offsetof(integer_columns_t, zps),
                offsetof(row_group_t, sum));
        if (format_.has_src_zps)
            subtract(rows, offsetof(integer_columns_t, sums),
                    offsetof(row_group_t, zp));
    }
    virtual void subtract(int rows, size_t of_columns, size_t of_row) = 0;

    const Reg64 a_high_ = general_.take("a of rows 3 to 5", rbx);
};

} // namespace dnnl_dequant

#endif
