// A skinny GEMM of f32 by [N,K] weights of 4 or 8 bits, multiplied by the tiles
// of AMX: jit_amx_terms.hpp. Sixteen columns of weights, less their zero
// points, are the rows of a tile, and src has a column for each of its rows.
//
//   for each 128 of depth: for each sixteen columns (a step):
//       look up or convert 16 x 128 weights, and store them in L1 as four tiles
//       multiply the four tiles of the step before by three terms of src
//       scale its groups' sums, and add them to those of the columns
//
// So the terms of a step's depth stay in L1.

#include <algorithm>
#include <cstddef>

#include "kernels/skinny_gemm/jit_amx_terms.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int parts = static_cast<int>(amx_parts);
constexpr dim_t weights_bytes = parts * amx_tile_bytes;
// Columns whose nibbles are in registers at once.
constexpr int set_cols = 4;
constexpr int step_sets = amx_tile_rows / set_cols;
static_assert(step_sets == parts, "a part is multiplied with each set");

// Columns whose sums are in scratch memory.
constexpr dim_t most_cols = 256;
constexpr int sums_tiles = 2;
// Scratch memory: the tiles of two steps, which take turns, and sums.
constexpr dim_t sums_at = 2 * weights_bytes;
constexpr dim_t work_bytes = sums_at + sums_tiles * amx_tile_bytes;

struct args_t {
    const tile_config_t *config;
    const char *weights;       // of the first column
    const void *a;             // packed
    const float *scales, *zps; // of the first column
    float *sums;               // columns x (16 or 32)
    char *work;                // work_bytes
    const char *ahead;         // weights to prefetch
    dim_t lines_ahead;         // of their column, to go
    dim_t tiles;               // of columns
    dim_t steps;
    // Back to the first column: of weights, parameters and sums, in bytes.
    dim_t weights_back, parameters_back, sums_back;
    // Tiles of columns to go, and steps of the group, of what is looked up and
    // of what is scaled.
    dim_t looked_up_tiles, looked_up_group, scaled_tiles, scaled_group;
    dim_t multiplied_tiles;
    dim_t has_sums; // a step was multiplied
};

// The uses of tiles. Tiles of a and of weights take turns.
constexpr int tile_of_a(int i) {
    return 4 + i % 2;
}
constexpr int tile_of_weights(int part) {
    return 6 + part % 2;
}

tile_config_t config_of(dim_t src_tiles) {
    tile_config_t config;
    for (int i = 0; i < 2; ++i) {
        config.set(tile_of_weights(i), amx_tile_rows, amx_row_bytes);
        config.set(tile_of_a(i), amx_tile_rows, amx_row_bytes);
    }
    for (int s = 0; s < src_tiles; ++s)
        config.set(s, amx_tile_rows, amx_row_bytes);
    return config;
}

class generator_t : public jit_amx_lookup_t {
public:
    generator_t(const skinny_weights_t &weights, int src_tiles)
        : jit_amx_lookup_t("jit_amx_terms_k_lanes", weights, src_tiles)
        , tables_count_(amx_groups_of_step(weights)) {}

private:
    const int tables_count_;

    const Reg64 weights_at_ = general_.take("weights", rsi),
                a_ = general_.take("a of a tile", rax),
                tiles_ = general_.take("tiles of this step", rcx),
                last_tiles_ = general_.take("tiles of the step before", rdx),
                steps_ = general_.take("tiles of columns to go, of all", r14),
                work_ = general_.take("scratch memory", r15),
                scratch_ = a_pitch_;

    const vmms_t raws_ = vectors_.take("nibbles of columns", set_cols),
                 tables_ = vectors_.take("tables", 4),
                 numbers_of_ = vectors_.take("weights", parts),
                 spread_ = vectors_.take("the byte of each nibble", parts),
                 scaled_ = vectors_.take("sums to scale", 4),
                 added_ = vectors_.take("sums", 4);
    const Zmm numbers_ = vectors_.take("numbers"),
              upper_ = vectors_.take("the upper words"),
              shifts_ = vectors_.take("the nibble of a byte"),
              zp_ = vectors_.take("zero point");

    void generate() override {
        preamble();
        load_arguments();
        load_constants();
        Label l_step, l_end;
        look_up_step(false);
        dec(steps_);
        jz(l_end, T_NEAR);
        align(32);
        L(l_step);
        look_up_step(true);
        dec(steps_);
        jnz(l_step, T_NEAR);
        L(l_end);
        for (int part = 0; part < parts; ++part) {
            scale_before(part);
            multiply(part);
        }
        scale(parts - 1);
        tilerelease();
        postamble();
    }

    void load_arguments() {
        mov(line_, arg(offsetof(args_t, config)));
        ldtilecfg(ptr[line_]);
        mov(weights_at_, arg(offsetof(args_t, weights)));
        mov(a_, arg(offsetof(args_t, a)));
        mov(scales_, arg(offsetof(args_t, scales)));
        mov(zps_, arg(offsetof(args_t, zps)));
        mov(sums_, arg(offsetof(args_t, sums)));
        mov(tiles_, arg(offsetof(args_t, work)));
        mov(ahead_, arg(offsetof(args_t, ahead)));
        mov(steps_, arg(offsetof(args_t, steps)));
        lea(last_tiles_, ptr[tiles_ + bytes(weights_bytes)]);
        lea(work_, ptr[tiles_ + bytes(sums_at)]);
        mov(line_, static_cast<uint32_t>(amx_row_bytes));
        for (int s = 0; s < src_tiles_; ++s)
            tilezero(Tmm(s));
    }

    void load_constants() {
        if (is_nibble()) load_constants_of_nibbles();
        else load_constants_of_bytes();
    }

    void load_constants_of_nibbles() {
        vmovups(numbers_, constant(nibble_numbers(w_.type)));
        // A table's lane has a number twice, so that a nibble is the bits 1 to
        // 4 of an index.
        lanes_t upper_words;
        for (uint32_t i = 0; i < upper_words.size(); ++i)
            upper_words[i] = 0x03020302 + i % 4 * 0x04040404;
        vmovups(upper_, constant(upper_words));
        // Both bytes of a word are that of its nibble.
        for (int part = 0; part < parts; ++part) {
            lanes_t bytes_of_words;
            for (uint32_t i = 0; i < bytes_of_words.size(); ++i)
                bytes_of_words[i]
                        = (16 * static_cast<uint32_t>(part) + i) * 0x01010101u;
            vmovups(spread_[part], constant(bytes_of_words));
        }
        vmovups(shifts_, constant(0x00030007));
        if (!has_zps()) vpshufb(tables_[0], numbers_, upper_);
    }

    void load_constants_of_bytes() {
        vmovups(numbers_, constant(bits_around_byte()));
        vmovups(upper_, constant(0xffff0000));
        vmovups(shifts_, constant(0xff));
        vmovups(zp_, numbers_);
    }

    // Looks a step's weights up, and multiplies those of the step before it.
    void look_up_step(bool multiplies) {
        for (int set = 0; set < step_sets; ++set) {
            make_columns(set);
            if (multiplies) {
                scale_before(set);
                multiply(set);
            }
        }
        next_weights();
        xchg(tiles_, last_tiles_);
    }

    void make_columns(int set) {
        const int first = set * set_cols;
        const dim_t lines = bytes_of(w_.type, amx_depth) / amx_row_bytes;
        for (int c = 0; c < set_cols; ++c) {
            for (dim_t i = 0; i < lines; ++i)
                prefetch_line();
            if (is_nibble()) vmovups(raws_[c], weight(first + c));
        }
        for (int c = 0; c < set_cols; ++c)
            if (is_nibble()) look_up(first + c, raws_[c]);
            else convert(first + c);
    }
    Address weight(int col, dim_t offset = 0) {
        return ptr[weights_at_
                   + bytes(col * bytes_of(w_.type, w_.pitch) + offset)];
    }
    Address zp_of(int col, int group) {
        return ptr_b[zps_ + bytes((col * w_.groups() + group) * 4)];
    }
    void store(int part, int col, const Zmm &weights) {
        vmovups(ptr[tiles_
                        + bytes(part * amx_tile_bytes + col * amx_row_bytes)],
                weights);
    }

    // Prefetches the next columns in the order of addresses.
    void prefetch_line() {
        Label l_within;
        const dim_t col = bytes_of(w_.type, w_.depth);
        prefetch_stream(ptr[ahead_]);
        add(ahead_, line_);
        const dim_t gap = bytes_of(w_.type, w_.pitch) - col;
        if (gap == 0) return;
        dec(arg(offsetof(args_t, lines_ahead)));
        jnz(l_within);
        add(ahead_, static_cast<uint32_t>(gap));
        mov(arg(offsetof(args_t, lines_ahead)),
                static_cast<uint32_t>(col / amx_row_bytes));
        L(l_within);
    }

    void look_up(int col, const Zmm &raw) {
        for (int g = 0; has_zps() && g < tables_count_; ++g) {
            vsubps(tables_[g], numbers_, zp_of(col, g));
            vpshufb(tables_[g], tables_[g], upper_);
        }
        for (int part = 0; part < parts; ++part) {
            const Zmm w = numbers_of_[part];
            vpermb(w, spread_[part], raw);
            vpsrlvw(w, w, shifts_);
            vpermw(w, w, tables_[has_zps() ? group_of(part) : 0]);
            store(part, col, w);
        }
    }

    // Bytes of a pair become two floats. Their upper halves are the pair.
    void convert(int col) {
        constexpr uint8_t and_xor = 0x78, and_or = 0xf8;
        for (int part = 0; part < parts; ++part) {
            const int group = group_of(part);
            if (has_zps() && (part == 0 || group != group_of(part - 1)))
                vaddps(zp_, numbers_, zp_of(col, group));
            const Zmm even = numbers_of_[part], odd = raws_[part];
            vpmovzxwd(odd, weight(col, part * amx_row_bytes / 2));
            vmovdqa32(even, numbers_);
            vpternlogd(even, odd, shifts_, and_xor);
            vpsrld(odd, odd, 8);
            vpxord(odd, odd, numbers_);
            vsubps(even, even, zp_);
            vsubps(odd, odd, zp_);
            vpsrld(even, even, 16);
            vpternlogd(even, odd, upper_, and_or);
            store(part, col, even);
        }
    }

    // The next sixteen columns, or the next depth of the first ones.
    void next_weights() {
        const auto parameters
                = static_cast<uint32_t>(amx_tile_rows * w_.groups() * 4);
        Label l_end;
        add(weights_at_, static_cast<uint32_t>(
                                 amx_tile_rows * bytes_of(w_.type, w_.pitch)));
        if (has_zps()) add(zps_, parameters);
        dec(arg(offsetof(args_t, looked_up_tiles)));
        jnz(l_end);
        sub(weights_at_, arg(offsetof(args_t, weights_back)));
        if (has_zps()) sub(zps_, arg(offsetof(args_t, parameters_back)));
        rewind(offsetof(args_t, looked_up_tiles));
        if (has_zps()) next_group(zps_, offsetof(args_t, looked_up_group));
        L(l_end);
    }
    void rewind(size_t tiles) {
        mov(scratch_, arg(offsetof(args_t, tiles)));
        mov(arg(tiles), scratch_);
    }

    // Goes on to the groups of the next depth.
    void next_group(const Reg64 &parameters, size_t steps_of_group) {
        if (w_.groups() == 1) return;
        Label l_same;
        if (w_.group > amx_depth) {
            dec(arg(steps_of_group));
            jnz(l_same);
            mov(arg(steps_of_group),
                    static_cast<uint32_t>(w_.group / amx_depth));
        }
        add(parameters, 4u * static_cast<uint32_t>(tables_count_));
        L(l_same);
    }

    int group_of(int part) const { return part * tables_count_ / parts; }
    bool ends_group(int part) const {
        return (part + 1) * tables_count_ % parts == 0;
    }

    void multiply(int part) {
        const Tmm weights(tile_of_weights(part));
        tileloadd(weights,
                ptr[last_tiles_ + line_ + bytes(part * amx_tile_bytes)]);
        for (int t = 0; t < f32_terms; ++t) {
            for (int s = 0; s < src_tiles_; ++s) {
                const Tmm a(tile_of_a(src_tiles_ == 1 ? t : s));
                tileloadd(a, ptr[a_ + line_
                                     + bytes((t * src_tiles_ + s)
                                             * amx_tile_bytes)]);
                tdpbf16ps(Tmm(s), weights, a);
            }
        }
        add(a_, static_cast<uint32_t>(part_bytes()));
        if (part + 1 == parts) next_a();
        if (!ends_group(part)) return;
        for (int s = 0; s < src_tiles_; ++s) {
            tilestored(ptr[work_ + line_ + bytes(s * amx_tile_bytes)], Tmm(s));
            tilezero(Tmm(s));
        }
    }

    // The bytes of a part of a.
    dim_t part_bytes() const { return f32_terms * src_tiles_ * amx_tile_bytes; }

    // Back to this depth's first tile, unless it was multiplied by all columns.
    void next_a() {
        Label l_next, l_end;
        dec(arg(offsetof(args_t, multiplied_tiles)));
        jz(l_next);
        sub(a_, static_cast<uint32_t>(parts * part_bytes()));
        jmp(l_end);
        L(l_next);
        rewind(offsetof(args_t, multiplied_tiles));
        L(l_end);
        mov(arg(offsetof(args_t, has_sums)), 1);
    }

    // Scales what was summed before a part is multiplied, so that this does not
    // wait for it.
    void scale_before(int part) {
        if (part > 0) {
            if (ends_group(part - 1)) scale(part - 1);
            return;
        }
        Label l_none;
        cmp(arg(offsetof(args_t, has_sums)), 0);
        je(l_none, T_NEAR);
        scale(parts - 1);
        next_sums();
        L(l_none);
    }

    void scale(int part) {

        const int group = group_of(part);
        for (int c = 0; c < amx_tile_rows; ++c)
            for (int s = 0; s < src_tiles_; ++s) {
                const int i = (c * src_tiles_ + s) % 4;
                const Zmm sum = scaled_[i], added = added_[i];
                const size_t scale = bytes((c * w_.groups() + group) * 4);
                const auto to
                        = ptr[sums_
                                + bytes((c * src_tiles_ + s) * amx_row_bytes)];
                vmovups(sum, ptr[work_
                                     + bytes(s * amx_tile_bytes
                                             + c * amx_row_bytes)]);
                vmovups(added, to);
                vfmadd231ps(added, sum, ptr_b[scales_ + scale]);
                vmovups(to, added);
            }
    }

    void next_sums() {
        Label l_end;
        add(sums_, static_cast<uint32_t>(
                           amx_tile_rows * src_tiles_ * amx_row_bytes));
        add(scales_, static_cast<uint32_t>(amx_tile_rows * w_.groups() * 4));
        dec(arg(offsetof(args_t, scaled_tiles)));
        jnz(l_end);
        sub(sums_, arg(offsetof(args_t, sums_back)));
        sub(scales_, arg(offsetof(args_t, parameters_back)));
        rewind(offsetof(args_t, scaled_tiles));
        next_group(scales_, offsetof(args_t, scaled_group));
        L(l_end);
    }
};

class jit_amx_terms_k_lanes_t : public amx_terms_t {
public:
    using amx_terms_t::amx_terms_t;

    const char *name() const override { return "jit_matmul_k_lanes_amx_f32"; }
    dim_t nr() const override { return amx_tile_rows; }
    bool parameters_by_column() const override { return true; }
    dim_t partial_floats() const override { return 0; }

    result_t make(dim_t rows) {
        const result_t fits = check();
        return fits.ok() ? code_.make<generator_t>(weights_, rows) : fits;
    }

    void run(void *const *buffers,
            const block_t &block) const noexcept override {
        for (dim_t n = 0; n < block.cols; n += most_cols)
            for_rows(block, [&](const block_t &rows) {
                run_columns(buffers, rows, n);
            });
    }

private:
    // Multiplies columns from `first` on, as many as sums have room for.
    void run_columns(void *const *buffers, const block_t &block,
            dim_t first) const noexcept;

    amx_code_t<args_t> code_;
};

void jit_amx_terms_k_lanes_t::run_columns(void *const *buffers,
        const block_t &block, dim_t first) const noexcept {
    alignas(64) char work[work_bytes];
    alignas(64) float sums[most_cols * amx_most_rows];
    const dim_t groups = weights_.groups();
    const dim_t col = bytes_of(weights_.type, weights_.depth);
    const dim_t pitch = bytes_of(weights_.type, weights_.pitch);
    const dim_t cols = std::min(most_cols, block.cols - first);
    const dim_t src_tiles = amx_src_tiles(block.rows);
    const dim_t sums_pitch = src_tiles * amx_tile_rows;
    const tile_config_t config = config_of(src_tiles);
    std::fill_n(sums, cols * sums_pitch, 0.f);
    args_t args {};
    args.config = &config;
    args.weights = static_cast<const char *>(buffers[0])
                   + (block.first_col + first) * pitch;
    args.a = block.a;
    args.scales = block.scales + first * groups;
    args.zps = block.zps + first * groups;
    args.sums = sums;
    args.work = work;
    args.ahead = args.weights + cols * pitch;
    args.lines_ahead = col / amx_row_bytes;
    args.tiles = cols / amx_tile_rows;
    args.steps = args.tiles * (weights_.depth / amx_depth);
    args.weights_back = cols * pitch - bytes_of(weights_.type, amx_depth);
    args.parameters_back = cols * groups * 4;
    args.sums_back = cols * sums_pitch * 4;
    args.looked_up_tiles = args.scaled_tiles = args.multiplied_tiles
            = args.tiles;
    args.looked_up_group = args.scaled_group = weights_.group / amx_depth;
    code_.of(block.rows)(args);
    amx_store_sums(
            sums, sums_pitch, cols, block.rows, block.c + first, block.c_pitch);
}

} // namespace

result_t make_amx_terms_k_lanes(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<const skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<jit_amx_terms_k_lanes_t>(
            weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
