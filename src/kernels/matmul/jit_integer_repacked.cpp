// Rows of bytes times weights that were repacked: one stream, read as it lies,
// asked for ahead. Up to six rows by a whole panel, else up to twelve by a
// slice of 32 columns of it, then by the other.
//
//   dot = sum a b - zp_a sum_b - zp_b sum_a      all of it modulo 2^32
//   c += f32(dot) * scale of b * scale of a
// where sums fit 16 bits, one vpmaddwd makes both corrections. Lanes are in the
// order of the stream until the last group is done; then c is put in order.
//
// Registers: rdi the tile; rcx the weights, r9 where the group begins; rax r14
// a, and where the group begins; rsi the pitch of its quads; r8 quads of each
// group, r10 quads to go, r15 groups to go; r12 r13 parameters of rows, and
// their pitch; rdx r11 c, and its pitch; rbx rbp a row's parameters and c, rbx
// the next quad of a. The first 24 vectors are sums, then what was loaded.

#include "kernels/matmul/integer_repacked.hpp"

#include <array>
#include <cstddef>
#include <functional>

#include "kernels/matmul/jit_integer_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using tile_t = integer_repacked_tile_t;
constexpr int most_rows = 12, rows_by_panel = 6, panel_vectors = 4;
constexpr uint32_t line = 64;
// Of the stream; what is read next of a group comes from the first cache.
constexpr size_t bytes_ahead = 4096;

constexpr size_t bytes(int vectors) {
    return static_cast<size_t>(vectors) * line;
}

class generator_t : public jit_generator_t {
public:
    generator_t(const integer_format_t &format, int rows)
        : jit_generator_t("jit_integer_repacked")
        , format_(format)
        , is_nibble_(bits_of(format.weights) == 4)
        , by_column_(format.depth_stride == 1)
        , rows_(rows) {}

    void operator()(const tile_t &tile) const {
        getCode<void (*)(const tile_t *)>()(&tile);
    }

private:
    Address arg(size_t offset) { return qword[rdi + offset]; }

    // Both nibbles are of one column, or of two.
    bool has_two_depths() const { return is_nibble_ && by_column_; }
    bool has_two_columns() const { return is_nibble_ && !by_column_; }
    // Of a panel, from the weights of one step to the next.
    int step_lines() const { return has_two_columns() ? 2 : 4; }
    int vectors() const {
        return rows_ <= rows_by_panel ? panel_vectors : panel_vectors / 2;
    }
    int slices() const { return panel_vectors / vectors(); }

    // A few rows have sums of even and of odd quads: more in flight.
    int sets() const { return rows_ <= rows_by_panel / 2 ? 2 : 1; }
    Zmm sum(int row, int v, int set = 0) const {
        return Zmm((set * rows_ + row) * vectors() + v);
    }
    const Zmm mask_ {31};

    void generate() override {
        preamble();
        mov(rcx, arg(offsetof(tile_t, weights)));
        mov(rax, arg(offsetof(tile_t, a)));
        mov(rsi, arg(offsetof(tile_t, a_quad_pitch)));
        mov(r8, arg(offsetof(tile_t, quads)));
        mov(r15, arg(offsetof(tile_t, group_count)));
        mov(r12, arg(offsetof(tile_t, row_groups)));
        imul(r13, arg(offsetof(tile_t, row_groups_pitch)), sizeof(row_group_t));
        mov(rdx, arg(offsetof(tile_t, c)));
        mov(r11, arg(offsetof(tile_t, c_pitch)));
        shl(r11, 2);
        if (is_nibble_) vmovups(mask_, constant(0x0f0f0f0f));
        all_groups();
        postamble();
    }

    void all_groups() {
        clear_c();
        Label l_group;
        L(l_group);
        mov(r9, rcx);
        mov(r14, rax);
        for (int slice = 0; slice < slices(); ++slice) {
            mov(rcx, r9);
            mov(rax, r14);
            all_quads(slice);
            end_group(slice);
        }
        add(rcx, static_cast<uint32_t>(
                         integer_panel * (format_.has_short_sums ? 8 : 12)));
        add(r12, sizeof(row_group_t));
        add(r8, sizeof(dim_t));
        dec(r15);
        jnz(l_group, T_NEAR);
        if (has_two_columns()) put_in_order();
    }

    void each_row_of_c(const std::function<void(int)> &body) {
        mov(rbp, rdx);
        for (int r = 0; r < rows_; ++r) {
            body(r);
            if (r + 1 < rows_) add(rbp, r11);
        }
    }

    void clear_c() {
        vpxord(Zmm(0), Zmm(0), Zmm(0));
        each_row_of_c([this](int) {
            for (int v = 0; v < panel_vectors; ++v)
                vmovups(ptr[rbp + bytes(v)], Zmm(0));
        });
    }

    void all_quads(int slice) {
        for (int i = 0; i < sets() * rows_ * vectors(); ++i)
            vpxord(Zmm(i), Zmm(i), Zmm(i));
        mov(r10, ptr[r8]);
        const int steps = sets();
        const auto quads
                = static_cast<uint32_t>(steps * (has_two_depths() ? 2 : 1));
        Label l_loop, l_last, l_end;
        sub(r10, quads);
        jl(l_last, T_NEAR);
        align(32);
        L(l_loop);
        for (int i = 0; i < steps; ++i)
            step(slice, i);
        sub(r10, quads);
        jge(l_loop, T_NEAR);
        L(l_last);
        if (steps > 1) {
            add(r10, quads);
            jz(l_end, T_NEAR);
            step(slice, 0);
            L(l_end);
            for (int r = 0; r < rows_; ++r)
                for (int v = 0; v < vectors(); ++v)
                    vpaddd(sum(r, v), sum(r, v), sum(r, v, 1));
        }
    }

    // A quad of all rows by the slice, or two.
    void step(int slice, int set) {
        const Zmm low[] = {Zmm(24), Zmm(26)}, high[] = {Zmm(25), Zmm(27)};
        const int lines = step_lines() / slices();
        if (has_two_depths()) lea(rbx, ptr[rax + rsi]);
        for (int i = 0; i < lines; ++i) {
            const auto at = rcx + bytes(slice * lines + i);
            const Zmm &x = low[i % 2], &y = high[i % 2];
            vmovdqu32(x, ptr[at]);
            prefetcht0(ptr[at + bytes_ahead]);
            if (is_nibble_) {
                vpsrlw(y, x, 4);
                vpandd(x, x, mask_);
                vpandd(y, y, mask_);
            }
            if (has_two_columns()) {
                multiply(2 * i, set, x, rax);
                multiply(2 * i + 1, set, y, rax);
                continue;
            }
            multiply(i, set, x, rax);
            if (has_two_depths()) multiply(i, set, y, rbx);
        }
        add(rcx, static_cast<uint32_t>(bytes(step_lines())));
        if (has_two_depths()) lea(rax, ptr[rax + rsi * 2]);
        else add(rax, rsi);
    }

    void multiply(int v, int set, const Zmm &b, const Reg64 &a) {
        for (int r = 0; r < rows_; ++r)
            vpdpbusd(sum(r, v, set), b, ptr_b[a + static_cast<size_t>(r) * 4]);
    }

    void end_group(int slice) {
        mov(rbx, r12);
        each_row_of_c([&](int r) {
            for (int v = 0; v < vectors(); ++v)
                add_to_c(sum(r, v), bytes(slice * vectors() + v), v == 0);
            if (r + 1 < rows_) add(rbx, r13);
        });
    }

    // One vector, from `at` in the panel on.
    void add_to_c(const Zmm &sum, size_t at, bool is_first) {
        constexpr size_t after = integer_panel * 4;
        const Zmm of_row(28), scale(29), x(30);
        if (is_first)
            vbroadcastss(scale, ptr[rbx + offsetof(row_group_t, scale)]);
        if (format_.has_short_sums) {
            if (is_first)
                vpbroadcastd(
                        of_row, ptr[rbx + offsetof(row_group_t, short_zp)]);
            vpmaddwd(x, of_row, ptr[rcx + after + at]);
            vpaddd(sum, sum, x);
        } else {
            vmovups(x, ptr[rcx + after + at]);
            vpmulld(x, x, ptr_b[rbx + offsetof(row_group_t, sum)]);
            vpsubd(sum, sum, x);
            vmovups(x, ptr[rcx + 2 * after + at]);
            vpmulld(x, x, ptr_b[rbx + offsetof(row_group_t, zp)]);
            vpsubd(sum, sum, x);
        }
        vcvtdq2ps(sum, sum);
        vmulps(sum, sum, ptr[rcx + at]);
        vfmadd213ps(sum, scale, ptr[rbp + at]);
        vmovups(ptr[rbp + at], sum);
    }

    // Even columns and odd ones, a slice after the other.
    void put_in_order() {
        const Zmm first(30), second(29), even(0), odd(1), x(2);
        load_interleaving(*this, first, second);
        each_row_of_c([&](int) {
            for (int v = 0; v < panel_vectors; v += 2) {
                vmovups(even, ptr[rbp + bytes(v)]);
                vmovups(odd, ptr[rbp + bytes(v + 1)]);
                vmovaps(x, even);
                vpermt2ps(x, first, odd);
                vpermt2ps(even, second, odd);
                vmovups(ptr[rbp + bytes(v)], x);
                vmovups(ptr[rbp + bytes(v + 1)], even);
            }
        });
    }

    const integer_format_t format_;
    const bool is_nibble_, by_column_;
    const int rows_;
};

// The next rows that are done together: even parts of what is left.
dim_t next_rows(dim_t left) {
    const dim_t parts = div_up(left, most_rows);
    return div_up(left, parts);
}

class jit_integer_repacked_t : public integer_repacked_kernel_t {
public:
    // Those of so many rows, and of one for what is left of fewer.
    result_t make(const integer_format_t &format, dim_t rows) {
        result_t result = make_code(format, 1);
        for (dim_t left = rows; left > 0 && result.ok();
                left -= next_rows(left))
            result = make_code(format, next_rows(left));
        return result;
    }

    const char *name() const override {
        return "jit_integer_matmul_repacked_avx512_core_vnni";
    }

    void multiply(const tile_t &tile) const noexcept override {
        tile_t part = tile;
        for (dim_t row = 0; row < tile.rows;) {
            part.a = tile.a + row * 4;
            part.row_groups = tile.row_groups + row * tile.row_groups_pitch;
            part.c = tile.c + row * tile.c_pitch;
            dim_t rows = next_rows(tile.rows - row);
            if (!code_of(rows)) rows = 1;
            (*code_of(rows))(part);
            row += rows;
        }
    }

private:
    using code_t = std::unique_ptr<generator_t>;

    const code_t &code_of(dim_t rows) const {
        return code_[static_cast<size_t>(rows)];
    }
    result_t make_code(const integer_format_t &format, dim_t rows) {
        auto &code = code_[static_cast<size_t>(rows)];
        if (code) return {};
        return make_jit(code, format, static_cast<int>(rows));
    }

    std::array<code_t, most_rows + 1> code_;
};

} // namespace

result_t make_integer_repacked(const integer_format_t &format, dim_t rows,
        isa_t isa, std::shared_ptr<const integer_repacked_kernel_t> &kernel) {
    if (!has(isa, isa_avx512_core_vnni))
        return {status_t::unimplemented, "no AVX-512 VNNI"};
    auto made = std::make_shared<jit_integer_repacked_t>();
    const result_t result = made->make(format, rows);
    if (result.ok()) kernel = std::move(made);
    return result;
}

} // namespace dnnl_dequant
