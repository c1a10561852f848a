// The generated code of the dequantize family:
//
//      dst[r][c] = round_dst(f32(src[r][c] - zps) * f32(scales))
//
// for rows r and columns c, each of src and dst dense along c. Scales and zps
// are f32 here, one a row or one an element (then shared by all rows or not):
//
//      for each group of rows          if it is generated for several
//        for each block of rows        several rows if they share parameters
//          load parameters (one a row)
//          for each step of columns    unrolled, then single, then a masked
//          tail
//            load parameters (one an element)
//            for each row of the block: load, subtract, multiply, round, store
//
// A source of 32-bit integers is split into parts that are f32 each, and so are
// zero points of 32 bits. Four tables can replace the arithmetic:
//
//   results of                                 file in kernels/jit   needs
//   a nibble with one scale and zp a row       nibble_table.hpp      AVX-512
//   the same to 16 bits                        nibble_bytes.hpp      AVX2
//   the magnitudes of an f8, in long rows      f8_table.hpp          AVX-512
//   all bytes                                  byte_table.hpp        VBMI
//
// Registers: jit_row_registers.hpp.

#include "kernels/dequantize/jit_row_kernel.hpp"

#include <cstddef>

#include "kernels/dequantize/jit_row_registers.hpp"
#include "kernels/dequantize/jit_row_step.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

template <isa_t isa>
class jit_row_generator_t : public jit_generator_t,
                            public jit_row_kernel_t,
                            private jit_row_registers_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using io_t = jit_io_t<isa>;
    using extent_t = typename io_t::extent_t;

    jit_row_generator_t(const jit_row_desc_t &desc, const char *name)
        : jit_generator_t(name)
        , desc_(desc)
        , step_(*this, desc_)
        , params_(step_.params())
        , is_unrolled_(desc_.is_unrolled(step_width())) {}

    void operator()(jit_row_args_t &args) const override {
        getCode<void (*)(jit_row_args_t *)>()(&args);
    }
    dim_t width() const override { return step_.io().width(); }
    bool is_paired() const override {
        return step_.io().fields() == 2 && !step_.io().in_halves();
    }

private:
    using step_t = jit_row_step_t<isa>;
    using params_t = typename step_t::params_t;
    static constexpr uint32_t f32_bytes = params_t::f32_bytes,
                              vmm_bytes = params_t::vmm_bytes;

    uint32_t step_width() const { return step_.width(); }

    void generate() override {
        preamble();
        step_.load_constants();
        load_pitches();
        if (!step_.looks_up() || step_.has_rest()) params_.load_constants();
        load_rows();
        if (desc_.one_table_a_call) step_.set_row(0);
        if (desc_.in_groups) groups_loop();
        else rows_loops();
        postamble();
    }

    void groups_loop() {
        const Address rows_left = arg(offsetof(jit_row_args_t, rows));
        Label l_groups;
        L(l_groups);
        mov(reg_rows, arg(offsetof(jit_row_args_t, group_rows)));
        cmp(reg_rows, rows_left);
        cmovg(reg_rows, rows_left);
        sub(rows_left, reg_rows);
        rows_loops();
        add(reg_src_row, arg(offsetof(jit_row_args_t, src_jump)));
        add(reg_dst_row, arg(offsetof(jit_row_args_t, dst_jump)));
        params_.next_group();
        cmp(rows_left, 0);
        jg(l_groups, T_NEAR);
    }

    void rows_loops() {
        if (rows_at_once() > 1) rows_loop(rows_at_once());
        rows_loop(1);
    }

    void load_pitches() {
        mov(reg_src_pitch, arg(offsetof(jit_row_args_t, src_pitch)));
        mov(reg_dst_pitch, arg(offsetof(jit_row_args_t, dst_pitch)));
        if (desc_.prefetching && desc_.block_rows == 1) {
            mov(reg_src_ahead, arg(offsetof(jit_row_args_t, src_ahead)));
            mov(reg_dst_ahead, arg(offsetof(jit_row_args_t, dst_ahead)));
            return;
        }
        lea(reg_src_pitch3, ptr[reg_src_pitch + reg_src_pitch * 2]);
        lea(reg_dst_pitch3, ptr[reg_dst_pitch + reg_dst_pitch * 2]);
        if (!each_by_itself()) return;
        mov(reg_scales_pitch, arg(offsetof(jit_row_args_t, scales_pitch)));
        mov(reg_zps_pitch, arg(offsetof(jit_row_args_t, zps_pitch)));
        lea(reg_scales_pitch3, ptr[reg_scales_pitch + reg_scales_pitch * 2]);
        lea(reg_zps_pitch3, ptr[reg_zps_pitch + reg_zps_pitch * 2]);
    }

    void load_rows() {
        mov(reg_src_row, arg(offsetof(jit_row_args_t, src)));
        mov(reg_dst_row, arg(offsetof(jit_row_args_t, dst)));
        mov(reg_rows, arg(offsetof(jit_row_args_t, rows)));
        params_.load_pointers();
    }

    void rows_loop(uint32_t rows) {
        Label l_rows, l_end;
        cmp(reg_rows, rows);
        jl(l_end, T_NEAR);
        align(16);
        L(l_rows);
        if (!is_unrolled()) {
            mov(reg_src, reg_src_row);
            mov(reg_dst, reg_dst_row);
            mov(reg_count, arg(offsetof(jit_row_args_t, cols)));
        }
        if (each_by_itself()) {
            for (uint32_t r = 0; r < rows; ++r)
                short_row(r);
        } else columns_loop(rows);
        next_rows(rows);
        sub(reg_rows, rows);
        cmp(reg_rows, rows);
        jge(l_rows, T_NEAR);
        L(l_end);
    }

    void short_row(uint32_t r) {
        step_.set_row(r);
        for (uint32_t c = 0; c < desc_.cols; c += step_width())
            step_.emit_row(r, c, extent_t::full, is_unrolled());
    }

    // Groups without a table are whole steps.
    bool can_have_tail() const {
        return !params_.repeats() || params_.has_table();
    }

    bool is_unrolled() const { return is_unrolled_; }
    // Short rows that share nothing: several to a round of the loop, whose own
    // instructions are as many as a row's.
    bool each_by_itself() const {
        return is_unrolled() && !params_.vary() && !desc_.prefetching
               && !step_.looks_up_long_rows();
    }
    uint32_t rows_at_once() const {
        constexpr uint32_t most = 4;
        return each_by_itself() ? most : desc_.block_rows;
    }

    void columns_loop(uint32_t rows) {
        if (!desc_.one_table_a_call) step_.set_row(0);
        if (is_unrolled()) {
            for (uint32_t c = 0; c < desc_.cols; c += step_width())
                step(rows, c, extent_t::full);
            prefetch(rows, static_cast<uint32_t>(desc_.cols));
            return;
        }
        const bool many = rows <= 2;
        const uint32_t least = params_.steps_of_group();
        if (many) steps_while(rows, 4, true);
        if (many && least < 2) steps_while(rows, 2, false);
        steps_while(rows, least, !many);
        if (isa == isa_avx512_core) masked_tail(rows);
        else if (step_.has_rest()) rest(rows);
        else if (!step_.looks_up() && can_have_tail()) scalar_tail(rows);
    }

    // Runs the columns that are less than a step of a table without masks.
    void rest(uint32_t rows) {
        Label l_end;
        test(reg_count, reg_count);
        jz(l_end, T_NEAR);
        step_.set_rest(true);
        step_.set_row(0);
        steps_while(rows, 1, true);
        scalar_tail(rows);
        step_.set_rest(false);
        L(l_end);
    }

    // While there are so many left, or once.
    void steps_while(uint32_t rows, uint32_t unroll, bool again) {
        Label l_steps, l_end;
        const uint32_t elements = unroll * step_width();
        cmp(reg_count, elements);
        jl(l_end, T_NEAR);
        if (again) align(16);
        L(l_steps);
        steps(rows, unroll);
        if (again) cmp(reg_count, elements);
        if (again) jge(l_steps, T_NEAR);
        L(l_end);
    }

    void steps(uint32_t rows, uint32_t unroll) {
        const uint32_t elements = unroll * step_width();
        for (uint32_t u = 0; u < unroll; ++u)
            step(rows, u * step_width(), extent_t::full);
        prefetch(rows, elements);
        advance(elements);
        sub(reg_count, elements);
    }

    void prefetch(uint32_t rows, uint32_t elements) {
        for (uint32_t r = 0; desc_.stream_ahead > 0 && r < rows; ++r)
            step_.io().prefetch_src(
                    src_row(r, is_unrolled()) + desc_.stream_ahead, elements);
        if (!desc_.prefetching) return;
        if (desc_.block_rows > 1) return prefetch_rows(rows, elements);
        step_.io().prefetch(dst_row(0, is_unrolled()) + reg_dst_ahead,
                src_row(0, is_unrolled()) + reg_src_ahead, elements,
                desc_.prefetches_dst_into_l2 ? io_t::cache_t::l2
                                             : io_t::cache_t::l1);
    }

    // Prefetch the next block into L2. Four rows of dst often have the pitch of
    // L1's sets, and leave them little room.
    void prefetch_rows(uint32_t rows, uint32_t elements) {
        if (rows == 1) return;
        for (uint32_t r = rows; r < 2 * rows; ++r)
            step_.io().prefetch(
                    dst_row(r), src_row(r), elements, io_t::cache_t::l2);
    }

    void masked_tail(uint32_t rows) {
        Label l_end;
        test(reg_count, reg_count);
        jz(l_end, T_NEAR);
        step(rows, 0, extent_t::tail);
        L(l_end);
    }

    void step(uint32_t rows, uint32_t offset, extent_t extent) {
        step_.emit(rows, offset, extent, is_unrolled());
    }

    // Runs the elements of the tail one by one, without opmasks. Parameters
    // that vary are in io's order: with two fields, the second's are a vector
    // further on.
    void scalar_tail(uint32_t rows) {
        const uint32_t elements = step_.io().singles();
        const auto fields = static_cast<uint32_t>(step_.io().fields());
        Label l_tail, l_end;
        test(reg_count, reg_count);
        jz(l_end, T_NEAR);
        L(l_tail);
        for (uint32_t e = 0; e < elements; ++e) {
            params_.load_single(
                    e / fields * f32_bytes + e % fields * vmm_bytes);
            for (uint32_t r = 0; r < rows; ++r)
                step_.emit_single(r, e);
            dec(reg_count);
            jz(l_end, T_NEAR);
        }
        add(reg_src, step_.io().src_bytes(elements));
        add(reg_dst, step_.io().dst_bytes(elements));
        params_.advance(elements / fields * f32_bytes);
        jmp(l_tail, T_NEAR);
        L(l_end);
    }

    void advance(uint32_t elements) {
        add(reg_src, step_.io().src_bytes(elements));
        add(reg_dst, step_.io().dst_bytes(elements));
        params_.advance(elements * f32_bytes);
    }

    void next_rows(uint32_t rows) {
        const auto scale = static_cast<int>(rows);
        lea(reg_src_row, ptr[reg_src_row + reg_src_pitch * scale]);
        lea(reg_dst_row, ptr[reg_dst_row + reg_dst_pitch * scale]);
        if (each_by_itself()) params_.advance_rows(rows);
        else params_.advance_row();
    }

    Address arg(size_t offset) { return qword[reg_args + offset]; }

    const jit_row_desc_t desc_;
    step_t step_;
    params_t &params_;
    const bool is_unrolled_;
};

} // namespace

result_t make_jit_row_kernel(const jit_row_desc_t &desc, isa_t isa,
        const char *name, std::unique_ptr<const jit_row_kernel_t> &kernel) {
    return make_jit_for<jit_row_generator_t>(isa, kernel, desc, name);
}

} // namespace dnnl_dequant
