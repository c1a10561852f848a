// More rows than kernels take in turns. Tiles of weights are made once, in L2,
// and multiplied by all rows.
//
//   for each 512 of depth:
//     make the tiles of all columns
//     for each 32 rows: for each 128 or 256 of depth: for each 32 columns:
//       multiply tiles; scale the sums of the groups before
//
// Sums of a group are stored from tiles, scaled, and added to those of all
// groups before, which are in memory. A store waits for the tile that it
// stores. So a pair of tiles is stored when the next pair is being multiplied,
// and scaled after that:
//
//   part of depth    0        0        1        1        2 ...
//   tiles of src     0        1        0        1        0
//   multiply         pair 0   pair 1   pair 0   pair 1   pair 0
//   store            pair 1   pair 0   pair 1   pair 0   pair 1
//   scale            some of the sums that were stored before
//
// Each column of this table is a slot of the code below.

#include <algorithm>
#include <cstddef>

#include "base/prefetch.hpp"
#include "kernels/skinny_gemm/jit_amx_terms.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

struct amx_many_rows_args_t {
    const tile_config_t *config;
    const char *tiles; // of the first columns
    dim_t tiles_depth; // from 128 of the depth to the next, bytes
    const char *a;
    const char *ahead;   // of a, to prefetch
    char *work;          // work_bytes
    float *sums;         // of the first columns; the next ones follow
    const float *scales; // of the first columns
    dim_t group_pitch;   // of scales, bytes
    dim_t group_steps;   // 128 of depth that the first group still has
    dim_t steps;         // 128 of depth
    dim_t panels;        // of 32 columns
};

namespace {

using args_t = amx_many_rows_args_t;

constexpr int parts = amx_parts;
constexpr int weights_tiles = 2;
constexpr int panel_cols = amx_panel_cols;
constexpr dim_t panel_bytes = parts * weights_tiles * amx_tile_bytes;
constexpr dim_t most_group_bytes = 4 * amx_tile_bytes;
// The sums of up to four groups, and room for those that are scaled before
// there are any.
constexpr dim_t nowhere_at = 4 * most_group_bytes;
constexpr dim_t work_bytes = nowhere_at + most_group_bytes;
// Blocks of columns that are usual: as many as L2 has room for.
constexpr int usual_panels = 8;

constexpr int tile_of_a(int i) {
    return 4 + i % 2;
}
constexpr int tile_of_weights(int w) {
    return 6 + w;
}

class generator_t : public jit_amx_lookup_t {
public:
    generator_t(const skinny_weights_t &weights, int src_tiles,
            const amx_layout_t &layout)
        : jit_amx_lookup_t("jit_amx_many_rows", weights, src_tiles, layout)
        , sets_(groups_ > 1 ? 2 : 1)
        , slots_(parts * src_tiles) {}

private:
    // Groups are scaled in sets: half of a step's groups, or the only one.
    const int sets_;
    const int slots_;
    // The slot whose sums are complete, but not stored; or none.
    static constexpr int none = -1;
    int pending_ = none;

    const Reg64 tiles_ = general_.take("weights", rsi),
                a_ = general_.take("a", rax),
                work_ = general_.take("scratch memory", rcx),
                steps_ = general_.take("steps to go", rdx),
                panels_ = general_.take("panels to go", r14),
                last_sums_ = general_.take("sums of the step before", r15),
                last_scales_ = general_.take("scales of the step before", rbx),
                group_pitch_ = a_pitch_, group_ = zps_,
                second_group_ = row_pitch_;
    const vmms_t added_ = vectors_.take("sums", 8),
                 factors_ = vectors_.take("scales", 8);

    int set_groups() const { return groups_ / sets_; }
    int part_of(int slot) const { return slot / src_tiles_; }
    int src_tile_of(int slot) const { return slot % src_tiles_; }
    // The groups of one tile of src take turns, if a step has several.
    int pair_of(int slot) const {
        return src_tiles_ == 1 ? group_of(part_of(slot)) % 2
                               : src_tile_of(slot);
    }
    dim_t place_of_weights(int part, int w) const {
        return (w_.by_column ? w * parts + part : part * weights_tiles + w)
               * amx_tile_bytes;
    }
    // From column to column of scales, if columns are lines of tiles.
    dim_t col_bytes() const { return 4 * (w_.by_column ? w_.groups() : 1); }
    dim_t group_bytes() const {
        return weights_tiles * src_tiles_ * amx_tile_bytes;
    }
    dim_t place_of(int group, int w, int s) const {
        return group * group_bytes() + (w * src_tiles_ + s) * amx_tile_bytes;
    }
    void generate() override {
        Label l_panel, l_step;
        preamble();
        load_arguments();
        pending_ = slots_ - 1;
        L(l_panel);
        mov(a_, arg(offsetof(args_t, a)));
        mov(tiles_, arg(offsetof(args_t, tiles)));
        mov(scales_, arg(offsetof(args_t, scales)));
        mov(steps_, arg(offsetof(args_t, steps)));
        mov(group_, arg(offsetof(args_t, group_steps)));
        align(32);
        L(l_step);
        for (int slot = 0; slot < slots_; ++slot)
            take_slot(slot);
        next_step();
        dec(steps_);
        jnz(l_step, T_NEAR);
        next_panel();
        dec(panels_);
        jnz(l_panel, T_NEAR);
        flush();
        end_sums();
        tilerelease();
        postamble();
    }

    void load_arguments() {
        mov(line_, arg(offsetof(args_t, config)));
        ldtilecfg(ptr[line_]);
        mov(line_, amx_row_bytes);
        mov(work_, arg(offsetof(args_t, work)));
        mov(sums_, arg(offsetof(args_t, sums)));
        mov(ahead_, arg(offsetof(args_t, ahead)));
        mov(group_pitch_, arg(offsetof(args_t, group_pitch)));
        mov(panels_, arg(offsetof(args_t, panels)));
        lea(last_sums_, ptr[work_ + bytes(nowhere_at)]);
        mov(last_scales_, arg(offsetof(args_t, scales)));
        for (int i = 0; i < 4; ++i)
            tilezero(Tmm(i));
    }

    // Multiplies a part of the depth of a tile of src.
    void take_slot(int slot) {
        const int part = part_of(slot), s = src_tile_of(slot);
        const int pair = pair_of(slot);
        if (s == 0)
            for (int w = 0; w < weights_tiles; ++w)
                tileloadd(Tmm(tile_of_weights(w)),
                        ptr[tiles_ + line_ + bytes(place_of_weights(part, w))]);
        if (begins_group(part)) {
            if (pending_ != none && pair_of(pending_) == pair) flush();
            for (int w = 0; w < weights_tiles; ++w)
                tilezero(Tmm(2 * pair + w));
        }
        for (int t = 0; t < layout_.terms; ++t) {
            const Tmm a(tile_of_a(t + s));
            const int tile = (part * layout_.terms + t) * src_tiles_ + s;
            tileloadd(a, ptr[a_ + line_ + bytes(tile * amx_tile_bytes)]);
            for (int w = 0; w < weights_tiles; ++w)
                multiply_tiles(Tmm(2 * pair + w), Tmm(tile_of_weights(w)), a);
            if (t == 0) flush();
        }
        if (ends_group(part)) pending_ = slot;
        prefetch_a();
        scale_in(slot);
    }
    void flush() {
        for (int w = 0; w < weights_tiles && pending_ != none; ++w) {
            const int group = group_of(part_of(pending_));
            tilestored(
                    ptr[work_ + line_
                            + bytes(place_of(group, w, src_tile_of(pending_)))],
                    Tmm(2 * pair_of(pending_) + w));
        }
        pending_ = none;
    }
    // The next depth of these rows, spread over the usual panels.
    void prefetch_a() {
        const int lines = layout_.terms * amx_tile_rows / usual_panels;
        for (int i = 0; i < lines; ++i)
            prefetcht1(ptr[ahead_ + bytes(i * amx_row_bytes)]);
        advance(ahead_, lines * amx_row_bytes);
    }

    void next_step() {
        mov(last_sums_, sums_);
        mov(last_scales_, scales_);
        add(tiles_, arg(offsetof(args_t, tiles_depth)));
        advance(a_, parts * layout_.terms * src_tiles_ * amx_tile_bytes);
        if (w_.groups() == 1) return;
        if (groups_ > 1) {
            lea(scales_, ptr[scales_ + group_pitch_ * groups_]);
            return;
        }
        Label l_same;
        dec(group_);
        jnz(l_same);
        mov(group_, static_cast<uint64_t>(w_.group / amx_depth));
        add(scales_, group_pitch_);
        L(l_same);
    }
    void next_panel() {
        add(arg(offsetof(args_t, tiles)), panel_bytes);
        advance(arg(offsetof(args_t, scales)), panel_cols * col_bytes());
        advance(sums_, group_bytes());
    }

    // Sets are scaled from the slot on that comes after their last store, and
    // before the slot that stores them again.
    int first_slot(int set) const {
        return set + 1 < sets_ ? slots_ / 2 + 1 : 1;
    }
    int pieces() const { return sets_ > 1 ? slots_ / 2 : slots_ - 2; }

    void scale_in(int slot) {
        for (int set = 0; set < sets_; ++set) {
            const int piece = (slot - first_slot(set) + slots_) % slots_;
            if (piece < pieces())
                scale(set, piece, slot < first_slot(set) || set + 1 == sets_);
        }
    }
    // Scales the sums that the last step has left.
    void end_sums() {
        for (int set = 0; set < sets_; ++set)
            for (int piece = 0; piece < pieces(); ++piece)
                if (set + 1 == sets_ || first_slot(set) + piece >= slots_)
                    scale(set, piece, true);
    }

    // Adds a piece of a set's scaled sums.
    void scale(int set, int piece, bool of_last_step) {
        const Reg64 scales = of_last_step ? last_scales_ : scales_;
        const Reg64 sums = of_last_step ? last_sums_ : sums_;
        const int first = set * set_groups();
        const Reg64 base = first > 0 ? second_group_ : scales;
        if (first > 0) lea(base, ptr[scales + group_pitch_ * first]);
        const auto scale_of = [&](int g, dim_t offset) {
            // The first and second group of the set.
            return g == 0 ? base + bytes(offset)
                          : base + group_pitch_ + bytes(offset);
        };
        if (amx_has_columns(w_)) {
            const int begin = panel_cols * piece / pieces();
            const int end = panel_cols * (piece + 1) / pieces();
            for (int c = begin; c < end; ++c)
                scale_column(c, first, sums, scale_of);
        } else {
            for (int g = 0; g < set_groups(); ++g)
                for (int w = 0; w < weights_tiles; ++w)
                    vmovups(factors_[g * weights_tiles + w],
                            ptr[scale_of(g, w * amx_row_bytes)]);
            const int rows = src_tiles_ * amx_tile_rows;
            for (int r = rows * piece / pieces();
                    r < rows * (piece + 1) / pieces(); ++r)
                scale_row(r, first, sums);
        }
    }
    Address sum_at(int group, int w, int s, int line) {
        return ptr[work_ + bytes(place_of(group, w, s) + line * amx_row_bytes)];
    }
    template <typename scale_of_t>
    void scale_column(
            int c, int first, const Reg64 &sums, const scale_of_t &scale_of) {
        const int w = c / amx_tile_rows;
        const int line = c % amx_tile_rows;
        const auto to = [&](int s) {
            return ptr[sums + bytes((c * src_tiles_ + s) * amx_row_bytes)];
        };
        const auto added = [&](int s) {
            return added_[(c * src_tiles_ + s) % added_.count()];
        };
        for (int s = 0; s < src_tiles_; ++s)
            vmovups(added(s), to(s));
        for (int g = 0; g < set_groups(); ++g) {
            const Zmm factor = factors_[(c * 2 + g) % factors_.count()];
            vbroadcastss(factor, ptr[scale_of(g, c * col_bytes())]);
            for (int s = 0; s < src_tiles_; ++s)
                vfmadd231ps(added(s), factor, sum_at(first + g, w, s, line));
        }
        for (int s = 0; s < src_tiles_; ++s)
            vmovups(to(s), added(s));
    }
    void scale_row(int row, int first, const Reg64 &sums) {
        const int s = row / amx_tile_rows;
        const int line = row % amx_tile_rows;
        for (int w = 0; w < weights_tiles; ++w) {
            const Zmm added = added_[(row * 2 + w) % added_.count()];
            const auto to
                    = ptr[sums
                            + bytes((row * weights_tiles + w) * amx_row_bytes)];
            vmovups(added, to);
            for (int g = 0; g < set_groups(); ++g)
                vfmadd231ps(added, factors_[g * weights_tiles + w],
                        sum_at(first + g, w, s, line));
            vmovups(to, added);
        }
    }
};

} // namespace

result_t amx_terms_t::make_many_rows(dim_t rows) {
    return many_rows_.make<generator_t>(weights_, rows, layout_);
}

// The scratch memory has the sums of 32 rows after the other, the tiles of a
// part, and the room that making them needs.
void amx_terms_t::run_many_rows(
        void *const *buffers, const block_t &block) const noexcept {
    float *const tiles
            = block.partial + round_up(block.rows, amx_most_rows) * block.cols;
    float *const room = tiles + tiles_floats * block.cols;
    std::fill(block.partial, tiles, 0.f);
    for (dim_t k = 0; k < weights_.depth; k += most_tiles_depth) {
        const dim_t depth = std::min(weights_.depth - k, most_tiles_depth);
        const amx_tiles_part_t part {k, depth, tiles, room};
        make_tiles(buffers, block, part);
        multiply_part(buffers, block, part);
    }
    for_rows(block,
            [&](const block_t &rows) { store_sums(rows, rows.partial); });
}

void amx_terms_t::multiply_part(void *const *buffers, const block_t &block,
        const amx_tiles_part_t &part) const noexcept {
    // The terms of this depth stay in L1.
    const dim_t call_depth = layout_.terms == 1 ? 256 : 128;
    const dim_t shares = div_up(block.rows, amx_most_rows);
    dim_t share = 0;
    for_rows(block, [&](const block_t &rows) {
        prefetch_weights(
                buffers, rows, part.k + most_tiles_depth, share++, shares);
        for (dim_t at = 0; at < part.depth; at += call_depth)
            multiply_rows(
                    rows, part, at, std::min(part.depth - at, call_depth));
    });
}

// Prefetches a share of the weights whose depth begins with `k`.
void amx_terms_t::prefetch_weights(void *const *buffers, const block_t &block,
        dim_t k, dim_t share, dim_t shares) const noexcept {
    const skinny_weights_t &w = weights_;
    // The last depth is followed by the first one of the next columns.
    dim_t col = block.first_col;
    if (k >= w.depth) {
        col += block.cols;
        k = 0;
    }
    if (col + block.cols > w.cols) return;
    const dim_t depth = std::min(w.depth - k, most_tiles_depth);
    const dim_t lines = w.by_column ? block.cols : depth;
    const dim_t length = bytes_of(w.type, w.by_column ? depth : block.cols);
    const char *const from = weights_at(buffers, col, k);
    const dim_t pitch = bytes_of(w.type, w.pitch);
    for (dim_t i = lines * share / shares; i < lines * (share + 1) / shares;
            ++i)
        for (dim_t at = 0; at < length; at += amx_row_bytes)
            prefetch_into<2>(from + i * pitch + at);
}

// Multiplies up to 32 rows by tiles, of the depth [at, at + depth) of a part.
void amx_terms_t::multiply_rows(const block_t &block,
        const amx_tiles_part_t &part, dim_t at, dim_t depth) const noexcept {
    alignas(64) char work[work_bytes];
    const tile_config_t config = amx_whole_tiles();
    const dim_t first = part.k + at, group = first / weights_.group;
    const dim_t a_pitch = depth_bytes(block.rows);
    args_t args {};
    args.config = &config;
    args.panels = block.cols / panel_cols;
    args.tiles_depth = args.panels * panel_bytes;
    args.tiles = reinterpret_cast<const char *>(part.tiles)
                 + at / amx_depth * args.tiles_depth;
    args.a = static_cast<const char *>(block.a) + first * a_pitch;
    args.ahead = args.a + depth * a_pitch;
    args.work = work;
    args.sums = block.partial;
    const dim_t group_pitch = weights_.by_column ? 1 : block.c_pitch;
    args.scales = block.scales + group * group_pitch;
    args.group_pitch = 4 * group_pitch;
    args.group_steps = ((group + 1) * weights_.group - first) / amx_depth;
    args.steps = depth / amx_depth;
    many_rows_.of(block.rows)(args);
}

} // namespace dnnl_dequant
