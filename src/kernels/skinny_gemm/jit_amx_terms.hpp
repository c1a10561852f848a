#ifndef KERNELS_SKINNY_GEMM_JIT_AMX_TERMS_HPP
#define KERNELS_SKINNY_GEMM_JIT_AMX_TERMS_HPP

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.hpp"
#include "kernels/jit/tile_config.hpp"
#include "kernels/skinny_gemm/jit_k_lanes_code.hpp"

namespace dnnl_dequant {

/// A tile of weights has a column in each row, 32 elements of bf16, or pairs of
/// the depth of sixteen columns. Up to two tiles of src have all rows that are
/// multiplied together.
constexpr int amx_tile_rows = tile_config_t::most_rows,
              amx_row_bytes = tile_config_t::row_bytes,
              amx_most_rows = 2 * amx_tile_rows;

/// The depth of weights that kernels take at once.
constexpr int amx_depth = 128;
/// The parts of that depth: a tile of src or of weights has one.
constexpr int amx_parts = amx_depth * 2 / amx_row_bytes;
/// A tile of weights, in bytes.
constexpr int amx_tile_bytes = amx_tile_rows * amx_row_bytes;

/// The columns of two tiles of weights.
constexpr int amx_panel_cols = 2 * amx_tile_rows;

/// Returns the bytes that a row of src's tile `s` has: a pair of bf16 of each
/// row of src, or the sums of a column.
inline dim_t amx_src_bytes(dim_t rows, int s) {
    return 4 * std::min<dim_t>(rows - s * amx_tile_rows, amx_tile_rows);
}

/// Returns the configuration of whole tiles.
inline tile_config_t amx_whole_tiles() {
    tile_config_t config;
    for (int tile = 0; tile < 8; ++tile)
        config.set(tile, amx_tile_rows, amx_row_bytes);
    return config;
}

/// True if a line of a tile of weights is a column, and a line of src's a pair
/// of the depth of each row. Otherwise lines of weights are pairs, and those of
/// src its rows.
inline bool amx_has_columns(const skinny_weights_t &w) {
    return w.by_column || w.are_nibbles();
}

/// The layout of src and of sums.
struct amx_layout_t {
    int terms;        // of an element of src; 0: tiles are made only
    bool are_padded;  // tiles of src and of sums are whole: sixteen rows
    bool scales_sums; // of groups; else weights are scaled
    /// Zero points are not in the tiles of weights: their products by the sums
    /// of src are subtracted from the sums of groups.
    bool corrects_sums = false;
};

/// The base of their generators. Code names the tiles of src that it is made
/// for, one or two, and the registers that all of it needs.
class jit_amx_lookup_t : public jit_k_lanes_t<isa_avx512_core> {
protected:
    jit_amx_lookup_t(const char *name, const skinny_weights_t &weights,
            int src_tiles, const amx_layout_t &layout)
        : jit_k_lanes_t(name, weights, 0, 0)
        , src_tiles_(src_tiles)
        , layout_(layout)
        , groups_(weights.group >= amx_depth
                          ? 1
                          : amx_depth / static_cast<int>(weights.group)) {}

    /// Returns the group of a part of a step's depth.
    int group_of(int part) const { return part * groups_ / amx_parts; }
    bool begins_group(int part) const {
        return part * groups_ % amx_parts == 0;
    }
    bool ends_group(int part) const { return begins_group(part + 1); }

    /// Returns a displacement with all its bits, unlike disp(): code whose
    /// addresses cannot have it is refused.
    static size_t bytes(dim_t count) { return static_cast<size_t>(count); }

    bool multiplies() const { return layout_.terms > 0; }
    bool scales_sums() const { return layout_.scales_sums; }
    bool corrects_sums() const { return layout_.corrects_sums; }
    /// True if zero points are in the weights of tiles.
    bool subtracts() const { return has_zps() && !corrects_sums(); }

    /// Adds the product of two tiles to sums.
    void multiply_tiles(const Tmm &sums, const Tmm &weights, const Tmm &a) {
        if (amx_has_columns(w_)) tdpbf16ps(sums, weights, a);
        else tdpbf16ps(sums, a, weights);
    }

    /// Moves an address on.
    void advance(const Operand &address, dim_t bytes_on) {
        add(address, disp(bytes_on));
    }

    /// Makes the f32 numbers that a group's nibbles stand for.
    /// @param numbers nibble_numbers() of the weights.
    /// @param scale, zp Of the group, for all lanes.
    void make_numbers(const Zmm &to, const Zmm &numbers, const Address &scale,
            const Address &zp) {
        if (has_zps()) vsubps(to, numbers, zp);
        vmulps(to, has_zps() ? to : numbers, scale);
    }

    /// The bits that make a byte a float: it is the last byte of one between
    /// 2^23 and 2^24. A signed byte counts from 128 more, not to be negative.
    uint32_t bits_around_byte() const {
        return 0x4b000000 | (is_signed() ? 0x80u : 0u);
    }

    /// Looks up the weights of the first step, and then those of each further
    /// step beside the multiplication of the step before.
    /// @param steps How many there are, at least one.
    /// @param look_up Emits one step, and the multiplication too if it is true.
    template <typename look_up_t>
    void look_up_steps(const Reg64 &steps, look_up_t &&look_up) {
        Label l_step, l_end;
        look_up(false);
        dec(steps);
        jz(l_end, T_NEAR);
        align(32);
        L(l_step);
        look_up(true);
        dec(steps);
        jnz(l_step, T_NEAR);
        L(l_end);
    }

    /// Moves parameters on to the groups of the next step.
    /// @param steps The steps that a group of several has to go.
    void next_group(
            const std::vector<Reg64> &parameters, const Operand &steps) {
        if (w_.groups() == 1) return;
        Label l_same;
        if (w_.group > amx_depth) {
            dec(steps);
            jnz(l_same);
            mov(steps, static_cast<uint64_t>(w_.group / amx_depth));
        }
        for (const Reg64 &of : parameters)
            advance(of, 4 * groups_);
        L(l_same);
    }

    const int src_tiles_;
    const amx_layout_t layout_;
    const int groups_; // of a step: 128 of depth
    const Reg64 line_ = general_.take("bytes of a line", rbp),
                sums_ = general_.take("sums", r9),
                row_pitch_ = general_.take("pitch of sums and of a", r10);
};

/// Returns the tiles of src that so many rows take, of rows that are multiplied
/// together.
inline dim_t amx_src_tiles(dim_t rows) {
    return div_up(std::min<dim_t>(rows, amx_most_rows), amx_tile_rows);
}

/// A kernel's code, by tiles of src.
template <typename args_t>
class amx_code_t {
public:
    /// Generates the code for up to `rows` rows.
    template <typename generator_t>
    result_t make(const skinny_weights_t &weights, dim_t rows,
            const amx_layout_t &layout) {
        const dim_t group = weights.group;
        const bool fits = group % amx_depth == 0
                          || (amx_depth % group == 0 && group % 32 == 0);
        if (group < weights.depth && !fits)
            return refuse(text("groups of ", group,
                    "; expected 32, 64 or a multiple of ", amx_depth));
        result_t made;
        for (int tiles = 1; tiles <= amx_src_tiles(rows) && made.ok(); ++tiles)
            made = make_jit_as<generator_t>(
                    code_[static_cast<size_t>(tiles - 1)], weights, tiles,
                    layout);
        return made;
    }
    const jit_function_t<args_t> &of(dim_t rows) const {
        return code_[static_cast<size_t>(amx_src_tiles(rows) - 1)];
    }

private:
    std::array<jit_function_t<args_t>, 2> code_;
};

struct amx_store_args_t;
struct amx_many_rows_args_t;

/// The tiles of a part of the depth, which are made before they are multiplied.
/// 32 columns have eight tiles for each 128 of the depth, and the next columns
/// follow. [N,K] weights have the tiles of sixteen columns side by side, others
/// those of 32 of the depth.
struct amx_tiles_part_t {
    dim_t k, depth;
    float *tiles;
    float *room; // for copies of weights
};

/// The base of skinny GEMMs that multiply by the tiles of AMX. An f32 is the
/// sum of three bf16, its terms. A weight less its zero point is an integer
/// that bf16 holds, and so its products by the terms are exact. Sums of a group
/// are scaled then.
///
/// If src has integers that bf16 holds, they are the only term. The sums of up
/// to 128 products are exact then, too. So zero points of nibbles need not be
/// in the tables that these are looked up in. Instead their products by the
/// sums of src are subtracted from the sums of a group, except of many rows.
///
/// If src and weights may be rounded to bf16, src is the only term, too. The
/// weights are scaled then, and the sums are not.
///
/// Tiles take denormal terms for zeros: all of a denormal f32, and the
/// remainder of another one below 2^-126.
class amx_terms_t : public skinny_gemm_t {
public:
    using skinny_gemm_t::skinny_gemm_t;

    data_type_t src_type() const final {
        return layout_.terms == 1 ? data_type_t::bf16 : data_type_t::f32;
    }
    dim_t src_unit() const final { return amx_depth; }
    dim_t packed_bytes(dim_t rows) const final;
    void pack(const void *from, dim_t pitch, dim_t rows, dim_t begin, dim_t end,
            void *packed) const noexcept final;
    bool scales_sums() const final { return layout_.scales_sums; }
    float src_element(
            const block_t &block, dim_t row, dim_t k) const noexcept final;
    void run(void *const *buffers, const block_t &block) const noexcept final;

protected:
    const amx_layout_t &layout() const { return layout_; }
    /// Returns the bytes of packed src from one element of the depth to the
    /// next, of rows that are multiplied together.
    dim_t depth_bytes(dim_t rows) const {
        return layout_.terms * 2 * room_of(rows);
    }
    /// Returns the rows that tiles of src and of sums have room for.
    dim_t room_of(dim_t rows) const {
        return layout_.are_padded ? round_up(rows, amx_tile_rows) : rows;
    }
    /// Returns the place of a weight of a column.
    const char *weights_at(void *const *buffers, dim_t col, dim_t k) const {
        const skinny_weights_t &w = weights_;
        return static_cast<const char *>(buffers[0])
               + bytes_of(w.type,
                       w.by_column ? col * w.pitch + k : k * w.pitch + col);
    }
    /// The depth of a sum of src: a group, or a part of it.
    dim_t sum_depth() const {
        return std::min<dim_t>(weights_.group, amx_depth);
    }
    /// Returns the sums of a block's rows of src: room_of() rows for each
    /// sum_depth(). Null if no sums are corrected.
    const float *src_sums(const block_t &block) const;

    /// True if tiles of weights are made once, and multiplied by all rows.
    bool is_of_many_rows() const {
        return most_rows_ > most_rows_in_turns
               && weights_.cols % amx_panel_cols == 0;
    }
    /// Returns the floats of scratch memory that each sum needs, if a column's
    /// sums are there.
    /// @param room Floats of each column that making tiles needs besides.
    dim_t floats_of_sums(dim_t room) const {
        const dim_t rows = std::min<dim_t>(most_rows_, amx_most_rows);
        const dim_t sums
                = is_of_many_rows()
                          ? round_up(most_rows_, amx_most_rows) + tiles_floats
                          : room_of(rows);
        return div_up(sums + room, most_rows_);
    }

    /// Makes the code of up to `rows` rows, or that which makes tiles for many
    /// rows. Refuses zero points so large that bf16 does not hold the
    /// difference.
    template <typename generator_t, typename args_t>
    result_t make_code(dim_t rows, amx_code_t<args_t> &code) {
        result_t made = init(rows);
        if (made.ok() && is_of_many_rows()) {
            made = code.template make<generator_t>(
                    weights_, 1, amx_layout_t {0, true, true});
            if (made.ok()) made = make_many_rows(rows);
        } else if (made.ok()) {
            made = code.template make<generator_t>(weights_, rows, layout_);
        }
        return made.ok() && amx_has_columns(weights_) ? make_store() : made;
    }

    /// Multiplies up to amx_most_rows rows after the other.
    virtual void run_in_turns(
            void *const *buffers, const block_t &block) const noexcept
            = 0;
    /// Makes the tiles of many rows. Kernels of bf16 need not: init() refuses
    /// so many of their rows.
    virtual void make_tiles(void *const * /*buffers*/,
            const block_t & /*block*/,
            const amx_tiles_part_t & /*part*/) const noexcept {}

    /// Calls run(block) for the rows of a block that are multiplied together.
    /// Many rows have their sums in scratch memory, those of 32 rows after the
    /// other.
    template <typename run_t>
    void for_rows(block_t block, run_t &&run) const {
        const auto *const a = static_cast<const char *>(block.a);
        const dim_t rows = block.rows;
        for (dim_t row = 0; row < rows; row += amx_most_rows) {
            block.a = a + packed_bytes(row);
            block.rows = std::min<dim_t>(rows - row, amx_most_rows);
            run(block);
            block.c += block.rows * block.c_pitch;
            if (is_of_many_rows()) block.partial += amx_most_rows * block.cols;
        }
    }
    /// Copies sums of these rows to c. They are columns x room_of(rows), or 32
    /// columns side by side if tiles have no columns. Whole vectors are read:
    /// up to fifteen sums behind the last of a column.
    void store_sums(const block_t &block, const float *sums) const noexcept;

private:
    // The depth of the tiles that are in cache, and the floats of a column of
    // them.
    static constexpr dim_t most_tiles_depth = 512,
                           tiles_floats = most_tiles_depth / 2;

    result_t init(dim_t rows);
    result_t make_store();
    result_t make_many_rows(dim_t rows);
    dim_t data_bytes(dim_t rows) const {
        return depth_bytes(rows) * weights_.depth;
    }
    /// True if a part has one nibble of each word of four, as lookups of
    /// jit_amx_k_lanes.cpp take words apart: every fourth element.
    bool is_of_words() const { return !scales_sums() && weights_.by_column; }
    dim_t place_of(dim_t rows, dim_t row, dim_t k) const;
    dim_t term_bytes(dim_t rows) const { return room_of(rows) * amx_row_bytes; }
    /// The bytes of a line of pairs.
    dim_t line_bytes(dim_t rows) const {
        return layout_.are_padded ? amx_row_bytes : 4 * rows;
    }
    void pack_pairs(const char *src, dim_t pitch, dim_t rows, dim_t k,
            char *to) const noexcept;
    void pack_terms(const char *src, dim_t pitch, dim_t rows, dim_t k,
            char *to) const noexcept;
    void run_many_rows(
            void *const *buffers, const block_t &block) const noexcept;
    void multiply_part(void *const *buffers, const block_t &block,
            const amx_tiles_part_t &part) const noexcept;
    void multiply_rows(const block_t &block, const amx_tiles_part_t &part,
            dim_t at, dim_t depth) const noexcept;
    void prefetch_weights(void *const *buffers, const block_t &block, dim_t k,
            dim_t share, dim_t shares) const noexcept;
    void sum_rows(const char *from, dim_t pitch, dim_t rows, dim_t begin,
            dim_t end, char *packed) const noexcept;

    dim_t most_rows_ = 1;
    amx_layout_t layout_ {};
    amx_code_t<amx_many_rows_args_t> many_rows_;
    jit_function_t<amx_store_args_t> store_; // of sums by column
};

} // namespace dnnl_dequant

#endif
