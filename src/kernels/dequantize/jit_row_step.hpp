#ifndef KERNELS_DEQUANTIZE_JIT_ROW_STEP_HPP
#define KERNELS_DEQUANTIZE_JIT_ROW_STEP_HPP

#include <cstddef>
#include <memory>

#include "kernels/dequantize/jit_row_kernel.hpp"
#include "kernels/dequantize/jit_row_params.hpp"
#include "kernels/dequantize/jit_row_registers.hpp"
#include "kernels/jit/byte_table.hpp"
#include "kernels/jit/f8_table.hpp"
#include "kernels/jit/nibble_bytes.hpp"
#include "kernels/jit/nibble_table.hpp"

namespace dnnl_dequant {

/// One step of the row kernel's columns, for a block of rows: emission that
/// loads, subtracts, multiplies, rounds and stores, or looks up.
template <isa_t isa>
class jit_row_step_t : private jit_row_registers_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using io_t = jit_io_t<isa>;
    using params_t = jit_row_params_t<isa>;
    using extent_t = typename io_t::extent_t;

    jit_row_step_t(jit_generator_t &host, const jit_row_desc_t &desc)
        : h_(host)
        , desc_(desc)
        , io_(host, desc.src, desc.dst,
                  jit_isa_t<isa>::vmm_count - io_t::vmm_needed, desc.in_halves)
        , params_(host, desc, io_) {
        io_.set_streaming(desc.streaming);
        io_.set_dot_products(desc.dot_products);
        io_.set_rounding_in_registers(
                isa == isa_avx512_core && desc.halves_vectors);
        if constexpr (isa == isa_avx512_core) {
            if (desc.src.bits == 4 && !params_.vary())
                table_ = std::make_unique<jit_nibble_table_t>(
                        host, io_, desc.src, desc.dst, vmm_table_at);
            io_.set_nibbles_in_place(!table_);
            io_.set_bf16_conversion(
                    desc.bf16_conversion && !table_ && !desc.byte_table);
            if (desc.byte_table)
                byte_table_ = std::make_unique<jit_byte_table_t>(
                        host, io_, desc.src.type, desc.dst, vmm_byte_table_at);
            if (looks_up_f8())
                f8_table_ = std::make_unique<jit_f8_table_t>(
                        host, io_, desc.src.type, desc.dst, vmm_f8_table_at);
        } else if (looks_up_bytes()) {
            nibble_bytes_ = std::make_unique<jit_nibble_bytes_t>(host, io_,
                    desc.src, desc.dst, vmm_t(vmm_low_bytes_at),
                    vmm_t(vmm_high_bytes_at));
        }
    }

    io_t &io() { return io_; }
    const io_t &io() const { return io_; }
    params_t &params() { return params_; }
    const params_t &params() const { return params_; }

    bool looks_up() const {
        return table_ || f8_table_ || byte_table_
               || (nibble_bytes_ && !is_rest_);
    }
    bool looks_up_long_rows() const { return f8_table_ || byte_table_; }
    /// Elements of a step.
    uint32_t width() const {
        if (nibble_bytes_ && !is_rest_) return jit_nibble_bytes_t::width;
        if (f8_table_) return jit_f8_table_t::width;
        if (byte_table_) return jit_byte_table_t::width;
        return table_ ? table_->width() : io_.width();
    }

    /// Whether the end of a row, less than a step, is to be computed, as
    /// follows set_rest(true), in smaller steps.
    bool has_rest() const {
        constexpr dim_t step = jit_nibble_bytes_t::width;
        return nibble_bytes_ && (desc_.cols == 0 || desc_.cols % step != 0);
    }
    void set_rest(bool is_rest) { is_rest_ = is_rest; }

    /// `reg_count`, which dies: the elements of a step that is cut short.
    void load_constants() {
        io_.load_constants();
        if (isa != isa_avx512_core) return;
        h_.mov(reg_count, h_.qword[reg_args + offsetof(jit_row_args_t, cols)]);
        h_.and_(reg_count, width() - 1);
        io_.load_tail_masks(reg_count, Xbyak::util::rax);
        if (table_) table_->load_constants();
        if (f8_table_) f8_table_->load_constants();
        if (byte_table_) byte_table_->load_constants();
    }

    /// Sets what row `r` of a block has one of.
    void set_row(uint32_t r) {
        if (looks_up()) set_table(r);
        else params_.load_row(r);
    }

    /// Emits a step of each row, `offset` elements from the cursors on, or from
    /// the rows' beginning.
    void emit(uint32_t rows, uint32_t offset, extent_t extent, bool at_begin) {
        if (!looks_up()) params_.load_step(offset);
        if (desc_.both_halves) point_to_high_rows(at_begin);
        for (uint32_t r = 0; r < rows; ++r)
            emit_row(r, offset, extent, at_begin);
    }

    void emit_row(uint32_t r, uint32_t offset, extent_t extent, bool at_begin) {
        const Xbyak::RegExp src = src_row(r, at_begin) + io_.src_bytes(offset);
        const Xbyak::RegExp dst = dst_row(r, at_begin) + io_.dst_bytes(offset);
        const bool tail = extent == extent_t::tail;
        if (looks_up()) return look_up(dst, src, tail);
        load(src, tail);
        const bool keeps = desc_.both_halves && !io_.in_halves();
        if (keeps) h_.vpsrld(vmm_high_halves, vmm_raw, nibble);
        compute(io_.fields());
        io_.store(dst, vmm_value(0), vmm_raw, vmm_tmp, extent);
        if (!desc_.both_halves) return;
        if (keeps) h_.vmovaps(vmm_raw, vmm_high_halves);
        else load_high(src, tail);
        compute(io_.fields());
        io_.store(dst_high_row(r) + io_.dst_bytes(offset), vmm_value(0),
                vmm_raw, vmm_tmp, extent);
    }

    /// Element `e` from the cursors on, of row `r`; its parameters are loaded.
    void emit_single(uint32_t r, uint32_t e) {
        io_.load_raw_single(vmm_raw, src_row(r), e, Xbyak::util::eax);
        if (desc_.both_halves) h_.vpsrld(vmm_high_halves, vmm_raw, nibble);
        compute(1);
        io_.store(dst_row(r) + io_.dst_bytes(e), vmm_value(0), vmm_raw, vmm_tmp,
                extent_t::single);
        if (!desc_.both_halves) return;
        point_to_high_rows(false);
        h_.vmovaps(vmm_raw, vmm_high_halves);
        compute(1);
        io_.store(dst_high_row(r) + io_.dst_bytes(e), vmm_value(0), vmm_raw,
                vmm_tmp, extent_t::single);
    }

private:
    static constexpr uint8_t nibble = 4;

    void load(const Xbyak::RegExp &src, bool tail) {
        if constexpr (isa == isa_avx512_core)
            if (io_.in_halves())
                return io_.load_halves(vmm_value(0), vmm_value(1), src, tail);
        io_.load_raw(vmm_raw, src, tail);
    }
    // In halves two vectors would have to be kept.
    void load_high(const Xbyak::RegExp &src, bool tail) {
        load(src, tail);
        for (int f = 0; f < io_.fields(); ++f)
            h_.vpsrld(vmm_value(f), vmm_value(f), nibble);
    }

    void point_to_high_rows(bool at_begin) {
        h_.mov(reg_dst_high, at_begin ? reg_dst_row : reg_dst);
        h_.add(reg_dst_high,
                h_.qword[reg_args + offsetof(jit_row_args_t, dst_high)]);
    }

    bool looks_up_f8() const {
        const dim_t least
                = jit_f8_table_t::least_elements(desc_.src.type, desc_.dst);
        return least > 0 && !params_.vary() && !desc_.has_zps
               && desc_.block_rows == 1
               && (desc_.cols == 0 || desc_.cols >= least);
    }

    // Short rows gain nothing: making tables costs what f16 of 32 do.
    bool looks_up_bytes() const {
        const dim_t least = desc_.dst == data_type_t::bf16 ? 32 : 64;
        return desc_.src.bits == 4 && bits_of(desc_.dst) == 16
               && !params_.vary() && desc_.block_rows == 1
               && (desc_.cols == 0 || desc_.cols >= least);
    }

    // The last field may destroy the containers.
    vmm_t vmm_value(int field) const {
        return field == io_.fields() - 1 ? vmm_raw : vmm_t(vmm_value_at);
    }

    void set_table(uint32_t r) {
        if constexpr (isa == isa_avx512_core) {
            if (f8_table_)
                return f8_table_->set(reg_scales, vmm_raw, vmm_tmp, vmm_tmp2);
            if (byte_table_)
                return byte_table_->set([this, r](const vmm_t &numbers) {
                    compute_numbers(numbers, r);
                }, vmm_raw, vmm_t(vmm_value_at), vmm_tmp);
            vmm_t numbers = table_->vmm_numbers();
            const auto subtract = [&](const Xbyak::RegExp &zp) {
                h_.vsubps(vmm_raw, numbers, h_.ptr_b[zp]);
                numbers = vmm_raw;
            };
            if (desc_.has_zps) subtract(zps_row(r));
            if (desc_.two_part_zps) subtract(zps_high_row(r));
            h_.vmulps(vmm_raw, numbers, h_.ptr_b[scales_row(r)]);
            table_->set(vmm_raw, vmm_tmp);
        } else {
            const vmm_t vmm_second {vmm_value_at};
            set_numbers(vmm_raw, 0, r);
            set_numbers(vmm_second, 1, r);
            nibble_bytes_->set(vmm_raw, vmm_second, vmm_tmp);
        }
    }

    // In place.
    void compute_numbers(const vmm_t &numbers, uint32_t r) {
        if (desc_.has_zps) h_.vsubps(numbers, numbers, h_.ptr_b[zps_row(r)]);
        if (desc_.two_part_zps)
            h_.vsubps(numbers, numbers, h_.ptr_b[zps_high_row(r)]);
        h_.vmulps(numbers, numbers, h_.ptr_b[scales_row(r)]);
    }

    // Half the results that there are.
    void set_numbers(const vmm_t &to, int half, uint32_t r) {
        const auto subtract = [&](const Xbyak::RegExp &zp) {
            h_.vbroadcastss(vmm_tmp, h_.ptr[zp]);
            h_.vsubps(to, to, vmm_tmp);
        };
        h_.vmovups(to, nibble_bytes_->numbers(half));
        if (desc_.has_zps) subtract(zps_row(r));
        if (desc_.two_part_zps) subtract(zps_high_row(r));
        h_.vbroadcastss(vmm_tmp, h_.ptr[scales_row(r)]);
        h_.vmulps(to, to, vmm_tmp);
    }

    void look_up(
            const Xbyak::RegExp &dst, const Xbyak::RegExp &src, bool tail) {
        if constexpr (isa == isa_avx512_core) {
            if (table_) return table_->convert(dst, src, vmm_raw, tail);
            if (byte_table_)
                return byte_table_->convert(
                        dst, src, vmm_raw, vmm_tmp, vmm_tmp2, tail);
            f8_table_->convert(dst, src, vmm_raw, vmm_tmp, vmm_tmp2, tail);
        } else {
            nibble_bytes_->convert(
                    dst, src, vmm_raw, vmm_t(vmm_value_at), vmm_tmp);
        }
    }

    void compute(int fields) {
        if (desc_.src.is_wide()) { // one vector a step
            if (io_.converts_wide() && !desc_.has_zps)
                io_.convert_wide(vmm_raw);
            else
                io_.subtract_wide(vmm_raw, params_.vmm_zps(0),
                        params_.vmm_zps_high(0), vmm_tmp);
            h_.vmulps(vmm_raw, vmm_raw, params_.vmm_scales(0));
            return;
        }
        for (int f = 0; f < fields; ++f)
            io_.extract(vmm_value(f), io_.in_halves() ? vmm_value(f) : vmm_raw,
                    f, vmm_tmp, vmm_tmp2);
        for (int f = 0; f < fields; ++f)
            params_.apply(vmm_value(f), f);
    }

    jit_generator_t &h_;
    const jit_row_desc_t &desc_;
    io_t io_;
    params_t params_;
    std::unique_ptr<jit_nibble_table_t> table_;
    std::unique_ptr<jit_f8_table_t> f8_table_;
    std::unique_ptr<jit_byte_table_t> byte_table_;
    std::unique_ptr<jit_nibble_bytes_t> nibble_bytes_;
    bool is_rest_ = false; // of a row that nibble_bytes_ has the most of
    const vmm_t vmm_raw {vmm_raw_at}, vmm_tmp {vmm_tmp_at},
            vmm_tmp2 {vmm_tmp2_at}, vmm_high_halves {vmm_tmp2_at};
};

} // namespace dnnl_dequant

#endif
