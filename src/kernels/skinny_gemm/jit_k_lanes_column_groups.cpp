// A skinny GEMM by [N,K] weights of which columns share scales, K lanes. The
// columns of a group have the same scales along K. So scales and zero points
// are vectors, too, and one vector serves every column of the group.
//
//   for each chunk of the depth, for each group of columns:
//     order scales and zero points as the lanes are
//     for some rows of a, for each few columns:
//       decode and multiply two vectors of weights at a time; the sums are in
//       registers, and in memory between the chunks
//
// A step of nibbles gives two vectors: one has the lower halves of bytes, the
// other the upper halves.

#include <algorithm>
#include <cstddef>

#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/jit_k_lanes_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int most_code_rows = 4, most_cols = 4;
// A step has so many vectors.
constexpr int vectors = 2;
constexpr int line_bytes = 64;
// The src, scales and zero points of a chunk stay in L1.
constexpr dim_t k_chunk = 1024;

// The function multiplies some rows by some columns, down whole steps.
struct args_t {
    const void *weights[most_cols]; // of each column
    const void *a;                  // arranged
    const float *scales, *zps;      // in the order of lanes
    float *sums;                    // rows x columns x lanes, added to
    dim_t a_pitch, sums_pitch;      // bytes
    dim_t ahead;                    // prefetch distance, bytes
    dim_t lines, steps;             // lines of weights, then steps
};

// AVX2 has registers for fewer sums.
template <isa_t isa>
constexpr int cols_of(int rows) {
    return isa == isa_avx512_core || rows <= 2 ? most_cols : 2;
}

template <isa_t isa>
class generator_t : public jit_k_lanes_base_t {
public:
    generator_t(const skinny_weights_t &weights, int rows)
        : jit_k_lanes_base_t("jit_k_lanes_column_groups", isa, weights, rows,
                  cols_of<isa>(rows))
        , lanes_(*this, jit_isa_t<isa>::vmm_count, data_type_t::undef) {}

private:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using vmms_t = vmm_range_t<vmm_t>;

    static constexpr bool is_avx512 = isa == isa_avx512_core;
    static constexpr int lanes = jit_isa_t<isa>::simd_w,
                         vector_bytes = lanes * 4;

    jit_lanes_t<isa> lanes_; // constants in memory
    vector_registers_t<isa> vectors_;
    const Reg64 columns_[most_cols] = {general_.take("column 0", rax),
            general_.take("column 1", rcx), general_.take("column 2", rdx),
            general_.take("column 3", rbx)};
    const Reg64 rows_of_a_ = general_.take("a", rsi),
                third_row_of_a_ = general_.take("a of row 2", r9),
                sums_at_ = general_.take("sums", r10),
                offset_ = general_.take("offset in columns", rbp),
                steps_ = general_.take("lines or steps to go", r14);
    const vmms_t sums_ = vectors_.take("sums", rows_ *cols_),
                 scale_ = vectors_.take("scales", vectors),
                 zp_ = vectors_.take("zero points", vectors),
                 weights_ = vectors_.take("weights", vectors),
                 raw_ = vectors_.take("nibbles, rounding", 1),
                 numbers_
                 = vectors_.take("numbers of nibbles", is_avx512 ? 1 : 0),
                 a_ = vectors_.take("a", is_avx512 ? rows_ *a_vectors() : 0);

    // Returns the vectors of a in one step. A vector of bf16 has twice as many
    // elements.
    int a_vectors() const { return is_bf16() ? 1 : vectors; }
    int step_bytes() const {
        return static_cast<int>(bytes_of(w_.type, dim_t(vectors) * lanes));
    }
    vmm_t sum(int row, int col) const { return sums_[row * cols_ + col]; }
    RegExp row_of_a(int row) const {
        if (row == 3) return third_row_of_a_ + a_pitch_;
        if (row == 2) return RegExp(third_row_of_a_);
        return row == 0 ? RegExp(rows_of_a_) : rows_of_a_ + a_pitch_;
    }

    void generate() override {
        preamble();
        for (int c = 0; c < cols_; ++c)
            mov(columns_[c], arg(offsetof(args_t, weights) + disp(8 * c)));
        mov(rows_of_a_, arg(offsetof(args_t, a)));
        mov(a_pitch_, arg(offsetof(args_t, a_pitch)));
        lea(third_row_of_a_, ptr[rows_of_a_ + a_pitch_ * 2]);
        mov(scales_, arg(offsetof(args_t, scales)));
        mov(zps_, arg(offsetof(args_t, zps)));
        mov(ahead_, arg(offsetof(args_t, ahead)));
        xor_(offset_.cvt32(), offset_.cvt32());
        if (is_nibble() && is_avx512)
            vmovups(numbers_[0], constant(nibble_numbers(w_.type)));
        move_sums(true);
        loop(offsetof(args_t, lines), line_bytes / step_bytes());
        loop(offsetof(args_t, steps), 1);
        move_sums(false);
        postamble();
    }

    void loop(size_t count, int steps) {
        Label l_end;
        mov(steps_, arg(count));
        test(steps_, steps_);
        jz(l_end, T_NEAR);
        align(32);
        repeat(steps_, [&] {
            for (int c = 0; steps > 1 && c < cols_; ++c)
                prefetch_stream(ptr[columns_[c] + ahead_]);
            for (int i = 0; i < steps; ++i)
                step(i);
            const int parameters = vectors * vector_bytes;
            add(offset_, disp(steps * step_bytes()));
            add(ahead_, disp(steps * step_bytes()));
            add(scales_, disp(steps * parameters));
            if (has_zps()) add(zps_, disp(steps * parameters));
            for (const Reg64 &a : {rows_of_a_, third_row_of_a_})
                add(a, disp(steps * a_vectors() * vector_bytes));
        });
        L(l_end);
    }

    void step(int i) {
        const auto place = [&](int count, int j) {
            return disp((i * count + j) * vector_bytes);
        };
        for (int j = 0; j < vectors; ++j) {
            vmovups(scale_[j], ptr[scales_ + place(vectors, j)]);
            if (has_zps()) vmovups(zp_[j], ptr[zps_ + place(vectors, j)]);
        }
        const auto a_at = [&](int row, int j) {
            return ptr[row_of_a(row) + place(a_vectors(), j)];
        };
        for (int r = 0; is_avx512 && r < rows_; ++r)
            for (int j = 0; j < a_vectors(); ++j)
                vmovups(a_[r * a_vectors() + j], a_at(r, j));
        for (int c = 0; c < cols_; ++c) {
            make_weights(c, i);
            for (int j = 0; j < a_vectors(); ++j)
                for (int r = 0; r < rows_; ++r)
                    if (is_bf16()) vdpbf16ps(sum(r, c), weights_[j], a_[r]);
                    else if (is_avx512)
                        vfmadd231ps(sum(r, c), weights_[j], a_[2 * r + j]);
                    else vfmadd231ps(sum(r, c), weights_[j], a_at(r, j));
        }
    }

    // Decodes a column's vectors of step i.
    void make_weights(int c, int i) {
        const RegExp from = columns_[c] + offset_ + disp(i * step_bytes());
        if (is_nibble()) load_nibbles(from);
        for (int j = 0; j < vectors; ++j) {
            const vmm_t w = weights_[j];
            if (!is_nibble()) {
                load_bytes(w, ptr[from + disp(j * lanes)], zp_[j], raw_[0]);
                multiply_by_unit(w);
            } else if (has_zps()) vsubps(w, w, zp_[j]);
            vmulps(w, w, scale_[j]);
            if (!is_bf16())
                lanes_.round(w, w_.rounded, weights_rounding(w_), raw_[0]);
        }
        if (is_bf16()) vcvtne2ps2bf16(weights_[0], weights_[1], weights_[0]);
    }

    // Loads the lower halves of bytes, then the upper halves.
    void load_nibbles(const RegExp &from) {
        const vmm_t low = weights_[0], high = weights_[1], raw = raw_[0];
        constexpr uint8_t half = 4, all_but_half = 28;
        if (is_avx512) {
            // A permutation reads only the lowest four bits of an index.
            spread_nibbles(raw, ptr[from], 32, 4, low);
            vpsrld(high, raw, half);
            vpermps(low, raw, numbers_[0]);
            vpermps(high, high, numbers_[0]);
            return;
        }
        if (is_signed()) {
            vpmovsxbd(raw, ptr[from]);
            vpsrad(high, raw, half);
            vpslld(low, raw, all_but_half);
            vpsrad(low, low, all_but_half);
        } else {
            vpmovzxbd(raw, ptr[from]);
            vpsrld(high, raw, half);
            vpand(low, raw, constant(0xf));
        }
        vcvtdq2ps(low, low);
        vcvtdq2ps(high, high);
    }

    void move_sums(bool loads) {
        mov(sums_at_, arg(offsetof(args_t, sums)));
        for_sums(sums_at_, arg(offsetof(args_t, sums_pitch)), rows_, cols_,
                vector_bytes, [&](int r, int c, const Address &at) {
            move(sum(r, c), at, loads);
        });
    }
};

template <isa_t isa>
class k_lanes_column_groups_t final : public skinny_gemm_t {
public:
    explicit k_lanes_column_groups_t(const skinny_weights_t &weights)
        : skinny_gemm_t(weights) {}

    dim_t nr() const override { return most_cols; }
    dim_t src_unit() const override { return is_nibble() ? step : 1; }
    void arrange(void *row) const noexcept override {
        const dim_t depth = weights_.depth;
        if (is_bf16())
            arrange_lanes<vectors, lanes>(static_cast<uint16_t *>(row), depth);
        else arrange_lanes<vectors, lanes>(static_cast<float *>(row), depth);
    }
    dim_t partial_floats() const override { return lanes; }

    result_t make(dim_t rows) {
        return code_.template make<generator_t<isa>>(
                std::min<dim_t>(rows, most_code_rows), weights_);
    }

    void run(void *const *buffers,
            const block_t &block) const noexcept override {
        std::fill_n(block.partial, block.rows * block.c_pitch * lanes, 0.f);
        const auto *weights = static_cast<const char *>(buffers[0]);
        const dim_t end = block.first_col + block.cols;
        for (dim_t k = 0; k < weights_.depth; k += k_chunk)
            for (dim_t n = block.first_col, last = 0; n < end; n = last) {
                last = std::min(end, round_up(n + 1, weights_.col_group));
                run_group(weights, block, k, n, last);
            }
        add_partial_sums<lanes>(block);
    }

private:
    static constexpr dim_t lanes = jit_isa_t<isa>::simd_w,
                           step = vectors * lanes;

    bool is_nibble() const { return weights_.are_nibbles(); }

    void run_group(const char *weights, const block_t &block, dim_t k,
            dim_t first, dim_t last) const noexcept;
    void put_in_order(
            const float *from, dim_t k, dim_t depth, float *to) const noexcept;

    jit_code_by_rows_t<const args_t> code_;
};

// Multiplies a chunk of the depth, beginning at k, by columns that share
// scales.
template <isa_t isa>
void k_lanes_column_groups_t<isa>::run_group(const char *weights,
        const block_t &block, dim_t k, dim_t first, dim_t last) const noexcept {
    const dim_t depth = std::min(k_chunk, weights_.depth - k);
    const dim_t pitch = bytes_of(weights_.type, weights_.pitch);
    const dim_t line = line_bytes * 8 / bits_of(weights_.type);
    const dim_t group = first / weights_.col_group * block.parameters_pitch;
    alignas(64) float scales[k_chunk], zps[k_chunk];
    put_in_order(block.scales + group, k, depth, scales);
    if (weights_.zps.type != data_type_t::undef)
        put_in_order(block.zps + group, k, depth, zps);
    args_t args;
    args.scales = scales;
    args.zps = zps;
    args.a_pitch = src_pitch_bytes(block);
    args.sums_pitch = block.c_pitch * lanes * 4;
    args.ahead = most_cols * pitch;
    args.lines = depth / line;
    args.steps = depth % line / step;
    for (dim_t n = first; n < last; n += most_cols)
        for_row_blocks(block.rows, most_code_rows, [&](dim_t row, dim_t rows) {
            args.a = src_at(block, row, k);
            const int cols = cols_of<isa>(static_cast<int>(rows));
            for (dim_t col = n; col < n + most_cols; col += cols) {
                // Sums behind the last column are nobody's.
                for (dim_t c = 0; c < cols; ++c)
                    args.weights[c] = weights
                                      + std::min(col + c, last - 1) * pitch
                                      + bytes_of(weights_.type, k);
                args.sums = block.partial
                            + (row * block.c_pitch + col - block.first_col)
                                      * lanes;
                code_(rows, args);
            }
        });
}

template <isa_t isa>
void k_lanes_column_groups_t<isa>::put_in_order(
        const float *from, dim_t k, dim_t depth, float *to) const noexcept {
    if (weights_.group == 1) std::copy_n(from + k, depth, to);
    dim_t run = 0;
    for (dim_t i = 0; weights_.group > 1 && i < depth; i += run) {
        const dim_t g = (k + i) / weights_.group;
        run = std::min((g + 1) * weights_.group - k - i, depth - i);
        std::fill_n(to + i, run, from[g]);
    }
    if (is_nibble()) arrange_lanes<vectors, lanes>(to, depth);
}

} // namespace

result_t make_k_lanes_column_groups(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<const skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<k_lanes_column_groups_t<isa_avx512_core>>(
            weights, rows, skinny_gemm);
}

result_t make_k_lanes_column_groups_avx2(const skinny_weights_t &weights,
        dim_t rows, std::shared_ptr<const skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<k_lanes_column_groups_t<isa_avx2>>(
            weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
