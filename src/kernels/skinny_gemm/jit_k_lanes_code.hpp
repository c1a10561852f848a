#ifndef KERNELS_SKINNY_GEMM_JIT_K_LANES_CODE_HPP
#define KERNELS_SKINNY_GEMM_JIT_K_LANES_CODE_HPP

#include <algorithm>

#include "kernels/skinny_gemm/arrange.hpp"
#include "kernels/skinny_gemm/jit_weights.hpp"

namespace dnnl_dequant {

/// Returns the sum of partial ones: the upper half is added to the lower one
/// until one is left.
template <size_t parts>
float sum_of_parts(const float *p) {
    constexpr size_t half = parts / 2;
    float halves[half];
    for (size_t i = 0; i < half; ++i)
        halves[i] = p[i] + p[i + half];
    if constexpr (half == 1) return halves[0];
    else return sum_of_parts<half>(halves);
}

/// Sums the partial sums of a block to c.
template <dim_t parts>
void add_partial_sums(const skinny_gemm_t::block_t &block) noexcept {
    for (dim_t r = 0; r < block.rows; ++r)
        for (dim_t n = 0; n < block.cols; ++n) {
            const dim_t at = r * block.c_pitch + n;
            block.c[at] = sum_of_parts<parts>(block.partial + at * parts);
        }
}

/// The elements of a column that become vectors of numbers in one step. Each of
/// `lanes` lanes of loaded nibbles holds `vectors` of them, and vector j gets
/// every lane's j-th. If `has_pairs`, weights have 2 bits, a nibble is a pair
/// of them, and a lane of 32 bits counts twice.
struct nibble_step_t {
    int vectors, lanes;
    bool has_pairs = false;
    dim_t elements() const { return vectors * dim_t(lanes); }
};

/// The base of skinny GEMMs on AVX-512 with K lanes.
class k_lanes_lookup_t : public skinny_gemm_t {
public:
    k_lanes_lookup_t(const skinny_weights_t &weights, const nibble_step_t &step)
        : skinny_gemm_t(weights)
        , step_(step) {}

    dim_t src_unit() const override {
        return weights_.are_nibbles() ? step_.elements() : 1;
    }
    void arrange(void *row) const noexcept override {
        if (!is_bf16()) arrange_as<16>(static_cast<float *>(row));
        else if (step_.has_pairs)
            arrange_lanes_of<16, uint32_t>(step_.vectors)(
                    static_cast<uint32_t *>(row), weights_.depth / 2);
        else if (step_.lanes == 16)
            arrange_as<16>(static_cast<uint16_t *>(row));
        else arrange_as<32>(static_cast<uint16_t *>(row));
    }

private:
    template <dim_t lanes, typename element_t>
    void arrange_as(element_t *row) const noexcept {
        const dim_t step = step_.elements(), vectors = step_.vectors;
        for (dim_t k = 0; k < weights_.depth; k += weights_.group) {
            const dim_t depth = std::min(weights_.group, weights_.depth - k);
            const dim_t tail = depth % step;
            arrange_lanes_of<lanes, element_t>(vectors)(row + k, depth - tail);
            arrange_tail(row + k + depth - tail, tail);
        }
    }
    // Vectors have fewer lanes behind the last whole step, and lie one after
    // the other.
    template <typename element_t>
    void arrange_tail(element_t *row, dim_t tail) const noexcept {
        constexpr size_t room = 128; // more than any tail
        element_t natural[room];
        std::copy_n(row, tail, natural);
        for (int j = 0; j < step_.vectors; ++j)
            for (dim_t i = j; i < tail; i += step_.vectors)
                *row++ = natural[i];
    }

    const nibble_step_t step_;
};

/// The base of generators that multiply rows by columns of weights, K lanes.
class jit_k_lanes_base_t : public jit_weights_t {
protected:
    jit_k_lanes_base_t(const char *name, isa_t isa,
            const skinny_weights_t &weights, int rows, int cols)
        : jit_weights_t(name, isa, weights.type,
                  weights.zps.type != data_type_t::undef, weights.multiplied)
        , w_(weights)
        , rows_(rows)
        , cols_(cols) {}

    /// Loads a vector of 8-bit weights less `zp`, as f32. Floats of 8 bits have
    /// no zero points; they count in units.
    void load_bytes(const Vmm &to, const Operand &from, const Vmm &zp,
            const Vmm &scratch, const Opmask *mask = nullptr) {
        load_f32(to, from, scratch, mask);
        if (has_zps()) vsubps(to, to, zp);
    }

    const skinny_weights_t w_;
    const int rows_, cols_;

    const Reg64 a_pitch_ = general_.take("pitch of a", r8),
                scales_ = general_.take("scales", r11),
                zps_ = general_.take("zero points", r12),
                ahead_ = general_.take("weights to prefetch", r13);
};

/// The same with the vector registers of an instruction set.
template <isa_t isa>
class jit_k_lanes_t : public jit_k_lanes_base_t {
protected:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using vmms_t = vmm_range_t<vmm_t>;

    jit_k_lanes_t(const char *name, const skinny_weights_t &weights, int rows,
            int cols)
        : jit_k_lanes_base_t(name, isa, weights, rows, cols) {}

    vector_registers_t<isa> vectors_;
};

/// The base of such generators on AVX-512.
///
/// A group's 4-bit weights are looked up in a table of the 16 numbers they
/// stand for, (weight - zp) * scale, rounded if the graph rounds them. A lane
/// of 32 bits has up to eight nibbles that become f32. A lane of 16 bits has up
/// to four that become bf16, and one instruction adds pairs of products to a
/// sum. So a vector of weights costs a shift and a permutation. A table of
/// pairs of 2-bit weights has sixteen pairs of bf16.
class jit_lookup_t : public jit_k_lanes_t<isa_avx512_core> {
protected:
    /// @param a_count Vectors of a that are in registers.
    /// @param keeps_constants Whether rounding has registers for its constants.
    jit_lookup_t(const char *name, const skinny_weights_t &weights,
            const nibble_step_t &step, int rows, int cols, int a_count,
            bool keeps_constants)
        : jit_k_lanes_t(name, weights, rows, cols)
        , step_(step)
        , sums_(vectors_.take("sums", rows * cols))
        , raws_(vectors_.take("nibbles of columns", cols))
        , tables_(vectors_.take("tables of columns", cols))
        , weights_(vectors_.take("weights of columns", cols))
        , a_(vectors_.take("a", a_count))
        , shared_(keeps_constants ? vectors_.take("numbers, scratch", 2)
                                  : vectors_.take_last("numbers, scratch", 2))
        , pairs_(step.has_pairs ? vectors_.take("order of pairs") : Zmm())
        , lanes_(*this, shared_.first() + shared_.count(), data_type_t::undef) {
    }

    virtual void load_arguments() = 0;
    virtual void multiply_columns() = 0;

    /// Short groups of bf16 use half of each vector.
    bool is_half() const { return is_bf16() && step_.lanes == 16; }
    Xmm sized(const Zmm &v) const {
        if (is_half()) return Ymm(v.getIdx());
        return v;
    }
    Zmm sum(int row, int col) const { return sums_[row * cols_ + col]; }

    void load_numbers() {
        vmovups(numbers_, constant(nibble_numbers(w_.type)));
        if (step_.has_pairs) vmovups(pairs_, constant(order_of_pairs()));
    }
    void round(const Zmm &v) {
        lanes_.round(v, w_.rounded, weights_rounding(w_), scratch_);
    }
    /// Makes a table; the column's scale and zero point are at `offset`, in
    /// bytes.
    void make_table(int col, size_t offset) {
        make_table_of(col, zps_ + offset, scales_ + offset);
    }
    void make_table_of(int col, const RegExp &zp, const RegExp &scale) {
        const Zmm table = tables_[col];
        if (has_zps()) vsubps(table, numbers_, ptr_b[zp]);
        vmulps(table, has_zps() ? table : numbers_, ptr_b[scale]);
        if (!is_bf16()) return round(table);
        // An index has a fifth bit, the next nibble's lowest. So the table is
        // stored twice.
        const Ymm half(table.getIdx());
        vcvtneps2bf16(half, table);
        if (step_.has_pairs) return vpermw(table, pairs_, table);
        vinserti64x4(table, table, half, 1);
    }
    void next_parameters() {
        add(scales_, 4);
        if (has_zps()) add(zps_, 4);
    }

    /// The j-th number of each lane, or 0 where `mask` (of bf16) leaves it out.
    void look_up(int col, int j, const Opmask *mask = nullptr) {
        look_up_bits(col, raws_[col], 4 * j, mask);
    }
    /// The number whose lowest bit is `bit` in each lane.
    void look_up_bits(
            int col, const Zmm &from, int bit, const Opmask *mask = nullptr) {
        const Xmm weight = sized(weights_[col]), raw = sized(from);
        const auto bits = static_cast<uint8_t>(bit);
        const Xmm &index = bit > 0 ? weight : raw;
        if (is_bf16() && !step_.has_pairs) {
            if (bit > 0) vpsrlw(weight, raw, bits);
            vpermw(mask ? weight | *mask | T_z : weight, index,
                    sized(tables_[col]));
        } else {
            if (bit > 0) vpsrld(weight, raw, bits);
            vpermps(weights_[col], Zmm(index.getIdx()), tables_[col]);
        }
    }
    void multiply_add(const Xmm &sum, int col, const Zmm &a) {
        if (is_bf16()) vdpbf16ps(sum, sized(weights_[col]), sized(a));
        else vfmadd231ps(sum, weights_[col], a);
    }

    const nibble_step_t step_;
    const vmms_t sums_, raws_, tables_, weights_, a_, shared_;
    const Zmm numbers_ = shared_[0], scratch_ = shared_[1];

private:
    // Words of a table of four numbers: the pair that each nibble stands for.
    static lanes_t order_of_pairs() {
        lanes_t lanes;
        for (uint32_t nibble = 0; nibble < 16; ++nibble)
            lanes[nibble] = nibble % 4 | nibble / 4 << 16;
        return lanes;
    }

    const Zmm pairs_;

    void generate() final {
        generate_behind_constants(lanes_, [this] {
            load_arguments();
            multiply_columns();
        });
    }

    jit_lanes_t<isa_avx512_core> lanes_;
};

} // namespace dnnl_dequant

#endif
