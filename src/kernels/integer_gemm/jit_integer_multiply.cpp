// Bytes times bytes by vpdpbusd, which sums four products in each lane. A tile
// of six rows by some vectors stays in registers down a group. Then it is
// converted to f32 and added to c. Four vectors of AVX-512 are a whole panel.
// AVX-VNNI has registers for two, so a panel takes four iterations.
//
//   dot = sum a b - zp_a sum_b - zp_b sum_a      all of it modulo 2^32
// If sums fit 16 bits, one vpmaddwd makes the corrections.

#include "kernels/integer_gemm/jit_integer_tile.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

template <isa_t isa>
class generator_t : public jit_integer_bytes_t {
    static constexpr bool is_avx512 = isa == isa_avx512_core_vnni;
    static constexpr size_t vector_bytes = jit_isa_t<isa>::simd_w * 4;
    static constexpr int vectors = is_avx512 ? 4 : 2;

public:
    static constexpr int unroll = 4;
    /// The columns of a panel are computed in so many iterations.
    static constexpr int nr_blocks
            = static_cast<int>(k4_bytes / (vectors * vector_bytes));

    /// Rows of [K,N] bytes are twice as long as those of nibbles.
    static int prefetch_steps(const integer_format_t &format) {
        return format.unpacks_two && !format.is_nibble() ? 2 : 1;
    }

    explicit generator_t(const integer_format_t &format)
        : jit_integer_bytes_t("jit_integer_multiply", format) {}

private:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using vmms_t = vmm_range_t<vmm_t>;

    const Reg64 c_high_ = general_.take("c of the other rows", r11),
                parameters_high_
                = general_.take("parameters of the other rows", r14);
    // This register is free outside the loop over k4 blocks.
    const Reg64 &at_ = k4_blocks_;
    vector_registers_t<isa> vectors_;
    const vmms_t sums_ = vectors_.take("sums", rows_at_once *vectors),
                 vmm_b_ = vectors_.take_last("b", vectors),
                 vmms_a_ = vectors_.take("a", vectors_.free_count());
    int nr_block_ = 0; // of the panel's columns

    // Returns the offset of the nr block's vector v in a panel's k4 block, or
    // in its columns.
    size_t place(int v) const {
        return static_cast<size_t>(nr_block_ * vectors + v) * vector_bytes;
    }
    // Up to two rows have separate sums of even and odd k4 blocks, which keeps
    // more multiplications in flight.
    static int sets(int rows) { return rows <= 2 ? 2 : 1; }
    vmm_t sum(int row, int v, int set = 0) const {
        return sums_[(set * 2 + row) * vectors + v];
    }
    // The broadcast values of a rotate through some registers.
    vmm_t vmm_a(int i) const { return vmms_a_[i % vmms_a_.count()]; }
    RegExp row_of_c(int row) const {
        return row_of(c_, c_high_, c_pitch_, row);
    }
    RegExp parameters_of(int row) const {
        return row_of(parameters_, parameters_high_, parameters_pitch_, row);
    }

    void load_pitches() override {
        mov(a_pitch_, arg(offsetof(integer_tile_t, a_pitch)));
        base_of_high(parameters_high_, parameters_, parameters_pitch_);
        mov(c_pitch_, arg(offsetof(integer_tile_t, c_pitch)));
        shl(c_pitch_, 2);
        base_of_high(c_high_, c_, c_pitch_);
    }

    void clear_c(int rows) override {
        clear(vmm_a(0));
        for (int r = 0; r < rows; ++r)
            for (size_t at = 0; at < k4_bytes; at += vector_bytes)
                vmovups(ptr[row_of_c(r) + at], vmm_a(0));
    }

    void all_groups(int rows) override {
        repeat(groups_, [&] {
            for (nr_block_ = 0; nr_block_ < nr_blocks; ++nr_block_) {
                mov(b_, ptr[group_ + offsetof(integer_group_t, k4_blocks)]);
                load_a();
                if (nr_block_ == 0) {
                    prefetch_next_rows(rows, a_, a_pitch_, 2 * line);
                    prefetch_next_rows(rows, c_, c_pitch_, k4_bytes);
                }
                begin_sums(rows);
                all_k4_blocks(rows);
                end_sums(rows);
            }
            next_group();
            add(parameters_high_, sizeof(row_group_t));
        });
    }

    // The rows of the next tile are in L2.
    void prefetch_next_rows(
            int rows, const Reg64 &first, const Reg64 &pitch, uint32_t bytes) {
        imul(at_, pitch, rows);
        add(at_, first);
        for (int r = 0; r < rows; ++r) {
            for (uint32_t at = 0; at < bytes; at += line)
                prefetcht0(ptr[at_ + at]);
            add(at_, pitch);
        }
    }

    // Between the parts of a group c has its sums.
    void begin_sums(int rows) {
        if (can_cut_group(format_))
            choose_by(offsetof(integer_tile_t, continues),
                    [&] { continue_sums(rows); }, [&] { clear_sums(rows); });
        else clear_sums(rows);
    }
    void end_sums(int rows) {
        const auto end = [&] {
            correct(rows);
            scale(rows);
        };
        if (can_cut_group(format_))
            choose_by(offsetof(integer_tile_t, ends), end,
                    [&] { keep_sums(rows); });
        else end();
    }

    void clear_sums(int rows) {
        const bool corrects = format_.has_short_sums;
        if (corrects) load_columns(offsetof(integer_columns_t, shorts));
        for (int r = 0; corrects && r < rows; ++r) {
            vpbroadcastd(vmm_a(r),
                    ptr[parameters_of(r) + offsetof(row_group_t, short_zp)]);
            for (int v = 0; v < vectors; ++v)
                vpmaddwd(sum(r, v), vmm_a(r), vmm_b_[v]);
        }
        clear_sets(rows, corrects ? 1 : 0);
    }
    void clear_sets(int rows, int first) {
        for (int set = first; set < sets(rows); ++set)
            for (int r = 0; r < rows; ++r)
                for (int v = 0; v < vectors; ++v)
                    clear(sum(r, v, set));
    }

    void continue_sums(int rows) {
        clear(vmm_a(0));
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < vectors; ++v) {
                vmovups(sum(r, v), ptr[row_of_c(r) + place(v)]);
                vmovups(ptr[row_of_c(r) + place(v)], vmm_a(0));
            }
        clear_sets(rows, 1);
    }
    void keep_sums(int rows) {
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < vectors; ++v)
                vmovups(ptr[row_of_c(r) + place(v)], sum(r, v));
    }

    void all_k4_blocks(int rows) {
        Label l_end;
        mov(k4_blocks_, ptr[group_ + offsetof(integer_group_t, k4_count)]);
        repeat_steps(
                k4_blocks_, unroll, true, [&] { k4_blocks(rows, unroll); });
        add(k4_blocks_, unroll);
        jz(l_end, T_NEAR);
        repeat(k4_blocks_, [&] { k4_blocks(rows, 1); });
        L(l_end);
        if (sets(rows) == 1) return;
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < vectors; ++v)
                vpaddd(sum(r, v), sum(r, v), sum(r, v, 1));
    }

    void k4_blocks(int rows, uint32_t count) {
        // The prefetch distance of b, which is in L2 if groups are long.
        constexpr size_t prefetch_distance = 8 * k4_bytes;
        if (count == unroll && (is_by_column() || format_.unpacks_two))
            for (int i = 0; i < prefetch_steps(format_); ++i)
                prefetch_step();
        for (uint32_t i = 0; i < count; ++i) {
            const auto k4_block = b_ + i * k4_bytes;
            for (int v = 0; v < vectors; ++v) {
                load(vmm_b_[v], ptr[k4_block + place(v)]);
                if (!format_.has_short_sums && place(v) % line == 0)
                    prefetcht0(ptr[k4_block + place(v) + prefetch_distance]);
            }
            for (int r = 0; r < rows; ++r) {
                vpbroadcastd(vmm_a(r), ptr[row_of_a(r) + i * 4]);
                const int set = static_cast<int>(i) % sets(rows);
                for (int v = 0; v < vectors; ++v)
                    dot4(sum(r, v, set), vmm_b_[v], vmm_a(r));
            }
        }
        step_k4_blocks(rows, count);
    }

    void load_columns(size_t offset) {
        mov(at_, ptr[group_ + offsetof(integer_group_t, columns)]);
        for (int v = 0; v < vectors; ++v)
            vmovups(vmm_b_[v], ptr[at_ + offset + place(v)]);
    }

    void subtract(int rows, size_t of_columns, size_t of_row) override {
        load_columns(of_columns);
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < vectors; ++v)
                subtract_product(sum(r, v), vmm_a(v), vmm_b_[v],
                        parameters_of(r) + of_row);
    }

    void scale(int rows) {
        load_columns(offsetof(integer_columns_t, scales));
        for (int r = 0; r < rows; ++r) {
            vbroadcastss(vmm_a(r),
                    ptr[parameters_of(r) + offsetof(row_group_t, scale)]);
            for (int v = 0; v < vectors; ++v)
                add_to_c(sum(r, v), sum(r, v), vmm_b_[v], vmm_a(r),
                        ptr[row_of_c(r) + place(v)]);
        }
    }
};

template <isa_t isa>
result_t make(
        const integer_format_t &format, jit_integer_multiply_t &multiply) {
    multiply.isa = isa;
    multiply.most_rows = generator_t<isa>::rows_at_once;
    multiply.k4_blocks = generator_t<isa>::unroll;
    multiply.steps = generator_t<isa>::nr_blocks
                     * generator_t<isa>::prefetch_steps(format);
    return make_jit_as<generator_t<isa>>(multiply.code, format);
}

} // namespace

result_t make_jit_integer_multiply(const integer_format_t &format, isa_t isa,
        jit_integer_multiply_t &multiply) {
    if (format.k4_chunk > 1) return make_jit_integer_amx(format, multiply);
    if (has(isa, isa_avx512_core_vnni))
        return format.is_packed ? make_jit_integer_packed(format, multiply)
                                : make<isa_avx512_core_vnni>(format, multiply);
    return has(isa, isa_avx_vnni)
                   ? make<isa_avx_vnni>(format, multiply)
                   : make_jit_integer_multiply_avx2(format, multiply);
}

} // namespace dnnl_dequant
