// A skinny GEMM by [N,K] weights of 2 or 4 bits, looked up as in
// jit_k_lanes_code.hpp and multiplied by the tiles of AMX. Sixteen columns of
// weights are the rows of a tile, and src has a column for each of its rows. So
// up to sixteen rows of src cost as much as one, and the vector units only look
// weights up.
//
//   for each sixteen columns: for each 128 of depth:
//       look up 16 x 128 weights, and store them in L1 as four tiles
//       multiply the four tiles of the step before
//
// The sums stay in tiles down the depth. Vector j of a step holds each word's
// j-th nibble. So a row of tile j pairs the elements 8 r + j and 8 r + 4 + j of
// the depth, and pack() brings these together.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/skinny_gemm/jit_amx_terms.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// A step's tiles, by the place of a nibble in its word.
constexpr int parts = amx_parts;
constexpr dim_t weights_bytes = parts * amx_tile_bytes;
// Columns whose nibbles are in registers at once.
constexpr int set_cols = 4;
constexpr int step_sets = amx_tile_rows / set_cols;

struct args_t {
    const tile_config_t *config;
    const char *weights;       // of the first column
    const void *a;             // packed
    const float *scales, *zps; // of the first column
    float *sums;               // columns x rows, or as much for each part
    char *tiles;               // twice weights_bytes
    dim_t rows;                // of src
    dim_t ahead;               // prefetch distance, bytes
};

// The uses of tiles, with so many tiles of src's rows. Up to sixteen rows are
// summed in four tiles, one for each part.
struct tiles_t {
    int src_tiles;

    int sums_count() const { return src_tiles == 1 ? parts : src_tiles; }
    int sums(int s, int part) const { return src_tiles == 1 ? part : s; }
    int a(int s, int part) const { return 4 + (src_tiles == 1 ? part % 2 : s); }
    static int weights(int part) { return 6 + part % 2; }

    tile_config_t config(dim_t rows) const {
        tile_config_t config = amx_whole_tiles();
        for (int part = 0; part < parts; ++part)
            for (int s = 0; s < src_tiles; ++s)
                for (const int tile : {sums(s, part), a(s, part)})
                    config.set(tile, amx_tile_rows, amx_src_bytes(rows, s));
        return config;
    }
};

class generator_t : public jit_amx_lookup_t {
public:
    generator_t(const skinny_weights_t &weights, int src_tiles,
            const amx_layout_t &layout)
        : jit_amx_lookup_t("jit_amx_k_lanes", weights, src_tiles, layout) {}

private:
    const tiles_t uses_ {src_tiles_};

    const Reg64 weights_at_ = general_.take("weights", rsi),
                a_ = general_.take("a of a tile", rax),
                part_ = general_.take("from tile to tile of a", rbx),
                tiles_ = general_.take("tiles of this step", rcx),
                last_tiles_ = general_.take("tiles of the step before", rdx),
                steps_ = general_.take("steps to go", r14),
                group_ = general_.take("steps of the group to go", r15);

    const vmms_t raws_ = vectors_.take("nibbles of columns", set_cols),
                 tables_ = vectors_.take("tables", 4),
                 looked_up_ = vectors_.take("weights", parts);
    const Zmm numbers_ = vectors_.take("numbers"),
              low_ = vectors_.take("the bits of a nibble"),
              choice_ = vectors_.take("the bits that choose a table");

    void generate() override {
        preamble();
        load_arguments();
        load_constants();
        look_up_steps(
                steps_, [this](bool multiplies) { look_up_step(multiplies); });
        for (int part = 0; part < parts; ++part)
            multiply(part);
        store_sums();
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
        mov(tiles_, arg(offsetof(args_t, tiles)));
        mov(ahead_, arg(offsetof(args_t, ahead)));
        lea(last_tiles_, ptr[tiles_ + bytes(weights_bytes)]);
        mov(line_, amx_row_bytes);
        mov(row_pitch_, arg(offsetof(args_t, rows)));
        shl(row_pitch_, 2);
        imul(part_, row_pitch_, amx_tile_rows);
        mov(steps_, static_cast<uint64_t>(w_.depth / amx_depth));
        mov(group_, static_cast<uint64_t>(w_.group / amx_depth));
        for (int i = 0; i < uses_.sums_count(); ++i)
            tilezero(Tmm(i));
    }

    void load_constants() {
        vmovups(numbers_, constant(nibble_numbers(w_.type)));
        if (groups_ == 1) return;
        constexpr uint32_t nibbles = 0x000f000f, next_table = 0x00100010;
        vmovups(low_, constant(nibbles));
        lanes_t choice;
        for (uint32_t i = 0; i < choice.size(); ++i)
            choice[i] = i * static_cast<uint32_t>(groups_)
                        / static_cast<uint32_t>(choice.size()) * next_table;
        vmovups(choice_, constant(choice));
    }

    // Looks a step's weights up, and multiplies those of the step before it.
    void look_up_step(bool multiplies) {
        for (int set = 0; set < step_sets; ++set) {
            load_columns(set);
            for (int c = 0; c < set_cols; ++c)
                look_up(set * set_cols + c, raws_[c]);
            if (multiplies) multiply(set);
        }
        advance(weights_at_, bytes_of(w_.type, amx_depth));
        std::vector<Reg64> parameters {scales_};
        if (has_zps()) parameters.push_back(zps_);
        next_group(parameters, group_);
        xchg(tiles_, last_tiles_);
    }

    void load_columns(int set) {
        for (int c = 0; c < set_cols; ++c) {
            const size_t at
                    = bytes((set * set_cols + c) * bytes_of(w_.type, w_.pitch));
            prefetch_stream(ptr[weights_at_ + ahead_ + at]);
            load_nibbles_of(raws_[c], ptr[weights_at_ + at], looked_up_[0]);
        }
    }

    // Makes a column's tables. A vector has those of two groups, or one group's
    // twice: an index has a fifth bit.
    void make_tables(int col) {
        for (int g = 0; g < groups_; ++g) {
            const size_t at = bytes((col * w_.groups() + g) * 4);
            make_numbers(tables_[g], numbers_, ptr_b[scales_ + at],
                    ptr_b[zps_ + at]);
        }
        for (int g = 0; g < groups_; g += 2) {
            const int other = std::min(g + 1, groups_ - 1);
            vcvtne2ps2bf16(tables_[g], tables_[other], tables_[g]);
        }
    }

    void look_up(int col, const Zmm &raw) {
        make_tables(col);
        for (int j = parts - 1; j >= 0; --j) {
            const Zmm w = j > 0 ? looked_up_[j] : raw;
            if (j > 0) vpsrlw(w, raw, static_cast<uint8_t>(4 * j));
            constexpr uint8_t and_or = 0xea;
            if (groups_ > 1) vpternlogd(w, low_, choice_, and_or);
            if (groups_ > 2) vpermi2w(w, tables_[0], tables_[2]);
            else vpermw(w, w, tables_[0]);
            const dim_t at = j * amx_tile_bytes + col * amx_row_bytes;
            vmovups(ptr[tiles_ + bytes(at)], w);
        }
    }

    void multiply(int part) {
        const Tmm weights(tiles_t::weights(part));
        tileloadd(weights,
                ptr[last_tiles_ + line_ + bytes(part * amx_tile_bytes)]);
        for (int s = 0; s < src_tiles_; ++s) {
            const Tmm a(uses_.a(s, part));
            tileloadd(a, ptr[a_ + row_pitch_ + bytes(s * amx_row_bytes)]);
            tdpbf16ps(Tmm(uses_.sums(s, part)), weights, a);
        }
        add(a_, part_);
    }

    // Stores the sums of the parts one behind the other, or the sums of two
    // tiles of src side by side.
    void store_sums() {
        const bool are_parts = src_tiles_ == 1;
        for (int i = 0; i < uses_.sums_count(); ++i) {
            const size_t at = are_parts ? 0 : bytes(i * amx_row_bytes);
            tilestored(ptr[sums_ + row_pitch_ + at], Tmm(i));
            if (are_parts) add(sums_, part_);
        }
    }
};

class jit_amx_k_lanes_t : public amx_terms_t {
public:
    using amx_terms_t::amx_terms_t;

    dim_t nr() const override { return amx_tile_rows; }
    dim_t partial_floats() const override { return 0; }

    result_t make(dim_t rows) { return make_code<generator_t>(rows, code_); }

private:
    void run_in_turns(
            void *const *buffers, const block_t &block) const noexcept override;

    amx_code_t<args_t> code_;
};

void jit_amx_k_lanes_t::run_in_turns(
        void *const *buffers, const block_t &block) const noexcept {
    alignas(64) char tiles[2 * weights_bytes];
    // Whole vectors are read.
    alignas(64) float sums[(parts + 1) * amx_tile_rows * amx_tile_rows];
    static_assert(parts * amx_tile_rows >= amx_most_rows);
    const dim_t rows = block.rows, groups = weights_.groups();
    const bool one_tile = rows <= amx_tile_rows;
    const tile_config_t config = tiles_t {one_tile ? 1 : 2}.config(rows);
    args_t args {&config, nullptr, block.a, nullptr, nullptr, sums, tiles, rows,
            amx_tile_rows * bytes_of(weights_.type, weights_.pitch)};
    block_t columns = block;
    columns.cols = amx_tile_rows;
    for (dim_t n = 0; n < block.cols; n += amx_tile_rows) {
        args.weights = weights_at(buffers, block.first_col + n, 0);
        args.scales = block.scales + n * groups;
        args.zps = block.zps + n * groups;
        code_.of(rows)(args);
        for (dim_t p = 1; one_tile && p < parts; ++p)
            for (dim_t i = 0; i < amx_tile_rows * rows; ++i)
                sums[i] += sums[p * amx_tile_rows * rows + i];
        columns.c = block.c + n;
        store_sums(columns, sums);
    }
}

} // namespace

result_t make_k_lanes_amx_bf16(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<jit_amx_k_lanes_t>(weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
