// The product whose weights were repacked once.

#include "kernels/integer_gemm/integer_product.hpp"

#include <algorithm>

namespace dnnl_dequant {

dim_t integer_product_t::repacked_panels() const {
    return div_up(plan_.cols, integer_panel);
}

void integer_product_t::repack(
        void *const *buffers, dim_t begin, dim_t end, void *to) const noexcept {
    for (dim_t panel = begin; panel < end; ++panel)
        repack_panel(buffers, panel,
                static_cast<uint8_t *>(to) + panel * repacked_.panel_bytes());
}

void integer_product_t::repack_panel(
        void *const *buffers, dim_t panel, uint8_t *to) const {
    const integer_format_t &format = plan_.format;
    const auto &scales = plan_.weights_scales, &zps = plan_.weights_zps;
    const dim_t col = panel * integer_panel;
    const dim_t cols = std::min(integer_panel, plan_.cols - col);
    integer_columns_t columns = {};
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
        const auto &group = plan_.groups[g];
        plan_.kernel->load_parameters(
                {buffers[scales.operand], buffers[zps.operand],
                        &scales.group[g], &zps.group[g], col},
                cols, 1, &columns);
        const dim_t first
                = group.begin * format.depth_stride + col * format.col_stride;
        plan_.kernel->unpack({buffers[0], first, 0, group.size, cols, 0},
                {to, &columns, 0, repacked_.k4_blocks[g]});
        finish_repacked_group(repacked_, g, columns, to);
        to += repacked_.k4_blocks[g] * repacked_.k4_bytes()
              + repacked_.parameter_bytes();
    }
}

void integer_product_t::run_repacked(
        void *const *buffers, const block_t &block, const void *shared) const {
    const integer_tile_t of_src = make_tile(block, shared);
    integer_repacked_tile_t tile = {nullptr, repacked_.k4_blocks.data(),
            static_cast<dim_t>(repacked_.k4_blocks.size()), of_src.a,
            of_src.a_k4_pitch, of_src.rows, of_src.row_groups,
            of_src.row_groups_pitch, nullptr, of_src.c_pitch};
    for (dim_t col = 0; col < block.cols; col += integer_panel) {
        tile.weights = static_cast<const uint8_t *>(buffers[0])
                       + (block.first_col + col) / integer_panel
                                 * repacked_.panel_bytes();
        tile.c = block.c + col;
        plan_.repacked->multiply(tile);
    }
}

} // namespace dnnl_dequant
