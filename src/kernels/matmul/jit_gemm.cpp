// The generated code that multiplies blocks. A tile of c, six rows by a few
// vectors, stays in registers down the depth. On AVX-512 a tile of 14 rows by
// two vectors would read less of b from L2, but takes a tenth more
// instructions. It reached 0.85 of multiply-adds alone; six by four reaches
// 0.92.
//
// With many rows, src streams through L2 and evicts c before its turn comes
// again. So each tile prefetches the next tile's c before it ends.
//
// The code for AVX2 loops over the tiles of mr rows itself. A tile is short
// there, and a call for each cost nearly a hundredth of the time.
//
// A value of bf16 is a pair of two depths: vdpbf16ps multiplies and adds both.
// The rows of b are paired in scratch memory first, tile by tile, so that a
// tile reads them contiguously.
//
// Registers:
//     rdi      arguments
//     rax      a
//     rcx      b
//     rsi      b, some rows ahead (AVX-512)
//     rdx      c
//     r8 r9    pitches of b and c
//     rbx      three pitches of b
//     r10      rounds to go
//     r11      a row of c
//     r12 r13  the prefetched lines and their pitch
//     r14      tiles to go (AVX2)
//     r15      b of the tile (AVX2)
// The first vectors are sums. The last ones are b and the broadcast value of a.

#include "kernels/matmul/gemm.hpp"
#include "kernels/row_blocks.hpp"

#include <algorithm>
#include <cstddef>

#include "base/text.hpp"
#include "kernels/jit/generator.hpp"
#include "kernels/jit/registers.hpp"
#include "kernels/matmul/jit_pair_rows.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// The values of a and b are f32, or pairs of bf16.
struct arguments_t {
    const void *a, *b;
    float *c;
    dim_t b_pitch, c_pitch; // bytes
    dim_t rows;             // 1 to most_rows
    dim_t accumulates;
    const char *ahead; // lines to prefetch and their pitch, bytes
    dim_t ahead_pitch;
    const float *next_c;
    // The steps of depth, in order: those that prefetch a line each, those that
    // prefetch nothing, those that prefetch a row of the next c. The values
    // left over are in `rest`.
    dim_t ahead_steps, plain_steps, c_steps, rest;
    // The number of adjacent tiles on AVX2; ahead and next_c belong to the last
    // one.
    dim_t tiles;
    dim_t is_half; // the left half of a tile (AVX-512, f32)
};

template <isa_t isa>
class jit_gemm_t : public jit_generator_t {
public:
    static constexpr bool is_bf16 = isa == isa_avx512_core_bf16;
    static constexpr bool is_avx512 = isa != isa_avx2;
    using isa_traits_t = jit_isa_t<is_avx512 ? isa_avx512_core : isa_avx2>;
    using vmm_t = typename isa_traits_t::vmm_t;
    static constexpr int simd_w = isa_traits_t::simd_w;
    // The size of a tile of c: 24 sums in registers, or 12 on AVX2.
    static constexpr int most_rows = 6, vectors = is_avx512 ? 4 : 2;
    static constexpr dim_t tile_cols = vectors * dim_t(simd_w);
    static constexpr bool takes_tiles = !is_avx512; // more than one in a call
    static constexpr bool takes_halves = is_avx512 && !is_bf16;

    jit_gemm_t()
        : jit_generator_t("jit_gemm") {}

    // Splits a tile's depth into steps. At most `ahead` of them prefetch lines.
    static void set_depth(arguments_t &args, dim_t depth, dim_t ahead) {
        const dim_t steps = depth / unroll;
        args.rest = depth % unroll;
        args.c_steps = std::min(steps, args.rows);
        args.ahead_steps = std::min(steps - args.c_steps, ahead);
        args.plain_steps = steps - args.c_steps - args.ahead_steps;
    }

private:
    static constexpr size_t line = 64;
    // The prefetch distance of a in bytes, which covers the latency of L3.
    static constexpr size_t a_ahead = 2048;
    static constexpr int unroll = 4;
    static constexpr int last = isa_traits_t::vmm_count - 1;

    int vectors_ = vectors; // of the tile that code is generated for

    vmm_t sum(int i) const { return vmm_t(i); }
    vmm_t vmm_b(int v) const { return vmm_t(last - v); }
    // Two registers alternate if there is room for them.
    vmm_t vmm_a(int row) const {
        return vmm_t(last - vectors - (is_avx512 ? row % 2 : 0));
    }
    Address arg(size_t offset) { return qword[rdi + offset]; }

    void generate() override {
        preamble();
        mov(rax, arg(offsetof(arguments_t, a)));
        mov(rcx, arg(offsetof(arguments_t, b)));
        mov(rdx, arg(offsetof(arguments_t, c)));
        mov(r8, arg(offsetof(arguments_t, b_pitch)));
        mov(r9, arg(offsetof(arguments_t, c_pitch)));
        mov(r12, arg(offsetof(arguments_t, ahead)));
        mov(r13, arg(offsetof(arguments_t, ahead_pitch)));
        lea(rbx, ptr[r8 + r8 * 2]);
        if (is_avx512) lea(rsi, ptr[rcx + r8 * 8]);
        Label l_half, l_end;
        if (takes_halves) {
            cmp(arg(offsetof(arguments_t, is_half)), 0);
            jne(l_half, T_NEAR);
        }
        all_rows(l_end);
        if (takes_halves) {
            L(l_half);
            vectors_ = vectors / 2;
            all_rows(l_end);
        }
        L(l_end);
        postamble();
    }

    // Code for each number of rows.
    void all_rows(const Label &l_end) {
        for (int rows = most_rows; rows > 0; --rows) {
            Label l_next;
            cmp(arg(offsetof(arguments_t, rows)), static_cast<uint32_t>(rows));
            jne(l_next, T_NEAR);
            if (takes_tiles) tiles(rows);
            else tile(rows);
            jmp(l_end, T_NEAR);
            L(l_next);
        }
    }

    void tiles(int rows) {
        Label l_tile;
        mov(r14, arg(offsetof(arguments_t, tiles)));
        mov(r15, rcx);
        align(32);
        L(l_tile);
        tile(rows);
        mov(rax, arg(offsetof(arguments_t, a)));
        add(r15, static_cast<uint32_t>(bytes(vectors_)));
        mov(rcx, r15);
        add(rdx, static_cast<uint32_t>(bytes(vectors_)));
        dec(r14);
        jnz(l_tile, T_NEAR);
    }

    void tile(int rows) {
        Label l_zero, l_begin;
        cmp(arg(offsetof(arguments_t, accumulates)), 0);
        je(l_zero, T_NEAR);
        move_sums(rows, true);
        jmp(l_begin, T_NEAR);
        L(l_zero);
        for (int i = 0; i < rows * vectors_; ++i)
            vxorps(sum(i), sum(i), sum(i));
        L(l_begin);
        // Each step prefetches one line. Lines in one burst would wait for each
        // other, and the multiplication would wait for them.
        repeat(offsetof(arguments_t, ahead_steps), [&] {
            prefetch_early(ptr[r12]);
            add(r12, r13);
            multiply(rows, unroll);
        });
        repeat(offsetof(arguments_t, plain_steps),
                [&] { multiply(rows, unroll); });
        init_next_c();
        repeat(offsetof(arguments_t, c_steps), [&] {
            for (size_t at = 0; at < bytes(vectors_); at += line)
                prefetcht0(ptr[r12 + at]);
            add(r12, r9);
            multiply(rows, unroll);
        });
        repeat(offsetof(arguments_t, rest), [&] { multiply(rows, 1); });
        move_sums(rows, false);
    }

    void init_next_c() {
        const Address last_ones = arg(offsetof(arguments_t, next_c));
        if (takes_tiles) {
            lea(r12, ptr[rdx + bytes(vectors_)]);
            cmp(r14, 1);
            cmove(r12, last_ones);
        } else mov(r12, last_ones);
    }

    template <typename body_t>
    void repeat(size_t count, body_t &&body) {
        Label l_body, l_end;
        mov(r10, arg(count));
        test(r10, r10);
        jz(l_end, T_NEAR);
        align(32);
        L(l_body);
        body();
        dec(r10);
        jnz(l_body, T_NEAR);
        L(l_end);
    }

    void multiply(int rows, int depth) {
        const auto a_step = static_cast<size_t>(rows) * 4;
        for (int k = 0; k < depth; ++k) {
            for (int v = 0; v < vectors_; ++v) {
                // The rows of b are not contiguous, so prefetch them. A Zen 3
                // detects the stride by itself.
                if (is_avx512 && bytes(v) % line == 0)
                    prefetcht0(ptr[row_of(rsi, k) + bytes(v)]);
                vmovups(vmm_b(v), ptr[row_of(rcx, k) + bytes(v)]);
            }
            const size_t at = static_cast<size_t>(k) * a_step;
            if (at % line < a_step) prefetcht0(ptr[rax + at + a_ahead]);
            for (int r = 0; r < rows; ++r) {
                vbroadcastss(
                        vmm_a(r), ptr[rax + at + static_cast<size_t>(r) * 4]);
                for (int v = 0; v < vectors_; ++v) {
                    const vmm_t to = sum(r * vectors_ + v);
                    if constexpr (is_bf16) vdpbf16ps(to, vmm_a(r), vmm_b(v));
                    else vfmadd231ps(to, vmm_a(r), vmm_b(v));
                }
            }
        }
        add(rax, static_cast<uint32_t>(depth) * static_cast<uint32_t>(a_step));
        for (const Reg64 &b : {rcx, rsi}) {
            if (b == rsi && !is_avx512) continue;
            if (depth == 1) add(b, r8);
            else lea(b, ptr[b + r8 * depth]);
        }
    }

    RegExp row_of(const Reg64 &b, int row) const {
        if (row == 3) return b + rbx;
        return row == 0 ? RegExp(b) : b + r8 * row;
    }
    static constexpr size_t bytes(int count) {
        return static_cast<size_t>(count) * simd_w * 4;
    }

    // Loads the sums from c, or stores them.
    void move_sums(int rows, bool loads) {
        mov(r11, rdx);
        for (int r = 0; r < rows; ++r) {
            for (int v = 0; v < vectors_; ++v) {
                const Address at = ptr[r11 + bytes(v)];
                if (loads) vmovups(sum(r * vectors_ + v), at);
                else vmovups(at, sum(r * vectors_ + v));
            }
            if (r + 1 < rows) add(r11, r9);
        }
    }
};

// Distributes the lines to prefetch over a block's last tiles, so that they are
// still in L2 when they are used. A tile takes a limited number of them.
class prefetcher_t {
public:
    prefetcher_t(const gemm_block_t &block, dim_t mr, dim_t nr)
        : ahead_(block.ahead)
        , columns_(div_up(ahead_.bytes, line)) {
        const dim_t tiles = div_up(block.rows, mr) * div_up(block.cols, nr);
        const dim_t lines = ahead_.rows * columns_;
        share_ = std::max(
                fewest, (lines + tiles - 1) / std::max(tiles, dim_t(1)));
        tiles_to_wait_ = tiles - div_up(lines, share_);
    }

    // Returns true if the next `tiles` tiles prefetch nothing, and then skips
    // them.
    bool skip(dim_t tiles) {
        const bool skips = column_ == columns_ || tiles_to_wait_ >= tiles;
        if (skips) tiles_to_wait_ -= tiles;
        return skips;
    }

    // Sets args.ahead for the next tile and returns how many lines it
    // prefetches.
    dim_t take(arguments_t &args) {
        if (column_ == columns_ || tiles_to_wait_-- > 0) return 0;
        args.ahead = ahead_.first + row_ * ahead_.pitch + column_ * line;
        args.ahead_pitch = ahead_.pitch;
        const dim_t count = std::min(share_, ahead_.rows - row_);
        row_ += count;
        if (row_ == ahead_.rows) {
            row_ = 0;
            ++column_;
        }
        return count;
    }

private:
    static constexpr dim_t line = 64, fewest = 16;

    const read_ahead_t ahead_;
    const dim_t columns_; // in lines
    dim_t row_ = 0, column_ = 0, share_ = 0, tiles_to_wait_ = 0;
};

template <isa_t isa>
class jit_gemm_kernel_t : public gemm_t {
public:
    using code_t = jit_gemm_t<isa>;

    result_t make() {
        const result_t made = make_jit_as<code_t>(code_);
        return made.ok() && code_t::is_bf16
                       ? make_jit_pair_rows(nr(), pair_rows_)
                       : made;
    }

    const char *name() const override { return name_.c_str(); }
    data_type_t type() const override {
        return code_t::is_bf16 ? data_type_t::bf16 : data_type_t::f32;
    }
    dim_t nr() const override { return code_t::tile_cols; }
    dim_t col_unit() const override {
        return code_t::takes_halves ? nr() / 2 : nr();
    }
    dim_t mr() const override { return code_t::most_rows; }
    dim_t scratch_bytes(dim_t cols, dim_t depth) const override {
        return code_t::is_bf16 ? paired_bytes(round_up(cols, nr()), depth) : 0;
    }

    void arrange_b(const gemm_block_t &block) const noexcept override {
        if (code_t::is_bf16) pair_panels(pair_rows_, nr(), block);
    }

    // A block of mr rows of a stays in L1 while it meets all columns of b.
    status_t run(const gemm_block_t &block) const noexcept override {
        if (block.arranged_depth == 0) arrange_b(block);
        prefetcher_t prefetcher(block, mr(), nr());
        const values_t values = values_of(block);
        for_row_blocks(block.rows, mr(), [&](dim_t first, dim_t rows) {
            run_rows(block, values, first, rows, prefetcher);
        });
        return status_t::success;
    }

private:
    // The values of b: f32, or pairs of bf16.
    struct values_t {
        const char *b;
        dim_t pitch, tile_bytes; // from row to row, from tile to tile
        dim_t depth;
    };

    values_t values_of(const gemm_block_t &block) const {
        const dim_t arranged = std::max(block.depth, block.arranged_depth);
        if (code_t::is_bf16)
            return {static_cast<const char *>(block.scratch),
                    paired_row_bytes(nr()), paired_bytes(nr(), arranged),
                    div_up(block.depth, dim_t(2))};
        return {static_cast<const char *>(block.b), block.ldb * 4, nr() * 4,
                block.depth};
    }

    void run_rows(const gemm_block_t &block, const values_t &values, dim_t row,
            dim_t rows, prefetcher_t &prefetcher) const noexcept {
        const dim_t next_row = row + rows < block.rows ? row + rows : 0;
        arguments_t args {};
        args.b_pitch = values.pitch;
        args.c_pitch = block.ldc * 4;
        args.rows = rows;
        args.accumulates = block.accumulates;
        const dim_t all = div_up(block.cols, nr());
        const bool together = code_t::takes_tiles && prefetcher.skip(all);
        args.tiles = together ? all : 1;
        const dim_t step = args.tiles * nr();
        for (dim_t n = 0; n < block.cols; n += step) {
            args.a = static_cast<const float *>(block.a) + row * values.depth;
            args.b = values.b + n / nr() * values.tile_bytes;
            args.c = block.c + row * block.ldc + n;
            args.is_half = n + nr() > block.cols;
            args.next_c = n + step < block.cols
                                  ? args.c + step
                                  : block.c + next_row * block.ldc;
            const dim_t ahead = together ? 0 : prefetcher.take(args);
            code_t::set_depth(args, values.depth, ahead);
            code_(args);
        }
    }

    const std::string name_ = text("jit_matmul_", name_of(isa));
    jit_function_t<const arguments_t> code_;
    jit_pair_rows_t pair_rows_; // bf16 only
};

template <isa_t isa>
result_t make(std::shared_ptr<const gemm_t> &gemm) {
    auto made = std::make_shared<jit_gemm_kernel_t<isa>>();
    const result_t result = made->make();
    if (result.ok()) gemm = std::move(made);
    return result;
}

} // namespace

result_t make_jit_gemm(
        isa_t isa, data_type_t type, std::shared_ptr<const gemm_t> &gemm) {
    if (type == data_type_t::bf16) {
        if (has(isa, isa_avx512_core_bf16))
            return make<isa_avx512_core_bf16>(gemm);
        return {status_t::unimplemented,
                "the instruction set has no products of bf16"};
    }
    if (has(isa, isa_avx512_core)) return make<isa_avx512_core>(gemm);
    if (has(isa, isa_avx2)) return make<isa_avx2>(gemm);
    return {status_t::unimplemented, "the instruction set is less than AVX2"};
}

} // namespace dnnl_dequant
