#ifndef KERNELS_SKINNY_GEMM_JIT_AMX_TERMS_HPP
#define KERNELS_SKINNY_GEMM_JIT_AMX_TERMS_HPP

#include <algorithm>

#include "kernels/skinny_gemm/jit_amx_many_rows.hpp"

namespace dnnl_dequant {

/// An f32 is the sum of so many bf16, its terms: each has eight of the 24 bits.
constexpr int f32_terms = 3;

/// The lines of a tile of src: a row's elements, or a pair of the depth of each
/// row.
enum class amx_src_t { rows, pairs };

/// The base of skinny GEMMs that multiply f32 by the tiles of AMX. A weight
/// less its zero point is an integer that bf16 holds, and so its products by
/// the terms of an f32 are exact. Sums of a group are scaled then.
///
/// If src has integers that bf16 holds, they are the only term. The sums of up
/// to 128 products are exact then, too. So zero points of nibbles need not be
/// in the tables that these are looked up in. Instead their products by the
/// sums of src are subtracted from the sums of a group, except of many rows.
///
/// Tiles take denormal terms for zeros: all of a denormal f32, and the
/// remainder of another one below 2^-126.
class amx_terms_t : public skinny_gemm_t {
public:
    explicit amx_terms_t(
            const skinny_weights_t &weights, amx_src_t src = amx_src_t::pairs)
        : skinny_gemm_t(weights)
        , src_(src) {}

    data_type_t src_type() const final {
        return layout().terms == 1 ? data_type_t::bf16 : data_type_t::f32;
    }
    dim_t src_unit() const final { return amx_depth; }
    void arrange(void * /*row*/) const noexcept final {}
    dim_t packed_bytes(dim_t rows) const final;
    void pack(const void *from, dim_t pitch, dim_t rows, dim_t begin, dim_t end,
            void *packed) const noexcept final;
    bool scales_sums() const final { return true; }
    float src_element(
            const block_t &block, dim_t row, dim_t k) const noexcept final;

protected:
    amx_layout_t layout() const {
        const bool is_whole = weights_.tiles == skinny_tiles_t::integers;
        const bool corrects = is_whole && weights_.are_nibbles()
                              && weights_.zps.type != data_type_t::undef
                              && !is_of_many_rows();
        return {is_whole ? 1 : f32_terms, true, true, corrects};
    }
    /// The depth of a sum of src: a group, or a part of it.
    dim_t sum_depth() const { return std::min(weights_.group, amx_depth); }
    /// Returns the sums of a block's rows of src, from depth `k` on: one for
    /// each row of whole tiles, for each sum_depth().
    const float *src_sums(const block_t &block, dim_t k) const {
        const dim_t rows = amx_src_tiles(block.rows) * amx_tile_rows;
        return reinterpret_cast<const float *>(
                       static_cast<const char *>(block.a) + data_bytes(rows))
               + k / sum_depth() * rows;
    }
    /// True if tiles of weights have a column in a line; else pairs of rows.
    bool has_columns() const { return src_ == amx_src_t::pairs; }
    dim_t most_rows() const { return most_rows_; }

    /// Takes the most rows that there will be. Refuses zero points so large
    /// that bf16 does not hold the difference.
    result_t init(dim_t rows);

    /// True if tiles of weights are made once, and multiplied by all rows.
    bool is_of_many_rows() const {
        return most_rows_ > most_rows_in_turns
               && weights_.cols % amx_many_rows_t::nr == 0;
    }
    /// Returns partial_floats() of many rows.
    /// @param room Floats of each column that making tiles needs besides.
    dim_t many_rows_floats(dim_t room) const {
        return div_up(
                amx_many_rows_t::column_floats(most_rows_) + room, most_rows_);
    }
    /// Calls run(block) for the rows of a block that are multiplied together.
    template <typename run_t>
    void for_rows(block_t block, run_t &&run) const {
        const auto *const a = static_cast<const char *>(block.a);
        const dim_t rows = block.rows;
        for (dim_t row = 0; row < rows; row += amx_most_rows) {
            block.a = a + packed_bytes(row);
            block.rows = std::min(rows - row, amx_most_rows);
            run(block);
            block.c += block.rows * block.c_pitch;
        }
    }

private:
    dim_t data_bytes(dim_t rows) const {
        return layout().terms * bytes_of(data_type_t::bf16, weights_.depth)
               * round_up(rows, amx_tile_rows);
    }
    void pack_part(const char *row, dim_t k, dim_t term_bytes,
            char *place) const noexcept;
    void sum_rows(const char *from, dim_t pitch, dim_t rows, dim_t begin,
            dim_t end, char *packed) const noexcept;

    const amx_src_t src_;
    dim_t most_rows_ = 1;
};

/// The same with code: that of up to 32 rows, or that which makes tiles for
/// many rows.
template <typename generator_t, typename args_t>
class amx_terms_code_t : public amx_terms_t {
public:
    using amx_terms_t::amx_terms_t;

    result_t make(dim_t rows) {
        result_t made = init(rows);
        if (!made.ok()) return made;
        if (!is_of_many_rows()) {
            made = code_.template make<generator_t>(weights_, rows, layout());
            return made.ok() && has_columns() ? store_.make() : made;
        }
        made = make_jit_as<generator_t>(
                maker_, weights_, 1, amx_layout_t {0, true, true});
        return made.ok() ? many_rows_.make(weights_, rows, layout().terms,
                                   tiles_layout(), parameters_by_column())
                         : made;
    }

    void run(void *const *buffers, const block_t &block) const noexcept final {
        if (!is_of_many_rows()) {
            run_in_turns(buffers, block);
            return;
        }
        many_rows_.run(block, buffers, [&](const amx_tiles_part_t &part) {
            make_tiles(buffers, block, part);
        });
    }

protected:
    /// Multiplies up to 32 rows after the other.
    virtual void run_in_turns(
            void *const *buffers, const block_t &block) const noexcept
            = 0;
    /// Says how tiles lie that make_tiles() makes of a part of the depth.
    virtual amx_tiles_layout_t tiles_layout() const = 0;
    virtual void make_tiles(void *const *buffers, const block_t &block,
            const amx_tiles_part_t &part) const noexcept
            = 0;

    amx_code_t<args_t> code_;
    jit_function_t<args_t> maker_;
    amx_store_t store_; // of sums by column

private:
    amx_many_rows_t many_rows_;
};

} // namespace dnnl_dequant

#endif
