#ifndef KERNELS_SKINNY_GEMM_JIT_AMX_BLOCKS_HPP
#define KERNELS_SKINNY_GEMM_JIT_AMX_BLOCKS_HPP

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/skinny_gemm/jit_amx_terms.hpp"

namespace dnnl_dequant {

struct amx_blocks_args_t {
    const tile_config_t *config;
    char *work;                // scratch memory
    const char *copy;          // of the block's weights
    const void *a;             // of the block's depth, packed
    dim_t a_tile;              // bytes of a that tiles of weights multiply
    const float *scales, *zps; // of the block
    dim_t zps_from_scales;     // bytes, if sums are corrected
    const float *src_sums;     // of the block's depth, if sums are corrected
    dim_t parameters_pitch;    // from group to group, bytes
    // The block's, columns x rows. Terms have room for whole tiles of rows. Or
    // the place of the tiles that are made.
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
    const float *pending_scales, *pending_src_sums;
};

/// The columns of a line of the copy of [K,N] weights, where integers of 2 bits
/// are nibbles.
inline int amx_line_cols(data_type_t weights) {
    return amx_row_bytes * 8 / std::max(bits_of(weights), 4);
}

/// The base of generators that multiply [K,N] weights by the tiles of AMX:
///
///   for each 128 rows of weights: for each line of columns (a call):
///     for each 32 columns: for each 32 rows (a step):
///       copy some lines of the next 128 rows
///       make two tiles of 32 x 32 weights, in L1
///       multiply the two tiles before
///
/// Rows are copied to L2 in the order of addresses, since reading a line of one
/// row after the other waits for memory. The sums of 32 columns stay in tiles
/// down 128 rows, or a group if they are scaled, and are in memory otherwise.
///
/// Src is bf16, or terms of f32 (jit_amx_terms.hpp). If a group's sums are
/// scaled, they are before they are added to those in memory. Code of no terms
/// only makes tiles, and stores them one behind the other.
class jit_amx_blocks_t : public jit_amx_lookup_t {
public:
    static constexpr dim_t work_bytes = 13 * amx_tile_bytes;
    static constexpr int step_depth = 32, step_cols = 32, weights_tiles = 2;

protected:
    static constexpr int steps_down = amx_depth / step_depth;
    static constexpr dim_t weights_bytes = weights_tiles * amx_tile_bytes;
    // Scratch memory: the tiles of two steps, which take turns, tables, and the
    // sums of a group.
    static constexpr dim_t tables_at = 2 * weights_bytes;
    static constexpr dim_t tables_bytes = step_cols * amx_row_bytes;
    static constexpr dim_t group_sums_at = tables_at + tables_bytes;
    static_assert(work_bytes >= group_sums_at + 4 * amx_tile_bytes);

    using jit_amx_lookup_t::jit_amx_lookup_t;

    virtual void load_constants() = 0;
    /// Prepares the scales and zero points of the group that step `down` of
    /// `steps_down` begins.
    virtual void begin_group(int down) = 0;
    /// Makes the first half of a step's tiles, or the second one.
    virtual void make_tiles(int down, bool second) = 0;
    /// Adds a tile of a group's sums, times scales, to those in memory.
    /// @param at The tile, in scratch memory.
    /// @param group The group, counted from these 128 rows' first. If it is not
    ///     that, scratch_ is its offset. If sums are corrected, scratch_ is the
    ///     place of its scales, and zps_ how far the zero points are from
    ///     there.
    virtual void scale_tile(int w, int s, size_t at, int group) = 0;

    /// Returns a place in a tile of a step.
    RegExp tile_at(int down, dim_t offset) const {
        return multiplies() ? work_ + bytes(down % 2 * weights_bytes + offset)
                            : tiles_ + bytes(down * weights_bytes + offset);
    }
    /// The bytes of a column's sums.
    dim_t sums_bytes() const { return src_tiles_ * amx_row_bytes; }
    /// Returns the group of a step, and sets scratch_ to its offset if it is
    /// not the first.
    int find_group(int down);
    /// Returns the place of a parameter of the group that find_group() found.
    RegExp parameter_at(const Reg64 &base, dim_t offset, int group) const {
        const RegExp at = base + bytes(offset);
        return group > 0 ? at + scratch_ : at;
    }

    const Reg64 copy_ = general_.take("weights of the step's columns", rsi),
                from_ = general_.take("the next row's line", rax),
                lines_ = general_.take("its lines to go", rbx),
                work_ = general_.take("tiles and tables", rcx),
                to_ = general_.take("its copy", rdx),
                across_ = general_.take("columns to go, in 32", r14),
                scratch_ = general_.take("scratch", r15), a_ = a_pitch_,
                tiles_ = sums_,     // where they stay, if they are made only
            src_sums_ = row_pitch_; // of the groups that are scaled

private:
    void generate() final;
    void load_block();
    void multiply_columns();
    void make_columns();
    void take_steps(Label &l_across);
    void take_step(int down);
    void copy_lines();
    void end_copying();
    void begin_columns();
    void next_sums();
    void move_sums(bool loads);
    void multiply_after(int down);
    void multiply_last();
    void multiply(int down);
    template <typename run_t>
    void for_sums(run_t &&run);
    void zero_sums();
    void store_group();
    void begin_sums();
    void scale(int down);

    int steps_across() const { return amx_line_cols(w_.type) / step_cols; }

    const Zmm copied_ = vectors_.take("copy"),
              moved_ = vectors_.take("integers of 2 bits, moved up");
};

/// A skinny GEMM by [K,N] weights, whose tiles a generator derived from
/// jit_amx_blocks_t makes.
class amx_blocks_t : public amx_terms_t {
public:
    using amx_terms_t::amx_terms_t;

    /// The columns of a call.
    dim_t nr() const override { return amx_line_cols(weights_.type); }
    /// Each column has sums, and room for its weights in copies.
    dim_t partial_floats() const override;

    template <typename generator_t>
    result_t make(dim_t rows) {
        return make_code<generator_t>(rows, code_);
    }

private:
    void run_in_turns(
            void *const *buffers, const block_t &block) const noexcept override;
    void make_tiles(void *const *buffers, const block_t &block,
            const amx_tiles_part_t &part) const noexcept override;
    void run_rows(void *const *buffers, const block_t &block) const noexcept;
    template <typename init_t>
    void run_depth(void *const *buffers, const block_t &block,
            const amx_tiles_part_t &part,
            const jit_function_t<amx_blocks_args_t> &code,
            amx_blocks_args_t &args, const init_t &init) const noexcept;

    amx_code_t<amx_blocks_args_t> code_;
};

template <typename generator_t>
result_t make_amx_blocks(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    auto made = std::make_shared<amx_blocks_t>(weights);
    const result_t result = made->make<generator_t>(rows);
    if (result.ok()) skinny_gemm = std::move(made);
    return result;
}

} // namespace dnnl_dequant

#endif
