#ifndef KERNELS_SKINNY_GEMM_JIT_AMX_LOOKUP_HPP
#define KERNELS_SKINNY_GEMM_JIT_AMX_LOOKUP_HPP

#include <algorithm>
#include <array>

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

} // namespace dnnl_dequant

#endif
