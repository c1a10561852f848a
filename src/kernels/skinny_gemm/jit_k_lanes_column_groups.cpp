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
#include <array>
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

template <isa_t isa>
constexpr int lanes_of() {
    return static_cast<int>(jit_isa_t<isa>::simd_w);
}

// AVX2 has registers for fewer sums.
template <isa_t isa>
constexpr int cols_of(int rows) {
    return isa == isa_avx512_core || rows <= 2 ? most_cols : 2;
}

template <isa_t isa>
class generator_t : public jit_k_lanes_t<isa> {
public:
    generator_t(const skinny_weights_t &weights, int rows)
        : base_t("jit_k_lanes_column_groups", weights, rows, cols_of<isa>(rows))
        , lanes_(*this, jit_isa_t<isa>::vmm_count, data_type_t::undef) {}

private:
    using base_t = jit_k_lanes_t<isa>;
    using vmm_t = typename base_t::vmm_t;
    using vmms_t = typename base_t::vmms_t;
    using base_t::ahead_, base_t::a_pitch_, base_t::scales_, base_t::zps_;
    using base_t::arg, base_t::general_, base_t::vectors_;
    using base_t::is_nibble, base_t::is_signed, base_t::has_zps;
    using base_t::rows_, base_t::cols_, base_t::w_;

    static constexpr bool is_avx512 = isa == isa_avx512_core;
    static constexpr int vector_bytes = lanes_of<isa>() * 4;

    jit_lanes_t<isa> lanes_; // constants in memory
    const Reg64 columns_[most_cols] = {general_.take("column 0", this->rax),
            general_.take("column 1", this->rcx),
            general_.take("column 2", this->rdx),
            general_.take("column 3", this->rbx)};
    const Reg64 rows_of_a_ = general_.take("a", this->rsi),
                third_row_of_a_ = general_.take("a of row 2", this->r9),
                sums_at_ = general_.take("sums", this->r10),
                offset_ = general_.take("offset in columns", this->rbp),
                steps_ = general_.take("lines or steps to go", this->r14);
    const vmms_t sums_ = vectors_.take("sums", rows_ *cols_),
                 scale_ = vectors_.take("scales", vectors),
                 zp_ = vectors_.take("zero points", vectors),
                 weights_ = vectors_.take("weights", vectors),
                 raw_ = vectors_.take("nibbles, rounding", 1),
                 numbers_
                 = vectors_.take("numbers of nibbles", is_avx512 ? 1 : 0),
                 a_ = vectors_.take("a", is_avx512 ? rows_ *a_vectors() : 0);

    bool is_bf16() const { return w_.multiplied == data_type_t::bf16; }
    // Returns the vectors of a in one step. A vector of bf16 has twice as many
    // elements.
    int a_vectors() const { return is_bf16() ? 1 : vectors; }
    int step_bytes() const {
        return static_cast<int>(
                bytes_of(w_.type, dim_t(vectors) * lanes_of<isa>()));
    }
    vmm_t sum(int row, int col) const { return sums_[row * cols_ + col]; }
    RegExp row_of_a(int row) const {
        if (row == 3) return third_row_of_a_ + a_pitch_;
        if (row == 2) return RegExp(third_row_of_a_);
        return row == 0 ? RegExp(rows_of_a_) : rows_of_a_ + a_pitch_;
    }

    void generate() override {
        this->preamble();
        for (int c = 0; c < cols_; ++c)
            this->mov(columns_[c], arg(offsetof(args_t, weights)
                                           + static_cast<size_t>(c) * 8));
        this->mov(rows_of_a_, arg(offsetof(args_t, a)));
        this->mov(a_pitch_, arg(offsetof(args_t, a_pitch)));
        this->lea(third_row_of_a_, this->ptr[rows_of_a_ + a_pitch_ * 2]);
        this->mov(scales_, arg(offsetof(args_t, scales)));
        this->mov(zps_, arg(offsetof(args_t, zps)));
        this->mov(ahead_, arg(offsetof(args_t, ahead)));
        this->xor_(offset_.cvt32(), offset_.cvt32());
        if (is_nibble() && is_avx512)
            this->vmovups(numbers_[0], this->constant(nibble_numbers(w_.type)));
        for_sums([this](const Address &at, const vmm_t &sum) {
            this->vmovups(sum, at);
        });
        loop(offsetof(args_t, lines), line_bytes / step_bytes());
        loop(offsetof(args_t, steps), 1);
        for_sums([this](const Address &at, const vmm_t &sum) {
            this->vmovups(at, sum);
        });
        this->postamble();
    }

    void loop(size_t count, int steps) {
        Label l_loop, l_end;
        this->mov(steps_, arg(count));
        this->test(steps_, steps_);
        this->jz(l_end, this->T_NEAR);
        this->align(32);
        this->L(l_loop);
        if (steps > 1)
            for (int c = 0; c < cols_; ++c)
                this->prefetch_stream(this->ptr[columns_[c] + ahead_]);
        for (int i = 0; i < steps; ++i)
            step(i);
        const auto advance = [&](const Reg64 &at, int bytes) {
            this->add(at, static_cast<uint32_t>(steps * bytes));
        };
        advance(offset_, step_bytes());
        advance(ahead_, step_bytes());
        advance(scales_, vectors * vector_bytes);
        if (has_zps()) advance(zps_, vectors * vector_bytes);
        advance(rows_of_a_, a_vectors() * vector_bytes);
        advance(third_row_of_a_, a_vectors() * vector_bytes);
        this->dec(steps_);
        this->jnz(l_loop, this->T_NEAR);
        this->L(l_end);
    }

    void step(int i) {
        const auto place = [&](int count, int j) {
            return static_cast<size_t>((i * count + j) * vector_bytes);
        };
        for (int j = 0; j < vectors; ++j) {
            this->vmovups(scale_[j], this->ptr[scales_ + place(vectors, j)]);
            if (has_zps())
                this->vmovups(zp_[j], this->ptr[zps_ + place(vectors, j)]);
        }
        const auto a_at = [&](int row, int j) {
            return this->ptr[row_of_a(row) + place(a_vectors(), j)];
        };
        for (int r = 0; is_avx512 && r < rows_; ++r)
            for (int j = 0; j < a_vectors(); ++j)
                this->vmovups(a_[r * a_vectors() + j], a_at(r, j));
        for (int c = 0; c < cols_; ++c) {
            make_weights(c, i);
            for (int j = 0; j < a_vectors(); ++j)
                for (int r = 0; r < rows_; ++r)
                    if (is_avx512)
                        multiply_add(sum(r, c), weights_[j],
                                a_[r * a_vectors() + j]);
                    else multiply_add(sum(r, c), weights_[j], a_at(r, j));
        }
    }

    void multiply_add(const vmm_t &sum, const vmm_t &weight, const Operand &a) {
        if (is_bf16()) this->vdpbf16ps(sum, weight, a);
        else this->vfmadd231ps(sum, weight, a);
    }

    // Decodes a column's vectors of step i.
    void make_weights(int c, int i) {
        const RegExp from
                = columns_[c] + offset_ + static_cast<size_t>(i * step_bytes());
        if (is_nibble()) load_nibbles(from);
        for (int j = 0; j < vectors; ++j) {
            const vmm_t w = weights_[j];
            if (!is_nibble()) {
                this->load_bytes(w,
                        this->ptr[from
                                  + static_cast<size_t>(j * lanes_of<isa>())],
                        zp_[j], raw_[0]);
                this->multiply_by_unit(w);
            } else if (has_zps()) this->vsubps(w, w, zp_[j]);
            this->vmulps(w, w, scale_[j]);
            if (!is_bf16())
                lanes_.round(w, w_.rounded, weights_rounding(w_), raw_[0]);
        }
        if (is_bf16())
            this->vcvtne2ps2bf16(weights_[0], weights_[1], weights_[0]);
    }

    // Loads the lower halves of bytes, then the upper halves.
    void load_nibbles(const RegExp &from) {
        const vmm_t low = weights_[0], high = weights_[1], raw = raw_[0];
        constexpr uint8_t half = 4, all_but_half = 28;
        if (is_avx512) {
            // A permutation reads only the lowest four bits of an index.
            if (w_.have_two_bits()) {
                const Xbyak::Xmm nibbles(raw.getIdx());
                this->load_nibbles_of(nibbles, this->ptr[from], low);
                this->vpmovzxbd(raw, nibbles);
            } else {
                this->vpmovzxbd(raw, this->ptr[from]);
            }
            this->vpsrld(high, raw, half);
            this->vpermps(low, raw, numbers_[0]);
            this->vpermps(high, high, numbers_[0]);
            return;
        }
        if (is_signed()) {
            this->vpmovsxbd(raw, this->ptr[from]);
            this->vpsrad(high, raw, half);
            this->vpslld(low, raw, all_but_half);
            this->vpsrad(low, low, all_but_half);
        } else {
            this->vpmovzxbd(raw, this->ptr[from]);
            this->vpsrld(high, raw, half);
            this->vpand(low, raw, this->constant(0xf));
        }
        this->vcvtdq2ps(low, low);
        this->vcvtdq2ps(high, high);
    }

    template <typename use_t>
    void for_sums(use_t &&use) {
        this->mov(sums_at_, arg(offsetof(args_t, sums)));
        for (int r = 0; r < rows_; ++r) {
            for (int c = 0; c < cols_; ++c)
                use(this->ptr[sums_at_ + static_cast<size_t>(c * vector_bytes)],
                        sum(r, c));
            if (r + 1 < rows_)
                this->add(sums_at_, arg(offsetof(args_t, sums_pitch)));
        }
    }
};

template <isa_t isa>
class k_lanes_column_groups_t final : public skinny_gemm_t {
public:
    explicit k_lanes_column_groups_t(const skinny_weights_t &weights)
        : skinny_gemm_t(weights) {}

    const char *name() const override {
        if (isa == isa_avx2) return "jit_matmul_k_lanes_column_groups_avx2";
        return src_type() == data_type_t::bf16
                       ? "jit_matmul_k_lanes_column_groups_avx512_core_bf16"
                       : "jit_matmul_k_lanes_column_groups_avx512_core";
    }
    dim_t nr() const override { return most_cols; }
    bool parameters_by_column() const override { return true; }
    data_type_t src_type() const override { return weights_.multiplied; }
    dim_t src_unit() const override { return is_nibble() ? step : 1; }
    void arrange(void *row) const noexcept override {
        if (src_type() == data_type_t::bf16)
            arrange_steps(
                    static_cast<uint16_t *>(row), weights_.depth, step, place);
        else
            arrange_steps(
                    static_cast<float *>(row), weights_.depth, step, place);
    }
    dim_t partial_floats() const override { return lanes; }
    bool scales_sums() const override { return false; }

    result_t make(dim_t rows) {
        result_t made;
        for (int r = 1; r <= std::min<dim_t>(rows, most_code_rows) && made.ok();
                ++r)
            made = make_jit_as<generator_t<isa>>(
                    code_[static_cast<size_t>(r)], weights_, r);
        return made;
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
    static constexpr dim_t lanes = lanes_of<isa>(), step = vectors * lanes;
    static dim_t place(dim_t i) { return i % 2 * lanes + i / 2; }

    struct parameters_t {
        alignas(64) float scales[k_chunk], zps[k_chunk];
    };

    bool is_nibble() const { return weights_.are_nibbles(); }

    void run_group(const char *weights, const block_t &block, dim_t k,
            dim_t first, dim_t last) const noexcept;
    void put_in_order(
            const float *from, dim_t k, dim_t depth, float *to) const noexcept;

    std::array<jit_function_t<const args_t>, most_code_rows + 1> code_;
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
    parameters_t parameters;
    put_in_order(block.scales + group, k, depth, parameters.scales);
    if (weights_.zps.type != data_type_t::undef)
        put_in_order(block.zps + group, k, depth, parameters.zps);
    args_t args;
    args.scales = parameters.scales;
    args.zps = parameters.zps;
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
                code_[static_cast<size_t>(rows)](args);
            }
        });
}

template <isa_t isa>
void k_lanes_column_groups_t<isa>::put_in_order(
        const float *from, dim_t k, dim_t depth, float *to) const noexcept {
    float each[k_chunk];
    if (weights_.group == 1) from += k;
    else {
        dim_t run = 0;
        for (dim_t i = 0; i < depth; i += run) {
            const dim_t g = (k + i) / weights_.group;
            run = std::min((g + 1) * weights_.group - k - i, depth - i);
            std::fill_n(each + i, run, from[g]);
        }
        from = each;
    }
    if (!is_nibble()) {
        std::copy_n(from, depth, to);
        return;
    }
    for (dim_t i = 0; i < depth; i += step)
        for (dim_t lane = 0; lane < lanes; ++lane)
            for (dim_t j = 0; j < vectors; ++j)
                to[i + j * lanes + lane] = from[i + lane * vectors + j];
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
