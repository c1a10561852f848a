#ifndef KERNELS_SKINNY_GEMM_JIT_AMX_TERMS_HPP
#define KERNELS_SKINNY_GEMM_JIT_AMX_TERMS_HPP

#include <algorithm>

#include "kernels/skinny_gemm/jit_amx_lookup.hpp"

namespace dnnl_dequant {

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
