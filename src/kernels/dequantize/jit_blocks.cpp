#include "kernels/dequantize/jit_blocks.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/dequantize/jit_nest.hpp"
#include "kernels/dequantize/jit_stream.hpp"
#include "kernels/machine.hpp"

namespace dnnl_dequant {

namespace {

// Whole cache lines of a source that is dense along the rows.
constexpr dim_t tile_row_bytes = 64;
constexpr dim_t min_unit_bytes = 32 * 1024;
constexpr dim_t max_unit_bytes = 256 * 1024;
constexpr dim_t wanted_units = 32;
// Columns of one row that is stored past the caches.
constexpr dim_t long_call_cols = 256 * 1024;

class block_chooser_t : private jit_nest_t {
public:
    block_chooser_t(const problem_t &problem, jit_plan_t &plan)
        : jit_nest_t(problem)
        , plan_(plan) {}

    void choose() {
        const dim_t unit_bytes = std::min(max_unit_bytes,
                std::max(min_unit_bytes, dst_total() / wanted_units));

        plan_.cols.block
                = std::min(plan_.cols.extent(), in_groups(max_block_cols()));
        const dim_t row_bytes
                = std::max<dim_t>(plan_.cols.block * dst_bytes(), 1);
        plan_.rows.block = std::min(plan_.rows.extent(), max_block_rows());
        if (!plan_.is_packed())
            plan_.rows.block = std::min(plan_.rows.block,
                    std::max<dim_t>(unit_bytes / row_bytes, 1));
        plan_.rows.block = std::max<dim_t>(plan_.rows.block, 1);
        plan_.cols.block = std::max<dim_t>(plan_.cols.block, 1);
        if (plan_.panel_loop >= 0) choose_panel_groups();
        choose_far_tiles();

        if (plan_.cols.blocks() == 1 && !is_clipped(plan_.cols.inner)
                && !is_clipped(plan_.cols.outer)
                && plan_.cols.block <= plan_.bounced_cols(dst_bytes()))
            plan_.fixed_cols = plan_.cols.extent();

        plan_.pieces = plan_.rows.blocks() * plan_.cols.blocks()
                       * plan_.panel_blocks();
        for (const int l : plan_.outer)
            plan_.pieces *= loop(l).extent;
        const dim_t piece_bytes
                = plan_.rows.block * row_bytes * plan_.panel_groups;
        plan_.pieces_per_unit = std::max<dim_t>(
                unit_bytes / std::max<dim_t>(piece_bytes, 1), 1);
        if (!is_dst_at_bytes())
            plan_.pieces_per_unit = std::max<dim_t>(plan_.pieces, 1);
    }

private:
    // Tiles that are stored past the caches: blocks of several, so that the
    // pages of dst that they share with the next columns' are few.
    void choose_far_tiles() {
        constexpr dim_t enough = 64;
        const dim_t lines = this_machine().policy.far_tile_lines;
        const dim_t rows = plan_.rows.block;
        if (!plan_.streaming || lines == 0 || plan_.tall_tile_rows > 0
                || plan_.path != jit_src_path_t::transposed
                || nominal_points() < enough * lines * rows * plan_.cols.block
                || plan_.rows.extent() <= lines * rows)
            return;
        plan_.tile_rows = rows;
        plan_.rows.block = lines * rows;
    }

    // Each row has its own parameters of each group.
    void choose_panel_groups() {
        static_assert(jit_wide_panel_cols <= jit_max_staged, "a row fits");
        auto &rows = plan_.rows;
        const dim_t most
                = plan_.panels ? panel_cols() : widest_tile_cols(dst_total());
        const dim_t wanted
                = std::min(plan_.panel_extent, most / plan_.cols.block);
        // Two rows may share bytes of src.
        if (rows.block * wanted > jit_max_staged)
            rows.block = (rows.block / 2 + 1) / 2 * 2;
        plan_.panel_groups = std::min(wanted, jit_max_staged / rows.block);
    }

    // Rows of dst begin at whole bytes, so that no two share one.
    bool is_dst_at_bytes() const {
        const dim_t per_byte = std::max(8 / bits_of(problem_.dst().type), 1);
        dim_t places = problem_.dst().offset;
        for (int l = 0; l < loop_count(); ++l)
            if (!plan_.cols.has(l)) places |= stride(problem_.dst(), l);
        return places % per_byte == 0;
    }
    dim_t max_block_cols() const {
        if (plan_.panels) return panel_cols();
        if (plan_.tall_tile_rows > 0) return jit_tall_tile_cols;
        if (plan_.is_packed()) return widest_tile_cols(dst_total());
        if (plan_.streams_at_once())
            return std::min(staged_cols(), long_call_cols);
        if (plan_.params_vary())
            return std::min(plan_.bounced_cols(dst_bytes()), staged_cols());
        return plan_.streaming ? plan_.bounced_cols(dst_bytes())
                               : jit_tile_bytes;
    }
    // Blocks begin with a group, so that they share one table of groups. They
    // begin with a line of dst too, if there is room for so many columns.
    dim_t in_groups(dim_t cols) const {
        if (!plan_.has_group_table()) return cols;
        constexpr dim_t line = 64;
        for (dim_t unit = line / dst_bytes(); unit > 1; unit /= 2)
            if (const dim_t even = std::lcm(plan_.group_cols, unit);
                    even <= cols)
                return cols / even * even;
        return cols / plan_.group_cols * plan_.group_cols;
    }
    // Columns whose parameters have room.
    dim_t staged_cols() const {
        if (!plan_.params_vary()) return long_call_cols;
        return plan_.joins_cols() && !plan_.has_group_table()
                       ? jit_max_staged * plan_.group_cols
                       : jit_max_staged;
    }
    dim_t panel_cols() const {
        constexpr dim_t page = 4096;
        const dim_t cols = std::min(page / dst_bytes(), jit_wide_panel_cols);
        return has_few_panels(cols) ? jit_panel_cols : cols;
    }
    // There are too few for many threads.
    bool has_few_panels(dim_t cols) const {
        constexpr dim_t enough = 16;
        return nominal_points()
               < enough * cols * jit_panel_rows * 8 / src_bits();
    }
    dim_t max_block_rows() const {
        if (plan_.tall_tile_rows > 0)
            return plan_.tall_tile_rows * 8 / src_bits();
        // Elements of 2 bits are bytes of a tile.
        if (plan_.path == jit_src_path_t::gathered
                || (plan_.path == jit_src_path_t::transposed
                        && src_bits() == 2))
            return std::min(tile_row_bytes, tile_row_bytes * 8 / src_bits());
        if (plan_.panels && !has_few_panels(jit_panel_cols))
            return jit_panel_rows * 8 / src_bits();
        if (plan_.path == jit_src_path_t::transposed)
            return tile_row_bytes * 8 / src_bits();
        return jit_max_staged;
    }

    jit_plan_t &plan_;
};

} // namespace

dim_t widest_tile_cols(dim_t dst_bytes) {
    constexpr dim_t wide = 256;
    return is_in_second_cache(dst_bytes) ? wide : jit_narrow_cols;
}

void choose_jit_blocks(const problem_t &problem, jit_plan_t &plan) {
    block_chooser_t(problem, plan).choose();
}

} // namespace dnnl_dequant
