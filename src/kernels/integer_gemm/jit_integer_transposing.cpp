// Some rows of bytes times [N,K] nibbles, which are transposed in registers,
// sixteen columns at a time. Transposing takes shuffles, and multiplying takes
// other units of the core. So the instructions of both alternate: while one
// square is multiplied, a later one is transposed.
//
//   dot = sum a b - zp_a sum_b - zp_b sum_a      all of it modulo 2^32
//   c += f32(dot) * scale of b * scale of a
// If sums fit 16 bits, one vpdpwssd makes both corrections. Bytes of the sums
// of weights are added up before vpdpbusd sums them.

#include <array>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/integer_gemm/integer_kernel.hpp"
#include "kernels/integer_gemm/jit_integer_tile.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using squares_t = integer_squares_t;
using desc_t = integer_transposing_desc_t;
constexpr dim_t most_rows = 16;
constexpr int dwords = 16; // of a column in a square

class generator_t : public jit_integer_gemm_t {
public:
    // With 0 rows the code only transposes.
    generator_t(const desc_t &desc, int rows, bool transposes, dim_t ahead)
        : jit_integer_gemm_t("jit_integer_transposing", desc.format, r11)
        , rows_(rows)
        , transposes_(transposes)
        , ahead_bytes_(disp(ahead * squares_t::bytes))
        , a_pitch_bytes_(k4_depth * desc.rows)
        , parameters_bytes_(desc.depth / desc.group
                            * static_cast<dim_t>(sizeof(row_group_t)))
        , pitch_bytes_(bytes_of(desc.format.weights, desc.format.col_stride))
        , squares_of_group_(desc.group / squares_t::depth)
        , dwords_of_group_(static_cast<int>(
                  std::min(desc.group, squares_t::depth) / eight)) {}

private:
    using step_t = std::function<void()>;
    using steps_t = std::vector<step_t>;
    static constexpr dim_t eight = 8; // nibbles of a dword
    // So many sums of bytes of a lower and an upper nibble fit bytes.
    static constexpr int most_bytes = 8;

    const int rows_;
    const bool transposes_;
    const uint32_t ahead_bytes_;
    const dim_t a_pitch_bytes_, parameters_bytes_, pitch_bytes_,
            squares_of_group_; // 0 if a square has several groups
    const int dwords_of_group_;
    const Reg64 &weights_ = a_pitch_, &ring_ = b_, &squares_ = k4_blocks_,
                &c_row_ = parameters_pitch_;
    const Reg64 from_ = general_.take("the square to multiply", r8),
                to_ = general_.take("the square to transpose", r9),
                columns_ = general_.take("columns of the group", r14),
                left_ = general_.take("squares of the group to go", r15),
                at_ = general_.take("of the ring", rbx),
                prefetch_ = general_.take("weights to prefetch", rbp);
    vector_registers_t<isa_avx512_core> vectors_;
    const vmm_range_t<Zmm> quads_ = vectors_.take("dwords of columns", 4),
                           scratch_ = vectors_.take("half transposed", 2);
    const Zmm low_ = vectors_.take("lower nibbles, zero points"),
              high_ = vectors_.take("upper nibbles, scales"),
              bytes_ = vectors_.take("bytes of sums, a row's parameter"),
              of_weights_ = vectors_.take("sums of weights"),
              mask_ = vectors_.take("mask of nibbles"),
              ones_ = vectors_.take("ones");
    const vmm_range_t<Zmm> sums_
            = vectors_.take("sums", static_cast<int>(most_rows));

    void generate() override {
        preamble();
        load_arguments();
        Label l_group;
        align(32);
        L(l_group);
        if (rows_ == 0) transpose_alone();
        else if (squares_of_group_ > 0) long_group();
        else square();
        test(squares_, squares_);
        jnz(l_group, T_NEAR);
        mov(arg(offsetof(squares_t, prefetch)
                    + offsetof(integer_prefetch_t, at)),
                prefetch_);
        postamble();
    }

    void load_arguments() {
        mov(weights_, arg(offsetof(squares_t, weights)));
        mov(ring_, arg(offsetof(squares_t, ring)));
        mov(at_, arg(offsetof(squares_t, at)));
        mov(squares_, arg(offsetof(squares_t, squares)));
        mov(a_, arg(offsetof(squares_t, a)));
        mov(parameters_, arg(offsetof(squares_t, row_groups)));
        mov(columns_, arg(offsetof(squares_t, columns)));
        mov(c_, arg(offsetof(squares_t, c)));
        mov(c_pitch_, arg(offsetof(squares_t, c_pitch)));
        shl(c_pitch_, 2);
        mov(prefetch_, arg(offsetof(squares_t, prefetch)
                               + offsetof(integer_prefetch_t, at)));
        vmovups(mask_, constant(0x0f0f0f0f));
        vmovups(ones_, constant(0x01010101));
    }

    void transpose_alone() {
        lea(to_, ptr[ring_ + at_]);
        emit(transposition());
        add(weights_, line);
        add(at_, disp(squares_t::bytes));
        dec(squares_);
    }

    void long_group() {
        const steps_t clears = clear_sums(), end = end_group(0);
        if (squares_of_group_ == 1) return square();
        emit(clears);
        mov(left_, static_cast<uint64_t>(squares_of_group_));
        repeat(left_, [this] { square(); });
        emit(end);
        next_groups(1);
    }

    // Multiplies a square and transposes another one, step by step.
    void square() {
        lea(from_, ptr[ring_ + at_]);
        if (transposes_) {
            Label l_same;
            cmp(squares_, disp(ahead_bytes_ / squares_t::bytes));
            jne(l_same);
            mov(weights_, arg(offsetof(squares_t, after)));
            L(l_same);
            lea(to_, ptr[at_ + ahead_bytes_]);
            and_(to_, 2 * ahead_bytes_ - 1);
            add(to_, ring_);
        }
        emit(multiplication(), transposes_ ? transposition() : steps_t {});
        add(weights_, line);
        add(a_, disp(a_pitch_bytes_ * squares_t::depth / k4_depth));
        add(at_, disp(squares_t::bytes));
        and_(at_, 2 * ahead_bytes_ - 1);
        if (squares_of_group_ <= 1) next_groups(dwords / dwords_of_group_);
        dec(squares_);
    }

    void next_groups(int count) {
        add(columns_, disp(count * dim_t(sizeof(integer_columns_t))));
        add(parameters_, disp(count * dim_t(sizeof(row_group_t))));
    }

    static void emit(const steps_t &steps) {
        for (const step_t &step : steps)
            step();
    }
    // Spreads the other steps evenly among the first ones.
    static void emit(const steps_t &steps, const steps_t &others) {
        size_t next = 0;
        for (size_t i = 0; i < steps.size(); ++i) {
            steps[i]();
            for (; next * steps.size() <= i * others.size()
                    && next < others.size();
                    ++next)
                others[next]();
        }
        for (; next < others.size(); ++next)
            others[next]();
    }

    // Sixteen bytes of each column at a time. Their parts of 128 bits are
    // gathered by loads, so that the columns need two rounds of shuffles.
    steps_t transposition() {
        steps_t steps;
        for (int part = 0; part < 4; ++part) {
            for (int i = 0; i < 4; ++i)
                load_columns(steps, i, part);
            transpose_quads(steps);
            for (int i = 0; i < 4; ++i)
                steps.push_back([=] {
                    vmovups(ptr[to_ + zmm_bytes(4 * part + i)], quads_[i]);
                });
            if (rows_ == 0) continue;
            steps.push_back([this] {
                prefetch_step(prefetch_, offsetof(squares_t, prefetch));
            });
        }
        return steps;
    }

    // Columns i, i + 4, i + 8 and i + 12.
    void load_columns(steps_t &steps, int i, int part) {
        for (int n = 0; n < 4; ++n)
            steps.push_back([=] {
                const Zmm x = quads_[i];
                const Address at
                        = ptr[weights_
                                + disp((i + 4 * n) * pitch_bytes_ + 16 * part)];
                if (n == 0) vmovdqu32(Xmm(x.getIdx()), at);
                else vinserti32x4(x, x, at, static_cast<uint8_t>(n));
            });
        if (flipped_lane() == 0) return;
        steps.push_back([=] {
            vpxord(quads_[i], quads_[i], constant(flipped_lane()));
        });
    }

    void transpose_quads(steps_t &steps) {
        const Zmm a = quads_[0], b = quads_[1], c = quads_[2], d = quads_[3],
                  x = scratch_[0], y = scratch_[1];
        steps.insert(steps.end(), {[=] { vpunpckldq(x, a, b); },
                                          [=] { vpunpckhdq(a, a, b); }, [=] {
            vpunpckldq(y, c, d);
        }, [=] { vpunpckhdq(c, c, d); }, [=] { vpunpckhqdq(b, x, y); }, [=] {
            vpunpckhqdq(d, a, c);
        }, [=] { vpunpcklqdq(c, a, c); }, [=] { vpunpcklqdq(a, x, y); }});
    }

    steps_t multiplication() {
        steps_t steps;
        const auto append = [&steps](const steps_t &more) {
            steps.insert(steps.end(), more.begin(), more.end());
        };
        for (int j = 0; j < dwords; ++j) {
            const int group = j / dwords_of_group_;
            const bool ends = (j + 1) % dwords_of_group_ == 0;
            if (squares_of_group_ <= 1 && j % dwords_of_group_ == 0)
                append(clear_sums());
            multiply_dwords(steps, j);
            if (squares_of_group_ <= 1 && ends) append(end_group(group));
        }
        return steps;
    }

    void multiply_dwords(steps_t &steps, int j) {
        steps.push_back([=] {
            vmovdqu32(low_, ptr[from_ + zmm_bytes(j)]);
            vpsrld(high_, low_, 4);
        });
        steps.push_back([=] { vpandd(low_, low_, mask_); });
        steps.push_back([=] { vpandd(high_, high_, mask_); });
        for (int half = 0; half < 2; ++half)
            for (int r = 0; r < rows_; ++r)
                steps.push_back([=] {
                    vpdpbusd(sums_[r], half == 0 ? low_ : high_,
                            ptr_b[a_
                                    + disp((2 * j + half) * a_pitch_bytes_
                                            + r * k4_depth)]);
                });
        if (!format_.has_src_zps) return;
        const int place = j % dwords_of_group_ % most_bytes;
        if (place == 0) {
            steps.push_back([=] { vpaddb(bytes_, low_, high_); });
        } else {
            steps.push_back([=] { vpaddb(low_, low_, high_); });
            steps.push_back([=] { vpaddb(bytes_, bytes_, low_); });
        }
        if (place + 1 == std::min(most_bytes, dwords_of_group_))
            steps.push_back([=] { vpdpbusd(of_weights_, bytes_, ones_); });
    }

    steps_t clear_sums() {
        steps_t steps;
        for (int r = 0; r < rows_; ++r)
            steps.push_back([=] { clear(sums_[r]); });
        steps.push_back([=] { clear(of_weights_); });
        return steps;
    }

    Address of_columns(int group, size_t offset) {
        return ptr[columns_
                   + (static_cast<size_t>(group) * sizeof(integer_columns_t)
                           + offset)];
    }
    RegExp of_row(int row, int group) const {
        return parameters_
               + disp(row * parameters_bytes_
                       + group * dim_t(sizeof(row_group_t)));
    }

    steps_t end_group(int group) {
        steps_t steps;
        steps.push_back([=] { load_zps(group); });
        for (int r = 0; r < rows_; ++r)
            steps.push_back([=] { correct(r, group); });
        steps.push_back([=] {
            vmovups(high_,
                    of_columns(group, offsetof(integer_columns_t, scales)));
            mov(c_row_, c_);
        });
        for (int r = 0; r < rows_; ++r)
            steps.push_back([=] {
                vbroadcastss(bytes_,
                        ptr[of_row(r, group) + offsetof(row_group_t, scale)]);
                add_to_c(sums_[r], sums_[r], high_, bytes_, ptr[c_row_]);
                add(c_row_, c_pitch_);
            });
        return steps;
    }

    // Short sums are packed with zero points; both are negated.
    void load_zps(int group) {
        const Address zps = of_columns(group, offsetof(integer_columns_t, zps));
        if (!format_.has_short_sums) return vmovups(low_, zps);
        vpslld(low_, zps, 16);
        bit_and(of_weights_, of_weights_, constant(0xffff));
        bit_or(low_, low_, of_weights_);
        clear(high_);
        vpsubw(low_, high_, low_);
    }

    void correct(int row, int group) {
        const RegExp at = of_row(row, group);
        if (format_.has_short_sums)
            vpdpwssd(sums_[row], low_,
                    ptr_b[at + offsetof(row_group_t, short_zp)]);
        else subtract_zps(sums_[row], bytes_, low_, of_weights_, at);
    }
};

// Returns how many rows are multiplied together next: parts of nearly equal
// size.
dim_t next_rows(dim_t left) {
    return div_up(left, div_up(left, most_rows));
}

class jit_integer_transposing_t : public integer_transposing_kernel_t {
public:
    explicit jit_integer_transposing_t(const desc_t &desc)
        : desc_(desc) {
        const dim_t squares = desc.depth / squares_t::depth;
        most_squares_ = squares;
        if (desc.block_rows <= most_rows) return;
        // All rows are multiplied by some squares, which stay in L1.
        for (ahead_ = most_ahead; ahead_ > 1; ahead_ /= 2)
            if (squares % ahead_ == 0
                    && ahead_ * squares_t::depth % desc.group == 0)
                break;
        most_squares_ = ahead_;
    }

    // Generates code for the usual number of rows, and for one row.
    result_t make() {
        result_t result = make_code(transpose_, 0, true);
        for (dim_t left = desc_.block_rows; left > 0 && result.ok();
                left -= next_rows(left))
            result = make_code(code(next_rows(left), left == desc_.block_rows),
                    next_rows(left), left == desc_.block_rows);
        return result.ok() ? make_code(code(1, true), 1, true) : result;
    }

    const char *name() const override {
        return "jit_integer_matmul_transposing_avx512_core_vnni";
    }
    dim_t most_squares() const override { return most_squares_; }
    dim_t ahead() const override { return ahead_; }
    bool takes(dim_t rows) const override {
        return rows == 1 || rows == desc_.block_rows;
    }

    void transpose(const squares_t &squares) const noexcept override {
        squares_t first = squares;
        first.squares = ahead_;
        transpose_(first);
    }

    void multiply(squares_t &squares) const noexcept override {
        squares_t part = squares;
        for (dim_t row = 0; row < squares.rows;) {
            const dim_t rows = next_rows(squares.rows - row);
            part.a = squares.a + row * k4_depth;
            part.row_groups
                    = squares.row_groups + row * (desc_.depth / desc_.group);
            part.c = squares.c + row * squares.c_pitch;
            code_[row == 0][static_cast<size_t>(rows)](part);
            row += rows;
        }
        squares.prefetch = part.prefetch;
    }

private:
    using code_t = jit_function_t<squares_t>;
    static constexpr dim_t most_ahead = 4;

    code_t &code(dim_t rows, bool transposes) {
        return code_[transposes][static_cast<size_t>(rows)];
    }
    result_t make_code(code_t &code, dim_t rows, bool transposes) {
        if (code) return {};
        return make_jit_as<generator_t>(
                code, desc_, static_cast<int>(rows), transposes, ahead_);
    }

    const desc_t desc_;
    dim_t ahead_ = 1, most_squares_;
    code_t transpose_;
    std::array<std::array<code_t, most_rows + 1>, 2> code_;
};

result_t check(const desc_t &desc, isa_t isa) {
    const integer_format_t &format = desc.format;
    if (!has(isa, isa_avx512_core_vnni)) return refuse("no AVX-512 VNNI");
    if (!format.has_two_depths() || !format.is_packed)
        return refuse("weights are no packed nibbles by column");
    if (format.col_stride % 2 != 0)
        return refuse("columns begin within a byte");
    // Instructions have both as signed integers of 32 bits.
    constexpr dim_t most_bytes = std::numeric_limits<int32_t>::max();
    if (squares_t::depth * desc.rows > most_bytes
            || squares_t::cols * bytes_of(format.weights, format.col_stride)
                       > most_bytes)
        return refuse("rows or columns are too far apart");
    if (desc.depth % squares_t::depth != 0 || desc.depth % desc.group != 0)
        return refuse("the depth is not in whole groups of lines");
    if (desc.group % squares_t::depth != 0 && desc.group != 32
            && desc.group != 64)
        return refuse("groups are neither whole lines nor whole dwords");
    return {};
}

} // namespace

result_t make_integer_transposing(const desc_t &desc, isa_t isa,
        std::shared_ptr<const integer_transposing_kernel_t> &kernel) {
    result_t result = check(desc, isa);
    if (!result.ok()) return result;
    auto made = std::make_shared<jit_integer_transposing_t>(desc);
    if (made->ahead() * squares_t::depth % desc.group != 0
            && made->most_squares() * squares_t::depth != desc.depth)
        return refuse("a group has more weights than stay in L1");
    result = made->make();
    if (result.ok()) kernel = std::move(made);
    return result;
}

} // namespace dnnl_dequant
