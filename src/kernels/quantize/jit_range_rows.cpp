// The generated code that finds ranges:
//
//      above = max(above, x), below = min(below, x)      below as it is, not -x
//
// over rows by columns. A NaN is the first of the two operands, so it leaves
// what was found. A lane that was not loaded is 0, which changes nothing.
//
// Registers:
//   rdi                      the arguments
//   rdx, rsi, rbx            rows left, the row, its pitch
//   r8, r9                   cursor and columns left
//   r10, r11                 the ranges
//   vmm0 - 3, 4 - 7, 8 - 11  values, above, below

#include "kernels/quantize/jit_range_rows.hpp"

#include <cstddef>

#include "kernels/jit/io.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

template <isa_t isa>
class jit_range_generator_t : public jit_generator_t, public jit_range_rows_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using io_t = jit_io_t<isa>;

    jit_range_generator_t(data_type_t src, range_mode_t mode)
        : jit_generator_t("jit_ranges")
        , mode_(mode)
        , io_(*this, dense_format(src), data_type_t::f32, 12) {}

    void operator()(jit_range_args_t &args) const override {
        getCode<void (*)(jit_range_args_t *)>()(&args);
    }

private:
    static constexpr bool is_avx512 = isa == isa_avx512_core;
    static constexpr int unroll = 4;
    static constexpr uint32_t line = 64, ahead = 2048; // bytes
    static constexpr uint32_t step_width = io_t::simd_w;
    static constexpr uint32_t vmm_bytes = step_width * 4;

    bool by_column() const { return mode_ == range_mode_t::by_column; }
    vmm_t value(int u) const { return vmm_t(u); }
    vmm_t above(int u) const { return vmm_t(unroll + u); }
    vmm_t below(int u) const { return vmm_t(2 * unroll + u); }

    void generate() override {
        preamble();
        mov(reg_above, arg(offsetof(jit_range_args_t, above)));
        mov(reg_below, arg(offsetof(jit_range_args_t, below)));
        mov(reg_count, arg(offsetof(jit_range_args_t, cols)));
        if (is_avx512) {
            and_(reg_count, step_width - 1);
            io_.load_tail_masks(reg_count, rax);
            mov(reg_count, arg(offsetof(jit_range_args_t, cols)));
        }
        mov(reg_pitch, arg(offsetof(jit_range_args_t, src_pitch)));
        if (by_column()) columns();
        else all_rows();
        postamble();
    }

    // --- one range, or one a row: rows outside

    void all_rows() {
        Label l_rows;
        clear();
        mov(reg_row, arg(offsetof(jit_range_args_t, src)));
        mov(reg_rows, arg(offsetof(jit_range_args_t, rows)));
        L(l_rows);
        mov(reg_src, reg_row);
        mov(reg_count, arg(offsetof(jit_range_args_t, cols)));
        steps_while(unroll);
        steps_while(1);
        tail([&] { widen_by(0, 0); });
        if (mode_ == range_mode_t::by_row) {
            write_range();
            clear();
            add(reg_above, 4);
            add(reg_below, 4);
        }
        add(reg_row, reg_pitch);
        dec(reg_rows);
        jnz(l_rows, T_NEAR);
        if (mode_ == range_mode_t::of_all) write_range();
    }

    void clear() {
        for (int u = 0; u < unroll; ++u) {
            vxorps(Xmm(above(u).getIdx()), Xmm(above(u).getIdx()),
                    Xmm(above(u).getIdx()));
            vxorps(Xmm(below(u).getIdx()), Xmm(below(u).getIdx()),
                    Xmm(below(u).getIdx()));
        }
    }

    // Folds all vectors and lanes into one.
    void write_range() {
        for (int u = unroll / 2; u > 0; u /= 2)
            for (int i = 0; i < u; ++i) {
                vmaxps(above(i), above(i), above(i + u));
                vminps(below(i), below(i), below(i + u));
            }
        const auto fold = [&](auto max, auto min) {
            vmaxps(max, max, decltype(max)(unroll + 1));
            vminps(min, min, decltype(min)(2 * unroll + 1));
        };
        const Ymm max(unroll), min(2 * unroll), max2(unroll + 1),
                min2(2 * unroll + 1);
        if (is_avx512) {
            vextractf64x4(max2, Zmm(unroll), 1);
            vextractf64x4(min2, Zmm(2 * unroll), 1);
            fold(max, min);
        }
        const Xmm x_max(unroll), x_min(2 * unroll), x_max2(unroll + 1),
                x_min2(2 * unroll + 1);
        vextractf128(x_max2, max, 1);
        vextractf128(x_min2, min, 1);
        fold(x_max, x_min);
        for (const uint8_t order : {uint8_t {0x4e}, uint8_t {0xb1}}) {
            vpermilps(x_max2, x_max, order);
            vpermilps(x_min2, x_min, order);
            fold(x_max, x_min);
        }
        vmovss(ptr[reg_above], x_max);
        vmovss(ptr[reg_below], x_min);
    }

    void steps_while(int count) {
        Label l_steps, l_end;
        const uint32_t elements = step_width * static_cast<uint32_t>(count);
        cmp(reg_count, elements);
        jl(l_end, T_NEAR);
        align(16);
        L(l_steps);
        prefetch(elements);
        for (int u = 0; u < count; ++u)
            widen_by(u, static_cast<uint32_t>(u) * step_width);
        add(reg_src, io_.src_bytes(elements));
        sub(reg_count, elements);
        cmp(reg_count, elements);
        jge(l_steps, T_NEAR);
        L(l_end);
    }

    void prefetch(uint32_t elements) {
        for (uint32_t at = 0; at < io_.src_bytes(elements); at += line)
            prefetcht0(ptr[reg_src + at + ahead]);
    }

    // --- one a column: columns outside

    void columns() {
        mov(reg_row, arg(offsetof(jit_range_args_t, src)));
        column_steps(unroll);
        column_steps(1);
        tail([&] { column_block(1); });
    }

    void column_steps(int count) {
        Label l_steps, l_end;
        const uint32_t elements = step_width * static_cast<uint32_t>(count);
        L(l_steps);
        cmp(reg_count, elements);
        jl(l_end, T_NEAR);
        column_block(count);
        add(reg_row, io_.src_bytes(elements));
        add(reg_above, elements * 4);
        add(reg_below, elements * 4);
        sub(reg_count, elements);
        jmp(l_steps, T_NEAR);
        L(l_end);
    }

    // All rows of so many vectors of columns.
    void column_block(int count) {
        Label l_rows;
        for (int u = 0; u < count; ++u) {
            vmovups(above(u),
                    ptr[reg_above + static_cast<uint32_t>(u) * vmm_bytes]);
            vmovups(below(u),
                    ptr[reg_below + static_cast<uint32_t>(u) * vmm_bytes]);
        }
        mov(reg_src, reg_row);
        mov(reg_rows, arg(offsetof(jit_range_args_t, rows)));
        L(l_rows);
        for (int u = 0; u < count; ++u)
            widen_by(u, static_cast<uint32_t>(u) * step_width);
        add(reg_src, reg_pitch);
        dec(reg_rows);
        jnz(l_rows, T_NEAR);
        for (int u = 0; u < count; ++u) {
            vmovups(ptr[reg_above + static_cast<uint32_t>(u) * vmm_bytes],
                    above(u));
            vmovups(ptr[reg_below + static_cast<uint32_t>(u) * vmm_bytes],
                    below(u));
        }
    }

    // --- what both have

    // Runs `body` for the rest of a row: by mask, or one by one in lane 0.
    template <typename Body>
    void tail(const Body &body) {
        Label l_tail, l_end;
        test(reg_count, reg_count);
        jz(l_end, T_NEAR);
        if (is_avx512) {
            in_tail_ = true;
            body();
        } else {
            L(l_tail);
            in_tail_ = true;
            body();
            const Reg64 &cursor = by_column() ? reg_row : reg_src;
            add(cursor, io_.src_bytes(1));
            if (by_column()) {
                add(reg_above, 4);
                add(reg_below, 4);
            }
            dec(reg_count);
            jnz(l_tail, T_NEAR);
        }
        in_tail_ = false;
        L(l_end);
    }

    void widen_by(int u, uint32_t offset) {
        const vmm_t v = value(u);
        const RegExp from = reg_src + io_.src_bytes(offset);
        if (in_tail_ && !is_avx512) io_.load_raw_single(v, from, 0, eax);
        else io_.load_raw(v, from, in_tail_);
        io_.extract(v, v, 0, v, v);
        vmaxps(above(u), v, above(u));
        vminps(below(u), v, below(u));
    }

    Address arg(size_t offset) { return qword[abi_param + offset]; }

    const range_mode_t mode_;
    bool in_tail_ = false;
    io_t io_;
    const Reg64 reg_rows = rdx, reg_row = rsi, reg_pitch = rbx, reg_src = r8,
                reg_count = r9, reg_above = r10, reg_below = r11;
};

} // namespace

result_t make_jit_range_rows(data_type_t src, range_mode_t mode, isa_t isa,
        std::unique_ptr<const jit_range_rows_t> &kernel) {
    return make_jit_for<jit_range_generator_t>(isa, kernel, src, mode);
}

} // namespace dnnl_dequant
