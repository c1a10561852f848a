#include "kernels/dequantize/jit_plan.hpp"

#include <string>
#include <utility>

#include "kernels/dequantize/jit_blocks.hpp"
#include "kernels/dequantize/jit_nest.hpp"
#include "kernels/dequantize/jit_stream.hpp"
#include "kernels/machine.hpp"

namespace dnnl_dequant {

namespace {

// Below this many columns a row is little but overhead.
constexpr dim_t short_row = 16, short_masked_row = 6;
// Below this many rows a call of generated code is little but overhead.
constexpr dim_t few_rows = 16;
// Wanted columns of a tile, so that dst is written in long stretches.
constexpr dim_t tile_cols = jit_narrow_cols;
constexpr dim_t narrow_tile_cols = 16;
// Any row kernel takes this many columns in whole steps.
constexpr dim_t any_step = 32;
// Columns of a group, no power of two, that are better off without a table: in
// the caches, a tile, or rows that end with a shorter group. And of dense rows
// in memory whose groups are all alike, to f32 and to fewer bits (MEASURED.md).
constexpr dim_t long_group = 64, long_group_to_f32 = 24, long_even_group = 36;
// A stretch of dst that is worth a panel.
constexpr dim_t least_panel_cols = 512;

class planner_t : private jit_nest_t {
public:
    planner_t(const problem_t &problem, jit_plan_t &plan)
        : jit_nest_t(problem)
        , plan_(plan) {}

    void make() {
        choose_cols();
        choose_path_and_rows();
        choose_outer();
        init_strides();
        choose_params();
        choose_panels();
        choose_stores_and_calls();
        choose_jit_blocks(problem_, plan_);
    }

private:
    void set_inner(jit_axis_t &axis, int l) {
        axis.inner = l;
        axis.inner_extent = loop(l).extent;
    }
    void set_outer(jit_axis_t &axis, int l) {
        axis.outer = l;
        axis.outer_extent = loop(l).extent;
    }

    void choose_cols() {
        const int inner = loop_count() - 1, next = inner - 1;
        if (inner < 0) return;
        set_inner(plan_.cols, inner);
        const bool dense = stride(problem_.src(), inner) == 1;
        const dim_t wanted = dense ? short_row_of(next, inner)
                             : params_vary_by_src_row(next, inner)
                                     ? narrow_tile_cols
                                     : tile_cols;
        const bool are_few
                = loop(inner).extent < wanted || can_repeat(next, inner);
        if (next >= 0 && are_few && gapless(next, inner)
                && (composes(problem_.src(), next, inner)
                        || can_be_packed(next, inner))
                && composes(problem_.dst(), next, inner))
            set_outer(plan_.cols, next);
    }

    // Groups of a quantize op are rows, each a vector with a mask. Joined ones
    // have their scales repeated and each of these divided, which pays if many
    // rows have the same. Past the caches joined ones take less too.
    dim_t short_row_of(int outer, int inner) const {
        const auto &params = plan_.params;
        bool are_groups = params.divides && params.masks_tails
                          && !varies(params.scales, inner)
                          && !varies(params.zps, inner);
        for (int l = 0; l <= outer; ++l)
            are_groups = are_groups && varies(params.scales, l);
        // Two rows that share a byte would not be two threads'.
        const int bits = bits_of(problem_.dst().type);
        const bool are_bytes = outer >= 0 && loop(inner).extent * bits % 8 == 0;
        return are_groups && are_bytes && fits_last_cache() ? short_masked_row
                                                            : short_row;
    }

    // Columns of a tile of a transposed source need not compose in it.
    bool can_be_packed(int outer, int inner) const {
        if (stride(problem_.src(), inner) == 1) return false;
        for (int l = 0; l < outer; ++l)
            if (stride(problem_.src(), l) == 1 && loop(l).extent >= few_rows
                    && loop(outer).parent != l && loop(inner).parent != l)
                return all_at_bytes_but(l);
        return false;
    }

    // Whether the rows of a transposed source would each have their own
    // parameters, which it is dear to spread along the columns. If one of them
    // changes along these, all are spread.
    bool params_vary_by_src_row(int outer, int inner) const {
        bool by_row = false, by_col = false;
        for (const int o : {plan_.params.scales, plan_.params.zps}) {
            for (int l = 0; l < loop_count(); ++l)
                by_row |= stride(problem_.src(), l) == 1 && varies(o, l);
            by_col |= varies(o, outer, inner);
        }
        return by_row && by_col;
    }

    // `row` is the innermost loop that may be rows. If it is short, the next
    // loop makes longer calls, unless calls take groups of the short one.
    void choose_direct_rows(int row) {
        if (row < 0) return;
        int inner = row, outer = row - 1;
        if (outer >= 0 && loop(inner).extent < few_rows
                && loop(inner).extent < loop(outer).extent
                && loop(inner).parent != outer && !are_groups(outer, inner))
            std::swap(inner, outer);
        set_inner(plan_.rows, inner);
        if (outer >= 0) set_outer(plan_.rows, outer);
    }

    // Rows along `inner` share what varies along the columns.
    bool are_groups(int outer, int inner) const {
        bool vary = false, share = true;
        for (const int o : {plan_.params.scales, plan_.params.zps}) {
            vary = vary || (varies(o, plan_.cols.inner) && varies(o, outer));
            share = share && !varies(o, inner);
        }
        return vary && share;
    }

    void choose_path_and_rows() {
        const auto &src = problem_.src();
        int row = loop_count() - 1;
        while (plan_.cols.has(row))
            --row;
        if (plan_.cols.inner < 0 || stride(src, plan_.cols.inner) == 1) {
            plan_.path = all_at_bytes_but(plan_.cols.inner)
                                 ? jit_src_path_t::direct
                                 : jit_src_path_t::unaligned;
            choose_direct_rows(row);
            return;
        }
        for (int l = 0; l <= row; ++l)
            if (stride(src, l) == 1 && !shortens_cols(l))
                set_inner(plan_.rows, l);
        const int dense = plan_.rows.inner;
        if (dense < 0 && row >= 0) set_inner(plan_.rows, row);
        // Short groups along the rows still take whole lines of src.
        for (int l = 0; l < loop_count(); ++l)
            if (l != plan_.rows.inner && !plan_.cols.has(l) && !shortens_cols(l)
                    && !is_parent_of_others(l)
                    && loop(l).parent != plan_.rows.inner
                    && composes(src, l, plan_.rows.inner)
                    && gapless(l, plan_.rows.inner))
                set_outer(plan_.rows, l);
        // Groups of an odd number of nibbles begin within bytes, tiles do not.
        const bool in_bytes = all_at_bytes_but(dense, plan_.rows.outer);
        plan_.path = dense >= 0 && in_bytes ? jit_src_path_t::transposed
                                            : jit_src_path_t::gathered;
    }

    // An outer loop would be cut short by the row.
    bool is_parent_of_others(int l) const {
        for (int child = 0; child < loop_count(); ++child)
            if (child != plan_.rows.inner && loop(child).parent == l)
                return true;
        return false;
    }

    bool shortens_cols(int l) const {
        const auto &cols = plan_.cols;
        return loop(cols.inner).parent == l
               || (cols.outer >= 0 && loop(cols.outer).parent == l);
    }

    void choose_outer() {
        for (int l = 0; l < loop_count(); ++l)
            if (!plan_.rows.has(l) && !plan_.cols.has(l))
                plan_.outer.push_back(l);
    }

    void init_strides() {
        const auto &rows = plan_.rows, &cols = plan_.cols;
        for (size_t o = 0; o < problem_.operands.size(); ++o) {
            const auto &operand = problem_.operands[o];
            plan_.strides[o] = {stride(operand, rows.outer),
                    stride(operand, rows.inner), stride(operand, cols.outer),
                    stride(operand, cols.inner)};
        }
    }

    void choose_params() {
        const int scales = plan_.params.scales, zps = plan_.params.zps;
        const auto &cols = plan_.cols;
        plan_.scales_vary = varies(scales, cols.inner, cols.outer);
        plan_.zps_vary = varies(zps, cols.inner, cols.outer);
        plan_.scales_rows = varies(scales, plan_.rows.inner);
        plan_.zps_rows = varies(zps, plan_.rows.inner);
        // One that changes with the row cannot stay in a register while rows
        // share the other's loads: it is spread along the columns.
        if (plan_.zps_vary && plan_.scales_rows) plan_.scales_vary = true;
        if (plan_.scales_vary && plan_.zps_rows) plan_.zps_vary = true;
        plan_.outer_rows = varies(scales, plan_.rows.outer)
                           || varies(zps, plan_.rows.outer);
        if (plan_.params_vary() && can_repeat(cols.outer, cols.inner))
            plan_.group_cols = cols.inner_extent;
    }

    // Groups of columns within a step of the row kernels: halves of one of
    // those that take 32, or all of it where few groups are a row of src. Code
    // without masks takes what is left one by one.
    bool can_repeat(int outer, int inner) const {
        const auto &params = plan_.params;
        if (outer < 0 || params.divides || varies(params.scales, inner)
                || varies(params.zps, inner))
            return false;
        const dim_t group = loop(inner).extent;
        const auto dst = problem_.dst().type;
        const bool takes_32 = dst == data_type_t::bf16
                              || (dst == data_type_t::f16 && src_bits() == 4);
        const dim_t most = params.masks_tails && takes_32 ? 16 : 8;
        if ((group & (group - 1)) != 0) return can_have_group_table(inner);
        const bool clips = is_clipped(inner) || is_clipped(outer);
        const bool is_dense = stride(problem_.src(), inner) == 1;
        if (group == any_step && takes_32 && params.masks_tails && is_dense
                && !clips && loop(outer).extent < few_rows)
            return true;
        const bool whole_steps
                = loop(outer).extent * group % any_step == 0 && !clips;
        return group <= most && (params.masks_tails || whole_steps);
    }

    bool can_have_group_table(int inner) const {
        const bool is_wide = is_integer(problem_.src().type) && src_bits() > 16;
        return gains_by_group_table(inner) && !is_wide;
    }

    // Without masks a row of each group ends with elements one by one, unless
    // groups are whole steps.
    bool gains_by_group_table(int inner) const {
        const dim_t group = loop(inner).extent;
        if (!plan_.params.masks_tails) {
            const dim_t step = dst_bytes() > 2 ? 8 : 16;
            return group < long_group
                   && (group < any_step || group % step != 0);
        }
        const bool is_dense = stride(problem_.src(), inner) == 1;
        if (!is_dense || is_clipped(inner) || is_in_second_cache(dst_total()))
            return group < long_group;
        return group < (dst_bytes() > 2 ? long_group_to_f32 : long_even_group);
    }

    // Columns that are few are joined by the loop around them.
    void choose_panels() {
        const bool by_rows = plan_.scales_rows || plan_.zps_rows;
        const bool in_memory = prefers_panels(dst_total());
        if (plan_.path != jit_src_path_t::transposed || src_bits() == 2
                || plan_.params.divides
                || (plan_.params_vary() && by_rows && plan_.group_cols == 1))
            return;
        const dim_t cols = plan_.cols.extent();
        const dim_t wanted
                = in_memory ? least_panel_cols : widest_tile_cols(dst_total());
        if (cols < wanted) {
            if (plan_.params_vary() || plan_.outer.empty()) return;
            const int l = plan_.outer.back();
            const dim_t joined
                    = in_memory ? cols * loop(l).extent : wanted / cols * cols;
            if (!is_joinable(l) || joined < std::min(wanted, 2 * cols)) return;
            plan_.panel_loop = l;
            plan_.panel_extent = loop(l).extent;
            plan_.outer.pop_back();
            for (size_t o = 0; o < problem_.operands.size(); ++o)
                plan_.panel_strides[o] = stride(problem_.operands[o], l);
        }
        plan_.panels = in_memory;
    }
    bool is_joinable(int l) const {
        const int inner = plan_.cols.inner;
        for (const auto &each : problem_.loops)
            if (each.parent == l) return false;
        return plan_.cols.outer < 0 && loop(l).parent < 0
               && loop(inner).parent < 0 && composes(problem_.src(), l, inner)
               && composes(problem_.dst(), l, inner);
    }

    void choose_stores_and_calls() {
        plan_.streaming = !plan_.panels && leaves_caches();
        const auto &policy = this_machine().policy;
        const bool is_direct = plan_.path == jit_src_path_t::direct;
        plan_.streams_rows
                = is_direct && policy.long_rows == far_stores_t::at_once;
        if (plan_.streaming && is_direct) plan_.stream_ahead = policy.src_ahead;
        plan_.prefetches_far_src = !policy.has_plain_far_quantize;
        plan_.streams_nibbles = policy.has_plain_far_quantize
                                && plan_.params.divides
                                && bits_of(problem_.dst().type) == 4
                                && leaves_caches_as_rows();
        const bool in_cache = is_in_second_cache(dst_total());
        const bool short_rows = has_short_rows();
        const uint32_t most_rows = plan_.streams_at_once() ? far_rows() : 4;
        plan_.joins_groups = most_rows > 1 && can_join_groups()
                             && (plan_.is_packed() || in_cache || short_rows);
        // The next two long rows are called for, of four none: MEASURED.md.
        const bool share = plan_.params_vary() && plan_.rows_share()
                           && plan_.rows.extent() > 1;
        if (share && (plan_.streaming || in_cache || plan_.joins_groups))
            plan_.block_rows = most_rows;
        else if (share && is_direct && !short_rows) plan_.block_rows = 2;
        if (plan_.stream_ahead > 0 && plan_.block_rows > 1)
            plan_.stream_ahead = next_rows_ahead();
        plan_.prefetches_params = !in_cache;
        choose_halves();
        plan_.tall_tile_rows = tall_tile_rows();
        plan_.prefetches_dst_into_l2
                = plan_.panels && policy.prefetches_panels_into_l2;
        plan_.prefetching
                = !plan_.streaming && plan_.block_rows <= 2 && !in_cache
                  && !(plan_.params.divides && plan_.cols.extent() < short_row);
    }

    uint32_t far_rows() const {
        // Vectors of AVX2 are halves of lines: rows that take turns to store
        // them past the caches take two to seven times as long (MEASURED.md).
        if (!plan_.params.stores_lines) return 1;
        const auto &policy = this_machine().policy;
        constexpr dim_t f32_bytes = 4;
        const dim_t params_bytes
                = plan_.cols.extent() / plan_.group_cols * f32_bytes
                  * (int {plan_.scales_vary} + int {plan_.zps_vary});
        const bool is_direct = plan_.path == jit_src_path_t::direct;
        return is_direct && !has_short_rows()
                               && params_bytes <= policy.kept_params_bytes
                       ? 1
                       : policy.far_rows;
    }

    bool has_short_rows() const {
        return plan_.cols.extent() < least_panel_cols;
    }

    // The policy's distance may end in another row of the same call, so that of
    // the next call's rows is taken if they are near.
    uint32_t next_rows_ahead() const {
        const dim_t rows_bytes
                = plan_.strides[0].row * src_bits() / 8 * plan_.block_rows;
        return rows_bytes > plan_.stream_ahead && rows_bytes <= far_row_bytes
                       ? static_cast<uint32_t>(rows_bytes)
                       : plan_.stream_ahead;
    }

    // Bytes of src in each column of a tall tile; 0: there are none. They are
    // fewer where many threads would have too few tiles. Elements of 2 bits are
    // bytes of a tile.
    dim_t tall_tile_rows() const {
        constexpr dim_t enough = 64, least = 128;
        if (!this_machine().policy.makes_tall_tiles || !plan_.streaming
                || plan_.path != jit_src_path_t::transposed
                || plan_.panel_loop >= 0 || src_bits() == 2)
            return 0;
        dim_t rows = jit_tall_tile_rows;
        while (rows >= least
                && src_total() < enough * rows * jit_tall_tile_cols)
            rows /= 2;
        return rows >= least ? rows : 0;
    }

    bool fits_last_cache() const {
        return pushing_bytes() * problem_.parts <= this_machine().kept_bytes();
    }

    bool leaves_caches() const {
        const dim_t threshold = streaming_threshold(plan_.is_packed());
        const dim_t parts = problem_.parts;
        if (!plan_.params.divides) return dst_total() * parts > threshold;
        return bits_of(problem_.dst().type) >= 8 && leaves_caches_as_rows();
    }
    bool leaves_caches_as_rows() const {
        return this_machine().policy.long_rows == far_stores_t::at_once
               && plan_.path == jit_src_path_t::direct
               && pushing_bytes() * problem_.parts
                          > streaming_threshold(plan_.is_packed());
    }

    // Two nibbles of a byte are of one group, whose rows share what varies. (A
    // float has no register to spare for the other half.)
    void choose_halves() {
        const int inner = plan_.rows.inner;
        plan_.both_halves
                = plan_.path == jit_src_path_t::transposed && src_bits() == 4
                  && is_integer(problem_.src().type) && plan_.params_vary()
                  && plan_.block_rows > 1 && inner >= 0
                  && (plan_.rows.outer < 0 || loop(inner).extent % 2 == 0);
        plan_.has_odd_row = plan_.both_halves
                            && (loop(inner).extent % 2 != 0
                                    || loop(inner).last_extent % 2 != 0);
    }

    // Groups of rows without a gap between them, each of which shares what
    // varies along its columns. Two nibbles of a byte must be of one group.
    bool can_join_groups() const {
        const int outer = plan_.rows.outer, inner = plan_.rows.inner;
        if (!plan_.params_vary() || !plan_.rows_share() || !plan_.outer_rows
                || plan_.params.divides || plan_.panels
                || !gapless(outer, inner) || shortens_cols(outer)
                || shortens_cols(inner)
                || !composes(problem_.dst(), outer, inner))
            return false;
        if (plan_.path == jit_src_path_t::transposed)
            return src_bits() != 4 || loop(inner).extent % 2 == 0;
        return plan_.path == jit_src_path_t::direct
               && composes(problem_.src(), outer, inner);
    }

    jit_plan_t &plan_;
};

} // namespace

result_t make_jit_plan(const problem_t &problem, const jit_parameters_t &params,
        jit_plan_t &plan) {
    if (problem.loops.size() > max_loops)
        return refuse(std::to_string(problem.loops.size())
                      + " loops, expected at most "
                      + std::to_string(max_loops));
    if (!problem.loops.empty() && problem.dst().strides.back() != 1)
        return refuse("dst is not dense along the innermost loop but has "
                      "stride "
                      + std::to_string(problem.dst().strides.back()));
    plan.params = params;
    planner_t(problem, plan).make();
    return {};
}

} // namespace dnnl_dequant
