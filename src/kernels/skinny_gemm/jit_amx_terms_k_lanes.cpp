// A skinny GEMM of f32 by [N,K] weights of 2, 4 or 8 bits, multiplied by tiles
// of AMX: jit_amx_terms.hpp. Sixteen columns of weights, less their zero
// points, are the rows of a tile, and src has a column for each of its rows.
//
//   for each 128 of depth: for each sixteen columns (a step):
//       look up or convert 16 x 128 weights, and store them in L1 as tiles
//       scale the groups' sums of two steps before, and add them to those of
//           the columns
//       multiply the tiles of the step before by each term of src
//
// The code goes over all columns for each 128 of depth, so that the terms of so
// much depth stay in L1.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/skinny_gemm/jit_amx_terms.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// The code changes its arguments as it goes.
struct args_t {
    const tile_config_t *config;
    const char *weights;       // of the first column
    const void *a;             // packed
    const float *scales, *zps; // of the first column
    float *sums;               // columns x (16 or 32)
    const float *src_sums;     // of src, if sums are corrected
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

constexpr int parts = amx_parts;
// The bytes of a step's tiles, and of a group's sums.
constexpr dim_t weights_bytes = parts * amx_tile_bytes,
                sums_bytes = 2 * amx_tile_bytes;
// Scratch memory: the tiles of two steps, which take turns, and then the sums
// of their groups.
constexpr dim_t sums_at = 2 * weights_bytes,
                work_bytes = sums_at + 2 * parts * sums_bytes;
// Columns whose sums are in scratch memory.
constexpr dim_t most_cols = 256;

class generator_t : public jit_amx_lookup_t {
public:
    generator_t(const skinny_weights_t &weights, int src_tiles,
            const amx_layout_t &layout)
        : jit_amx_lookup_t(
                  "jit_amx_terms_k_lanes", weights, src_tiles, layout) {}

private:
    // Columns whose nibbles are in registers at once.
    static constexpr int set_cols = 4;
    static constexpr int step_sets = amx_tile_rows / set_cols;
    static_assert(step_sets == parts, "a part is multiplied with each set");

    // The uses of tiles. Tiles of a and of weights take turns.
    static constexpr int tile_of_a(int i) { return 4 + i % 2; }
    static constexpr int tile_of_weights(int part) { return 6 + part % 2; }
    // A store of a tile waits for its sums, so the tiles of groups take turns.
    static constexpr int tile_of_sums(int group, int s) {
        return group % 2 * 2 + s;
    }

    const Reg64 weights_at_ = general_.take("weights", rsi),
                a_ = general_.take("a of a tile", rax),
                tiles_ = general_.take("tiles of this step", rcx),
                last_tiles_ = general_.take("tiles of the step before", rdx),
                steps_ = general_.take("tiles of columns to go, of all", r14),
                groups_sums_ = general_.take("groups' sums of this step", r15),
                scratch_ = a_pitch_, finished_sums_ = row_pitch_;

    const vmms_t raws_ = vectors_.take("nibbles of columns", set_cols),
                 tables_ = vectors_.take("tables", corrects_sums() ? 1 : 4),
                 numbers_of_ = vectors_.take("weights", parts),
                 spread_ = vectors_.take("the byte of each nibble", parts),
                 scaled_by_ = vectors_.take("scales", 2),
                 added_ = vectors_.take("sums", 4),
                 src_sums_
                 = vectors_.take("sums of src", corrects_sums() ? 8 : 0);
    const Zmm numbers_ = vectors_.take("numbers"),
              upper_ = vectors_.take("the upper words"),
              shifts_ = vectors_.take("the nibble of a byte"),
              zp_ = vectors_.take("zero point, or sums to correct");

    void generate() override {
        preamble();
        load_arguments();
        load_constants();
        if (multiplies()) multiply_steps();
        else make_steps();
        postamble();
    }

    void make_steps() {
        Label l_step;
        align(32);
        L(l_step);
        take_step(true, false);
        add(tiles_, weights_bytes);
        dec(steps_);
        jnz(l_step, T_NEAR);
    }

    void multiply_steps() {
        look_up_steps(steps_, [this](bool multiplies) {
            take_step(true, multiplies);
            xchg(tiles_, last_tiles_);
        });
        take_step(false, true);
        if (takes_turns()) store_sums(parts - 1, finished_sums_);
        for (int set = 0; set < step_sets; ++set)
            scale(set);
        tilerelease();
    }

    // Makes a step's tiles, and multiplies those of the step before it. The
    // sums of that one are scaled in the next step, so that nothing waits for
    // them.
    void take_step(bool makes, bool multiplies) {
        for (int set = 0; set < step_sets; ++set) {
            Label l_no_sums;
            if (makes) make_columns(set);
            if (!multiplies) continue;
            multiply(set);
            cmp(arg(offsetof(args_t, has_sums)), 0);
            je(l_no_sums, T_NEAR);
            scale(set);
            L(l_no_sums);
        }
        if (multiplies) {
            mov(arg(offsetof(args_t, has_sums)), 1);
            xchg(groups_sums_, finished_sums_);
        }
        if (makes) next_weights();
    }

    void load_arguments() {
        mov(weights_at_, arg(offsetof(args_t, weights)));
        mov(a_, arg(offsetof(args_t, a)));
        mov(scales_, arg(offsetof(args_t, scales)));
        mov(zps_, arg(offsetof(args_t, zps)));
        mov(sums_, arg(offsetof(args_t, sums)));
        mov(tiles_, arg(offsetof(args_t, work)));
        mov(ahead_, arg(offsetof(args_t, ahead)));
        mov(steps_, arg(offsetof(args_t, steps)));
        lea(last_tiles_, ptr[tiles_ + bytes(weights_bytes)]);
        lea(groups_sums_, ptr[tiles_ + bytes(sums_at)]);
        lea(finished_sums_, ptr[groups_sums_ + bytes(groups_ * sums_bytes)]);
        mov(line_, amx_row_bytes);
        if (!multiplies()) return;
        mov(scratch_, arg(offsetof(args_t, config)));
        ldtilecfg(ptr[scratch_]);
        for (int group = 0; group < 2; ++group)
            zero_sums(group);
    }
    void zero_sums(int group) {
        for (int s = 0; s < src_tiles_; ++s)
            tilezero(Tmm(tile_of_sums(group, s)));
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
        if (!subtracts()) vpshufb(tables_[0], numbers_, upper_);
    }

    void load_constants_of_bytes() {
        vmovups(numbers_, constant(bits_around_byte()));
        vmovups(upper_, constant(0xffff0000));
        vmovups(shifts_, constant(0xff));
        vmovups(zp_, numbers_);
    }

    void make_columns(int set) {
        const int first = set * set_cols;
        const dim_t bytes_of_set = bytes_of(w_.type, set_cols * amx_depth);
        const dim_t lines = bytes_of_set / amx_row_bytes;
        for (int c = 0; c < set_cols; ++c) {
            for (dim_t i = lines * c / set_cols;
                    multiplies() && i < lines * (c + 1) / set_cols; ++i)
                prefetch_line();
            if (is_nibble())
                load_nibbles_of(raws_[c], weight(first + c), numbers_of_[0]);
        }
        for (int c = 0; c < set_cols; ++c)
            if (is_nibble()) look_up(first + c, raws_[c]);
            else if (is_f8()) convert_f8(first + c);
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
        if (w_.pitch == w_.depth) return;
        const dim_t lines = div_up(col, amx_row_bytes);
        const dim_t gap = bytes_of(w_.type, w_.pitch) - lines * amx_row_bytes;
        dec(arg(offsetof(args_t, lines_ahead)));
        jnz(l_within);
        if (gap < 0) sub(ahead_, static_cast<uint32_t>(-gap));
        else add(ahead_, static_cast<uint32_t>(gap));
        mov(arg(offsetof(args_t, lines_ahead)), static_cast<uint32_t>(lines));
        L(l_within);
    }

    void look_up(int col, const Zmm &raw) {
        for (int g = 0; subtracts() && g < groups_; ++g) {
            vsubps(tables_[g], numbers_, zp_of(col, g));
            vpshufb(tables_[g], tables_[g], upper_);
        }
        for (int part = 0; part < parts; ++part) {
            const Zmm w = numbers_of_[part];
            vpermb(w, spread_[part], raw);
            vpsrlvw(w, w, shifts_);
            vpermw(w, w, tables_[subtracts() ? group_of(part) : 0]);
            store(part, col, w);
        }
    }

    // Bytes of a pair become two floats. Their upper halves are the pair.
    void convert(int col) {
        constexpr uint8_t and_xor = 0x78, and_or = 0xf8;
        for (int part = 0; part < parts; ++part) {
            if (has_zps() && begins_group(part))
                vaddps(zp_, numbers_, zp_of(col, group_of(part)));
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

    // A bf16 holds them exactly.
    void convert_f8(int col) {
        for (int part = 0; part < parts; ++part) {
            const Zmm first = numbers_of_[part], second = raws_[part];
            load_f8_pair(first, second, weight(col, part * amx_row_bytes / 2),
                    numbers_);
            multiply_by_unit(first);
            multiply_by_unit(second);
            vcvtne2ps2bf16(first, second, first);
            store(part, col, first);
        }
    }

    // The next sixteen columns, or the next depth of the first ones.
    void next_weights() {
        Label l_end;
        advance(weights_at_, amx_tile_rows * bytes_of(w_.type, w_.pitch));
        if (subtracts()) advance(zps_, amx_tile_rows * w_.groups() * 4);
        dec(arg(offsetof(args_t, looked_up_tiles)));
        jnz(l_end);
        sub(weights_at_, arg(offsetof(args_t, weights_back)));
        if (subtracts()) sub(zps_, arg(offsetof(args_t, parameters_back)));
        rewind(offsetof(args_t, looked_up_tiles));
        if (subtracts())
            next_group({zps_}, arg(offsetof(args_t, looked_up_group)));
        L(l_end);
    }
    void rewind(size_t tiles) {
        mov(scratch_, arg(offsetof(args_t, tiles)));
        mov(arg(tiles), scratch_);
    }

    // True if a step has several groups.
    bool takes_turns() const { return groups_ > 1; }
    void multiply(int part) {
        const Tmm weights(tile_of_weights(part));
        const int group = group_of(part);
        if (takes_turns() && begins_group(part)) zero_sums(group);
        tileloadd(weights,
                ptr[last_tiles_ + line_ + bytes(part * amx_tile_bytes)]);
        for (int t = 0; t < layout_.terms; ++t) {
            for (int s = 0; s < src_tiles_; ++s) {
                const Tmm a(tile_of_a(src_tiles_ == 1 ? t : s));
                tileloadd(a, ptr[a_ + line_
                                     + bytes((t * src_tiles_ + s)
                                             * amx_tile_bytes)]);
                tdpbf16ps(Tmm(tile_of_sums(group, s)), weights, a);
            }
            if (t == 0 && takes_turns() && begins_group(part))
                store_before(part);
        }
        advance(a_, part_bytes());
        if (part + 1 == parts) next_a();
        if (takes_turns() || !ends_group(part)) return;
        store_sums(part, groups_sums_);
        zero_sums(group);
    }
    // Stores the sums of the group before.
    void store_before(int part) {
        if (part > 0) store_sums(part - 1, groups_sums_);
        else store_sums(parts - 1, finished_sums_);
    }
    void store_sums(int part, const Reg64 &sums) {
        const int group = group_of(part);
        for (int s = 0; s < src_tiles_; ++s)
            tilestored(ptr[sums + line_ + bytes(place_of(group, s))],
                    Tmm(tile_of_sums(group, s)));
    }
    static dim_t place_of(int group, int s) {
        return group * sums_bytes + s * amx_tile_bytes;
    }

    // The bytes of a part of a.
    dim_t part_bytes() const {
        return layout_.terms * src_tiles_ * amx_tile_bytes;
    }

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
    }

    // Adds the scaled sums of all groups of some columns.
    void scale(int set) {
        if (corrects_sums()) load_src_sums();
        for (int i = 0; i < set_cols; ++i) {
            const int c = set * set_cols + i;
            const auto sums_of = [&](int s) {
                return ptr[sums_ + bytes((c * src_tiles_ + s) * amx_row_bytes)];
            };
            const auto added = [&](int s) {
                return added_[(i * src_tiles_ + s) % added_.count()];
            };
            for (int s = 0; s < src_tiles_; ++s)
                vmovups(added(s), sums_of(s));
            for (int group = 0; group < groups_; ++group) {
                const Zmm scale = scaled_by_[group % scaled_by_.count()];
                const size_t parameter = bytes((c * w_.groups() + group) * 4);
                vbroadcastss(scale, ptr[scales_ + parameter]);
                for (int s = 0; s < src_tiles_; ++s) {
                    const auto sum = ptr[finished_sums_
                                         + bytes(place_of(group, s)
                                                 + c * amx_row_bytes)];
                    if (!corrects_sums()) {
                        vfmadd231ps(added(s), scale, sum);
                        continue;
                    }
                    vmovups(zp_, sum);
                    vfnmadd231ps(zp_, src_sums_[group * src_tiles_ + s],
                            ptr_b[zps_ + parameter]);
                    vfmadd231ps(added(s), scale, zp_);
                }
            }
            for (int s = 0; s < src_tiles_; ++s)
                vmovups(sums_of(s), added(s));
        }
        if (set + 1 == step_sets) next_sums();
    }
    void load_src_sums() {
        mov(scratch_, arg(offsetof(args_t, src_sums)));
        for (int i = 0; i < groups_ * src_tiles_; ++i)
            vmovups(src_sums_[i], ptr[scratch_ + bytes(i * amx_row_bytes)]);
    }

    void next_sums() {
        Label l_end;
        advance(sums_, amx_tile_rows * src_tiles_ * amx_row_bytes);
        std::vector<Reg64> parameters {scales_};
        if (corrects_sums()) parameters.push_back(zps_);
        for (const Reg64 &of : parameters)
            advance(of, amx_tile_rows * w_.groups() * 4);
        dec(arg(offsetof(args_t, scaled_tiles)));
        jnz(l_end);
        sub(sums_, arg(offsetof(args_t, sums_back)));
        for (const Reg64 &of : parameters)
            sub(of, arg(offsetof(args_t, parameters_back)));
        rewind(offsetof(args_t, scaled_tiles));
        next_group(parameters, arg(offsetof(args_t, scaled_group)));
        if (corrects_sums())
            advance(arg(offsetof(args_t, src_sums)),
                    groups_ * src_tiles_ * amx_row_bytes);
        L(l_end);
    }
};

class jit_amx_terms_k_lanes_t : public amx_terms_t {
public:
    using amx_terms_t::amx_terms_t;

    dim_t nr() const override {
        return is_of_many_rows() ? amx_panel_cols : amx_tile_rows;
    }
    dim_t partial_floats() const override {
        return is_of_many_rows() ? floats_of_sums(0) : 0;
    }

    result_t make(dim_t rows) { return make_code<generator_t>(rows, code_); }

private:
    void run_in_turns(
            void *const *buffers, const block_t &block) const noexcept override;
    void run_columns(void *const *buffers, const block_t &block) const noexcept;
    void make_tiles(void *const *buffers, const block_t &block,
            const amx_tiles_part_t &part) const noexcept override;
    args_t args_of(void *const *buffers, const block_t &block, dim_t k,
            dim_t depth) const noexcept;

    amx_code_t<args_t> code_;
};

// The arguments of tiles of weights, from depth `k` on.
args_t jit_amx_terms_k_lanes_t::args_of(void *const *buffers,
        const block_t &block, dim_t k, dim_t depth) const noexcept {
    const skinny_weights_t &w = weights_;
    const dim_t pitch = bytes_of(w.type, w.pitch), group = k / w.group;
    args_t args {};
    args.weights = weights_at(buffers, block.first_col, k);
    args.zps = block.zps + group;
    args.tiles = args.looked_up_tiles = block.cols / amx_tile_rows;
    args.steps = args.tiles * (depth / amx_depth);
    args.weights_back = block.cols * pitch - bytes_of(w.type, amx_depth);
    args.parameters_back = block.cols * w.groups() * 4;
    args.looked_up_group = ((group + 1) * w.group - k) / amx_depth;
    return args;
}

void jit_amx_terms_k_lanes_t::make_tiles(void *const *buffers,
        const block_t &block, const amx_tiles_part_t &part) const noexcept {
    args_t args = args_of(buffers, block, part.k, part.depth);
    args.work = reinterpret_cast<char *>(part.tiles);
    code_.of(1)(args);
}

void jit_amx_terms_k_lanes_t::run_in_turns(
        void *const *buffers, const block_t &block) const noexcept {
    for (dim_t n = 0; n < block.cols; n += most_cols) {
        block_t columns = block;
        columns.first_col += n;
        columns.cols = std::min(most_cols, block.cols - n);
        columns.c += n;
        columns.scales += n * weights_.groups();
        columns.zps += n * weights_.groups();
        for_rows(columns,
                [&](const block_t &rows) { run_columns(buffers, rows); });
    }
}

// Multiplies as many columns as sums have room for.
void jit_amx_terms_k_lanes_t::run_columns(
        void *const *buffers, const block_t &block) const noexcept {
    alignas(64) char work[work_bytes];
    alignas(64) float sums[most_cols * amx_most_rows];
    const dim_t pitch = room_of(block.rows);
    const tile_config_t config = amx_whole_tiles();
    std::fill_n(sums, block.cols * pitch, 0.f);
    args_t args = args_of(buffers, block, 0, weights_.depth);
    args.config = &config;
    args.a = block.a;
    args.scales = block.scales;
    args.sums = sums;
    args.src_sums = src_sums(block);
    args.work = work;
    args.ahead = args.weights
                 + block.cols * bytes_of(weights_.type, weights_.pitch);
    args.lines_ahead
            = div_up(bytes_of(weights_.type, weights_.depth), amx_row_bytes);
    args.sums_back = block.cols * pitch * 4;
    args.scaled_tiles = args.multiplied_tiles = args.tiles;
    args.scaled_group = args.looked_up_group;
    code_.of(block.rows)(args);
    store_sums(block, sums);
}

} // namespace

result_t make_k_lanes_amx_f32(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<jit_amx_terms_k_lanes_t>(
            weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
