// A skinny GEMM by [K,N] weights of 4 bits, looked up in a table of a group's
// 16 numbers and multiplied by the tiles of AMX. The columns of weights are the
// rows of a tile as in jit_amx_k_lanes.cpp, so the weights are transposed.
// Words of four nibbles are transposed in registers, and lookups take their
// nibbles apart:
//
//   for each 128 rows of weights: for each 128 columns (a call):
//     for each 32 columns: for each 32 rows (a step):
//       copy some lines of the next 128 rows
//       look up 32 x 32 weights, and store them in L1 as two tiles
//       multiply the two tiles before
//
// Rows are copied to L2 in the order of addresses, since reading 128 columns of
// one row after the other waits for memory. The sums of 32 columns stay in
// tiles down 128 rows, and are in memory between two calls.
//
// Src is bf16, or terms of f32 (amx_terms.hpp). Then the sums of a group are
// scaled before they are added to those in memory.

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/skinny_gemm/amx_terms.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// The weights of one call, and of a step.
constexpr dim_t block_depth = amx_depth, block_cols = 128;
constexpr dim_t step_depth = 32, step_cols = 32;
constexpr int steps_down = block_depth / step_depth;
constexpr int steps_across = block_cols / step_cols;
constexpr dim_t steps = dim_t(steps_down) * steps_across;

constexpr int weights_tiles = 2;
constexpr dim_t weights_bytes = weights_tiles * amx_tile_bytes;
constexpr dim_t copy_bytes = block_depth * amx_row_bytes;
// The floats that the copies of two rows of blocks take for each column.
constexpr dim_t copy_floats = 2 * copy_bytes / block_cols / 4;
// The prefetch distance, in bytes of the columns that are copied.
constexpr dim_t copy_ahead = 16384;
// Scratch memory: the tiles of two steps, which take turns, tables, and the
// sums of a group.
constexpr dim_t tables_at = 2 * weights_bytes;
constexpr dim_t table_bytes = 32; // 16 numbers
constexpr dim_t group_sums_at = tables_at + step_cols * 2 * table_bytes;
constexpr dim_t work_bytes = group_sums_at + 4 * amx_tile_bytes;

struct args_t {
    const tile_config_t *config;
    char *work;                // work_bytes
    const char *copy;          // of the block's weights
    const void *a;             // of the block's depth, packed
    dim_t a_tile;              // bytes of a that tiles of weights multiply
    const float *scales, *zps; // of the block
    dim_t parameters_pitch;    // from group to group, bytes
    // Of the block, columns x rows. Terms have room for whole tiles of rows.
    float *sums;
    dim_t rows;   // of src
    dim_t is_end; // nothing is left but what is pending
    // The copy of the rows that are next: whether there are any, the lines of a
    // row, and the bytes behind them to the next row.
    dim_t has_next, row_lines, row_gap;
    dim_t ahead; // the prefetch distance, bytes: whole rows
    const char *from;
    char *to, *to_row; // the next line's place, and that of the row's first
    dim_t lines;       // of the row, to go
    // The last step's tiles are still to be multiplied by these. The first call
    // finds no sums.
    const void *pending_a;
    float *pending_sums;
    const float *pending_scales;
};

// The uses of tiles.
constexpr int tile_of_sums(int s, int w) {
    return 2 * s + w;
}
constexpr int tile_of_weights(int w) {
    return 4 + w;
}
constexpr int tile_of_a(int s) {
    return 6 + s;
}

tile_config_t config_of(dim_t rows, int terms) {
    tile_config_t config;
    for (int w = 0; w < weights_tiles; ++w)
        config.set(tile_of_weights(w), amx_tile_rows, amx_row_bytes);
    for (int s = 0; s * amx_tile_rows < rows; ++s) {
        const dim_t bytes = terms > 1 ? amx_row_bytes : amx_src_bytes(rows, s);
        config.set(tile_of_a(s), amx_tile_rows, bytes);
        for (int w = 0; w < weights_tiles; ++w)
            config.set(tile_of_sums(s, w), amx_tile_rows, bytes);
    }
    return config;
}

class generator_t : public jit_amx_lookup_t {
public:
    generator_t(const skinny_weights_t &weights, int src_tiles, int terms)
        : jit_amx_lookup_t("jit_amx_transposed", weights, src_tiles)
        , terms_(terms) {}

private:
    static constexpr int words = 8; // of 32 columns
    static constexpr int nibbles = 4;
    static constexpr int lanes = 4; // of 128 bits

    const int terms_; // of an element of src
    const Reg64 copy_ = general_.take("weights of the step's columns", rsi),
                from_ = general_.take("the next row's line", rax),
                lines_ = general_.take("its lines to go", rbx),
                work_ = general_.take("tiles and tables", rcx),
                to_ = general_.take("its copy", rdx),
                across_ = general_.take("columns to go, in 32", r14),
                scratch_ = general_.take("scratch", r15), a_ = a_pitch_;

    const vmms_t row_words_ = vectors_.take("words of rows", words),
                 turned_ = vectors_.take("columns", words),
                 looked_up_ = vectors_.take("weights", nibbles);
    const Zmm numbers_ = vectors_.take("numbers"),
              copied_ = vectors_.take("copy");

    void generate() override {
        Label l_across, l_end, l_return;
        preamble();
        mov(work_, arg(offsetof(args_t, work)));
        mov(line_, static_cast<uint32_t>(amx_row_bytes));
        mov(row_pitch_, arg(offsetof(args_t, rows)));
        shl(row_pitch_, 2);
        mov(a_, arg(offsetof(args_t, pending_a)));
        mov(sums_, arg(offsetof(args_t, pending_sums)));
        if (scales_sums()) mov(scales_, arg(offsetof(args_t, pending_scales)));
        cmp(arg(offsetof(args_t, is_end)), 0);
        jne(l_end, T_NEAR);
        load_block();
        test(sums_, sums_);
        jnz(l_across, T_NEAR);
        mov(scratch_, arg(offsetof(args_t, config)));
        ldtilecfg(ptr[scratch_]);
        if (scales_sums()) zero_sums();
        align(32);
        L(l_across);
        for (int down = 0; down < steps_down; ++down)
            look_up_step(down);
        add(copy_, static_cast<uint32_t>(step_cols / 2));
        if (!scales_sums()) add(scales_, static_cast<uint32_t>(step_cols * 4));
        if (has_zps()) add(zps_, static_cast<uint32_t>(step_cols * 4));
        dec(across_.cvt32());
        jnz(l_across, T_NEAR);
        mov(arg(offsetof(args_t, pending_a)), a_);
        mov(arg(offsetof(args_t, pending_sums)), sums_);
        if (scales_sums()) mov(arg(offsetof(args_t, pending_scales)), scales_);
        mov(arg(offsetof(args_t, from)), from_);
        mov(arg(offsetof(args_t, to)), to_);
        mov(arg(offsetof(args_t, lines)), lines_);
        jmp(l_return, T_NEAR);
        L(l_end);
        multiply_last();
        if (scales_sums()) scale(steps_down - 1);
        tilerelease();
        L(l_return);
        postamble();
    }

    void load_block() {
        mov(copy_, arg(offsetof(args_t, copy)));
        mov(from_, arg(offsetof(args_t, from)));
        mov(to_, arg(offsetof(args_t, to)));
        mov(lines_, arg(offsetof(args_t, lines)));
        mov(ahead_, arg(offsetof(args_t, ahead)));
        if (!scales_sums()) mov(scales_, arg(offsetof(args_t, scales)));
        mov(zps_, arg(offsetof(args_t, zps)));
        vmovups(numbers_, constant(nibble_numbers(w_.type)));
        mov(across_.cvt32(), steps_across);
    }

    void look_up_step(int down) {
        copy_lines();
        if (down * step_depth % w_.group == 0 || down == 0) make_tables(down);
        load_rows(down);
        transpose_words();
        look_up_columns(down, 0, words / 2);
        if (down == 0) begin_columns();
        else multiply_after(down);
        look_up_columns(down, words / 2, words);
    }

    // Copies as many lines of the rows that are next as a step has.
    void copy_lines() {
        Label l_end;
        cmp(arg(offsetof(args_t, has_next)), 0);
        je(l_end, T_NEAR);
        for (dim_t i = 0; i < block_depth / steps; ++i) {
            Label l_within;
            prefetcht1(ptr[from_ + ahead_]);
            vmovups(copied_, ptr[from_]);
            vmovups(ptr[to_], copied_);
            add(from_, line_);
            add(to_, static_cast<uint32_t>(copy_bytes));
            dec(lines_);
            jnz(l_within);
            add(from_, arg(offsetof(args_t, row_gap)));
            mov(to_, arg(offsetof(args_t, to_row)));
            add(to_, line_);
            mov(arg(offsetof(args_t, to_row)), to_);
            mov(lines_, arg(offsetof(args_t, row_lines)));
            L(l_within);
        }
        L(l_end);
    }

    // Makes the tables of each column. One is in a vector twice, because an
    // index has a fifth bit: the next nibble's lowest.
    void make_tables(int down) {
        const auto group = static_cast<int>(down * step_depth / w_.group);
        if (group > 0)
            imul(scratch_, arg(offsetof(args_t, parameters_pitch)), group);
        const auto parameter = [&](const Reg64 &base, int c) {
            const RegExp at = base + bytes(c * 4);
            return group > 0 ? ptr_b[at + scratch_] : ptr_b[at];
        };
        for (int c = 0; c < step_cols; c += 2) {
            const Zmm both = turned_[c % words], other = turned_[c % words + 1];
            for (int i = 0; i < 2; ++i)
                make_table_numbers(i == 0 ? both : other,
                        parameter(scales_, c + i), parameter(zps_, c + i));
            vcvtne2ps2bf16(both, other, both);
            for (const dim_t half : {dim_t(0), table_bytes}) {
                vmovups(ptr[table_of(c) + bytes(half)], Ymm(both.getIdx()));
                vextracti64x4(ptr[table_of(c + 1) + bytes(half)], both, 1);
            }
        }
    }
    void make_table_numbers(
            const Zmm &to, const Address &scale, const Address &zp) {
        if (!scales_sums()) make_numbers(to, numbers_, scale, zp);
        else if (has_zps()) vsubps(to, numbers_, zp);
        else vmovaps(to, numbers_);
    }
    RegExp table_of(int c) const {
        return work_ + bytes(tables_at + c * 2 * table_bytes);
    }

    // Vector i has the rows i, i + 8, i + 16 and i + 24, one in each lane.
    void load_rows(int down) {
        for (int i = 0; i < words; ++i)
            for (int lane = 0; lane < lanes; ++lane) {
                const dim_t row = down * step_depth + lane * words + i;
                const Zmm v = row_words_[i];
                const auto at = copy_ + bytes(row * amx_row_bytes);
                if (lane == 0) vmovups(Xmm(v.getIdx()), ptr[at]);
                else if (lane == 1)
                    vinserti32x4(Ymm(v.getIdx()), Ymm(v.getIdx()), ptr[at], 1);
                else vinserti32x4(v, v, ptr[at], static_cast<uint8_t>(lane));
            }
    }

    // Transposes 8 x 8 words in each lane. A vector of turned_ then has a word
    // of each row: four columns.
    void transpose_words() {
        const auto &a = row_words_, &b = turned_;
        for (int i = 0; i < words; i += 2) {
            vpunpcklwd(b[i], a[i], a[i + 1]);
            vpunpckhwd(b[i + 1], a[i], a[i + 1]);
        }
        for (int i = 0; i < words; i += 4)
            for (int high = 0; high < 2; ++high) {
                vpunpckldq(a[i + 2 * high], b[i + high], b[i + 2 + high]);
                vpunpckhdq(a[i + 2 * high + 1], b[i + high], b[i + 2 + high]);
            }
        for (int i = 0; i < words / 2; ++i) {
            vpunpcklqdq(b[2 * i], a[i], a[i + words / 2]);
            vpunpckhqdq(b[2 * i + 1], a[i], a[i + words / 2]);
        }
    }

    // Looks up the four columns of each of these words.
    void look_up_columns(int down, int first, int end) {
        const dim_t tiles = down % 2 * weights_bytes;
        for (int v = first; v < end; ++v)
            for (int j = nibbles - 1; j >= 0; --j) {
                const Zmm raw = turned_[v], w = j > 0 ? looked_up_[j] : raw;
                const int c = nibbles * v + j;
                if (j > 0) vpsrlw(w, raw, static_cast<uint8_t>(4 * j));
                vpermw(w, w, ptr[table_of(c)]);
                vmovups(ptr[work_ + bytes(tiles + c * amx_row_bytes)], w);
            }
    }

    // Ends the columns before, if there are any, and loads the sums of these.
    void begin_columns() {
        Label l_first;
        test(sums_, sums_);
        jz(l_first, T_NEAR);
        multiply_last();
        L(l_first);
        mov(a_, arg(offsetof(args_t, a)));
        if (scales_sums()) return;
        next_sums();
        move_sums(true);
    }
    void next_sums() {
        mov(sums_, arg(offsetof(args_t, sums)));
        if (scales_sums()) {
            lea(scratch_, ptr[sums_ + bytes(step_cols * sums_bytes())]);
        } else {
            mov(scratch_, arg(offsetof(args_t, a_tile)));
            lea(scratch_, ptr[sums_ + scratch_ * 2]);
        }
        mov(arg(offsetof(args_t, sums)), scratch_);
    }

    void move_sums(bool loads) {
        mov(scratch_, sums_);
        for (int w = 0; w < weights_tiles; ++w) {
            if (w > 0) add(scratch_, arg(offsetof(args_t, a_tile)));
            for (int s = 0; s < src_tiles_; ++s) {
                const Tmm sums(tile_of_sums(s, w));
                const auto at
                        = scratch_ + row_pitch_ + bytes(s * amx_row_bytes);
                if (loads) tileloadd(sums, ptr[at]);
                else tilestored(ptr[at], sums);
            }
        }
    }

    // Multiplies the step before this one, after scaling what was summed before
    // it: so this does not wait for sums.
    void multiply_after(int down) {
        if (scales_sums() && down == 1) begin_sums();
        else if (scales_sums() && ends_group(down - 2)) scale(down - 2);
        multiply(down - 1);
    }

    void multiply_last() {
        constexpr int last = steps_down - 1;
        if (scales_sums() && ends_group(last - 1)) scale(last - 1);
        multiply(last);
    }

    // Multiplies a step's tiles; stores the sums after the last one.
    void multiply(int down) {
        const dim_t tiles = down % 2 * weights_bytes;
        for (int w = 0; w < weights_tiles; ++w)
            tileloadd(Tmm(tile_of_weights(w)),
                    ptr[work_ + line_ + bytes(tiles + w * amx_tile_bytes)]);
        for (int t = 0; t < terms_; ++t) {
            for (int s = 0; s < src_tiles_; ++s) {
                const Tmm a(tile_of_a(s));
                tileloadd(a, ptr[a_ + (scales_sums() ? line_ : row_pitch_)
                                     + bytes(s * a_tile_bytes())]);
                for (int w = 0; w < weights_tiles; ++w)
                    tdpbf16ps(Tmm(tile_of_sums(s, w)), Tmm(tile_of_weights(w)),
                            a);
            }
            if (scales_sums())
                add(a_, static_cast<uint32_t>(src_tiles_ * amx_tile_bytes));
            else add(a_, arg(offsetof(args_t, a_tile)));
        }
        if (scales_sums()) {
            if (ends_group(down)) store_group();
        } else if (down + 1 == steps_down) move_sums(false);
    }

    // The sums of groups are scaled if src has terms. What has them follows
    // multiply() by a step.
    bool scales_sums() const { return terms_ > 1; }
    bool ends_group(int down) const {
        return down + 1 == steps_down
               || (down + 1) * step_depth % w_.group == 0;
    }
    // From one tile of rows to the next: the lines of bf16 have all rows.
    dim_t a_tile_bytes() const {
        return scales_sums() ? amx_tile_bytes : amx_row_bytes;
    }
    // The bytes of a column's sums.
    dim_t sums_bytes() const { return src_tiles_ * amx_row_bytes; }
    template <typename run_t>
    void for_sums(run_t &&run) {
        for (int w = 0; w < weights_tiles; ++w)
            for (int s = 0; s < src_tiles_; ++s)
                run(w, s,
                        bytes(group_sums_at
                                + (w * src_tiles_ + s) * amx_tile_bytes));
    }
    void zero_sums() {
        for_sums([&](int w, int s, size_t) {
            tilezero(Tmm(tile_of_sums(s, w)));
        });
    }
    void store_group() {
        for_sums([&](int w, int s, size_t at) {
            tilestored(ptr[work_ + line_ + at], Tmm(tile_of_sums(s, w)));
        });
        zero_sums();
    }

    // Ends the sums of the columns before, if there are any.
    void begin_sums() {
        Label l_first;
        test(sums_, sums_);
        jz(l_first, T_NEAR);
        scale(steps_down - 1);
        L(l_first);
        next_sums();
        mov(scales_, arg(offsetof(args_t, scales)));
        add(arg(offsetof(args_t, scales)),
                static_cast<uint32_t>(step_cols * 4));
    }

    // Adds the scaled sums of a group.
    void scale(int down) {
        const auto group = static_cast<int>(down * step_depth / w_.group);
        if (group > 0)
            imul(scratch_, arg(offsetof(args_t, parameters_pitch)), group);
        for_sums([&](int w, int s, size_t at) {
            for (int c = 0; c < amx_tile_rows; ++c) {
                const int col = w * static_cast<int>(amx_tile_rows) + c;
                const Zmm sum = row_words_[c % words];
                const Zmm added = looked_up_[c % nibbles];
                const RegExp scale = scales_ + bytes(col * 4);
                const auto to = ptr[sums_
                                    + bytes(col * sums_bytes()
                                            + s * amx_row_bytes)];
                vmovups(sum, ptr[work_ + at + bytes(c * amx_row_bytes)]);
                vmovups(added, to);
                vfmadd231ps(added, sum,
                        group > 0 ? ptr_b[scale + scratch_] : ptr_b[scale]);
                vmovups(to, added);
            }
        });
    }
};

// Copies the first rows of blocks; later ones are copied by generated code.
void copy_blocks(const char *from, dim_t pitch, dim_t cols, char *to) {
    for (dim_t r = 0; r < block_depth; ++r)
        for (dim_t n = 0; n < cols / block_cols; ++n)
            std::copy_n(from + r * pitch + n * amx_row_bytes, amx_row_bytes,
                    to + n * copy_bytes + r * amx_row_bytes);
}

const char *weights_of(const skinny_weights_t &w, void *const *buffers,
        const skinny_gemm_t::block_t &block) {
    return static_cast<const char *>(buffers[0])
           + bytes_of(w.type, block.first_col);
}

// Computes the sums of up to amx_most_rows rows, columns x `pitch`.
void multiply_blocks(const skinny_weights_t &w, int terms,
        const jit_function_t<args_t> &code, const char *weights,
        const skinny_gemm_t::block_t &block, const char *a, dim_t rows,
        dim_t pitch, float *sums) {
    alignas(64) char work[work_bytes];
    std::fill_n(sums, pitch * block.cols, 0.f);
    const tile_config_t config = config_of(rows, terms);
    args_t args {};
    args.config = &config;
    args.work = work;
    args.rows = rows;
    args.a_tile = amx_tile_rows * rows * 4;
    args.parameters_pitch = 4 * block.c_pitch;
    args.row_lines = args.lines = block.cols / block_cols;
    const dim_t weights_pitch = bytes_of(w.type, w.pitch);
    const dim_t width = args.row_lines * amx_row_bytes;
    args.row_gap = weights_pitch - width;
    args.ahead = div_up(copy_ahead, width) * weights_pitch;
    args.from = weights + block_depth * weights_pitch;
    char *copies[2];
    copies[0] = reinterpret_cast<char *>(sums + pitch * block.cols);
    copies[1] = copies[0] + args.row_lines * copy_bytes;
    copy_blocks(weights, weights_pitch, block.cols, copies[0]);
    for (dim_t k = 0; k < w.depth; k += block_depth) {
        const dim_t parameters = k / w.group * block.c_pitch;
        args.has_next = k + block_depth < w.depth;
        args.copy = copies[0];
        args.to = args.to_row = copies[1];
        args.a = a + k * terms * (terms > 1 ? pitch : rows) * 2;
        args.sums = sums;
        for (dim_t n = 0; n < block.cols;
                n += block_cols, args.copy += copy_bytes) {
            args.scales = block.scales + parameters + n;
            args.zps = block.zps + parameters + n;
            code(args);
        }
        std::swap(copies[0], copies[1]);
    }
    args.is_end = 1;
    code(args);
}

class jit_amx_transposed_t : public amx_lookup_t {
public:
    using amx_lookup_t::amx_lookup_t;

    const char *name() const override {
        return "jit_matmul_transposed_amx_bf16";
    }
    dim_t nr() const override { return block_cols; }
    bool parameters_by_column() const override { return false; }
    void pack(const void *from, dim_t pitch, dim_t rows, dim_t begin, dim_t end,
            void *packed) const noexcept override;
    dim_t partial_floats() const override {
        return 1 + div_up(copy_floats, most_rows_);
    }

    result_t make(dim_t rows) {
        most_rows_ = rows;
        return code_.make<generator_t>(weights_, rows, 1);
    }

    void run(void *const *buffers,
            const block_t &block) const noexcept override {
        multiply_blocks(weights_, 1, code_.of(block.rows),
                weights_of(weights_, buffers, block), block,
                static_cast<const char *>(block.a), block.rows, block.rows,
                block.partial);
        amx_store_sums(block.partial, block.rows, block.cols, block.rows,
                block.c, block.c_pitch);
    }

private:
    amx_code_t<args_t> code_;
    dim_t most_rows_ = 1;
};

void jit_amx_transposed_t::pack(const void *from, dim_t pitch, dim_t rows,
        dim_t begin, dim_t end, void *packed) const noexcept {
    auto *to = static_cast<uint16_t *>(packed) + begin * amx_depth * rows;
    for (dim_t k = begin * amx_depth; k < end * amx_depth; k += 2)
        for (dim_t row = 0; row < rows; ++row, to += 2)
            std::copy_n(amx_row(from, row * pitch) + k, 2, to);
}

// The same for terms of f32.
class jit_amx_terms_transposed_t : public amx_terms_t {
public:
    using amx_terms_t::amx_terms_t;

    const char *name() const override {
        return "jit_matmul_transposed_amx_f32";
    }
    dim_t nr() const override { return block_cols; }
    bool parameters_by_column() const override { return false; }
    dim_t partial_floats() const override {
        return div_up(amx_src_tiles(most_rows_) * amx_tile_rows + copy_floats,
                most_rows_);
    }

    result_t make(dim_t rows) {
        most_rows_ = rows;
        const result_t fits = check();
        return fits.ok() ? code_.make<generator_t>(weights_, rows, f32_terms)
                         : fits;
    }

    void run(void *const *buffers,
            const block_t &block) const noexcept override {
        for_rows(block, [&](dim_t row, dim_t rows, const char *a) {
            const dim_t pitch = amx_src_tiles(rows) * amx_tile_rows;
            multiply_blocks(weights_, f32_terms, code_.of(rows),
                    weights_of(weights_, buffers, block), block, a, rows, pitch,
                    block.partial);
            amx_store_sums(block.partial, pitch, block.cols, rows,
                    block.c + row * block.c_pitch, block.c_pitch);
        });
    }

private:
    amx_code_t<args_t> code_;
    dim_t most_rows_ = 1;
};

} // namespace

result_t make_amx_transposed(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<const skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<jit_amx_transposed_t>(
            weights, rows, skinny_gemm);
}

result_t make_amx_terms_transposed(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<const skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<jit_amx_terms_transposed_t>(
            weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
