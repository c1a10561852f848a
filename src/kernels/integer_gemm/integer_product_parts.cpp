// This file multiplies a block in parts: some panels in some groups are
// unpacked together, and then multiplied by all rows.

#include <algorithm>
#include <array>

#include "kernels/integer_gemm/integer_product.hpp"

namespace dnnl_dequant {

class integer_product_t::parts_t {
public:
    parts_t(const integer_product_t &product, void *const *buffers,
            const block_t &block, const void *shared, void *own)
        : product_(product)
        , plan_(product.plan_)
        , format_(product.plan_.format)
        , buffers_(buffers)
        , block_(block)
        , tile_(product.make_tile(block, shared))
        , own_(static_cast<uint8_t *>(own)) {}

    void run() {
        for (index_ = 0; index_ < product_.blocks_.size(); ++index_)
            for (col_ = 0; col_ < block_.cols; col_ += cols_) {
                pieces_ = product_.blocks_[index_];
                cols_ = std::min(product_.part_panels_ * integer_panel,
                        block_.cols - col_);
                first_col_ = block_.first_col + col_;
                load_parameters();
                unpack();
                multiply();
            }
    }

private:
    dim_t panel_count() const { return div_up(cols_, integer_panel); }
    dim_t panel_cols(dim_t panel) const {
        return std::min(integer_panel, cols_ - panel * integer_panel);
    }
    const piece_t &piece(size_t i) const {
        return product_.pieces_[pieces_.first + i];
    }
    // True if another piece of the part's group came before.
    bool continues() const { return product_.cuts_group_ && index_ > 0; }

    // Returns the columns of piece 0.
    integer_columns_t *columns(dim_t panel) const {
        const dim_t first = product_.keeps_columns() ? col_ / integer_panel : 0;
        auto *columns = reinterpret_cast<integer_columns_t *>(
                own_ + product_.part_panels_ * product_.panel_bytes_
                + (first + panel) * product_.columns_bytes_);
        return columns + (product_.is_by_column() ? pieces_.first : 0);
    }
    integer_group_t group(dim_t panel, size_t i) const {
        return {own_ + panel * product_.panel_bytes_
                        + piece(i).unpacked * integer_panel,
                columns(panel) + i, piece(i).place, piece(i).k4_count};
    }

    // Parameters of [N,K] weights are read column by column, for all groups at
    // once.
    void load_parameters() {
        const auto &scales = plan_.weights_scales, &zps = plan_.weights_zps;
        const size_t first = pieces_.first;
        if (first > 0 && product_.keeps_columns()) return;
        const size_t count
                = product_.is_by_column() ? plan_.groups.size() : pieces_.count;
        for (dim_t p = 0; p < panel_count(); ++p)
            plan_.kernel->load_parameters(
                    {buffers_[scales.operand], buffers_[zps.operand],
                            scales.group.data() + first,
                            zps.group.data() + first,
                            first_col_ + p * integer_panel},
                    panel_cols(p), static_cast<dim_t>(count), columns(p));
    }

    // Returns the weight that the next part begins with.
    dim_t next_weight() const {
        if (col_ + cols_ < block_.cols)
            return product_.weight(piece(0).begin, first_col_ + cols_);
        const size_t next = std::min(index_ + 1, product_.blocks_.size() - 1);
        return product_.weight(
                product_.pieces_[product_.blocks_[next].first].begin,
                block_.first_col);
    }

    // Panels of [K,N] weights are unpacked by turns, some rows of each.
    void unpack() {
        for (size_t i = 0; i < pieces_.count; ++i) {
            const dim_t size = piece(i).size;
            const dim_t rows = product_.is_by_column() ? size : plan_.k_chunk;
            for (dim_t k = 0; k < size; k += rows) {
                const dim_t depth = std::min(rows, size - k);
                const dim_t first
                        = product_.weight(piece(i).begin + k, first_col_);
                const bool is_last
                        = i + 1 == pieces_.count && k + depth == size;
                const dim_t ahead = is_last ? next_weight() - first
                                            : product_.weight(depth, 0);
                if (k == 0 && !continues()) clear_sums(i);
                for (dim_t p = 0; p < panel_count();)
                    p += unpack_panels(p, i,
                            {buffers_[0],
                                    first
                                            + product_.weight(
                                                    0, p * integer_panel),
                                    k, depth, panel_cols(p), ahead});
            }
        }
    }

    void clear_sums(size_t i) const {
        for (dim_t p = 0; p < panel_count(); ++p)
            std::fill_n(group(p, i).columns->sums, integer_panel, 0);
    }

    // Returns the number of panels that it unpacks: one, or two that share
    // lines of weights.
    dim_t unpack_panels(
            dim_t first, size_t i, const integer_weights_t &weights) const {
        if (format_.unpacks_two && first + 1 < panel_count()
                && panel_cols(first + 1) == integer_panel
                && weights.depth % k4_depth == 0) {
            plan_.kernel->unpack_two(
                    weights, group(first, i), group(first + 1, i));
            return 2;
        }
        plan_.kernel->unpack(weights, group(first, i));
        return 1;
    }

    void multiply() {
        integer_tile_t tile = tile_;
        if (!product_.cuts_group_) tile.row_groups += pieces_.first;
        std::array<integer_group_t, most_block_groups> groups;
        tile.groups = groups.data();
        tile.group_count = static_cast<dim_t>(pieces_.count);
        tile.continues = continues();
        tile.accumulates = index_ > 0;
        tile.ends = !product_.cuts_group_
                    || index_ + 1 == product_.blocks_.size();
        for (dim_t p = 0; p < panel_count(); ++p) {
            for (size_t i = 0; i < pieces_.count; ++i)
                groups[i] = group(p, i);
            tile.c = tile_.c + col_ + p * integer_panel;
            tile.prefetch = prefetch(p);
            plan_.kernel->multiply(tile);
        }
    }

    // Prefetches are spread evenly: each panel prefetches its share of the next
    // weights. They are the next block's columns for [N,K], the next groups'
    // rows for [K,N].
    integer_prefetch_t prefetch(dim_t panel) const {
        if (product_.is_by_column()) {
            const auto blocks = static_cast<dim_t>(product_.blocks_.size());
            const dim_t first = first_col_ + cols_;
            const dim_t begin
                    = static_cast<dim_t>(index_) * panel_count() + panel;
            return prefetch_share({first, std::min(cols_, plan_.cols - first),
                                          format_.col_stride, 0, plan_.depth},
                    begin, begin + 1, blocks * panel_count());
        }
        const bool is_last = index_ + 1 == product_.blocks_.size();
        if (!format_.is_packed && !format_.unpacks_two) return {};
        if (is_last && (format_.is_packed || index_ == 0)) return {};
        // The last groups prefetch the first ones of the next columns.
        const dim_t first_col = block_.first_col + (is_last ? block_.cols : 0),
                    cols = std::min(block_.cols, plan_.cols - first_col);
        if (cols <= 0) return {};
        const piece_block_t &next = product_.blocks_[is_last ? 0 : index_ + 1];
        const piece_t &first = product_.pieces_[next.first],
                      &last = product_.pieces_[next.first + next.count - 1];
        const dim_t begin = col_ + panel * integer_panel;
        return prefetch_share(
                {first.begin, last.begin + last.size - first.begin,
                        format_.depth_stride, first_col, cols},
                begin, std::min(begin + integer_panel, block_.cols),
                block_.cols);
    }

    // Some rows of weights as they are stored, in elements.
    struct stored_t {
        dim_t first, rows, pitch;
        dim_t from, width; // of each row
    };
    // Returns the steps from begin / whole to end / whole of these rows.
    integer_prefetch_t prefetch_share(
            const stored_t &of, dim_t begin, dim_t end, dim_t whole) const {
        if (of.rows <= 0) return {};
        constexpr dim_t step = integer_prefetch_t::step;
        const dim_t width = bytes_of(format_.weights, of.width);
        const dim_t pitch = bytes_of(format_.weights, of.pitch);
        const dim_t steps_of_row = div_up(width, step);
        begin = of.rows * steps_of_row * begin / whole;
        end = of.rows * steps_of_row * end / whole;
        const uint8_t *row = static_cast<const uint8_t *>(buffers_[0])
                             + bytes_of(format_.weights, of.from)
                             + (of.first + begin / steps_of_row) * pitch;
        return {row + begin % steps_of_row * step, row + width, pitch, width,
                end - begin};
    }

    const integer_product_t &product_;
    const integer_plan_t &plan_;
    const integer_format_t &format_;
    void *const *const buffers_;
    const block_t &block_;
    const integer_tile_t tile_;
    uint8_t *const own_;
    // The part: its place among the blocks of pieces, and its columns.
    size_t index_ = 0;
    piece_block_t pieces_ {};
    dim_t col_ = 0, cols_ = 0, first_col_ = 0; // in the block, in the weights
};

void integer_product_t::run(void *const *buffers, const block_t &block,
        const void *shared, void *own) const noexcept {
    if (plan_.repacked) run_repacked(buffers, block, shared);
    else if (plan_.stream) run_stream(buffers, block, shared, own);
    else if (plan_.transposing) run_transposing(buffers, block, shared, own);
    else parts_t(*this, buffers, block, shared, own).run();
}

} // namespace dnnl_dequant
