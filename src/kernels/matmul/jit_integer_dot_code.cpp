// Some rows of integers times weights of 4 or 8 bits whose columns lie one
// after the other, 64 bytes of a column at a time: nibbles are split into even
// and odd ones, which src lies in the order of. Sixteen groups of a column are
// sums in the lanes of a vector, corrected and scaled by what lies in that
// order too:
//   scaled = f32(sum a b - zp_a sum_b - zp_b sum_a) * scale of b
// Sixteen columns of that are transposed, and c += scaled * scale of a, group
// by group.
//
// Sums of the lanes are those of a tree: of the 4, 8 or 16 lanes that a group
// has of a vector, as many vectors are added up to one.
//
// Registers: rdi the arguments; rsi a column; rax the weights; rbx r13 a, and
// its pitch; r8 r9 scales and zero points; r12 sums and zero points of rows;
// rdx r14 scaled; r10 columns to go; r11 chunks to go; r15 what is left of a
// group; in the end rax scaled, rbx parameters of a row, rcx c. Vectors are
// handed out as they are wanted; the last hold constants.

#if defined(__x86_64__)

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/matmul/jit_integer_stream_code.hpp"
#include "kernels/matmul/jit_transpose.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using args_t = jit_integer_dot_args_t;
constexpr int simd_w = 16;
constexpr dim_t line = 64;
// Bytes of the weights that are asked for ahead.
constexpr size_t bytes_ahead = 2048;

class generator_t : public jit_integer_stream_base_t, public jit_integer_dot_t {
public:
    generator_t(const integer_stream_weights_t &weights, int rows)
        : jit_integer_stream_base_t("jit_integer_dot", weights, weights.bias())
        , bytes_(bytes_of(weights.format.weights, weights.depth))
        , group_bytes_(std::min(
                  bytes_of(weights.format.weights, weights.group), bytes_))
        , group_lines_((group_bytes_ + line - 1) / line)
        , leaves_(weights.groups() == 1 || group_bytes_ >= line
                          ? simd_w
                          : static_cast<int>(group_bytes_ / 4))
        , groups_(weights.groups())
        , rows_(rows) {
        for (int i = ones_.getIdx(); i-- > 0;)
            free_.push_back(i);
    }

    void operator()(const args_t &args) const override {
        getCode<void (*)(const args_t *)>()(&args);
    }

private:
    const Zmm order_ {29}, ones_ {28};

    void generate() override {
        preamble();
        vnni_.load_constants();
        load_order();
        vmovups(ones_, constant(0x01010101u));
        mov(rsi, arg(offsetof(args_t, weights)));
        mov(r8, arg(offsetof(args_t, scales)));
        mov(r9, arg(offsetof(args_t, zps)));
        mov(rdx, arg(offsetof(args_t, scaled)));
        mov(r13, arg(offsetof(args_t, a_pitch)));
        mov(r10, arg(offsetof(args_t, count)));
        Label l_col;
        align(32);
        L(l_col);
        column();
        add(rsi, arg(offsetof(args_t, pitch)));
        add(rdx, static_cast<uint32_t>(line));
        dec(r10);
        jnz(l_col, T_NEAR);
        add_up();
        postamble();
    }

    void load_order() {
        if (bytes_ % line != 0) {
            mov(rax, ~uint64_t(0) >> (line - bytes_ % line));
            kmovq(k1, rax);
        }
        lanes_t order;
        for (uint32_t i = 0; i < simd_w; ++i)
            order[i] = leaves_ == 4 ? i % 4 * 4 + i / 4
                                    : (i / 8 * 2 + i % 2) * 4 + i % 8 / 2;
        if (leaves_ < simd_w) vmovups(order_, constant(order));
    }

    // Whole chunks of sixteen groups, but for a last one that differs.
    dim_t whole_chunks() const {
        return bytes_ == groups_ * group_bytes_ ? groups_ / simd_w
                                                : (groups_ - 1) / simd_w;
    }
    int last_chunk() const {
        return static_cast<int>(groups_ - whole_chunks() * simd_w);
    }

    void column() {
        mov(rax, rsi);
        mov(rbx, arg(offsetof(args_t, a)));
        mov(r12, arg(offsetof(args_t, of_rows)));
        mov(r14, rdx);
        if (whole_chunks() > 0) {
            Label l_chunk;
            mov(r11, static_cast<uint64_t>(whole_chunks()));
            L(l_chunk);
            chunk(simd_w, simd_w * group_bytes_);
            dec(r11);
            jnz(l_chunk, T_NEAR);
        }
        if (last_chunk() > 0)
            chunk(last_chunk(),
                    bytes_ - whole_chunks() * simd_w * group_bytes_);
    }

    // Vectors that are free are handed out as they are wanted.
    Zmm take() {
        const int last = free_.back();
        free_.pop_back();
        return Zmm(last);
    }
    void give(const Zmm &vector) { free_.push_back(vector.getIdx()); }

    // Sums of products, a row each, and of the weights where they are wanted.
    using sums_t = std::vector<Zmm>;
    sums_t zeros(int count) {
        sums_t sums;
        for (int i = 0; i < count; ++i) {
            sums.push_back(take());
            vpxord(sums.back(), sums.back(), sums.back());
        }
        return sums;
    }
    Zmm of_row(const sums_t &sums, int row) const {
        return sums[static_cast<size_t>(row)];
    }

    void chunk(int groups, dim_t bytes) {
        std::vector<sums_t> parts;
        dim_t left = bytes;
        offset_ = 0;
        for (int i = 0; i < leaves_; ++i) {
            parts.push_back(zeros(rows_ + (has_src_zps() ? 1 : 0)));
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
        for (const Reg64 &at : {r8, r9, r12})
            add(at, static_cast<uint32_t>(groups * 4));
        add(r14, static_cast<uint32_t>(simd_w * line));
    }

    // Bytes of src for one of the weights'.
    int src_bytes() const { return is_nibble() ? 2 : 1; }

    void move_on() {
        add(rax, static_cast<uint32_t>(offset_));
        add(rbx, static_cast<uint32_t>(offset_ * src_bytes()));
        offset_ = 0;
    }

    // The lines of a group, or one that has several groups.
    void leaf(const sums_t &sums, dim_t left) {
        if (left == 0) return;
        const dim_t lines = std::min(
                leaves_ == simd_w ? group_lines_ : 1, (left + line - 1) / line);
        if (lines > 1) {
            lines_of_group(sums, lines, left);
            return;
        }
        add_line(sums, sums, left < line);
        offset_ += line;
    }

    // Two chains of sums.
    void lines_of_group(const sums_t &sums, dim_t lines, dim_t left) {
        const sums_t others = zeros(rows_);
        const dim_t whole = std::min(lines, left / line);
        move_on();
        const auto next = [&] {
            add(rax, static_cast<uint32_t>(line));
            add(rbx, static_cast<uint32_t>(line * src_bytes()));
        };
        Label l_line;
        if (whole > 0) {
            mov(r15, static_cast<uint64_t>(whole));
            align(16);
            L(l_line);
            add_line(sums, others, false);
            next();
            dec(r15);
            jnz(l_line, T_NEAR);
        }
        if (whole < lines) {
            add_line(sums, others, true);
            next();
        }
        for (int r = 0; r < rows_; ++r) {
            vpaddd(of_row(sums, r), of_row(sums, r), of_row(others, r));
            give(of_row(others, r));
        }
    }

    void add_line(const sums_t &of_low, const sums_t &of_high, bool is_part) {
        const Zmm low = take(), high = take(), a = take();
        const auto at = static_cast<size_t>(offset_);
        if (is_part) {
            vmovups(low, constant(turned_bits()));
            vmovdqu8(low | k1, ptr[rax + at]);
        } else {
            vmovdqu32(low, ptr[rax + at]);
        }
        prefetcht0(ptr[rax + at + bytes_ahead]);
        vnni_.make_bytes(low, high);
        for (int r = 0; r < rows_; ++r) {
            const auto of_a = (r == 0 ? RegExp(rbx) : rbx + r13 * r)
                              + at * static_cast<size_t>(src_bytes());
            vmovdqu32(a, ptr[of_a]);
            vnni_.multiply(of_row(of_low, r), low, a);
            if (!is_nibble()) continue;
            vmovdqu32(a, ptr[of_a + line]);
            vnni_.multiply(of_row(of_high, r), high, a);
        }
        if (has_src_zps()) {
            if (is_nibble()) vpaddb(low, low, high);
            vnni_.multiply(of_row(of_low, rows_), low, ones_);
        }
        for (const Zmm &vector : {a, high, low})
            give(vector);
    }

    // Neighbouring lanes of each, then pairs of lanes, then fours of them.
    void combine(const Zmm &a, const Zmm &b, int level) {
        const Zmm other = take();
        if (level == 1) {
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

    size_t scaled_bytes() const {
        return static_cast<size_t>(
                jit_integer_dot_pitch(groups_) * args_t::cols * 4);
    }
    size_t row_bytes() const {
        return static_cast<size_t>(jit_integer_dot_pitch(groups_) * 4);
    }

    void scale(const sums_t &sums) {
        const Zmm zps = take(), x = take();
        for (const Zmm &sum : sums)
            if (leaves_ < simd_w) vpermd(sum, order_, sum);
        if (has_zps()) load_zps(zps, ptr[r9]);
        for (int r = 0; r < rows_; ++r) {
            const Zmm sum = of_row(sums, r);
            const auto of_sums = r12 + 2 * static_cast<size_t>(r) * row_bytes();
            if (has_zps()) {
                vpmulld(x, zps, ptr[of_sums]);
                vpsubd(sum, sum, x);
            }
            if (has_src_zps()) {
                vpmulld(x, of_row(sums, rows_), ptr[of_sums + row_bytes()]);
                vpsubd(sum, sum, x);
            }
            vcvtdq2ps(sum, sum);
            vmulps(sum, sum, ptr[r8]);
            vmovups(ptr[r14 + static_cast<size_t>(r) * scaled_bytes()], sum);
        }
        give(x);
        give(zps);
        for (const Zmm &sum : sums)
            give(sum);
    }

    void add_up() {
        mov(rax, arg(offsetof(args_t, scaled)));
        mov(rcx, arg(offsetof(args_t, c)));
        mov(r8, arg(offsetof(args_t, row_groups)));
        mov(r10, static_cast<uint64_t>(rows_));
        Label l_row, l_chunk;
        const dim_t whole = groups_ / simd_w, rest = groups_ % simd_w;
        L(l_row);
        mov(rbx, r8);
        if (whole > 0) {
            mov(r11, static_cast<uint64_t>(whole));
            L(l_chunk);
            add_chunk(simd_w);
            dec(r11);
            jnz(l_chunk, T_NEAR);
        }
        if (rest > 0) add_chunk(static_cast<int>(rest));
        add(rcx, arg(offsetof(args_t, c_pitch)));
        add(r8, arg(offsetof(args_t, row_groups_pitch)));
        dec(r10);
        jnz(l_row, T_NEAR);
    }

    void add_chunk(int groups) {
        const Zmm c(16);
        for (int n = 0; n < simd_w; ++n)
            vmovups(Zmm(n), ptr[rax + static_cast<size_t>(n * line)]);
        transpose_dwords(*this);
        vmovups(c, ptr[rcx]);
        for (int g = 0; g < groups; ++g)
            vfmadd231ps(c, Zmm(g),
                    ptr_b[rbx + static_cast<size_t>(g) * sizeof(row_group_t)
                            + offsetof(row_group_t, scale)]);
        vmovups(ptr[rcx], c);
        add(rax, static_cast<uint32_t>(simd_w * line));
        add(rbx, static_cast<uint32_t>(simd_w * sizeof(row_group_t)));
    }

    const dim_t bytes_, group_bytes_, group_lines_; // of a column, of a group
    const int leaves_; // vectors that become one of sixteen groups
    const dim_t groups_;
    const int rows_;
    jit_integer_stream_vnni_t vnni_ {*this};
    std::vector<int> free_;
    dim_t offset_ = 0; // from rax
};

} // namespace

result_t make_jit_integer_dot(const integer_stream_weights_t &weights, int rows,
        std::unique_ptr<jit_integer_dot_t> &code) {
    return make_jit_as<generator_t>(code, weights, rows);
}

} // namespace dnnl_dequant

#endif
