// Sums of integer values by weights, on AVX-512: the sums of some columns stay
// in registers over all tokens. A nibble is looked up in a table of the 16
// numbers there are, scaled where tokens have scales; a lane of loaded ones has
// as many as there are vectors of sums, which are put in order at the end.

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "kernels/jit/lanes.hpp"
#include "kernels/jit/simd.hpp"
#include "kernels/matmul/jit_gemv_code.hpp"
#include "kernels/matmul/nibble_lookup.hpp"
#include "kernels/matmul/weighted_sum.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using block_t = weighted_sum_t::block_t;

constexpr int lanes = 16, most_sums = 24, most_vectors = 8;
constexpr size_t line = 64, piece_bytes = 16;

// Vectors of columns that are summed together; 0 where none fit.
int vectors_of(const weighted_values_t &values, dim_t rows) {
    const int fewest = bits_of(values.type) == 4 ? 2 : 1;
    for (int vectors = most_vectors; vectors >= fewest; vectors /= 2)
        if (rows * vectors <= most_sums
                && values.cols % (dim_t(vectors) * lanes) == 0)
            return vectors;
    return 0;
}

class generator_t : public jit_simd_t {
public:
    generator_t(const weighted_values_t &values, int rows)
        : jit_simd_t("jit_weighted_sum")
        , values_(values)
        , rows_(rows)
        , vectors_(vectors_of(values, rows))
        , lanes_(*this, jit_isa_t<isa_avx512_core>::vmm_count,
                  data_type_t::undef) {}

private:
    const weighted_values_t values_;
    const int rows_, vectors_;
    jit_lanes_t<isa_avx512_core> lanes_; // constants in memory
    const Reg64 at_ = general_.take("values", rax),
                sums_at_ = general_.take("sums", rcx),
                pitch_ = general_.take("pitch of sums", rdx),
                weights_pitch_ = general_.take("pitch of weights", rbx),
                tokens_ = general_.take("tokens to go", r11),
                panels_ = general_.take("panels to go", r12),
                first_ = general_.take("values of the panel", r13),
                row_ = general_.take("a row of sums", r14),
                scales_ = general_.take("scales", rbp),
                zps_ = general_.take("zero points", r15);
    // Of three rows each.
    const std::array<Reg64, 4> weights_at_ {
            general_.take("weights of rows 0 to 2", rsi),
            general_.take("weights of rows 3 to 5", r8),
            general_.take("weights of rows 6 to 8", r9),
            general_.take("weights of rows 9 to 11", r10)};
    vector_registers_t<isa_avx512_core> registers_;
    using zmms_t = vector_registers_t<isa_avx512_core>::range_t;
    const zmms_t sums_ = registers_.take("sums", rows_ *vectors_),
                 numbers_ = registers_.take("numbers", 2),
                 raw_ = registers_.take("nibbles", 1),
                 table_ = registers_.take("table of nibbles, or zero point", 1),
                 weights_ = registers_.take(
                         "weights", rows_ <= most_broadcast ? rows_ : 1),
                 scratch_ = registers_.take("rounding", 1);

    // Rows whose weights are in registers.
    static constexpr int most_broadcast = 3;

    bool is_nibble() const { return bits_of(values_.type) == 4; }
    bool is_signed() const {
        return family_of(values_.type) == type_family_t::signed_int;
    }
    size_t panel_bytes() const {
        return static_cast<size_t>(
                bytes_of(values_.type, dim_t(vectors_) * lanes));
    }
    // From one panel of values to the next.
    size_t panel_pitch() const {
        return values_.piece_pitch == 0
                       ? panel_bytes()
                       : panel_bytes() / piece_bytes
                                 * static_cast<size_t>(values_.piece_pitch);
    }
    Zmm sum(int row, int v) const { return sums_[row * vectors_ + v]; }
    Address arg(size_t offset) { return qword[rdi + offset]; }
    RegExp weights_of(int row) const {
        const RegExp base(weights_at_[static_cast<size_t>(row / 3)]);
        return row % 3 == 0 ? base : base + weights_pitch_ * (row % 3);
    }

    void generate() override {
        preamble();
        mov(first_, arg(offsetof(block_t, values)));
        mov(sums_at_, arg(offsetof(block_t, sums)));
        mov(pitch_, arg(offsetof(block_t, sums_pitch)));
        mov(weights_pitch_, arg(offsetof(block_t, weights_pitch)));
        mov(panels_, static_cast<uint64_t>(values_.cols / lanes)
                             / static_cast<uint64_t>(vectors_));
        if (is_nibble() && !values_.by_token)
            vmovups(table_[0], constant(nibble_numbers(values_.type)));
        if (values_.has_zp && !values_.by_token) {
            mov(row_, arg(offsetof(block_t, zp)));
            if (is_nibble()) vsubps(table_[0], table_[0], ptr_b[row_]);
            else vbroadcastss(table_[0], ptr[row_]);
        }
        Label l_panel;
        L(l_panel);
        panel();
        add(first_, static_cast<uint32_t>(panel_pitch()));
        add(sums_at_, static_cast<uint32_t>(vectors_) * line);
        dec(panels_);
        jnz(l_panel, T_NEAR);
        postamble();
    }

    void panel() {
        mov(at_, first_);
        mov(tokens_, arg(offsetof(block_t, tokens)));
        mov(weights_at_[0], arg(offsetof(block_t, weights)));
        if (values_.by_token) {
            mov(scales_, arg(offsetof(block_t, scales)));
            mov(zps_, arg(offsetof(block_t, zp)));
        }
        for (size_t i = 1; i * 3 < static_cast<size_t>(rows_); ++i) {
            lea(weights_at_[i], ptr[weights_pitch_ + weights_pitch_ * 2]);
            add(weights_at_[i], weights_at_[i - 1]);
        }
        if (values_.adds)
            for_sums([this](const Address &at, const Zmm &sum) {
                vmovups(sum, at);
            });
        else
            for (int i = 0; i < sums_.count(); ++i)
                clear(sums_[i]);
        Label l_token;
        align(32);
        L(l_token);
        token();
        add(at_, static_cast<uint32_t>(values_.pitch));
        for (size_t i = 0; i * 3 < static_cast<size_t>(rows_); ++i)
            add(weights_at_[i], 4);
        if (values_.by_token) {
            add(scales_, arg(offsetof(block_t, parameters_pitch)));
            if (values_.has_zp)
                add(zps_, arg(offsetof(block_t, parameters_pitch)));
        }
        dec(tokens_);
        jnz(l_token, T_NEAR);
        for_sums([this](const Address &at, const Zmm &sum) {
            vmovups(at, sum);
        });
    }

    void token() {
        for (size_t place = 0; values_.ahead > 0 && place < panel_bytes();
                place += line)
            prefetcht1(ptr[at_ + place + static_cast<size_t>(values_.ahead)]);
        if (is_nibble()) {
            if (values_.by_token) {
                vmovups(table_[0], constant(nibble_numbers(values_.type)));
                scale(table_[0]);
            }
            load_nibbles();
        }
        const bool keeps_weights = rows_ <= most_broadcast;
        for (int r = 0; keeps_weights && r < rows_; ++r)
            vbroadcastss(weights_[r], ptr[weights_of(r)]);
        for (int v = 0; v < vectors_; ++v) {
            const Zmm number = numbers_[v % 2];
            make_number(number, v);
            for (int r = 0; r < rows_; ++r)
                if (keeps_weights) vfmadd231ps(sum(r, v), number, weights_[r]);
                else vfmadd231ps(sum(r, v), number, ptr_b[weights_of(r)]);
        }
    }

    // As many to a lane as there are vectors.
    void load_nibbles() {
        const Zmm raw = raw_[0];
        if (values_.piece_pitch == 0 || vectors_ == 2) {
            if (vectors_ == 8) load(raw, ptr[at_]);
            else if (vectors_ == 4) vpmovzxwd(raw, ptr[at_]);
            else vpmovzxbd(raw, ptr[at_]);
            return;
        }
        const auto piece = [this](int p) {
            return ptr[at_
                       + static_cast<size_t>(p)
                                 * static_cast<size_t>(values_.piece_pitch)];
        };
        const Ymm half(raw.getIdx());
        vmovups(Xmm(raw.getIdx()), piece(0));
        if (vectors_ == 4) {
            vinserti32x4(half, half, piece(1), 1);
            vpmovzxwd(raw, half);
            return;
        }
        for (int p = 1; p < 4; ++p)
            vinserti32x4(raw, raw, piece(p), static_cast<uint8_t>(p));
    }

    void make_number(const Zmm &number, int v) {
        if (is_nibble()) {
            if (v > 0) vpsrld(number, raw_[0], static_cast<uint8_t>(4 * v));
            vpermps(number, v > 0 ? number : raw_[0], table_[0]);
            return;
        }
        const Address from = ptr[at_ + static_cast<size_t>(v) * lanes];
        if (is_signed()) vpmovsxbd(number, from);
        else vpmovzxbd(number, from);
        vcvtdq2ps(number, number);
        if (values_.by_token) scale(number);
        else if (values_.has_zp) vsubps(number, number, table_[0]);
    }

    // Numbers become a token's values.
    void scale(const Zmm &numbers) {
        if (values_.has_zp) vsubps(numbers, numbers, ptr_b[zps_]);
        vmulps(numbers, numbers, ptr_b[scales_]);
        lanes_.round(numbers, values_.rounded, bf16_rounding_t::with_nan,
                scratch_[0]);
    }

    template <typename use_t>
    void for_sums(use_t &&use) {
        mov(row_, sums_at_);
        for (int r = 0; r < rows_; ++r) {
            for (int v = 0; v < vectors_; ++v)
                use(ptr[row_ + static_cast<size_t>(v) * line], sum(r, v));
            add(row_, pitch_);
        }
    }
};

class jit_weighted_sum_t : public weighted_sum_t {
public:
    explicit jit_weighted_sum_t(const weighted_values_t &values)
        : values_(values) {}

    const char *name() const override { return "jit_weighted_sum_avx512_core"; }

    result_t make(dim_t rows) {
        result_t made;
        for (dim_t r = 1; r <= rows && made.ok(); ++r)
            made = make_jit_as<generator_t>(code_[static_cast<size_t>(r)],
                    values_, static_cast<int>(r));
        return made;
    }

    void run(dim_t rows, const block_t &block) const noexcept override {
        code_[static_cast<size_t>(rows)](block);
    }

    void put_in_order(
            dim_t rows, const block_t &block) const noexcept override {
        if (bits_of(values_.type) != 4) return;
        const int vectors = vectors_of(values_, rows);
        const auto order = vectors == 8   ? join_columns<8>
                           : vectors == 4 ? join_columns<4>
                                          : join_columns<2>;
        for (dim_t r = 0; r < rows; ++r)
            order(block.sums + r * block.sums_pitch / 4,
                    values_.cols / lanes / vectors);
    }

private:
    const weighted_values_t values_;
    std::array<jit_function_t<const block_t>, most_rows + 1> code_;
};

} // namespace

result_t make_jit_weighted_sum(const weighted_values_t &values, dim_t rows,
        isa_t isa, std::shared_ptr<const weighted_sum_t> &sum) {
    if (!has(isa, isa_avx512_core)) return refuse("no AVX-512");
    if (rows > weighted_sum_t::most_rows)
        return refuse(text("found ", rows, " rows; expected ",
                weighted_sum_t::most_rows, " at most"));
    if (vectors_of(values, 12) == 0)
        return refuse(
                text("found ", values.cols, " columns; expected a multiple of ",
                        bits_of(values.type) == 4 ? 2 * lanes : lanes));
    auto made = std::make_shared<jit_weighted_sum_t>(values);
    const result_t result = made->make(rows);
    if (result.ok()) sum = std::move(made);
    return result;
}

} // namespace dnnl_dequant
