// The generated code of the dequantize family:
//
//   dst[r][c] = round_dst(f32(src[r][c] - zps) * f32(scales))
//
// for rows r and columns c, each of src and dst dense along c. Scales and zps
// are f32 here, one a row or one an element (then shared by all rows or not):
//
//   for each block of rows          several rows where they share parameters
//     load parameters (one a row)
//     for each step of columns      unrolled, then single, then a masked tail
//       load parameters (one an element)
//       for each row of the block: load, subtract, multiply, round, store
//
// A source of 32-bit integers is split, as zero points of 32 bits are, into
// parts of which each is an f32. A dense nibble with one scale and zero point a
// row is looked up among its 16 results instead where there is AVX-512
// (kernels/jit/nibble_table.hpp).
//
// Registers: jit_row_registers.hpp.

#include "kernels/dequantize/jit_row_kernel.hpp"

#if defined(__x86_64__)

#include <cstddef>
#include <cstring>

#include "kernels/dequantize/jit_row_registers.hpp"
#include "kernels/jit/nibble_table.hpp"

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
        , io_(*this, desc.src, desc.dst,
                  jit_isa_t<isa>::vmm_count - io_t::vmm_needed) {
        io_.set_streaming(desc.streaming);
        if constexpr (isa == isa_avx512_core) {
            if (desc.src.container_bits == 4 && !varies())
                table_ = std::make_unique<jit_nibble_table_t>(
                        *this, io_, desc.src.type, desc.dst, vmm_table_at);
        }
    }

    void operator()(jit_row_args_t &args) const override {
        getCode<void (*)(jit_row_args_t *)>()(&args);
    }
    dim_t width() const override { return io_.width(); }
    int fields() const override { return io_.fields(); }

private:
    static constexpr uint32_t f32_bytes = 4;

    bool varies() const { return desc_.scales_vary || desc_.zps_vary; }
    uint32_t step_width() const {
        return table_ ? table_->width() : io_.width();
    }
    static constexpr uint32_t vmm_bytes = io_t::simd_w * f32_bytes;
    // The last field may destroy the containers.
    vmm_t vmm_value(int field) const {
        return field == io_.fields() - 1 ? vmm_raw : vmm_t(vmm_value_at);
    }
    vmm_t vmm_scales(int field) const { return vmm_t(vmm_scales_at + field); }
    vmm_t vmm_zps(int field) const { return vmm_t(vmm_zps_at + field); }
    vmm_t vmm_zps_high(int field) const {
        return vmm_t(vmm_zps_high_at + field);
    }
    // What does not vary is the same in both fields, its bias aside.
    vmm_t vmm_scales_of(int field) const {
        return vmm_scales(desc_.scales_vary ? field : 0);
    }
    vmm_t vmm_zps_high_of(int field) const {
        return vmm_zps_high(desc_.zps_vary ? field : 0);
    }

    void generate() override {
        preamble();
        load_pitches();
        load_constants();
        if (!desc_.has_zps && !table_) load_bias();
        load_rows();
        if (desc_.block_rows > 1) rows_loop(desc_.block_rows);
        rows_loop(1);
        postamble();
    }

    void load_pitches() {
        mov(reg_src_pitch, arg(offsetof(jit_row_args_t, src_pitch)));
        mov(reg_dst_pitch, arg(offsetof(jit_row_args_t, dst_pitch)));
        if (desc_.prefetching) {
            mov(reg_src_ahead, arg(offsetof(jit_row_args_t, src_ahead)));
            mov(reg_dst_ahead, arg(offsetof(jit_row_args_t, dst_ahead)));
            return;
        }
        lea(reg_src_pitch3, ptr[reg_src_pitch + reg_src_pitch * 2]);
        lea(reg_dst_pitch3, ptr[reg_dst_pitch + reg_dst_pitch * 2]);
    }

    void load_constants() {
        io_.load_constants();
        if (isa != isa_avx512_core) return;
        mov(reg_count, arg(offsetof(jit_row_args_t, cols)));
        and_(reg_count, step_width() - 1);
        io_.load_tail_masks(reg_count, rax);
        if (table_) table_->load_constants();
    }

    void load_rows() {
        mov(reg_src_row, arg(offsetof(jit_row_args_t, src)));
        mov(reg_dst_row, arg(offsetof(jit_row_args_t, dst)));
        mov(reg_rows, arg(offsetof(jit_row_args_t, rows)));
        load_params_row();
    }

    void load_params_row() {
        mov(reg_scales, arg(offsetof(jit_row_args_t, scales)));
        mov(reg_zps, arg(offsetof(jit_row_args_t, zps)));
        mov(reg_zps_high, arg(offsetof(jit_row_args_t, zps_high)));
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
        load_row_params();
        columns_loop(rows);
        next_rows(rows);
        sub(reg_rows, rows);
        cmp(reg_rows, rows);
        jge(l_rows, T_NEAR);
        L(l_end);
    }

    // The parameters that a row has one of.
    void load_row_params() {
        if (table_) return set_table();
        if (!desc_.scales_vary) vbroadcastss(vmm_scales(0), ptr[reg_scales]);
        if (!desc_.has_zps || desc_.zps_vary) return;
        vbroadcastss(vmm_zps(0), ptr[reg_zps]);
        if (desc_.two_part_zps)
            vbroadcastss(vmm_zps_high(0), ptr[reg_zps_high]);
        for (int f = io_.fields() - 1; f >= 0; --f)
            add_bias(vmm_zps(f), vmm_zps(0), f);
    }

    // What is subtracted where there are no zero points.
    void load_bias() {
        for (int f = 0; f < io_.fields(); ++f)
            vmovups(vmm_zps(f), constant(bits_of_bias(f)));
        if (desc_.src.is_wide())
            vxorps(vmm_zps_high(0), vmm_zps_high(0), vmm_zps_high(0));
    }

    void set_table() {
        if constexpr (isa == isa_avx512_core) {
            vmm_t numbers = table_->vmm_numbers();
            const auto subtract = [&](const Reg64 &reg) {
                vsubps(vmm_raw, numbers, ptr_b[reg]);
                numbers = vmm_raw;
            };
            if (desc_.has_zps) subtract(reg_zps);
            if (desc_.two_part_zps) subtract(reg_zps_high);
            vmulps(vmm_raw, numbers, ptr_b[reg_scales]);
            table_->set(vmm_raw, vmm_tmp);
        }
    }

    bool is_unrolled() const { return desc_.is_unrolled(step_width()); }

    void columns_loop(uint32_t rows) {
        if (is_unrolled()) {
            for (uint32_t c = 0; c < desc_.cols; c += step_width())
                step(rows, c, extent_t::full);
            prefetch(static_cast<uint32_t>(desc_.cols));
            return;
        }
        const bool many = rows == 1;
        if (many) steps_while(rows, 4, true);
        if (many) steps_while(rows, 2, false);
        steps_while(rows, 1, !many);
        if (isa == isa_avx512_core) masked_tail(rows);
        else scalar_tail(rows);
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
        prefetch(elements);
        advance(elements);
        sub(reg_count, elements);
    }

    void prefetch(uint32_t elements) {
        if (!desc_.prefetching) return;
        io_.prefetch(dst_row(0, is_unrolled()) + reg_dst_ahead,
                src_row(0, is_unrolled()) + reg_src_ahead, elements);
    }

    void masked_tail(uint32_t rows) {
        Label l_end;
        test(reg_count, reg_count);
        jz(l_end, T_NEAR);
        step(rows, 0, extent_t::tail);
        L(l_end);
    }

    // One step of each row, `offset` elements from the cursors on.
    void step(uint32_t rows, uint32_t offset, extent_t extent) {
        if (!table_) load_step_params(offset);
        for (uint32_t r = 0; r < rows; ++r) {
            const RegExp src
                    = src_row(r, is_unrolled()) + io_.src_bytes(offset);
            const RegExp dst
                    = dst_row(r, is_unrolled()) + io_.dst_bytes(offset);
            const bool tail = extent == extent_t::tail;
            if (table_) {
                look_up(dst, src, tail);
                continue;
            }
            io_.load_raw(vmm_raw, src, tail);
            compute(io_.fields());
            io_.store(dst, vmm_value(0), vmm_raw, vmm_tmp, extent);
        }
    }

    void look_up(const RegExp &dst, const RegExp &src, bool tail) {
        if constexpr (isa == isa_avx512_core)
            table_->convert(dst, src, vmm_raw, tail);
    }

    // The parameters that an element has one of.
    void load_step_params(uint32_t offset) {
        for (int f = 0; f < io_.fields(); ++f) {
            const uint32_t place
                    = offset * f32_bytes + static_cast<uint32_t>(f) * vmm_bytes;
            if (desc_.scales_vary)
                vmovups(vmm_scales(f), ptr[reg_scales + place]);
            if (!desc_.zps_vary) continue;
            vmovups(vmm_zps(f), ptr[reg_zps + place]);
            add_bias(vmm_zps(f), vmm_zps(f), f);
            if (desc_.two_part_zps)
                vmovups(vmm_zps_high(f), ptr[reg_zps_high + place]);
        }
    }

    void compute(int fields) {
        if (desc_.src.is_wide()) { // one vector a step
            if (io_.converts_wide() && !desc_.has_zps)
                io_.convert_wide(vmm_raw);
            else
                io_.subtract_wide(
                        vmm_raw, vmm_zps(0), vmm_zps_high(0), vmm_tmp);
            vmulps(vmm_raw, vmm_raw, vmm_scales(0));
            return;
        }
        for (int f = 0; f < fields; ++f)
            io_.extract(vmm_value(f), vmm_raw, f, vmm_tmp, vmm_tmp2);
        for (int f = 0; f < fields; ++f) {
            if (subtracts(f)) vsubps(vmm_value(f), vmm_value(f), vmm_zps(f));
            // The first difference is exact; this one rounds.
            if (desc_.two_part_zps)
                vsubps(vmm_value(f), vmm_value(f), vmm_zps_high_of(f));
            vmulps(vmm_value(f), vmm_value(f), vmm_scales_of(f));
        }
    }

    bool subtracts(int field) const {
        return desc_.has_zps || io_.field_bias(field) != 0.f;
    }

    // Without opmasks the elements of the tail go one by one. What varies is
    // in io's order: of two fields, the second's stand a vector further.
    void scalar_tail(uint32_t rows) {
        const uint32_t elements = io_.singles();
        const auto fields = static_cast<uint32_t>(io_.fields());
        Label l_tail, l_end;
        test(reg_count, reg_count);
        jz(l_end, T_NEAR);
        L(l_tail);
        for (uint32_t e = 0; e < elements; ++e) {
            load_single_params(e / fields * f32_bytes + e % fields * vmm_bytes);
            for (uint32_t r = 0; r < rows; ++r)
                single(r, e);
            dec(reg_count);
            jz(l_end, T_NEAR);
        }
        add(reg_src, io_.src_bytes(elements));
        add(reg_dst, io_.dst_bytes(elements));
        advance_params(elements / fields * f32_bytes);
        jmp(l_tail, T_NEAR);
        L(l_end);
    }

    // The parameters of one element into field 0.
    void load_single_params(uint32_t place) {
        if (desc_.scales_vary)
            vmovss(Xmm(vmm_scales(0).getIdx()), ptr[reg_scales + place]);
        if (!desc_.zps_vary) return;
        const Xmm zp(vmm_zps(0).getIdx());
        vmovss(zp, ptr[reg_zps + place]);
        add_bias(zp, zp, 0);
        if (desc_.two_part_zps)
            vmovss(Xmm(vmm_zps_high(0).getIdx()), ptr[reg_zps_high + place]);
    }

    // Element `e` from the cursors on, of row `r`.
    void single(uint32_t r, uint32_t e) {
        io_.load_raw_single(vmm_raw, src_row(r), e, eax);
        compute(1);
        io_.store(dst_row(r) + io_.dst_bytes(e), vmm_value(0), vmm_raw, vmm_tmp,
                extent_t::single);
    }

    void advance(uint32_t elements) {
        add(reg_src, io_.src_bytes(elements));
        add(reg_dst, io_.dst_bytes(elements));
        advance_params(elements * f32_bytes);
    }

    void advance_params(uint32_t bytes) {
        if (desc_.scales_vary) add(reg_scales, bytes);
        if (!desc_.zps_vary) return;
        add(reg_zps, bytes);
        if (desc_.two_part_zps) add(reg_zps_high, bytes);
    }

    void next_rows(uint32_t rows) {
        const auto scale = static_cast<int>(rows);
        lea(reg_src_row, ptr[reg_src_row + reg_src_pitch * scale]);
        lea(reg_dst_row, ptr[reg_dst_row + reg_dst_pitch * scale]);
        if (!varies()) {
            add(reg_scales, arg(offsetof(jit_row_args_t, scales_pitch)));
            if (!desc_.has_zps) return;
            add(reg_zps, arg(offsetof(jit_row_args_t, zps_pitch)));
            if (desc_.two_part_zps)
                add(reg_zps_high, arg(offsetof(jit_row_args_t, zps_pitch)));
            return;
        }
        if (desc_.block_rows == 1) {
            mov(rax, arg(offsetof(jit_row_args_t, scales_pitch)));
            add(arg(offsetof(jit_row_args_t, scales)), rax);
            mov(rax, arg(offsetof(jit_row_args_t, zps_pitch)));
            add(arg(offsetof(jit_row_args_t, zps)), rax);
            add(arg(offsetof(jit_row_args_t, zps_high)), rax);
        }
        load_params_row();
    }

    uint32_t bits_of_bias(int field) const {
        const float value = io_.field_bias(field);
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof(bits));
        return bits;
    }

    Address arg(size_t offset) { return qword[abi_param + offset]; }

    // Floats have no bias, and adding zero would lose the sign of another.
    void add_bias(const Xmm &to, const Xmm &zps, int field) {
        const uint32_t bits = bits_of_bias(field);
        if (bits != 0) vaddps(to, zps, constant(bits));
        else if (to.getIdx() != zps.getIdx()) vmovaps(to, zps);
    }

    const jit_row_desc_t desc_;
    io_t io_;
    std::unique_ptr<jit_nibble_table_t> table_;
    const vmm_t vmm_raw {vmm_raw_at}, vmm_tmp {vmm_tmp_at},
            vmm_tmp2 {vmm_tmp2_at};
};

template <isa_t isa>
result_t make(const jit_row_desc_t &desc, const char *name,
        std::unique_ptr<const jit_row_kernel_t> &kernel) {
    std::unique_ptr<jit_row_generator_t<isa>> made;
    const result_t result = make_jit(made, desc, name);
    kernel = std::move(made);
    return result;
}

} // namespace

result_t make_jit_row_kernel(const jit_row_desc_t &desc, isa_t isa,
        const char *name, std::unique_ptr<const jit_row_kernel_t> &kernel) {
    if (has(isa, isa_avx512_core))
        return make<isa_avx512_core>(desc, name, kernel);
    return make<isa_avx2>(desc, name, kernel);
}

} // namespace dnnl_dequant

#endif
