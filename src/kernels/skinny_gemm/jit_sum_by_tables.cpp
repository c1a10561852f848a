// Sums of 4-bit values that are rounded to bf16 or f16, by tables of AVX2.

#include <algorithm>

#include "kernels/jit/prefetch_rows.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/arrange.hpp"
#include "kernels/skinny_gemm/jit_byte_tables.hpp"
#include "kernels/skinny_gemm/jit_sum_by_tables.hpp"
#include "kernels/skinny_gemm/jit_weights.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t rows_at_once = 3, tokens_at_once = 16;
constexpr int simd_w = jit_isa_t<isa_avx2>::simd_w;
constexpr int step_vectors = 4; // of one lookup
constexpr dim_t step_cols = step_vectors * simd_w, table_bytes = 32;
constexpr dim_t most_groups = 8; // so that tables take 4 KiB of the stack

dim_t group_cols_of(const weighted_values_t &values) {
    return values.group_cols == 0 ? values.cols : values.group_cols;
}

/// The generated code of weighted_sum_t::run(), for up to `tokens_at_once`.
/// First it makes a table on the stack for each token and group: the 16 values
/// of a nibble, rounded, their lower bytes in front of their upper ones. Then
/// the sums of some columns stay in registers over all tokens. 32 numbers are
/// looked up by two shuffles, and two more join the bytes. A bf16 becomes the
/// upper half of an f32; an f16 is converted.
class jit_sum_by_tables_code_t : public jit_weights_t {
public:
    jit_sum_by_tables_code_t(const weighted_values_t &values, int rows)
        : jit_weights_t("jit_sum_by_tables", isa_avx2, values.type,
                  values.has_zp, data_type_t::f32)
        , values_(values)
        , rows_(rows)
        , vectors_(rows == 1 && values.cols % (2 * step_cols) == 0
                           ? 2 * step_vectors
                           : step_vectors)
        , lanes_(*this, jit_isa_t<isa_avx2>::vmm_count, data_type_t::undef) {}

private:
    using block_t = weighted_sum_t::block_t;
    using vmms_t = vector_registers_t<isa_avx2>::range_t;

    const weighted_values_t values_;
    const int rows_, vectors_;
    jit_lanes_t<isa_avx2> lanes_; // constants in memory
    const Reg64 at_ = general_.take("values", rax),
                sums_at_ = general_.take("sums", rcx),
                pitch_ = general_.take("pitch of sums", rdx),
                weights_pitch_ = general_.take("pitch of weights", rbx),
                weights_at_ = general_.take("weights", rsi),
                table_ = general_.take("a token's tables", r8),
                tokens_ = general_.take("tokens to go", r11),
                panels_ = general_.take("panels to go", r12),
                first_ = general_.take("values of the panel", r13),
                row_ = general_.take("a row of sums", r14),
                stack_ = general_.take("the caller's stack", r15);
    // While tables are made.
    const Reg64 scales_ = sums_at_, zps_ = pitch_, parameters_pitch_ = row_,
                ahead_ = at_;
    jit_next_rows_t next_ {*this, general_.take("prefetched", r9),
            general_.take("the end of its row", r10),
            rdi + offsetof(block_t, next)};
    vector_registers_t<isa_avx2> registers_;
    const vmms_t sums_ = registers_.take("sums", rows_ *vectors_),
                 work_ = registers_.take("looked up", 3),
                 weight_ = registers_.take("weight", 1);

    bool is_bf16_value() const { return values_.rounded == data_type_t::bf16; }
    dim_t groups() const {
        return div_up(values_.cols, group_cols_of(values_));
    }
    dim_t tables_bytes() const { return groups() * table_bytes; }
    Ymm sum(int row, int v) const { return sums_[row * vectors_ + v]; }

    void generate() override {
        preamble();
        mov(stack_, rsp);
        sub(rsp, disp(tokens_at_once * tables_bytes()));
        and_(rsp, ~(disp(table_bytes) - 1));
        make_tables();
        mov(first_, arg(offsetof(block_t, values)));
        mov(sums_at_, arg(offsetof(block_t, sums)));
        mov(pitch_, arg(offsetof(block_t, sums_pitch)));
        mov(weights_pitch_, arg(offsetof(block_t, weights_pitch)));
        next_.begin();
        const dim_t panel_cols = dim_t(vectors_) * simd_w;
        if (groups() == 1) {
            mov(panels_, static_cast<uint64_t>(values_.cols / panel_cols));
            repeat(panels_, [this] { panel(0); });
        }
        // Each panel has groups of its own.
        for (dim_t col = 0; groups() > 1 && col < values_.cols;
                col += panel_cols)
            panel(col);
        mov(rsp, stack_);
        postamble();
    }

    void make_tables() {
        mov(tokens_, arg(offsetof(block_t, tokens)));
        mov(scales_, arg(offsetof(block_t, scales)));
        mov(zps_, arg(offsetof(block_t, zp)));
        mov(parameters_pitch_, arg(offsetof(block_t, parameters_pitch)));
        mov(table_, rsp);
        const Ymm numbers[] {Ymm(0), Ymm(1)};
        const auto all = nibble_numbers(values_.type);
        for (size_t half = 0; half < 2; ++half) {
            lanes_t some = unpacked_numbers(values_.type, half);
            if (!is_bf16_value())
                std::copy_n(all.begin() + half * simd_w, simd_w, some.begin());
            vmovups(numbers[half], constant(some));
        }
        // The next rows' parameters are prefetched.
        imul(ahead_, parameters_pitch_, tokens_at_once);
        repeat(tokens_, [&] {
            prefetcht0(ptr[scales_ + ahead_]);
            if (has_zps()) prefetcht0(ptr[zps_ + ahead_]);
            for (dim_t group = 0; group < groups(); ++group)
                make_table(group, numbers);
            add(scales_, parameters_pitch_);
            if (has_zps()) add(zps_, parameters_pitch_);
            add(table_, disp(tables_bytes()));
        });
    }

    void make_table(dim_t group, const Ymm (&numbers)[2]) {
        const Ymm values[] {Ymm(2), Ymm(3)}, scale(4), zp(5), scratch(6);
        vbroadcastss(scale, ptr[scales_ + disp(group * 4)]);
        if (has_zps()) vbroadcastss(zp, ptr[zps_ + disp(group * 4)]);
        for (size_t half = 0; half < 2; ++half) {
            const Ymm &value = values[half];
            if (has_zps()) vsubps(value, numbers[half], zp);
            vmulps(value, has_zps() ? value : numbers[half], scale);
            if (!is_bf16_value()) {
                vcvtps2ph(Xmm(value.getIdx()), value, 0);
                continue;
            }
            lanes_.round(value, values_.rounded,
                    values_.are_ordinary ? float_rounding_t::ordinary
                                         : float_rounding_t::with_nan,
                    scratch);
            vpshufb(value, value, constant(bytes_apart()));
        }
        // Eight lower bytes and eight upper ones are in each 128-bit lane.
        constexpr uint8_t even_first = 0xd8;
        if (is_bf16_value()) {
            vpunpckhdq(values[0], values[0], values[1]);
        } else {
            vinserti128(values[0], values[0], Xmm(values[1].getIdx()), 1);
            vpshufb(values[0], values[0], constant(bytes_of_words_apart()));
        }
        vpermq(values[0], values[0], even_first);
        vmovups(ptr[table_ + disp(group * table_bytes)], values[0]);
    }
    // Puts the lower bytes of eight words in front of the upper ones.
    static lanes_t bytes_of_words_apart() {
        lanes_t lanes;
        for (uint32_t i = 0; i < lanes.size(); ++i)
            lanes[i] = 0x06040200u + i % 2 * 0x08080808u
                       + i % 4 / 2 * 0x01010101u;
        return lanes;
    }

    void panel(dim_t first_col) {
        mov(at_, first_);
        mov(table_, rsp);
        mov(tokens_, arg(offsetof(block_t, tokens)));
        mov(weights_at_, arg(offsetof(block_t, weights)));
        move_sums(true);
        align(32);
        repeat(tokens_, [&] {
            if (values_.prefetches_next)
                next_.advance(disp(step_bytes() * (vectors_ / step_vectors)),
                        [this](const Address &at) { prefetch_early(at); });
            if (rows_ == 1) vbroadcastss(weight_[0], ptr[weights_at_]);
            for (int step = 0; step * step_vectors < vectors_; ++step)
                multiply_step(first_col, step);
            add(at_, disp(values_.pitch));
            add(weights_at_, 4);
            add(table_, disp(tables_bytes()));
        });
        move_sums(false);
        add(first_, disp(step_bytes() * (vectors_ / step_vectors)));
        add(sums_at_, disp(vectors_ * simd_w * 4));
    }
    dim_t step_bytes() const { return bytes_of(values_.type, step_cols); }

    void multiply_step(dim_t first_col, int step) {
        const dim_t group
                = (first_col + step * step_cols) / group_cols_of(values_);
        const dim_t lower = group * table_bytes,
                    upper = lower + table_bytes / 2;
        const Ymm index = work_[0], second = work_[1], number = work_[2];
        load_in_both_lanes(index, ptr[at_ + disp(step_bytes() * step)], number);
        vpsrlvd(index, index, constant(nibble_shifts()));
        vpand(index, index, constant(0x0f0f0f0fu));
        vbroadcasti128(second, ptr[table_ + disp(lower)]);
        vbroadcasti128(number, ptr[table_ + disp(upper)]);
        vpshufb(second, second, index);
        vpshufb(number, number, index);
        const Ymm first = index;
        vpunpcklbw(first, second, number);
        vpunpckhbw(second, second, number);
        for (int v = 0; v < step_vectors; ++v) {
            make_f32(number, v < 2 ? first : second, v % 2);
            multiply(number, step * step_vectors + v);
        }
    }

    // Makes f32 of the even or of the odd bf16, or of the lower or the upper
    // f16, of a vector.
    void make_f32(const Ymm &number, const Ymm &words, int odd) {
        if (!is_bf16_value()) {
            const Xmm half(words.getIdx());
            if (odd == 1) vextracti128(half, words, 1);
            vcvtph2ps(number, half);
        } else if (odd == 1) {
            vpand(number, words, constant(0xffff0000u));
        } else {
            vpslld(number, words, 16);
        }
    }

    void multiply(const Ymm &number, int v) {
        for (int r = 0; r < rows_; ++r) {
            if (rows_ > 1)
                vbroadcastss(weight_[0],
                        ptr[row_of(&weights_at_, weights_pitch_, r)]);
            vfmadd231ps(sum(r, v), number, weight_[0]);
        }
    }

    void move_sums(bool loads) {
        mov(row_, sums_at_);
        for_sums(row_, pitch_, rows_, vectors_, simd_w * 4,
                [&](int r, int v, const Address &at) {
            move(sum(r, v), at, loads);
        });
    }
};

class jit_sum_by_tables_t final : public weighted_sum_t {
public:
    explicit jit_sum_by_tables_t(const weighted_values_t &values)
        : values_(values) {}

    result_t make(dim_t rows) {
        return code_.make<jit_sum_by_tables_code_t>(
                std::min(rows, rows_at_once), values_);
    }

    void run(dim_t rows, const block_t &block) const noexcept override {
        for (dim_t r = 0; r < rows && !values_.adds; ++r)
            std::fill_n(row_of(block, r), values_.cols, 0.f);
        for (dim_t token = 0; token < block.tokens; token += tokens_at_once)
            for_row_blocks(rows, rows_at_once, [&](dim_t row, dim_t count) {
                block_t part = block;
                const dim_t parameters = token * block.parameters_pitch / 4;
                part.values = static_cast<const char *>(block.values)
                              + token * values_.pitch;
                part.weights = static_cast<const char *>(block.weights)
                               + row * block.weights_pitch + token * 4;
                part.scales += parameters;
                if (values_.has_zp) part.zp += parameters;
                part.sums = row_of(block, row);
                part.tokens = std::min(tokens_at_once, block.tokens - token);
                code_(count, part);
            });
    }

    // Unpacking the bytes puts numbers of both halves next to each other.
    void put_in_order(
            dim_t rows, const block_t &block) const noexcept override {
        const auto order = values_.rounded == data_type_t::bf16
                                   ? arrange_lanes<4, 4, float>
                                   : arrange_lanes<8, 2, float>;
        for (dim_t r = 0; r < rows; ++r)
            order(row_of(block, r), values_.cols);
    }

    // The CPU converts to f16.
    bool has_ordinary_rounding() const override {
        return values_.rounded == data_type_t::bf16;
    }

private:
    static float *row_of(const block_t &block, dim_t row) {
        return block.sums + row * block.sums_pitch / 4;
    }

    const weighted_values_t values_;
    jit_code_by_rows_t<const block_t> code_;
};

} // namespace

bool takes_sum_by_tables(const weighted_values_t &values) {
    return bits_of(values.type) <= 4 && values.by_token
           && values.prefetches_next && !values.in_place
           && values.rounded != data_type_t::f32 && values.cols % step_cols == 0
           && group_cols_of(values) % step_cols == 0
           && values.cols <= most_groups * group_cols_of(values);
}

result_t make_jit_sum_by_tables(const weighted_values_t &values, dim_t rows,
        std::shared_ptr<const weighted_sum_t> &sum) {
    auto made = std::make_shared<jit_sum_by_tables_t>(values);
    const result_t result = made->make(rows);
    if (result.ok()) sum = std::move(made);
    return result;
}

} // namespace dnnl_dequant
