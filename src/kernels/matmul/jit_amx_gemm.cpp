// Multiplies blocks of bf16 by the tiles of AMX. Up to 32 rows of src meet 32
// columns of weights: four tiles of sums stay in registers down the depth.
//
//   for each 32 columns: for each 32 of depth:
//       load two tiles of src and two of weights; multiply each by each
//
// A chunk is the depth of a tile: 32 values, sixteen pairs. tdpbf16ps takes
// rows of values and rows of pairs. If weights are [K,N], src has the rows of
// values, and the rows of weights are paired in scratch memory first. If they
// are [N,K], weights are rows of values as they lie, and src is packed in
// pairs. The sums are then transposed once, at the end.
//
// Registers:
//     rdi      arguments
//     rax rbx  the tiles of src
//     rsi rbp  the tiles of weights
//     rcx rdx  pitches of src and of weights
//     r12 r13  bytes from chunk to chunk, of src and of weights
//     r8 r9    c and its pitch
//     r10      chunks to go, or rows
//     r11      columns to go, in 32
//     r14      weights of the 32 columns
//     r15      scratch memory ([N,K])

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/prefetch.hpp"
#include "kernels/jit/generator.hpp"
#include "kernels/jit/tile_config.hpp"
#include "kernels/jit/transpose_dwords.hpp"
#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/jit_pair_rows.hpp"
#include "kernels/row_blocks.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr dim_t tile_rows = tile_config_t::most_rows,
                row_bytes = tile_config_t::row_bytes;
constexpr dim_t most_rows = 2 * tile_rows, tile_cols = 2 * tile_rows;

// Tiles by their use: [src tile][weights tile] of sums, then src, then weights.
constexpr int tile_of_sums(int s, int w) {
    return 2 * s + w;
}
constexpr int tile_of_src(int s) {
    return 4 + s;
}
constexpr int tile_of_weights(int w) {
    return 6 + w;
}

// How src or weights lie, in bytes.
struct tiles_t {
    const char *first;
    dim_t pitch;  // from row to row of a tile
    dim_t second; // from the first tile to the second
    dim_t chunk;  // from chunk to chunk
};

struct arguments_t {
    const tile_config_t *config;
    tiles_t src, weights;
    dim_t weights_panel; // bytes from 32 columns of weights to the next ones
    float *c;
    dim_t c_pitch; // bytes
    dim_t rows;    // 1 to most_rows
    dim_t panels;  // of 32 columns
    dim_t chunks;  // 1 or more
    dim_t accumulates;
    void *scratch; // room for tiles of sums ([N,K])
};

class generator_t : public jit_generator_t {
public:
    explicit generator_t(bool nk)
        : jit_generator_t("jit_amx_gemm")
        , nk_(nk) {}

private:
    Address arg(size_t offset) { return qword[rdi + offset]; }
    static constexpr size_t src_at = offsetof(arguments_t, src);
    static constexpr size_t weights_at = offsetof(arguments_t, weights);

    void generate() override {
        Label l_one, l_end;
        preamble();
        mov(rax, arg(offsetof(arguments_t, config)));
        ldtilecfg(ptr[rax]);
        mov(rcx, arg(src_at + offsetof(tiles_t, pitch)));
        mov(r12, arg(src_at + offsetof(tiles_t, chunk)));
        mov(r14, arg(weights_at + offsetof(tiles_t, first)));
        mov(rdx, arg(weights_at + offsetof(tiles_t, pitch)));
        mov(r13, arg(weights_at + offsetof(tiles_t, chunk)));
        mov(r8, arg(offsetof(arguments_t, c)));
        mov(r9, arg(offsetof(arguments_t, c_pitch)));
        mov(r11, arg(offsetof(arguments_t, panels)));
        if (nk_) init_transposed();
        cmp(arg(offsetof(arguments_t, rows)), static_cast<uint32_t>(tile_rows));
        jle(l_one, T_NEAR);
        panels(2);
        jmp(l_end, T_NEAR);
        L(l_one);
        panels(1);
        L(l_end);
        tilerelease();
        postamble();
    }

    void panels(int src_tiles) {
        Label l_panel, l_chunk;
        L(l_panel);
        init_sums(src_tiles);
        mov(rax, arg(src_at + offsetof(tiles_t, first)));
        mov(rbx, arg(src_at + offsetof(tiles_t, second)));
        add(rbx, rax);
        mov(rsi, r14);
        mov(rbp, arg(weights_at + offsetof(tiles_t, second)));
        add(rbp, rsi);
        mov(r10, arg(offsetof(arguments_t, chunks)));
        align(32);
        L(l_chunk);
        multiply(src_tiles);
        dec(r10);
        jnz(l_chunk, T_NEAR);
        if (nk_) add_transposed(src_tiles);
        else move_sums(src_tiles, false);
        add(r14, arg(offsetof(arguments_t, weights_panel)));
        add(r8, static_cast<uint32_t>(tile_cols * 4));
        dec(r11);
        jnz(l_panel, T_NEAR);
    }

    void multiply(int src_tiles) {
        const Reg64 src[] = {rax, rbx}, weights[] = {rsi, rbp};
        for (int w = 0; w < 2; ++w)
            tileloadd(Tmm(tile_of_weights(w)), ptr[weights[w] + rdx]);
        for (int s = 0; s < src_tiles; ++s) {
            tileloadd(Tmm(tile_of_src(s)), ptr[src[s] + rcx]);
            for (int w = 0; w < 2; ++w) {
                const Tmm sums(tile_of_sums(s, w)), a(tile_of_src(s)),
                        b(tile_of_weights(w));
                if (nk_) tdpbf16ps(sums, b, a);
                else tdpbf16ps(sums, a, b);
            }
            add(src[s], r12);
        }
        for (const Reg64 &at : weights)
            add(at, r13);
    }

    void init_sums(int src_tiles) {
        Label l_zero, l_end;
        if (!nk_) {
            cmp(arg(offsetof(arguments_t, accumulates)), 0);
            je(l_zero, T_NEAR);
            move_sums(src_tiles, true);
            jmp(l_end, T_NEAR);
            L(l_zero);
        }
        for (int s = 0; s < src_tiles; ++s)
            for (int w = 0; w < 2; ++w)
                tilezero(Tmm(tile_of_sums(s, w)));
        L(l_end);
    }

    // Sets rax to c of the tile's first row and column.
    void point_at_sums(int s, int w) {
        if (s == 0) xor_(eax, eax);
        else imul(rax, r9, static_cast<int>(s * tile_rows));
        lea(rax, ptr[r8 + rax + static_cast<uint32_t>(w * row_bytes)]);
    }

    // Loads the sums from c, or stores them ([K,N]).
    void move_sums(int src_tiles, bool loads) {
        for (int s = 0; s < src_tiles; ++s)
            for (int w = 0; w < 2; ++w) {
                const Tmm sums(tile_of_sums(s, w));
                point_at_sums(s, w);
                if (loads) tileloadd(sums, ptr[rax + r9]);
                else tilestored(ptr[rax + r9], sums);
            }
    }

    // The mask `adds_` has all lanes if c has sums already.
    void init_transposed() {
        mov(r15, arg(offsetof(arguments_t, scratch)));
        xor_(eax, eax);
        mov(ebx, 0xffff);
        cmp(arg(offsetof(arguments_t, accumulates)), 0);
        cmovne(eax, ebx);
        kmovw(adds_, eax);
    }

    // Tiles of [N,K] have a column of c in a row.
    void add_transposed(int src_tiles) {
        for (int s = 0; s < src_tiles; ++s)
            for (int w = 0; w < 2; ++w) {
                Label l_end;
                mov(ebx, static_cast<uint32_t>(row_bytes));
                tilestored(ptr[r15 + rbx], Tmm(tile_of_sums(s, w)));
                for (int i = 0; i < tile_rows; ++i)
                    vmovups(Zmm(i),
                            ptr[r15 + static_cast<uint32_t>(i * row_bytes)]);
                transpose_dwords(*this);
                point_at_sums(s, w);
                mov(r10, arg(offsetof(arguments_t, rows)));
                if (s > 0) sub(r10, static_cast<uint32_t>(s * tile_rows));
                for (int i = 0; i < tile_rows; ++i) {
                    vaddps(Zmm(i) | adds_, Zmm(i), ptr[rax]);
                    vmovups(ptr[rax], Zmm(i));
                    if (i + 1 == tile_rows) break;
                    dec(r10);
                    jz(l_end, T_NEAR);
                    add(rax, r9);
                }
                L(l_end);
            }
    }

    const bool nk_;
    const Opmask adds_ = k1;
};

class jit_amx_gemm_t : public gemm_t {
public:
    explicit jit_amx_gemm_t(bool nk)
        : nk_(nk) {}

    result_t make() {
        const result_t made = make_jit_as<generator_t>(code_, nk_);
        return made.ok() && !nk_ ? make_jit_pair_rows(nr(), pair_rows_) : made;
    }

    const char *name() const override { return "jit_matmul_amx_bf16"; }
    data_type_t type() const override { return data_type_t::bf16; }
    bool takes_nk() const override { return nk_; }
    dim_t packed_bytes() const override { return nk_ ? pair_bytes : row_bytes; }
    dim_t nr() const override { return tile_cols; }
    dim_t mr() const override { return most_rows; }
    dim_t scratch_bytes(dim_t cols, dim_t depth) const override {
        return nk_ ? tile_rows * row_bytes
                   : paired_bytes(round_up(cols, nr()), depth);
    }

    void arrange_b(const gemm_block_t &block) const noexcept override {
        if (!nk_) pair_panels(pair_rows_, nr(), block);
    }

    status_t run(const gemm_block_t &block) const noexcept override {
        prefetch(block.ahead);
        if (block.arranged_depth == 0) arrange_b(block);
        arguments_t args {};
        args.c_pitch = block.ldc * 4;
        args.panels = div_up(block.cols, tile_cols);
        args.scratch = block.scratch;
        args.weights = nk_ ? rows_of_weights(block) : pairs_of_rows(block);
        const dim_t arranged = std::max(block.depth, block.arranged_depth);
        args.weights_panel = nk_ ? tile_cols * args.weights.pitch
                                 : paired_bytes(nr(), arranged);
        for_row_blocks(block.rows, most_rows, [&](dim_t first, dim_t rows) {
            run_rows(block, first, rows, args);
        });
        return status_t::success;
    }

private:
    static constexpr dim_t pair_bytes = 4;
    static constexpr dim_t panel_pitch = paired_row_bytes(tile_cols);

    // A multiplication by tiles is too short for lines to arrive one by one.
    static void prefetch(const read_ahead_t &ahead) noexcept {
        for (dim_t r = 0; r < ahead.rows; ++r)
            for (dim_t at = 0; at < ahead.bytes; at += row_bytes)
                prefetch_into<2>(ahead.first + r * ahead.pitch + at);
    }

    static dim_t pairs_of(dim_t depth) { return div_up(depth, dim_t(2)); }

    static tiles_t rows_of_weights(const gemm_block_t &block) {
        const dim_t pitch = block.ldb * 2;
        return {static_cast<const char *>(block.b), pitch, tile_rows * pitch,
                row_bytes};
    }

    static tiles_t pairs_of_rows(const gemm_block_t &block) {
        return {static_cast<const char *>(block.scratch), panel_pitch,
                row_bytes, tile_rows * panel_pitch};
    }

    // All whole chunks, then the depth that is left.
    void run_rows(const gemm_block_t &block, dim_t row, dim_t rows,
            arguments_t args) const noexcept {
        const dim_t pairs = pairs_of(block.depth);
        constexpr dim_t chunk_pairs = row_bytes / pair_bytes;
        args.rows = rows;
        args.c = block.c + row * block.ldc;
        args.accumulates = block.accumulates;
        args.src.first
                = static_cast<const char *>(block.a) + row * pairs * pair_bytes;
        args.src.chunk = rows * row_bytes;
        args.chunks = pairs / chunk_pairs;
        if (args.chunks > 0) {
            run_chunks(args, chunk_pairs);
            args.src.first += args.chunks * args.src.chunk;
            args.weights.first += args.chunks * args.weights.chunk;
            args.accumulates = 1;
        }
        args.chunks = 1;
        if (pairs % chunk_pairs > 0) run_chunks(args, pairs % chunk_pairs);
    }

    // @param pairs Pairs of a chunk; no tile is read beyond them.
    void run_chunks(arguments_t args, dim_t pairs) const noexcept {
        const dim_t bytes = pairs * pair_bytes;
        tile_config_t config;
        // The product by [N,K] is transposed, and so are its tiles.
        const auto set = [&](int tile, dim_t rows, dim_t dwords) {
            if (nk_) std::swap(rows, dwords);
            config.set(tile, rows, dwords * pair_bytes);
        };
        for (int i = 0; i < 2; ++i) {
            set(tile_of_weights(i), pairs, tile_rows);
            const dim_t rows = std::min(args.rows - i * tile_rows, tile_rows);
            if (rows <= 0) continue;
            set(tile_of_src(i), rows, pairs);
            for (int w = 0; w < 2; ++w)
                set(tile_of_sums(i, w), rows, tile_rows);
        }
        args.config = &config;
        args.src.pitch = nk_ ? args.rows * pair_bytes : bytes;
        args.src.second = nk_ ? row_bytes : tile_rows * bytes;
        code_(args);
    }

    const bool nk_;
    jit_function_t<const arguments_t> code_;
    jit_pair_rows_t pair_rows_; // [K,N] only
};

} // namespace

result_t make_amx_gemm(bool nk, std::shared_ptr<const gemm_t> &gemm) {
    auto made = std::make_shared<jit_amx_gemm_t>(nk);
    const result_t result = made->make();
    if (result.ok()) gemm = std::move(made);
    return result;
}

} // namespace dnnl_dequant
