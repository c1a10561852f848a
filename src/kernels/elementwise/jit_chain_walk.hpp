#ifndef KERNELS_ELEMENTWISE_JIT_CHAIN_WALK_HPP
#define KERNELS_ELEMENTWISE_JIT_CHAIN_WALK_HPP

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/dequantize/jit_pack.hpp"
#include "kernels/elementwise/jit_elementwise.hpp"
#include "kernels/ref_nest.hpp"

namespace dnnl_dequant {

/// The memory that one thread keeps on its stack for a plan.needs_memory().
struct chain_memory_t {
    alignas(64) float staged[chain_staged_floats + staged_slack];
    // Results on their way past the caches; before that, values of groups.
    alignas(64) char bounce[chain_bounce_bytes];
};

/// One thread's walk through pieces of one execution.
class chain_walk_t {
public:
    /// @param memory May be null if the plan needs none.
    /// @param tiles Room for what is transposed, as much as the plan's pieces
    ///     take.
    chain_walk_t(const jit_elementwise_t &kernel, void *const *buffers,
            chain_memory_t *memory, uint8_t *tiles);

    void run_piece(dim_t piece);

private:
    // A range of rows by a range of columns.
    struct rect_t {
        dim_t row = 0, rows = 0, col = 0, cols = 0;
    };
    // A row's iterations of the two loops.
    struct row_t {
        dim_t outer, inner;
    };
    // The part of a feed that is in the scratch.
    struct key_t {
        dim_t first = -1, col = 0, rows = 0, cols = 0;
    };

    dim_t extent(int loop, dim_t row) const;
    dim_t col_end(dim_t row) const;
    bool set_outer_point(dim_t point);
    void run_clipped(rect_t rect);
    transposed_src_t columns_of(
            const chain_feed_t &feed, const rect_t &rect) const;
    void pack(const chain_feed_t &feed, const rect_t &rect);
    void pack_rows(const chain_feed_t &feed, const rect_t &rect, uint8_t *tile);
    void foresee(const chain_feed_t &feed, const rect_t &rect) const;
    void run_by_group(const rect_t &rect);
    void run_in_chunks(const rect_t &piece, const rect_t &rect);

    dim_t group_element(const chain_feed_t &feed, const rect_t &chunk) const;
    dim_t row_element(const chain_feed_t &feed, dim_t row) const;
    row_t place_of(dim_t row) const;
    // Calls use() for those rows of each iteration of the outer loop.
    template <typename use_t>
    void for_row_groups(rect_t rect, use_t &&use) const {
        const dim_t end = rect.row + rect.rows;
        for (; rect.row < end; rect.row += rect.rows) {
            const dim_t left = plan_.row_extent - place_of(rect.row).inner;
            rect.rows = std::min(left, end - rect.row);
            use(rect);
        }
    }
    // Calls use() for the rows that a call of generated code can have, which
    // are plan_.row_step() apart.
    template <typename use_t>
    void for_calls(rect_t rect, use_t &&use) const {
        if (!plan_.calls_along_outer) return for_row_groups(rect, use);
        const dim_t end = rect.row + rect.rows;
        const dim_t inner_end = std::min(end, rect.row + plan_.row_extent);
        for (; rect.row < inner_end; ++rect.row) {
            rect.rows = div_up(end - rect.row, plan_.row_extent);
            use(rect);
        }
    }
    dim_t tile_row(const chain_feed_t &feed, dim_t row) const;
    dim_t first_tile_row(const chain_feed_t &feed, const rect_t &piece) const;
    dim_t tile_row_step(const chain_feed_t &feed) const;
    dim_t padded(dim_t cols) const;
    dim_t chunk_rows(const rect_t &rect, bool bounced) const;
    bool can_stream(const rect_t &rect) const;
    void run_chunk(const rect_t &piece, const rect_t &chunk, bool bounced);
    void set_args(chain_args_t &args, const rect_t &piece, const rect_t &chunk);
    void set_direct(chain_args_t &args, const chain_feed_t &feed,
            const rect_t &piece, const rect_t &chunk) const;
    void stage(const chain_feed_t &feed, const rect_t &chunk);
    void stage_constant(const chain_feed_t &feed, const rect_t &chunk);
    void stage_rows(const chain_feed_t &feed, const rect_t &chunk);
    void stage_cols(float *to, stage_t read, const chain_feed_t &feed,
            dim_t first, const rect_t &chunk);
    void stage_turns(float *to, stage_t read, const chain_feed_t &feed,
            dim_t first, const rect_t &chunk);
    dim_t dst_element(const rect_t &rect) const;
    char *dst_at(const rect_t &rect) const;
    void flush(const rect_t &chunk) const;

    const jit_elementwise_t &kernel_;
    const problem_t &problem_;
    const chain_plan_t &plan_;
    void *const *const buffers_;
    const dim_t dst_bytes_;
    const dim_t width_; // of a step
    chain_memory_t *const memory_;
    uint8_t *const tiles_;
    dim_t outer_point_ = -1;
    bool inside_ = false; // the outer point is not beyond a short group
    std::array<dim_t, max_loops> index_; // the outer loops'
    // Each operand's element at the outer point.
    std::array<dim_t, max_operands> base_;
    std::array<key_t, max_operands> keys_;
    alignas(64) float constants_[chain_desc_t::max_constants]
                                [chain_desc_t::constant_rows];
};

} // namespace dnnl_dequant

#endif
