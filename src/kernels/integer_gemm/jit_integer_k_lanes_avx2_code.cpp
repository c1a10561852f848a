// The AVX2 counterpart of jit_integer_k_lanes_code. It splits 32 bytes of a
// column at a time into nibbles without a sign. Two of their products with src
// fit 16 bits, and so does the sum of four such pairs; adjacent pairs of those
// then make sums of 32 bits. Bytes are split too: the sums of their upper
// halves are multiplied by sixteen. VNNI sums four products of bytes in 32
// bits, and splits nibbles only.
//
// Each group has 2, 4 or 8 lanes of a vector. A tree of additions reduces as
// many vectors to one. Until then the vectors are on the stack.
//
// Registers besides the base's: rbp the stack. The first four vectors are
// nibbles of the weights, the next three scratch, the next five sums of a
// group, the last four constants.

#include "kernels/integer_gemm/jit_integer_k_lanes_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using base_t = jit_integer_k_lanes_base_t<isa_avx2>;

constexpr dim_t vector_bytes = 32, half_bytes = vector_bytes / 2;

class generator_t : public base_t {
public:
    using base_t::base_t;

private:
    static Ymm low(int v) { return Ymm(2 * v); }
    static Ymm high(int v) { return Ymm(2 * v + 1); }
    static Ymm scratch(int i) { return Ymm(4 + i); }
    // Returns a vector of sums: one for each row, and one for the weights if
    // they are summed.
    static Ymm sum(int set) { return Ymm(7 + set); }

    Address leaf_sum(int set, int leaf) {
        return ptr[rsp + vmm_bytes(set * simd_w + leaf)];
    }

    void begin() override {
        mov(rbp, rsp);
        and_(rsp, ~(vmm_bytes(1) - 1));
        sub(rsp, vmm_bytes(sets() * simd_w));
        vmovups(mask_, constant(0x0f0f0f0fu));
        vmovups(ones_, constant(has_vnni_ ? 0x01010101u : 0x00010001u));
        vmovups(flipped_, constant(flipped_bits()));
        clear(zero_);
    }
    void end() override { mov(rsp, rbp); }

    void chunk(dim_t bytes) override {
        const dim_t leaf_bytes
                = groups_ == 1 ? bytes : groups_of_leaf_ * group_bytes_;
        const auto leaves = static_cast<int>(div_up(bytes, leaf_bytes));
        offset_ = 0;
        for (int i = 0; i < leaves; ++i) {
            leaf(std::min(leaf_bytes, bytes - i * leaf_bytes));
            for (int set = 0; set < sets(); ++set)
                vmovups(leaf_sum(set, i), sum(set));
        }
        move_on();
        scale(leaves);
    }

    void move_on() {
        if (offset_ > 0) advance(offset_);
        offset_ = 0;
    }

    // Sums a vector, which has one group or some, or the lines of a longer
    // group.
    void leaf(dim_t bytes) {
        if (bytes <= line) {
            add_line(bytes, true);
            offset_ += bytes;
            return;
        }
        move_on();
        for (int set = 0; set < sets(); ++set)
            clear(sum(set));
        for_lines(bytes / line, [&] { add_line(line, false); });
        if (bytes % line != 0) add_line(bytes % line, false);
        offset_ = bytes % line;
    }

    // Adds a line of weights. It is a group's first one if `begins`.
    void add_line(dim_t bytes, bool begins) {
        const auto vectors = static_cast<int>(div_up(bytes, vector_bytes));
        if (offset_ % line == 0)
            prefetcht0(ptr[rax + static_cast<size_t>(offset_) + bytes_ahead]);
        for (int v = 0; v < vectors; ++v) {
            load(v, bytes - v * vector_bytes);
            if (has_vnni_ && !is_nibble()) continue;
            if (has_src_zps() && !is_nibble())
                add_bytes(low(v), begins && v == 0);
            vpsrlw(high(v), low(v), 4);
            vpand(high(v), high(v), mask_);
            vpand(low(v), low(v), mask_);
        }
        if (has_vnni_) {
            add_dots(vectors, begins);
            return;
        }
        for (int r = 0; r < rows_; ++r)
            add_row(r, vectors, begins);
        if (has_src_zps() && is_nibble()) add_nibbles(vectors, begins);
    }

    // Adds by vpdpbusd. Upper nibbles of a long group have a register of their
    // own, so that the chain of additions is no longer than the loads.
    void add_dots(int vectors, bool begins) {
        const Ymm second = scratch(0);
        for (int set = 0; set < sets(); ++set) {
            const Ymm of_high = begins ? sum(set) : second;
            if (begins || is_nibble()) clear(of_high);
            for (int v = 0; v < vectors; ++v) {
                add_dot(sum(set), low(v), set, place_of_a(v));
                if (is_nibble())
                    add_dot(of_high, high(v), set, place_of_a(v) + line);
            }
            if (!begins && is_nibble()) vpaddd(sum(set), sum(set), second);
        }
    }

    // Multiplies weights by a row of src, or by ones.
    void add_dot(const Ymm &sums, const Ymm &weights, int set, size_t place) {
        if (set < rows_ && w_.is_src_signed) {
            dot4(sums, weights, ptr[row_of_a(set) + place]);
            return;
        }
        if (set < rows_) vmovdqu(scratch(1), ptr[row_of_a(set) + place]);
        dot(sums, weights, set < rows_ ? scratch(1) : ones_);
    }

    // Loads weights and adds the bias. The rest of a short vector is zeros.
    void load(int v, dim_t bytes) {
        const Ymm &to = low(v);
        const RegExp from = rax + static_cast<size_t>(place(v));
        if (bytes < vector_bytes) {
            load_few(v, from, bytes);
            const auto flipped = [&](dim_t) { return flipped_bits() & 0xffu; };
            if (bias_ != 0)
                vpxor(to, to, constant(bytes_of_lanes(bytes, flipped)));
        } else if (bias_ == 0) {
            vmovdqu(to, ptr[from]);
        } else {
            vpxor(to, flipped_, ptr[from]);
        }
    }

    void load_few(int v, const RegExp &from, dim_t bytes) {
        load_half(Xmm(low(v).getIdx()), from, std::min(bytes, half_bytes));
        if (bytes <= half_bytes) return;
        const Xmm upper(high(v).getIdx());
        load_half(upper, from + half_bytes, bytes - half_bytes);
        vinserti128(low(v), low(v), upper, 1);
    }

    // Loads bytes by two loads, which may overlap.
    void load_half(const Xmm &to, const RegExp &from, dim_t bytes) {
        const Xmm rest(scratch(0).getIdx());
        dim_t loaded = half_bytes;
        while (loaded > bytes)
            loaded /= 2;
        load_power(to, from, loaded);
        if (loaded == bytes) return;
        const dim_t again = bytes - loaded;
        load_power(rest, from + static_cast<size_t>(again), loaded);
        const auto new_byte = [&](dim_t i) {
            return i >= loaded && i < bytes ? i - again : 0x80;
        };
        vpshufb(rest, rest, constant(bytes_of_lanes(half_bytes, new_byte)));
        vpor(to, to, rest);
    }

    void load_power(const Xmm &to, const RegExp &from, dim_t bytes) {
        const Xmm zero(zero_.getIdx());
        switch (bytes) {
        case 16: vmovdqu(to, ptr[from]); break;
        case 8: vmovq(to, ptr[from]); break;
        case 4: vmovd(to, ptr[from]); break;
        case 2: vpinsrw(to, zero, ptr[from], 0); break;
        default: vpinsrb(to, zero, ptr[from], 0); break;
        }
    }

    // Returns the first bytes of a vector; the others are zeros.
    template <typename byte_t>
    static lanes_t bytes_of_lanes(dim_t count, const byte_t &byte) {
        lanes_t lanes {};
        for (dim_t i = 0; i < count; ++i)
            lanes[static_cast<size_t>(i / 4)] |= static_cast<uint32_t>(byte(i))
                                                 << (i % 4 * 8);
        return lanes;
    }

    dim_t place(int v) const { return offset_ + v * vector_bytes; }
    // The row holds a line's even nibbles before the odd ones.
    size_t place_of_a(int v) const {
        const dim_t at = place(v);
        return static_cast<size_t>(
                is_nibble() ? at / line * 2 * line + at % line : at);
    }

    void add_row(int r, int vectors, bool begins) {
        const Ymm of_low = scratch(0), of_high = scratch(1), x = scratch(2);
        for (int v = 0; v < vectors; ++v) {
            const RegExp a = row_of_a(r) + place_of_a(v);
            multiply(v == 0 ? of_low : x, low(v), a);
            if (v > 0) vpaddw(of_low, of_low, x);
            multiply(v == 0 ? of_high : x, high(v), is_nibble() ? a + line : a);
            if (v > 0) vpaddw(of_high, of_high, x);
        }
        const Ymm first = begins ? sum(r) : x;
        if (is_nibble()) {
            vpaddw(of_low, of_low, of_high);
            vpmaddwd(first, of_low, ones_);
        } else {
            vpmaddwd(first, of_low, ones_);
            vpmaddwd(of_high, of_high, constant(0x00100010u));
            vpaddd(first, first, of_high);
        }
        if (!begins) vpaddd(sum(r), sum(r), x);
    }

    void multiply(const Ymm &to, const Ymm &weights, const RegExp &a) {
        if (w_.is_src_signed) {
            vpmaddubsw(to, weights, ptr[a]);
            return;
        }
        vmovdqu(to, ptr[a]);
        vpmaddubsw(to, to, weights);
    }

    void add_nibbles(int vectors, bool begins) {
        const Ymm x = scratch(0);
        vpaddb(x, low(0), high(0));
        for (int v = 1; v < vectors; ++v) {
            vpaddb(x, x, low(v));
            vpaddb(x, x, high(v));
        }
        add_bytes(x, begins);
    }

    // Adds weights without a sign to their sums.
    void add_bytes(const Ymm &weights, bool begins) {
        const Ymm x = begins ? sum(rows_) : scratch(0);
        vpsadbw(x, weights, zero_);
        if (!begins) vpaddd(sum(rows_), sum(rows_), x);
    }

    // Reduces groups' sums to one vector in the register `to`. The registers
    // behind it are scratch.
    void reduce(int set, int leaves, int to, int first = 0, int count = 0) {
        const int all = simd_w / groups_of_leaf_;
        if (count == 0) count = all;
        const Ymm a(to), b(to + 1), x(to + 2);
        if (first >= leaves) {
            clear(a);
        } else if (count == 1) {
            vmovups(a, leaf_sum(set, first));
        } else {
            reduce(set, leaves, to, first, count / 2);
            reduce(set, leaves, to + 1, first + count / 2, count / 2);
            combine(a, b, x, count, set == rows_ && !has_vnni_);
        }
        if (count < all || groups_of_leaf_ == 1) return;
        const lanes_t of_two {0, 4, 1, 5, 2, 6, 3, 7},
                of_four {0, 1, 4, 5, 2, 3, 6, 7};
        vmovups(x, constant(groups_of_leaf_ == 2 ? of_two : of_four));
        vpermd(a, x, a);
    }

    // Adds neighbouring lanes. With `has_gaps` every other lane is zero at
    // first, because vpsadbw sums eight bytes.
    void combine(const Ymm &a, const Ymm &b, const Ymm &x, int count,
            bool has_gaps) {
        constexpr uint8_t even = 0x88, odd = 0xdd;
        if (count == simd_w) {
            vperm2i128(x, a, b, 0x31);
            vinserti128(a, a, Xmm(b.getIdx()), 1);
        } else {
            if (count > 2 || !has_gaps) vshufps(x, a, b, odd);
            vshufps(a, a, b, even);
        }
        if (count > 2 || !has_gaps) vpaddd(a, a, x);
    }

    void scale(int leaves) {
        const Ymm of_row(0), x(1), of_weights(6), zps(7);
        if (has_src_zps()) reduce(rows_, leaves, of_weights.getIdx());
        if (has_zps()) load_zps(zps, ptr[r9]);
        for (int r = 0; r < rows_; ++r) {
            reduce(r, leaves, of_row.getIdx());
            scale_row(r, of_row, of_weights, zps, x);
        }
    }

    // The ones are in each byte or, without VNNI, in each pair.
    const Ymm mask_ {12}, ones_ {13}, flipped_ {14}, zero_ {15};
    const int groups_of_leaf_
            = groups_ > 1 && group_bytes_ < vector_bytes
                      ? static_cast<int>(vector_bytes / group_bytes_)
                      : 1;
    dim_t offset_ = 0; // from rax
};

} // namespace

result_t make_jit_integer_k_lanes_avx2(const integer_stream_weights_t &weights,
        isa_t isa, int rows, jit_integer_k_lanes_t &code) {
    return make_jit_as<generator_t>(
            code, "jit_integer_k_lanes_avx2", weights, isa, rows);
}

} // namespace dnnl_dequant
