#include "kernels/elementwise/jit_chain_plan.hpp"

#include <algorithm>

#include "kernels/dequantize/jit_nest.hpp"
#include "kernels/dequantize/jit_stream.hpp"
#include "kernels/machine.hpp"

namespace dnnl_dequant {

namespace {

// Tiles are whole cache lines of what is dense along the rows, by long
// stretches of dst.
constexpr dim_t tile_cols = 128;
// Tiles narrower than this are made of more rows.
constexpr dim_t narrow_tile = 64;
// A stretch of dst that is worth a panel.
constexpr dim_t least_panel_cols = 512;
// Neighbouring groups share lines of src, scales and zero points, which
// the second cache keeps for so many of them.
constexpr dim_t most_beside = 4;
constexpr dim_t max_direct_cols = 16 * 1024, max_staged_cols = 1024;
constexpr dim_t min_unit_bytes = 32 * 1024, max_unit_bytes = 256 * 1024;
constexpr dim_t wanted_units = 32;

// How large pieces and units are, and what is stored how.
class chain_blocks_t : private jit_nest_t {
public:
    chain_blocks_t(const problem_t &problem, chain_plan_t &plan)
        : jit_nest_t(problem)
        , plan_(plan) {}

    void choose() {
        plan_.panels = can_panel();
        plan_.streaming = !plan_.packs && !plan_.panels
                          && bytes_to_cache() * problem_.parts
                                     > streaming_threshold(plan_.has_tiles);
        plan_.desc.prefetching
                = !plan_.streaming && !plan_.packs
                  && (plan_.panels || !plan_.has_tiles)
                  && !is_in_second_cache(dst_total() * problem_.parts);
        const dim_t unit_bytes = std::min(max_unit_bytes,
                std::max(min_unit_bytes, dst_total() / wanted_units));
        plan_.col_block = max_direct_cols;
        if (plan_.slice_floats > 0)
            plan_.col_block = std::min(
                    max_staged_cols, plan_.slice_floats - staged_slack);
        if (plan_.streaming || plan_.packs)
            plan_.col_block = std::min(
                    plan_.col_block, chain_bounce_bytes / dst_bytes());
        if (plan_.has_tiles) choose_tiles();
        if (plan_.streaming && !plan_.has_tiles) look_ahead();
        const auto fit = [](dim_t &block, dim_t extent) {
            block = std::max<dim_t>(std::min(block, extent), 1);
        };
        fit(plan_.col_block, plan_.all_cols());
        const dim_t row_bytes = plan_.col_block * dst_bytes();
        if (!plan_.has_tiles) plan_.row_block = unit_bytes / row_bytes;
        fit(plan_.row_block, plan_.all_rows());

        plan_.pieces = plan_.row_blocks() * plan_.col_blocks();
        for (const int l : plan_.outer)
            plan_.pieces *= loop(l).extent;
        if (plan_.panels) plan_.points_beside = choose_beside();
        plan_.pieces_per_unit = std::max<dim_t>(
                unit_bytes / (plan_.row_block * row_bytes), 1);
    }

private:
    dim_t bytes_to_cache() const {
        const auto &strides = problem_.src().strides;
        const bool is_read_once
                = !plan_.has_tiles
                  && this_machine().policy.long_rows == far_stores_t::at_once
                  && std::count(strides.begin(), strides.end(), 0) == 0;
        return is_read_once ? std::max(dst_total(), pushing_bytes())
                            : dst_total();
    }
    // The same columns of the next row come next where a block has not all.
    void look_ahead() {
        const bool are_strips = plan_.col_block < plan_.all_cols();
        for (const auto &feed : plan_.feeds) {
            if (feed.input.port < 0) continue;
            auto &port = plan_.desc.ports[static_cast<size_t>(feed.input.port)];
            if (!port.prefetch) continue;
            port.stream_ahead = this_machine().policy.src_ahead;
            const dim_t row
                    = plan_.call_row(feed) * port.format.container_bits / 8;
            if (port.stream_ahead > 0 && are_strips && row > 0
                    && row <= far_row_bytes)
                port.stream_ahead = static_cast<uint32_t>(row);
        }
    }
    dim_t tiled_bits(const chain_feed_t &feed) const {
        return feed.tiled ? bits_of(operand(feed.operand).type) : 0;
    }
    // Bytes of one column in the tile of an operand, and in all tiles.
    dim_t bytes_in_tile(const chain_feed_t &feed, dim_t rows) const {
        if (!feed.tiled) return 0;
        // The next tile begins with a whole number of any type.
        constexpr dim_t align = 4;
        if (feed.tile_row == tile_row_t::inner)
            rows = round_up(plan_.row_extent, align);
        if (feed.tile_row == tile_row_t::outer) {
            // Rows before the first one may share its byte.
            const dim_t before = std::max<dim_t>(8 / tiled_bits(feed), 1) - 1;
            rows = std::min(plan_.outer_row_extent,
                    before + div_up(rows, plan_.row_extent) + 1);
            rows = round_up(rows, align);
        }
        return rows * std::max<dim_t>(tiled_bits(feed), 8) / 8;
    }
    dim_t bytes_in_tiles(dim_t rows) const {
        dim_t bytes = 0;
        for (const auto &feed : plan_.feeds)
            bytes += bytes_in_tile(feed, rows);
        return bytes;
    }
    // Rows for whole cache lines of what is dense along them.
    dim_t rows_of_lines() const {
        dim_t rows = 1;
        for (const auto &feed : plan_.feeds)
            if (feed.tiled && feed.tile_row == tile_row_t::row)
                rows = std::max(rows, chain_tile_line_bits / tiled_bits(feed));
        return rows;
    }

    bool can_panel() const {
        return plan_.has_tiles && !plan_.packs && !plan_.by_group
               && prefers_panels(dst_total())
               && plan_.all_cols() >= least_panel_cols
               && (plan_.slice_floats == 0
                       || plan_.slice_floats - staged_slack >= least_panel_cols)
               && bytes_in_tiles(rows_of_lines()) <= chain_panel_rows;
    }

    void choose_tiles() {
        if (plan_.panels) {
            plan_.row_block = rows_of_lines();
            while (plan_.row_block < plan_.all_rows()
                    && bytes_in_tiles(plan_.row_block * 2) <= chain_panel_rows)
                plan_.row_block *= 2;
            plan_.col_block = std::min(
                    {plan_.col_block, chain_panel_cols, plan_.all_cols()});
        } else {
            choose_narrow_tiles();
        }
        plan_.tile_pitch
                = plan_.col_block + (plan_.panels ? chain_panel_gap : 0);
        dim_t place = 0;
        for (auto &feed : plan_.feeds) {
            // Rows of panels are foreseen by the hardware.
            feed.foreseen = !plan_.panels && !feed.tiled && feed.col == 1
                            && feed.by_row;
            if (!feed.tiled) continue;
            feed.tile = place;
            place += bytes_in_tile(feed, plan_.row_block) * plan_.tile_pitch;
        }
    }

    // Whole sets of the innermost outer loop's.
    dim_t choose_beside() const {
        if (plan_.outer.empty()) return 1;
        dim_t beside = most_beside;
        while (loop(plan_.outer.back()).extent % beside != 0)
            beside /= 2;
        return beside;
    }

    void choose_narrow_tiles() {
        plan_.row_block = rows_of_lines();
        plan_.col_block = std::min({plan_.col_block, tile_cols,
                std::max<dim_t>(plan_.all_cols(), 1)});
        while (plan_.col_block < narrow_tile
                && plan_.row_block < plan_.all_rows()
                && bytes_in_tiles(plan_.row_block * 2) * plan_.col_block
                           <= chain_tile_bytes)
            plan_.row_block *= 2;
        // Elements that are read or stored along the columns may share a byte.
        constexpr dim_t most_per_byte = 4;
        while (bytes_in_tiles(plan_.row_block) * plan_.col_block
                > chain_tile_bytes) {
            auto &block = plan_.col_block;
            if (block > most_per_byte)
                block = std::max(
                        round_up(block, 2 * most_per_byte) / 2, most_per_byte);
            else plan_.row_block /= 2;
        }
        if ((plan_.packs || plan_.col_block < plan_.all_cols())
                && plan_.col_block > most_per_byte)
            plan_.col_block -= plan_.col_block % most_per_byte;
    }

    chain_plan_t &plan_;
};

} // namespace

void choose_chain_blocks(const problem_t &problem, chain_plan_t &plan) {
    chain_blocks_t(problem, plan).choose();
}

} // namespace dnnl_dequant
