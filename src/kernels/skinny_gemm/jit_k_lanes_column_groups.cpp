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
//
// AVX2 multiplies nibbles where they lie in a lane, unless the graph rounds
// weights (nibbles_in_place_t). Src is scaled instead of weights, once for all
// columns of a group.

#include <algorithm>
#include <cstddef>

#include "base/bits.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/avx_nibbles_in_place.hpp"
#include "kernels/skinny_gemm/jit_k_lanes_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int most_code_rows = 4, most_cols = 4;
// A step has so many vectors. In place only those behind the last whole line
// do.
constexpr int vectors = 2;
constexpr int line_bytes = 64;
using places_t = nibbles_in_place_t;
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

static_assert(places_t::line * places_t::bits == line_bytes * 8, "of nibbles");
template <isa_t isa>
bool is_in_place(const skinny_weights_t &weights) {
    return isa == isa_avx2 && bits_of(weights.type) == places_t::bits
           && weights.rounded == data_type_t::f32;
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

    const bool in_place_ = is_in_place<isa>(w_);
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
    const vmms_t sums_
            = vectors_.take("sums", rows_ *cols_),
            scale_ = vectors_.take("scales", in_place_ ? 0 : vectors),
            zp_ = vectors_.take("zero points", in_place_ ? 1 : vectors),
            weights_ = vectors_.take("weights", vectors),
            raw_ = vectors_.take("nibbles, rounding", in_place_ ? cols_ : 1),
            mask_ = vectors_.take("mask", in_place_ ? 1 : 0),
            numbers_ = vectors_.take("numbers of nibbles", is_avx512 ? 1 : 0),
            a_ = vectors_.take("a", is_avx512 ? rows_ *a_vectors()
                                    : in_place_ &&rows_ == 1 ? 1
                                                             : 0);

    // Returns the vectors of a in one step. A vector of bf16 has twice as many
    // elements.
    int a_vectors() const { return is_bf16() ? 1 : vectors; }
    int step_bytes(int step_vectors) const {
        return static_cast<int>(bytes_of(w_.type, dim_t(step_vectors) * lanes));
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
        const int of_line = in_place_ ? places_t::vectors : vectors;
        loop(offsetof(args_t, lines), line_bytes / step_bytes(of_line),
                of_line);
        loop(offsetof(args_t, steps), 1, vectors);
        move_sums(false);
        postamble();
    }

    void loop(size_t count, int steps, int step_vectors) {
        Label l_end;
        mov(steps_, arg(count));
        test(steps_, steps_);
        jz(l_end, T_NEAR);
        align(32);
        repeat(steps_, [&] {
            for (int c = 0; steps > 1 && c < cols_; ++c)
                prefetch_stream(ptr[columns_[c] + ahead_]);
            for (int i = 0; i < steps; ++i)
                if (in_place_) step_in_place(i, step_vectors);
                else step(i);
            const int bytes = steps * step_bytes(step_vectors),
                      parameters = steps * step_vectors * vector_bytes;
            add(offset_, disp(bytes));
            add(ahead_, disp(bytes));
            if (!in_place_) add(scales_, disp(parameters));
            if (has_zps()) add(zps_, disp(parameters));
            for (const Reg64 &a : {rows_of_a_, third_row_of_a_})
                add(a, disp(is_bf16() ? parameters / 2 : parameters));
        });
        L(l_end);
    }

    // Each vector of the step has a nibble of every lane.
    void step_in_place(int i, int step_vectors) {
        const int widening = places_t::vectors / step_vectors;
        for (int c = 0; c < cols_; ++c) {
            const RegExp from = columns_[c] + offset_
                                + disp(i * step_bytes(step_vectors));
            spread_nibbles(raw_[c], ptr[from], 32, widening, weights_[0]);
            if (is_signed())
                vpxor(raw_[c], raw_[c], constant(w_.sign_bit() * 0x11111111u));
        }
        for (int v = 0; v < step_vectors; ++v) {
            for (int c = 0; v == places_t::places && c < cols_; ++c)
                vpsrld(raw_[c], raw_[c], places_t::places * places_t::bits);
            const int bit = places_t::bit_of(v);
            const uint32_t offset = disp((i * step_vectors + v) * vector_bytes);
            vmovups(mask_[0], constant(0xfu << bit));
            // Without zero points a signed number has its flipped sign alone.
            if (has_zps()) vmovups(zp_[0], ptr[zps_ + offset]);
            else if (is_signed())
                vmovups(zp_[0], constant(bits_of_f32(static_cast<float>(
                                        w_.sign_bit() << bit))));
            multiply_in_place(offset);
        }
    }

    // Multiplies the nibbles under the mask. Their src is at an offset in
    // bytes.
    void multiply_in_place(uint32_t offset) {
        if (rows_ == 1) vmovups(a_[0], ptr[row_of_a(0) + offset]);
        for (int c = 0; c < cols_; ++c) {
            const vmm_t number = weights_[c % 2];
            vpand(number, raw_[c], mask_[0]);
            vcvtdq2ps(number, number);
            if (has_zps() || is_signed()) vsubps(number, number, zp_[0]);
            for (int r = 0; r < rows_; ++r)
                if (rows_ == 1) vfmadd231ps(sum(r, c), number, a_[0]);
                else vfmadd231ps(sum(r, c), number, ptr[row_of_a(r) + offset]);
        }
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
        const RegExp from
                = columns_[c] + offset_ + disp(i * step_bytes(vectors));
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
        else if (in_place_) places_t::arrange(static_cast<float *>(row), depth);
        else arrange_lanes<vectors, lanes>(static_cast<float *>(row), depth);
    }
    dim_t partial_floats() const override { return lanes; }
    bool scales_sums() const override { return in_place_; }

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
    void stage(const block_t &block, dim_t k, dim_t depth, dim_t group,
            float *scales, float *zps) const noexcept;

    const bool in_place_ = is_in_place<isa>(weights_);
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
    alignas(64) float scales[k_chunk], zps[k_chunk];
    stage(block, k, depth, first / weights_.col_group, scales, zps);
    args_t args;
    args.scales = scales;
    args.zps = zps;
    args.sums_pitch = block.c_pitch * lanes * 4;
    args.ahead = most_cols * pitch;
    args.lines = depth / line;
    args.steps = depth % line / step;
    const auto multiply = [&](dim_t n, dim_t row, dim_t rows) {
        const int cols = cols_of<isa>(static_cast<int>(rows));
        for (dim_t col = n; col < n + most_cols; col += cols) {
            // Sums behind the last column are nobody's.
            for (dim_t c = 0; c < cols; ++c)
                args.weights[c] = weights + std::min(col + c, last - 1) * pitch
                                  + bytes_of(weights_.type, k);
            args.sums = block.partial
                        + (row * block.c_pitch + col - block.first_col) * lanes;
            code_(rows, args);
        }
    };
    if (!in_place_) {
        args.a_pitch = src_pitch_bytes(block);
        for (dim_t n = first; n < last; n += most_cols)
            for_row_blocks(
                    block.rows, most_code_rows, [&](dim_t row, dim_t rows) {
                args.a = src_at(block, row, k);
                multiply(n, row, rows);
            });
        return;
    }
    alignas(64) float scaled[most_code_rows * k_chunk];
    args.a = scaled;
    args.a_pitch = k_chunk * 4;
    for_row_blocks(block.rows, most_code_rows, [&](dim_t row, dim_t rows) {
        for (dim_t r = 0; r < rows; ++r)
            places_t::scale_src(
                    static_cast<const float *>(src_at(block, row + r, k)),
                    scales, depth, scaled + r * k_chunk);
        for (dim_t n = first; n < last; n += most_cols)
            multiply(n, row, rows);
    });
}

// Arranges the scales and zero points of a chunk for one group of columns.
template <isa_t isa>
void k_lanes_column_groups_t<isa>::stage(const block_t &block, dim_t k,
        dim_t depth, dim_t group, float *scales, float *zps) const noexcept {
    float repeated[k_chunk];
    // Returns the parameter of each row of weights.
    const auto by_row = [&](const float *parameters) -> const float * {
        const float *const from = parameters + group * block.parameters_pitch;
        if (weights_.group == 1) return from + k;
        dim_t run = 0;
        for (dim_t i = 0; i < depth; i += run) {
            const dim_t g = (k + i) / weights_.group;
            run = std::min((g + 1) * weights_.group - k - i, depth - i);
            std::fill_n(repeated + i, run, from[g]);
        }
        return repeated;
    };
    const bool has_zps = weights_.zps.type != data_type_t::undef;
    if (in_place_) {
        const auto bias = static_cast<float>(weights_.sign_bit());
        places_t::arrange_scales(by_row(block.scales), depth, scales);
        if (has_zps) places_t::arrange_zps(by_row(block.zps), depth, bias, zps);
        return;
    }
    const auto arrange = [&](const float *parameters, float *to) {
        std::copy_n(by_row(parameters), depth, to);
        if (is_nibble()) arrange_lanes<vectors, lanes>(to, depth);
    };
    arrange(block.scales, scales);
    if (has_zps) arrange(block.zps, zps);
}

} // namespace

result_t make_k_lanes_column_groups_avx512(const skinny_weights_t &weights,
        dim_t rows, std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<k_lanes_column_groups_t<isa_avx512_core>>(
            weights, rows, skinny_gemm);
}

result_t make_k_lanes_column_groups_avx2(const skinny_weights_t &weights,
        dim_t rows, std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<k_lanes_column_groups_t<isa_avx2>>(
            weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
