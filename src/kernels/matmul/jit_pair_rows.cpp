// Interleaves pairs of rows of a bf16 tile on AVX-512.
//
//   for each pair of rows: for each 32 columns: permute words of both
//
// Registers: rdi the arguments; rax rows; rdx pairs; r8 the pitch; r10 pairs to
// go.

#include "kernels/matmul/jit_pair_rows.hpp"

#include <cstddef>

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

class generator_t : public jit_generator_t {
public:
    explicit generator_t(dim_t cols)
        : jit_generator_t("jit_pair_rows")
        , row_bytes_(static_cast<size_t>(cols) * 2) {}

private:
    using args_t = jit_pair_rows_args_t;
    static constexpr size_t vector = 64; // bytes

    static lanes_t words_from(uint32_t first) {
        lanes_t lanes;
        for (uint32_t i = 0; i < lanes.size(); ++i)
            lanes[i] = (first + i) | (32 + first + i) << 16;
        return lanes;
    }

    void generate() override {
        Label l_pair, l_rest, l_end;
        preamble();
        mov(rax, ptr[rdi + offsetof(args_t, rows)]);
        mov(rdx, ptr[rdi + offsetof(args_t, pairs)]);
        mov(r8, ptr[rdi + offsetof(args_t, pitch)]);
        mov(r10, ptr[rdi + offsetof(args_t, count)]);
        vmovups(indices_[0], constant(words_from(0)));
        vmovups(indices_[1], constant(words_from(16)));
        test(r10, r10);
        jz(l_rest, T_NEAR);
        align(32);
        L(l_pair);
        pair(false);
        lea(rax, ptr[rax + r8 * 2]);
        add(rdx, static_cast<uint32_t>(row_bytes_ * 2));
        dec(r10);
        jnz(l_pair, T_NEAR);
        L(l_rest);
        cmp(qword[rdi + offsetof(args_t, rest)], 0);
        je(l_end, T_NEAR);
        vpxord(zero_, zero_, zero_);
        pair(true);
        L(l_end);
        postamble();
    }

    // The last row is paired with zeros.
    void pair(bool is_last) {
        for (size_t at = 0; at < row_bytes_; at += vector) {
            const Address next = ptr[rax + r8 + at];
            vmovups(row_, ptr[rax + at]);
            for (size_t half = 0; half < 2; ++half) {
                const Zmm &to = paired_[half];
                vmovdqa64(to, indices_[half]);
                if (is_last) vpermi2w(to, row_, zero_);
                else vpermi2w(to, row_, next);
                vmovups(ptr[rdx + at * 2 + half * vector], to);
            }
        }
    }

    const size_t row_bytes_;
    const Zmm row_ {0}, zero_ {1}, indices_[2] {Zmm(2), Zmm(3)},
            paired_[2] {Zmm(4), Zmm(5)};
};

} // namespace

result_t make_jit_pair_rows(dim_t cols, jit_pair_rows_t &pair_rows) {
    return make_jit_as<generator_t>(pair_rows, cols);
}

void pair_panels(const jit_pair_rows_t &pair_rows, dim_t cols,
        const gemm_block_t &block) noexcept {
    jit_pair_rows_args_t args {block.b, block.scratch, block.ldb * 2,
            block.depth / 2, block.depth % 2};
    for (dim_t n = 0; n < block.cols; n += cols) {
        args.rows = static_cast<const uint16_t *>(block.b) + n;
        pair_rows(args);
        args.pairs = static_cast<char *>(args.pairs)
                     + paired_bytes(cols, block.depth);
    }
}

} // namespace dnnl_dequant
