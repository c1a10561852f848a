// The product whose [N,K] nibbles are transposed while others are multiplied.

#include <algorithm>

#include "kernels/integer_gemm/integer_product.hpp"

namespace dnnl_dequant {

namespace {

using squares_t = integer_squares_t;
constexpr dim_t square_bytes = 64; // of a column

// Some squares of the same sixteen columns.
struct part_t {
    dim_t col, square;
};

} // namespace

class integer_product_t::transposing_t {
public:
    transposing_t(const integer_product_t &product, void *const *buffers,
            const block_t &block, const void *shared, void *own)
        : plan_(product.plan_)
        , kernel_(*plan_.transposing)
        , buffers_(buffers)
        , block_(block)
        , tile_(product.make_tile(block, shared))
        , columns_(static_cast<integer_columns_t *>(own)) {
        ring_ = static_cast<uint8_t *>(own) + product.columns_bytes_;
    }

    void run() {
        for (dim_t r = 0; r < block_.rows; ++r)
            std::fill_n(block_.c + r * block_.c_pitch, block_.cols, 0.f);
        squares_t first {};
        first.weights = weights({0, 0});
        first.ring = ring_;
        kernel_.transpose(first);
        for (dim_t col = 0; col < block_.cols; col += integer_panel)
            panel(col);
    }

private:
    void panel(dim_t col) {
        const auto &scales = plan_.weights_scales, &zps = plan_.weights_zps;
        const dim_t cols = std::min(integer_panel, block_.cols - col);
        plan_.kernel->load_parameters(
                {buffers_[scales.operand], buffers_[zps.operand],
                        scales.group.data(), zps.group.data(),
                        block_.first_col + col},
                cols, static_cast<dim_t>(plan_.groups.size()), columns_);
        const dim_t step = kernel_.most_squares();
        // Columns whose parts follow each other before the next ones begin.
        const dim_t width
                = step == squares_of_column_ ? squares_t::cols : integer_panel;
        integer_prefetch_t prefetch;
        for (dim_t k = 0; k < squares_of_column_; k += step)
            for (dim_t n = 0; n < cols; n += squares_t::cols) {
                if (k == 0 && n % width == 0)
                    prefetch
                            = prefetch_from(block_.first_col + col + n + width);
                multiply({col + n, k}, next({col + n, k}, col + cols),
                        n * dim_t(sizeof(float)), prefetch);
            }
    }

    // Returns the part behind one, the same if it is the last one.
    part_t next(const part_t &part, dim_t end) const {
        const dim_t step = kernel_.most_squares();
        if (part.col + squares_t::cols < end)
            return {part.col + squares_t::cols, part.square};
        if (part.square + step < squares_of_column_)
            return {(end - 1) / integer_panel * integer_panel,
                    part.square + step};
        return end < block_.cols ? part_t {end, 0} : part;
    }

    void multiply(const part_t &part, const part_t &next, dim_t bytes,
            integer_prefetch_t &prefetch) {
        const dim_t k = part.square * squares_t::depth;
        const dim_t group = k / plan_.groups[0].size;
        squares_t squares {};
        squares.weights = weights({part.col, part.square + kernel_.ahead()});
        squares.after = weights(next);
        squares.ring = ring_;
        squares.at = at_;
        squares.squares = kernel_.most_squares();
        squares.a = tile_.a + k / k4_depth * tile_.a_k4_pitch;
        squares.row_groups = tile_.row_groups + group;
        squares.columns
                = reinterpret_cast<const uint8_t *>(columns_ + group) + bytes;
        squares.c = block_.c + part.col;
        squares.c_pitch = block_.c_pitch;
        squares.rows = block_.rows;
        squares.prefetch = prefetch;
        kernel_.multiply(squares);
        prefetch = squares.prefetch;
        at_ = (at_ + squares.squares * squares_t::bytes)
              % (2 * kernel_.ahead() * squares_t::bytes);
    }

    const uint8_t *weights(const part_t &part) const {
        return static_cast<const uint8_t *>(buffers_[0])
               + (block_.first_col + part.col) * pitch_
               + part.square * square_bytes;
    }

    // Prefetches columns, or the same step of src if there are none.
    integer_prefetch_t prefetch_from(dim_t col) const {
        constexpr dim_t step = integer_prefetch_t::step;
        const auto *const there = reinterpret_cast<const uint8_t *>(tile_.a);
        if (col >= plan_.cols) return {there, there + step, 0, step, 0};
        const uint8_t *const at
                = static_cast<const uint8_t *>(buffers_[0]) + col * pitch_;
        const dim_t width = squares_of_column_ * square_bytes;
        return {at, at + width, pitch_, width, 0};
    }

    const integer_plan_t &plan_;
    const integer_transposing_kernel_t &kernel_;
    void *const *const buffers_;
    const block_t &block_;
    const integer_tile_t tile_;
    integer_columns_t *const columns_;
    uint8_t *ring_;
    const dim_t pitch_
            = bytes_of(plan_.format.weights, plan_.format.col_stride),
            squares_of_column_ = plan_.depth / squares_t::depth;
    dim_t at_ = 0;
};

void integer_product_t::run_transposing(void *const *buffers,
        const block_t &block, const void *shared, void *own) const {
    if (plan_.transposing->takes(block.rows))
        return transposing_t(*this, buffers, block, shared, own).run();
    for (dim_t r = 0; r < block.rows; ++r) {
        block_t row = block;
        row.first_row += r;
        row.rows = 1;
        row.c += r * block.c_pitch;
        transposing_t(*this, buffers, row, shared, own).run();
    }
}

} // namespace dnnl_dequant
