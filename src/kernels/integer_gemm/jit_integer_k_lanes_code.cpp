// A skinny integer GEMM by [N,K] weights of 4 or 8 bits on AVX-512 VNNI, K
// lanes. It takes 64 bytes of a column at a time and splits nibbles into even
// and odd ones. The rows of src have that order too.
//
// Each group has 2, 4, 8 or 16 lanes of a vector. A tree of additions reduces
// as many vectors to one.
//
// Vectors are allocated from a list of free ones; the last ones hold constants.

#include <vector>

#include "kernels/integer_gemm/jit_integer_k_lanes_code.hpp"
#include "kernels/machine.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using base_t = jit_integer_k_lanes_base_t<isa_avx512_core_vnni>;

class generator_t : public base_t {
public:
    using base_t::base_t;

private:
    const Zmm order_ {29}, ones_ {28};

    void begin() override {
        for (int i = ones_.getIdx(); i-- > 0;)
            free_.push_back(i);
        load_byte_constants();
        load_order();
        vmovups(ones_, constant(0x01010101u));
    }

    void load_order() {
        if (bytes_ % line != 0) {
            mov(rax, ~uint64_t(0) >> (line - bytes_ % line));
            kmovq(k1, rax);
        }
        lanes_t order;
        for (uint32_t i = 0; i < simd_w; ++i)
            order[i] = leaves_ == 2   ? i % 8 / 2 * 4 + i / 8 * 2 + i % 2
                       : leaves_ == 4 ? i % 4 * 4 + i / 4
                                      : (i / 8 * 2 + i % 2) * 4 + i % 8 / 2;
        if (leaves_ < simd_w) vmovups(order_, constant(order));
    }

    // Allocates a vector from the free ones.
    Zmm take() {
        const int last = free_.back();
        free_.pop_back();
        return Zmm(last);
    }
    void give(const Zmm &vector) { free_.push_back(vector.getIdx()); }

    // One vector of sums for each row, and one for the weights if they are
    // summed.
    using sums_t = std::vector<Zmm>;
    sums_t zeros(int count) {
        sums_t sums;
        for (int i = 0; i < count; ++i) {
            sums.push_back(take());
            clear(sums.back());
        }
        return sums;
    }
    Zmm of_row(const sums_t &sums, int row) const {
        return sums[static_cast<size_t>(row)];
    }

    void chunk(dim_t bytes) override {
        std::vector<sums_t> parts;
        dim_t left = bytes;
        offset_ = 0;
        for (int i = 0; i < leaves_; ++i) {
            parts.push_back(zeros(sets()));
            leaf(parts.back(), std::max<dim_t>(left, 0));
            left -= leaves_ == simd_w ? group_lines_ * line : line;
            for (int level = 1; (i + 1) % (2 * level) == 0; level *= 2) {
                const sums_t last = parts.back();
                parts.pop_back();
                for (size_t set = 0; set < last.size(); ++set)
                    combine(parts.back()[set], last[set], level);
            }
        }
        move_on();
        scale(parts.back());
    }

    void move_on() {
        advance(offset_);
        offset_ = 0;
    }

    // Sums the lines of a group, or one line that has several groups.
    void leaf(const sums_t &sums, dim_t left) {
        if (left == 0) return;
        const dim_t lines = std::min(
                leaves_ == simd_w ? group_lines_ : 1, div_up(left, line));
        if (lines > 1) {
            lines_of_group(sums, lines, left);
            return;
        }
        add_line(sums, sums, left < line);
        offset_ += line;
    }

    // Uses two chains of sums, to have more multiplications in flight.
    void lines_of_group(const sums_t &sums, dim_t lines, dim_t left) {
        const sums_t others = zeros(rows_);
        const dim_t whole = std::min(lines, left / line);
        move_on();
        if (whole > 0) for_lines(whole, [&] { add_line(sums, others, false); });
        if (whole < lines) {
            add_line(sums, others, true);
            advance(line);
        }
        for (int r = 0; r < rows_; ++r) {
            vpaddd(of_row(sums, r), of_row(sums, r), of_row(others, r));
            give(of_row(others, r));
        }
    }

    void prefetch_weights(const RegExp &at) {
        const size_t ahead = this_machine().policy.nk_integers_ahead;
        if (ahead > 0) prefetch_early(ptr[at + ahead]);
        else prefetcht0(ptr[at + bytes_ahead]);
    }

    void add_line(const sums_t &of_low, const sums_t &of_high, bool is_part) {
        const Zmm low = take(), high = take(), a = take();
        const auto at = static_cast<size_t>(offset_);
        if (is_part) {
            vmovups(low, constant(flipped_bits()));
            vmovdqu8(low | k1, ptr[rax + at]);
        } else {
            vmovdqu32(low, ptr[rax + at]);
        }
        prefetch_weights(rax + at);
        make_bytes(low, high);
        for (int r = 0; r < rows_; ++r) {
            const RegExp of_a = row_of_a(r) + at * src_bytes();
            vmovdqu32(a, ptr[of_a]);
            dot(of_row(of_low, r), low, a);
            if (!is_nibble()) continue;
            vmovdqu32(a, ptr[of_a + line]);
            dot(of_row(of_high, r), high, a);
        }
        if (has_src_zps()) {
            if (is_nibble()) vpaddb(low, low, high);
            dot(of_row(of_low, rows_), low, ones_);
        }
        for (const Zmm &vector : {a, high, low})
            give(vector);
    }

    // Adds the lanes of each 128 bits, then those of pairs of these, then those
    // of fours. Groups of two lanes have neighbours added.
    void combine(const Zmm &a, const Zmm &b, int level) {
        const Zmm other = take();
        if (leaves_ == 2) {
            vshufps(other, a, b, 0xdd);
            vshufps(a, a, b, 0x88);
        } else if (level == 1) {
            vpunpckhdq(other, a, b);
            vpunpckldq(a, a, b);
        } else if (level == 2) {
            vpunpckhqdq(other, a, b);
            vpunpcklqdq(a, a, b);
        } else {
            vshufi32x4(other, a, b, 0xdd);
            vshufi32x4(a, a, b, 0x88);
        }
        vpaddd(a, a, other);
        give(other);
        give(b);
    }

    void scale(const sums_t &sums) {
        const Zmm zps = take(), x = take();
        for (const Zmm &sum : sums)
            if (leaves_ < simd_w) vpermd(sum, order_, sum);
        if (has_zps()) load_zps(zps, ptr[r9]);
        const Zmm &of_weights = sums.back(); // where they are wanted
        for (int r = 0; r < rows_; ++r)
            scale_row(r, of_row(sums, r), of_weights, zps, x);
        give(x);
        give(zps);
        for (const Zmm &sum : sums)
            give(sum);
    }

    const dim_t group_lines_ = div_up(group_bytes_, line);
    // The vectors that become one of sixteen groups.
    const int leaves_ = groups_ == 1 || group_bytes_ >= line
                                ? simd_w
                                : static_cast<int>(group_bytes_ / 4);
    std::vector<int> free_;
    dim_t offset_ = 0; // from rax
};

} // namespace

result_t make_jit_integer_k_lanes(const integer_stream_weights_t &weights,
        int rows, jit_integer_k_lanes_t &code) {
    return make_jit_as<generator_t>(
            code, "jit_integer_k_lanes", weights, isa_avx512_core_vnni, rows);
}

} // namespace dnnl_dequant
