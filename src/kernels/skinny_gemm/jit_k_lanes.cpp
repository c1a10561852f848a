// A skinny GEMM by [N,K] weights of 2, 4 or 8 bits on AVX-512, K lanes.
//
//   for each group: load scales and zero points, or make tables of numbers
//     for each step: for each vector: make weights of columns, times rows of a
//
// A few rows multiply bytes that nobody rounds, in one group, unscaled. Their
// sums are scaled.
//
// src is arranged in the order in which lookups leave the weights. The sums,
// of sixteen partial ones each, stay in registers down the whole depth.

#include <algorithm>
#include <cstddef>

#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/jit_k_lanes_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// One generated function multiplies at most so many rows and columns.
constexpr int most_code_rows = 8, most_cols = 4;

static_assert(most_cols - 1 <= skinny_gemm_t::columns_beyond, "");

// Registers hold the sums of so many columns next to their raw weights, tables
// and decoded weights.
constexpr int cols_of(int rows) {
    return rows <= 4 ? most_cols : rows <= 6 ? 3 : 2;
}

// The function multiplies some rows by some columns, down the whole depth.
struct args_t {
    const void *weights[most_cols]; // of each column
    const void *a;                  // arranged
    const float *scales, *zps;      // columns x groups
    float *sums;                    // rows x columns
    dim_t a_pitch;                  // bytes
    dim_t ahead;                    // prefetch distance, bytes
};

// The step is the longest one that divides a group, or the shortest one if none
// does. Vectors of 8-bit weights are in order, not interleaved.
nibble_step_t step_of(const skinny_weights_t &w) {
    const dim_t unit = w.groups() == 1 ? w.depth : w.group;
    if (w.have_two_bits() && w.multiplied == data_type_t::bf16
            && w.depth % w.group == 0 && unit % 64 == 0)
        return {unit % 256 == 0 ? 8 : unit % 128 == 0 ? 4 : 2, 32, true};
    const int shortest = w.are_nibbles() ? 32 : 16;
    int step = 4 * shortest;
    while (w.group < w.depth && step > shortest && w.group % step != 0)
        step /= 2;
    const bool is_bf16 = w.multiplied == data_type_t::bf16;
    const int lanes = is_bf16 && step > shortest ? 32 : 16;
    return {step / lanes, lanes};
}

// True if sums are scaled: a few rows by bytes that nobody rounds, in one
// group. More rows gain nothing (MEASURED.md).
bool is_scaled_last(const skinny_weights_t &w, int rows) {
    constexpr int most_rows = 4;
    return rows <= most_rows && !w.are_nibbles()
           && w.rounded == data_type_t::f32 && w.multiplied == data_type_t::f32
           && w.groups() == 1;
}

class generator_t : public jit_lookup_t {
public:
    generator_t(const skinny_weights_t &weights, int rows)
        : jit_lookup_t("jit_k_lanes", weights, step_of(weights), rows,
                  cols_of(rows), 1, false) {}

private:
    static constexpr int rows_of_base = 3, sum_lanes = 16;
    static constexpr int two_vectors = 2 * sum_lanes;

    static uint32_t bytes(data_type_t type, dim_t elements) {
        return disp(bytes_of(type, elements));
    }

    uint32_t bytes_of_vectors(int vectors) const {
        return bytes(w_.type, dim_t(vectors) * step_.lanes);
    }

    const Reg64 columns_[most_cols] = {general_.take("column 0", rax),
            general_.take("column 1", rcx), general_.take("column 2", rdx),
            general_.take("column 3", rbx)};
    const Reg64 rows_of_a_[3] = {general_.take("a of rows 0 to 2", rsi),
            general_.take("a of rows 3 to 5", r9),
            general_.take("a of rows 6 and 7", r10)};
    const Reg64 offset_ = general_.take("offset in columns", rbp),
                steps_ = general_.take("steps to go, or a mask", r14),
                groups_ = general_.take("groups to go", r15);
    const Zmm vmm_a_ = a_[0];
    // 8-bit weights need no raw vectors and no table, so their registers are
    // free.
    const vmms_t &byte_scales_ = raws_, &byte_zps_ = tables_,
                 &second_ = tables_;
    const Opmask k_tail_ {1}, k_bytes_ {2}, k_upper_ {3};
    // The masks stand for this where code is generated; 0: for nothing yet.
    int masked_lanes_ = 0, masked_tail_ = 0;

    RegExp row_of_a(int row) const { return row_of(rows_of_a_, a_pitch_, row); }

    void load_arguments() override {
        for (int c = 0; c < cols_; ++c)
            mov(columns_[c], arg(offsetof(args_t, weights) + disp(8 * c)));
        mov(rows_of_a_[0], arg(offsetof(args_t, a)));
        mov(a_pitch_, arg(offsetof(args_t, a_pitch)));
        mov(scales_, arg(offsetof(args_t, scales)));
        mov(zps_, arg(offsetof(args_t, zps)));
        mov(ahead_, arg(offsetof(args_t, ahead)));
        if (rows_ > rows_of_base) {
            lea(rows_of_a_[1], ptr[a_pitch_ + a_pitch_ * 2]);
            lea(rows_of_a_[2], ptr[rows_of_a_[0] + rows_of_a_[1] * 2]);
            add(rows_of_a_[1], rows_of_a_[0]);
        }
        xor_(offset_.cvt32(), offset_.cvt32());
    }

    void multiply_columns() override {
        for (int i = 0; i < sums_.count(); ++i)
            clear(sums_[i]);
        if (is_nibble()) load_numbers();
        const dim_t full = w_.depth / w_.group, rest = w_.depth % w_.group;
        if (full > 0) {
            set_group_masks();
            mov(groups_, static_cast<uint64_t>(full));
            repeat(groups_, [this] { group(w_.group); });
        }
        if (rest > 0) group(rest);
        store_sums();
    }

    // Returns the elements of a group behind its last whole step.
    int tail_of(dim_t depth) const {
        return static_cast<int>(depth % step_.elements());
    }

    // Sets the masks of all groups' tails, if their vectors have as many lanes.
    void set_group_masks() {
        const int tail = tail_of(w_.group);
        if (tail == 0 || tail % step_.vectors != 0
                || lanes_of(0, tail) == step_.lanes)
            return;
        if (is_nibble()) set_bytes_mask(tail);
        set_tail_masks(lanes_of(0, tail));
    }

    void group(dim_t depth) {
        for (int c = 0; c < cols_; ++c)
            load_parameters(c, disp(c * w_.groups() * 4));
        next_parameters();
        const dim_t steps = depth / step_.elements();
        const int tail = tail_of(depth);
        if (steps > 1) {
            mov(steps_, static_cast<uint64_t>(steps));
            align(32);
            repeat(steps_, [this] { step(0); });
        } else if (steps > 0) {
            step(0);
        }
        if (tail != 0) step(tail);
    }

    void load_parameters(int c, size_t offset) {
        if (is_nibble()) return make_table(c, offset);
        vbroadcastss(byte_scales_[c], ptr[scales_ + offset]);
        multiply_by_unit(byte_scales_[c]);
        if (has_zps()) vbroadcastss(byte_zps_[c], ptr[zps_ + offset]);
    }

    // Multiplies `tail` elements, or a whole step if that is 0.
    void step(int tail) {
        for (int c = 0; c < cols_; ++c) {
            prefetch_stream(ptr[columns_[c] + ahead_]);
            if (is_nibble()) load_nibbles(c, tail);
        }
        dim_t before = 0; // elements of a before vector j
        for (int j = 0; j < step_.vectors; ++j) {
            const int lanes = tail == 0 ? step_.lanes : lanes_of(j, tail);
            if (lanes == 0) continue;
            const bool masked = lanes < step_.lanes;
            if (masked) set_tail_masks(lanes);
            for (int c = 0; c < cols_; ++c)
                if (is_f8() && tail == 0 && step_.elements() >= two_vectors)
                    make_f8_weights(c, j);
                else make_weights(c, j, masked);
            for (int r = 0; r < rows_; ++r) {
                load_a(ptr[row_of_a(r) + bytes(w_.multiplied, before)], masked);
                // A lane of bf16 is a pair, whose masked elements are already
                // 0.
                const bool masks_sum = masked && !is_bf16();
                for (int c = 0; c < cols_; ++c)
                    multiply_add(
                            masks_sum ? sum(r, c) | k_tail_ : sized(sum(r, c)),
                            c, vmm_a_);
            }
            before += lanes;
        }
        const dim_t elements = tail == 0 ? step_.elements() : dim_t(tail);
        add(offset_, bytes(w_.type, elements));
        add(ahead_, bytes(w_.type, elements));
        for (int r = 0; r < rows_; r += rows_of_base)
            add(rows_of_a_[r / rows_of_base], bytes(w_.multiplied, elements));
    }

    // Returns how many of the first `tail` elements are in vector j.
    int lanes_of(int j, int tail) const {
        if (is_nibble()) return div_up(tail - j, step_.vectors);
        return std::min(std::max(tail - j * step_.lanes, 0), step_.lanes);
    }

    void set_tail_masks(int lanes) {
        if (lanes == masked_lanes_) return;
        masked_lanes_ = lanes;
        const Reg32 mask = steps_.cvt32();
        mov(mask, (1u << lanes) - 1);
        if (!is_bf16()) return kmovw(k_tail_, mask);
        kmovd(k_tail_, mask);
        kshiftrd(k_upper_, k_tail_, 16);
    }

    void set_bytes_mask(int tail) {
        if (tail == masked_tail_) return;
        masked_tail_ = tail;
        const auto bytes = static_cast<int>(bytes_of(w_.type, tail));
        mov(steps_, ~uint64_t(0) >> (64 - bytes));
        kmovq(k_bytes_, steps_);
    }

    void load_a(const Address &at, bool masked) {
        if (!masked) vmovups(sized(vmm_a_), at);
        else if (is_bf16()) vmovdqu16(sized(vmm_a_) | k_tail_ | T_z, at);
        else vmovups(vmm_a_ | k_tail_ | T_z, at);
    }

    // Each lane gets one nibble for each vector, from its lowest bits on.
    void load_nibbles(int c, int tail) {
        const Zmm raw = raws_[c];
        const Address at = ptr[columns_[c] + offset_];
        if (tail == 0) return spread_nibbles(c, at);
        set_bytes_mask(tail);
        vmovdqu8(raw | k_bytes_ | T_z, at);
        const Xmm nibbles = widening() == 4   ? Xmm(raw.getIdx())
                            : widening() == 2 ? half_of(sized(raw))
                                              : sized(raw);
        if (w_.have_two_bits()) spread_nibbles(c, half_of(nibbles));
        else if (widening() > 1) spread_nibbles(c, nibbles);
    }

    // Returns how many times wider a lane is than the nibbles loaded into it.
    int widening() const { return (is_bf16() ? 4 : 8) / step_.vectors; }

    void spread_nibbles(int c, const Operand &from) {
        if (step_.has_pairs) return spread_pairs(raws_[c], from);
        jit_lookup_t::spread_nibbles(sized(raws_[c]), from, is_bf16() ? 16 : 32,
                widening(), weights_[c]);
    }

    void spread_pairs(const Zmm &to, const Operand &from) {
        if (step_.vectors == 8) vmovups(to, from);
        else if (step_.vectors == 4) vpmovzxwd(to, from);
        else vpmovzxbd(to, from);
    }

    void make_weights(int c, int j, bool masked) {
        if (is_nibble())
            return look_up(c, j, masked && is_bf16() ? &k_tail_ : nullptr);
        const Zmm w = weights_[c];
        const RegExp at = columns_[c] + offset_ + bytes_of_vectors(j);
        scale_bytes(w, c, at, masked ? &k_tail_ : nullptr);
        if (!is_bf16()) return round(w);
        const Ymm half(w.getIdx());
        if (is_half())
            return vcvtneps2bf16(masked ? half | k_tail_ | T_z : half, w);
        scale_bytes(scratch_, c, at + sum_lanes, masked ? &k_upper_ : nullptr);
        vcvtne2ps2bf16(masked ? w | k_tail_ | T_z : w, scratch_, w);
    }

    // Makes two vectors of f32 at once. The second one stays in a register
    // until it is asked for.
    void make_f8_weights(int c, int j) {
        const Zmm w = weights_[c], second = is_bf16() ? scratch_ : second_[c];
        const bool is_second = !is_bf16() && j % 2 != 0;
        if (!is_second)
            load_f8_pair(w, second,
                    ptr[columns_[c] + offset_ + bytes_of_vectors(j)], w);
        scale(w, is_second ? second : w, c);
        if (!is_bf16()) return round(w);
        scale(second, second, c);
        vcvtne2ps2bf16(w, second, w);
    }

    // Converts sixteen 8-bit weights of a column to f32 and scales them.
    void scale_bytes(
            const Zmm &w, int c, const RegExp &at, const Opmask *mask) {
        load_bytes(w, ptr[at], byte_zps_[c], byte_zps_[c], mask);
        scale(w, w, c);
    }
    void scale(const Zmm &to, const Zmm &w, int c) {
        if (!is_scaled_last(w_, rows_)) vmulps(to, w, byte_scales_[c]);
        else if (to.getIdx() != w.getIdx()) vmovaps(to, w);
    }

    void store_sums() {
        const Reg64 &to = columns_[0];
        mov(to, arg(offsetof(args_t, sums)));
        for (int i = 0; i < sums_.count(); ++i) {
            const Xmm sum(sums_[i].getIdx());
            add_lanes(sums_[i], scratch_);
            if (is_scaled_last(w_, rows_))
                vmulss(sum, sum, Xmm(byte_scales_[i % cols_].getIdx()));
            vmovss(ptr[to + disp(4 * i)], sum);
        }
    }
};

class k_lanes_kernel_t : public k_lanes_lookup_t {
public:
    explicit k_lanes_kernel_t(const skinny_weights_t &weights)
        : k_lanes_lookup_t(weights, step_of(weights)) {}

    dim_t nr() const override { return 1; }
    // Scales of e4m3 are multiplied by a unit first, which may overflow.
    bool scales_sums() const override {
        return is_scaled_last(weights_, 1)
               || weights_.type == data_type_t::f8_e4m3;
    }

    result_t make(dim_t /*rows*/) {
        return code_.make<generator_t>(most_code_rows, weights_);
    }

    void run(void *const *buffers,
            const block_t &block) const noexcept override {
        for_row_blocks(block.rows, most_code_rows, [&](dim_t row, dim_t rows) {
            run_rows(static_cast<const char *>(buffers[0]), block, row,
                    static_cast<int>(rows));
        });
    }

private:
    void run_rows(const char *weights, const block_t &block, dim_t row,
            int rows) const noexcept;

    jit_code_by_rows_t<const args_t> code_;
};

void k_lanes_kernel_t::run_rows(const char *weights, const block_t &block,
        dim_t row, int rows) const noexcept {
    const dim_t cols = cols_of(rows), groups = weights_.groups();
    const dim_t pitch = bytes_of(weights_.type, weights_.pitch);
    float sums[most_code_rows * most_cols];
    args_t args;
    args.a = src_at(block, row);
    args.a_pitch = src_pitch_bytes(block);
    args.ahead = cols * pitch;
    args.sums = sums;
    for (dim_t next = 0; next < block.cols; next += cols) {
        // A short last block recomputes columns before it. If there are none
        // before it, it recomputes its last column.
        const dim_t n = std::max<dim_t>(std::min(next, block.cols - cols), 0);
        const dim_t here = std::min(cols, block.cols - n);
        for (dim_t c = 0; c < cols; ++c)
            args.weights[c]
                    = weights
                      + (block.first_col + n + std::min(c, here - 1)) * pitch;
        args.scales = block.scales + n * groups;
        args.zps = block.zps + n * groups;
        code_(rows, args);
        float *const c = block.c + row * block.c_pitch + n;
        for (dim_t r = 0; r < rows; ++r)
            if (here == most_cols) // so that the compiler does not call memcpy
                std::copy_n(sums + r * cols, most_cols, c + r * block.c_pitch);
            else std::copy_n(sums + r * cols, here, c + r * block.c_pitch);
    }
}

} // namespace

result_t make_k_lanes_avx512(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<k_lanes_kernel_t>(weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
