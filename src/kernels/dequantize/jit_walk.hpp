#ifndef KERNELS_DEQUANTIZE_JIT_WALK_HPP
#define KERNELS_DEQUANTIZE_JIT_WALK_HPP

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/dequantize/jit_pack.hpp"
#include "kernels/dequantize/jit_params.hpp"
#include "kernels/dequantize/jit_rows.hpp"

namespace dnnl_dequant {

/// The memory that one thread keeps on its stack.
struct jit_scratch_t {
    alignas(64) float scales[jit_staged_floats];
    alignas(64) float zps[jit_staged_floats];
    alignas(64) float zps_high[jit_staged_floats]; // or 1 / scales
    // Results on their way past the caches; before that, parameters of groups.
    alignas(64) char bounce[jit_bounce_bytes];
};

static_assert(offsetof(jit_scratch_t, zps) + zps_high_at
                      == offsetof(jit_scratch_t, zps_high),
        "row kernels find the high parts");

/// One thread's walk through pieces of one execution.
class jit_walk_t {
public:
    /// `tile`: room for packed source, as much as the plan's tiles take.
    jit_walk_t(const jit_rows_t &kernel, void *const *buffers, uint8_t *tile);

    void run_pieces(dim_t begin, dim_t end);

private:
    // A range of rows by a range of columns. The rows are within one iteration
    // of the outer row loop, or they are those of several groups, from a
    // group's first row on.
    struct rect_t {
        dim_t outer_row, row, rows, col, cols;
    };
    bool is_joined(const rect_t &rect) const {
        return rect.row + rect.rows > plan_.rows.inner_extent;
    }

    // How one operand becomes f32 that a row kernel reads.
    struct staging_t {
        int operand;
        bool varies, by_row;
        stage_t stage;
        stage_blocks_t blocks;
        float *to;
        float bias = 0.f; // that blocks are to add
    };

    // The rows of one call.
    struct src_rows_t {
        const jit_rows_t::row_kernels_t *kernels;
        const void *rows;
        dim_t pitch;
        dim_t first; // of the chunk's rows
        dim_t count;
        int other; // 1: every other row of the chunk; 0: every row
    };

    // Runs `count` rows of a panel, or every other one, from `first` on.
    struct panel_rows_t {
        dim_t first, count;
        int other; // 1: every other row; 0: every row
    };

    dim_t extent(int loop, const rect_t &rect) const;
    dim_t axis_end(const jit_axis_t &axis, const rect_t &rect) const;
    const std::array<int, 3> &fastest_first() const;
    bool shares_pages() const;
    void go_to(dim_t piece);
    void next_piece();
    void next_outer_point();
    void move_along(int loop, dim_t iterations);
    void enter_outer_point();
    void run_piece();
    void run_rows(dim_t begin, dim_t end, dim_t col, dim_t cols);
    dim_t joined_rows(const rect_t &rect, dim_t end) const;
    void run_cols(rect_t rect);
    void run_in_staged_parts(const rect_t &rect);
    void run_staged(const rect_t &rect);

    dim_t element(int operand, const rect_t &rect) const;
    void run_lines(const rect_t &rect);
    dim_t cols_before_line(const rect_t &rect) const;
    dim_t bounced_bytes() const;
    dim_t place_in_line(const rect_t &rect) const;
    bool can_stream_at_once(const rect_t &rect) const;
    bool can_pack_at_once(const rect_t &rect) const;
    bool can_stream_nibbles(const rect_t &rect) const;
    dim_t padded(dim_t cols) const;
    dim_t first_group(dim_t col) const;
    dim_t staged_cols(const rect_t &rect) const;
    dim_t most_staged_cols() const;
    bool is_staged(const rect_t &rect) const;
    void stage(const rect_t &rect);
    void invert_scales(const rect_t &rect);
    void bias_zps(const rect_t &rect);
    bool stage_operand(const staging_t &staging, const rect_t &rect);
    dim_t joined_groups(const rect_t &rect) const;
    bool stage_groups(const staging_t &staging, const rect_t &rect);
    bool stage_many(const staging_t &staging, dim_t first, dim_t stride,
            dim_t count, const rect_t &rect);
    bool are_runs(int operand, const rect_t &rect) const;
    bool stage_repeated(const staging_t &staging, dim_t first, dim_t stride,
            dim_t count, const rect_t &rect);
    bool stage_periods(const staging_t &staging, dim_t first, dim_t stride,
            dim_t count, const rect_t &rect);
    // Columns of parameters, and the floats from row to row of staged ones.
    struct param_cols_t {
        dim_t stride, count, pitch;
    };
    bool stage_across(const staging_t &staging, dim_t first, dim_t rows,
            const param_cols_t &cols);
    // Rows of staged parameters, which take `pitch` floats each.
    struct staged_steps_t {
        dim_t rows, cols, pitch;
    };
    void complete_steps(float *rows, const staged_steps_t &steps) const;
    dim_t bytes_ahead(
            const staging_t &staging, dim_t stride, dim_t bytes) const;
    bool stage_runs(const staging_t &staging, dim_t first, dim_t stride,
            dim_t rows, dim_t count);
    void order(float *values, dim_t count) const;
    dim_t staged_pitch(int operand, const rect_t &rect) const;
    bool stage_span(
            const staging_t &staging, dim_t first, float *to, dim_t count);
    bool stage_cols(const staging_t &staging, dim_t first, float *to,
            const rect_t &rect);

    void pack_transposed_rows(dim_t begin, dim_t end, const rect_t &cols);
    dim_t bytes_ahead_of(const transposed_src_t &src, dim_t end) const;
    void pack_gathered_rows(const rect_t &rect);
    // From dword to dword of a tile.
    dim_t dword_pitch() const { return 4 * tile_pitch_; }
    const uint8_t *dwords_of(dim_t tile_row) const {
        return tile_ + tile_row * src_bits_ / 32 * dword_pitch();
    }
    dim_t in_dwords(dim_t rows) const;
    bool stage_panel_operand(const staging_t &staging, const rect_t &rect);
    void run_panel(const rect_t &rect);
    void run_panel_chunk(const rect_t &rect, dim_t first, dim_t count,
            char *dst, dim_t dst_pitch);
    void run_panel_rows(const rect_t &rect, const panel_rows_t &rows, char *dst,
            dim_t dst_pitch);
    void run_panel_dwords(const rect_t &rect, const panel_rows_t &rows,
            char *dst, dim_t dst_pitch);
    void run_chunk(const rect_t &rect, dim_t row, dim_t rows);
    void run_rows_of(const rect_t &rect, const rect_t &chunk, void *dst,
            dim_t dst_pitch);
    void run_rows_of_tile(const rect_t &rect, const rect_t &chunk, void *dst,
            dim_t dst_pitch);
    void call(const rect_t &rect, const rect_t &chunk, void *dst,
            dim_t dst_pitch, const src_rows_t &src);
    void look_ahead(jit_row_args_t &args) const;

    const jit_rows_t &kernel_;
    const problem_t &problem_;
    const jit_plan_t &plan_;
    void *const *const buffers_;
    const dim_t dst_bytes_; // of one element, a byte at least
    const bool packs_dst_;  // elements share bytes
    const int src_bits_;
    uint8_t *const tile_;
    const dim_t tile_bytes_;     // of one element there
    const dim_t tile_pitch_;     // in elements
    const int group_shift_;      // of columns that share what varies: 2^n
    const bool has_group_table_; // else
    // The piece: its blocks of rows and of columns, its panel.
    struct counter_t {
        dim_t at, count;
    };
    enum { of_rows, of_cols, of_panels };
    std::array<counter_t, 3> counters_;
    const dim_t most_joined_rows_;
    dim_t panel_group_ = 0; // the first of the panel
    dim_t panel_count_ = 1;
    bool inside_ = false;    // the outer point is not beyond a short group
    dim_t index_[max_loops]; // the outer loops'
    dim_t base_[4];          // each operand's element at the outer point
    dim_t tile_row_ = 0;     // the row, of the axis, that the tile begins with
    rect_t staged_ {}; // whose parameters are in the scratch; none of no rows
    dim_t joined_groups_ = 0; // of those that are joined
    bool two_part_ = false;
    bool are_biased_ = false; // the zero points, when they were staged
    // The row kernel does, no bounce buffer.
    bool streams_at_once_ = false, packs_at_once_ = false,
         streams_nibbles_ = false;
    bool bounces_ = false; // else past the caches
    jit_scratch_t scratch_;
};

} // namespace dnnl_dequant

#endif
