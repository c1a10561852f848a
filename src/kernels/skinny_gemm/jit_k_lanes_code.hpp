#ifndef KERNELS_SKINNY_GEMM_JIT_K_LANES_CODE_HPP
#define KERNELS_SKINNY_GEMM_JIT_K_LANES_CODE_HPP

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/jit/f8_halves.hpp"
#include "kernels/jit/nibble_numbers.hpp"
#include "kernels/jit/simd.hpp"
#include "kernels/jit/two_bits.hpp"
#include "kernels/skinny_gemm/weights_rounding.hpp"

namespace dnnl_dequant {

constexpr dim_t most_step_elements = 128;

/// Puts a row of src, in whole steps, into the order in which weights are
/// decoded: element i of a step goes to place(i).
template <typename element_t, typename place_t>
void arrange_steps(
        element_t *row, dim_t depth, dim_t step, const place_t &place) {
    element_t natural[most_step_elements];
    for (dim_t k = 0; k < depth; k += step) {
        std::copy_n(row + k, step, natural);
        for (dim_t i = 0; i < step; ++i)
            row[k + place(i)] = natural[i];
    }
}

/// The same if vector j of a step gets every lane's j-th element. The loops
/// have constant counts, so that the compiler vectorizes them.
template <dim_t vectors, dim_t lanes, typename element_t>
void arrange_lanes(element_t *row, dim_t depth) {
    constexpr dim_t step = vectors * lanes;
    static_assert(step <= most_step_elements, "");
    element_t natural[static_cast<size_t>(step)];
    for (dim_t k = 0; k < depth; k += step) {
        std::copy_n(row + k, step, natural);
        for (dim_t j = 0; j < vectors; ++j)
            for (dim_t i = 0; i < lanes; ++i)
                row[k + j * lanes + i] = natural[i * vectors + j];
    }
}

/// The same for the elements behind the last whole step. Vectors have fewer
/// lanes then, and lie one after the other.
template <typename element_t>
void arrange_tail(element_t *row, dim_t tail, dim_t vectors) {
    element_t natural[most_step_elements];
    std::copy_n(row, tail, natural);
    for (dim_t j = 0; j < vectors; ++j)
        for (dim_t i = j; i < tail; i += vectors)
            *row++ = natural[i];
}

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

/// Makes a kernel object and calls its make(), which generates the code.
template <typename kernel_t>
result_t make_skinny_kernel_as(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<const skinny_gemm_t> &skinny_gemm) {
    auto made = std::make_shared<kernel_t>(weights);
    const result_t result = made->make(rows);
    if (result.ok()) skinny_gemm = std::move(made);
    return result;
}

/// The elements of a column that become vectors of numbers in one step. Each of
/// `lanes` lanes of loaded nibbles holds `vectors` of them, and vector j gets
/// every lane's j-th.
struct nibble_step_t {
    int vectors, lanes;
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
    data_type_t src_type() const override { return weights_.multiplied; }
    void arrange(void *row) const noexcept override {
        if (!is_bf16()) arrange_as<16>(static_cast<float *>(row));
        else if (step_.lanes == 16)
            arrange_as<16>(static_cast<uint16_t *>(row));
        else arrange_as<32>(static_cast<uint16_t *>(row));
    }
    bool scales_sums() const override { return false; }

protected:
    bool is_bf16() const { return weights_.multiplied == data_type_t::bf16; }

private:
    template <dim_t lanes, typename element_t>
    void arrange_as(element_t *row) const noexcept {
        const dim_t step = step_.elements();
        for (dim_t k = 0; k < weights_.depth; k += weights_.group) {
            const dim_t depth = std::min(weights_.group, weights_.depth - k);
            const dim_t whole = depth / step * step;
            arrange_whole<lanes>(row + k, whole);
            arrange_tail(row + k + whole, depth - whole, step_.vectors);
        }
    }
    template <dim_t lanes, typename element_t>
    void arrange_whole(element_t *row, dim_t depth) const noexcept {
        constexpr dim_t most = most_step_elements / lanes;
        if (step_.vectors == most) arrange_lanes<most, lanes>(row, depth);
        else if (step_.vectors == most / 2)
            arrange_lanes<most / 2, lanes>(row, depth);
        else arrange_lanes<2, lanes>(row, depth);
    }

    const nibble_step_t step_;
};

/// The base of generators that multiply rows by columns of weights, K lanes.
template <isa_t isa>
class jit_k_lanes_t : public jit_simd_t {
protected:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using vmms_t = vmm_range_t<vmm_t>;

    jit_k_lanes_t(const char *name, const skinny_weights_t &weights, int rows,
            int cols)
        : jit_simd_t(name)
        , w_(weights)
        , rows_(rows)
        , cols_(cols) {}

    bool is_nibble() const { return w_.are_nibbles(); }
    bool is_signed() const { return w_.sign_bit() != 0; }
    bool has_zps() const { return w_.zps.type != data_type_t::undef; }
    Xbyak::Address arg(size_t offset) { return qword[rdi + offset]; }

    bool is_f8() const { return jit_f8_halves_t::takes(w_.type); }

    /// Loads a vector of 8-bit weights less `zp`, as f32. Floats of 8 bits have
    /// no zero points; they count in units.
    void load_bytes(const vmm_t &to, const Xbyak::Operand &from,
            const vmm_t &zp, const vmm_t &scratch,
            const Xbyak::Opmask *mask = nullptr) {
        const vmm_t loaded = mask ? to | *mask | T_z : to;
        if (is_f8()) return f8_.load_f32<isa>(loaded, from, scratch);
        if (is_signed()) vpmovsxbd(loaded, from);
        else vpmovzxbd(loaded, from);
        vcvtdq2ps(to, to);
        if (has_zps()) vsubps(to, to, zp);
    }

    /// Multiplies scales, or numbers, by the unit of floats of 8 bits.
    void multiply_by_unit(const vmm_t &v) { f8_.multiply_by_unit(v); }

    /// Loads nibbles, or 2 bits as nibbles.
    /// @param to A vector of as many bytes as there are pairs.
    void load_nibbles_of(const Xbyak::Xmm &to, const Xbyak::Operand &from,
            const vmm_t &scratch) {
        if (w_.have_two_bits())
            load_two_bits<isa>(*this, to, from,
                    Xbyak::Xmm(to.getKind(), scratch.getIdx()));
        else vmovups(to, from);
    }
    /// Loads floats of 8 bits as f16.
    void load_halves(const Xbyak::Xmm &words, const Xbyak::Operand &from,
            const Xbyak::Xmm &scratch) {
        f8_.load<isa>(words, from, scratch);
    }
    /// Loads two vectors of floats of 8 bits as f32, in units. AVX-512 only.
    void load_f8_pair(const vmm_t &first, const vmm_t &second,
            const Xbyak::Operand &from, const vmm_t &scratch) {
        const Xbyak::Ymm half(second.getIdx());
        load_halves(second, from, scratch);
        vcvtph2ps(first, half);
        vextracti64x4(half, second, 1);
        vcvtph2ps(second, half);
    }

    const skinny_weights_t w_;
    const int rows_, cols_;

    const Xbyak::Reg64 a_pitch_ = general_.take("pitch of a", r8),
                       scales_ = general_.take("scales", r11),
                       zps_ = general_.take("zero points", r12),
                       ahead_ = general_.take("weights to prefetch", r13);
    vector_registers_t<isa> vectors_;

private:
    jit_f8_halves_t f8_ {*this, w_.type};
};

/// The base of such generators on AVX-512.
///
/// A group's 4-bit weights are looked up in a table of the 16 numbers they
/// stand for, (weight - zp) * scale, rounded if the graph rounds them. A lane
/// of 32 bits has up to eight nibbles that become f32. A lane of 16 bits has up
/// to four that become bf16, and one instruction adds pairs of products to a
/// sum. So a vector of weights costs a shift and a permutation.
class jit_lookup_t : public jit_k_lanes_t<isa_avx512_core> {
protected:
    using Xmm = Xbyak::Xmm;
    using Ymm = Xbyak::Ymm;
    using Zmm = Xbyak::Zmm;

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
        , lanes_(*this, shared_.first() + shared_.count(), data_type_t::undef) {
    }

    virtual void load_arguments() = 0;
    virtual void multiply_columns() = 0;

    bool is_bf16() const { return w_.multiplied == data_type_t::bf16; }
    /// Short groups of bf16 use half of each vector.
    bool is_half() const { return is_bf16() && step_.lanes == 16; }
    Xmm sized(const Zmm &v) const {
        if (is_half()) return Ymm(v.getIdx());
        return v;
    }
    Zmm sum(int row, int col) const { return sums_[row * cols_ + col]; }

    void load_numbers() {
        vmovups(numbers_, constant(nibble_numbers(w_.type)));
    }
    void round(const Zmm &v) {
        lanes_.round(v, w_.rounded, weights_rounding(w_), scratch_);
    }
    /// Makes a table; the column's scale and zero point are at `offset`, in
    /// bytes.
    void make_table(int col, size_t offset) {
        const Zmm table = tables_[col];
        if (has_zps()) vsubps(table, numbers_, ptr_b[zps_ + offset]);
        vmulps(table, has_zps() ? table : numbers_, ptr_b[scales_ + offset]);
        if (!is_bf16()) return round(table);
        // An index has a fifth bit, the next nibble's lowest. So the table is
        // stored twice.
        const Ymm half(table.getIdx());
        vcvtneps2bf16(half, table);
        vinserti64x4(table, table, half, 1);
    }
    void next_parameters() {
        add(scales_, 4);
        if (has_zps()) add(zps_, 4);
    }

    /// The j-th number of each lane, or 0 where `mask` (of bf16) leaves it out.
    void look_up(int col, int j, const Xbyak::Opmask *mask = nullptr) {
        const Xmm weight = sized(weights_[col]), raw = sized(raws_[col]);
        const auto bits = static_cast<uint8_t>(4 * j);
        const Xmm &index = j > 0 ? weight : raw;
        if (is_bf16()) {
            if (j > 0) vpsrlw(weight, raw, bits);
            vpermw(mask ? weight | *mask | T_z : weight, index,
                    sized(tables_[col]));
        } else {
            if (j > 0) vpsrld(weight, raw, bits);
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
    void generate() final {
        // The constants of rounding are known after all other code is
        // generated.
        Xbyak::Label l_constants, l_begin;
        preamble();
        jmp(l_constants, T_NEAR);
        L(l_begin);
        load_arguments();
        multiply_columns();
        postamble();
        L(l_constants);
        lanes_.load_constants();
        jmp(l_begin, T_NEAR);
    }

    jit_lanes_t<isa_avx512_core> lanes_;
};

} // namespace dnnl_dequant

#endif
