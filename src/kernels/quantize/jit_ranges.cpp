// Finding ranges by generated code: the innermost loop of src is the columns of
// a rectangle, another one its rows. A piece of work is a block of either.

#include "kernels/quantize/ranges.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/convert.hpp"
#include "kernels/machine.hpp"
#include "kernels/quantize/jit_range_bits.hpp"
#include "kernels/quantize/jit_range_rows.hpp"

namespace dnnl_dequant {

namespace {

class jit_ranges_t : public kernel_t {
public:
    jit_ranges_t(const problem_t &problem, isa_t isa)
        : problem_(problem)
        , isa_(isa) {}

    result_t prepare() {
        const int count = static_cast<int>(problem_.loops.size());
        cols_ = count - 1;
        if (cols_ >= 0 && src_stride(cols_) != 1)
            return {status_t::unimplemented,
                    "jit_ranges: src is not dense along the innermost loop"};
        choose_rows();
        for (int l = 0; l < cols_; ++l)
            if (l != rows_) outer_.push_back(l);
        const bool by_column = mode_ == range_mode_t::by_column;
        col_block_ = by_column ? most_ranges : block_cols;
        row_block_
                = mode_ == range_mode_t::by_row ? most_ranges : extent(rows_);
        col_blocks_ = blocks(extent(cols_), col_block_);
        row_blocks_ = blocks(extent(rows_), row_block_);
        pieces_ = row_blocks_ * col_blocks_;
        for (const int l : outer_)
            pieces_ *= loop(l).extent;
        const dim_t piece = std::min(extent(cols_), col_block_)
                            * std::min(extent(rows_), row_block_);
        pieces_per_unit_
                = std::max<dim_t>(unit_elements / std::max<dim_t>(piece, 1), 1);
        // Nobody else widens what a piece finds.
        exclusive_ = mode_ == range_mode_t::by_row && col_blocks_ == 1;
        for (const int l : outer_)
            exclusive_ = exclusive_ && range_stride(l) != 0;
        const result_t result = make_jit_range_rows(
                problem_.src().type, mode_, isa_, rows_kernel_);
        return result.ok() ? make_bits_kernel() : result;
    }

    const char *name() const override { return "jit_ranges"; }

    dim_t work_amount() const override {
        return blocks(pieces_, pieces_per_unit_);
    }

    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override {
        const dim_t first = begin * pieces_per_unit_;
        const dim_t last = std::min(pieces_, end * pieces_per_unit_);
        if (first >= last) return;
        place_t at = place_of(first);
        for (dim_t p = first; p < last; ++p, advance(at))
            run_piece(buffers, at);
    }

private:
    static constexpr dim_t most_ranges = 1024; // that a piece has
    static constexpr dim_t block_cols = 16 * 1024;
    static constexpr dim_t unit_elements = 16 * 1024;

    static constexpr dim_t vector_bytes = 64;

    // Eight instructions for 32 numbers of 16 bits become three. On Zen 4 that
    // takes 0.65 to 0.8 of the time of both passes in L2, but 1.05 to 1.15 of
    // it out of the caches (MEASURED.md).
    result_t make_bits_kernel() {
        const data_type_t src = problem_.src().type;
        const dim_t cols = std::min(extent(cols_), block_cols);
        if (mode_ == range_mode_t::by_column || bits_of(src) != 16
                || !has(isa_, isa_avx512_core) || cols == 0 || leaves_cache()
                || bytes_of(src, cols) % vector_bytes != 0)
            return {};
        bits_cols_ = cols;
        return make_jit_range_bits({src, cols}, bits_kernel_);
    }

    bool leaves_cache() const {
        dim_t elements = problem_.parts;
        for (const auto &each : problem_.loops)
            elements *= each.extent;
        return bytes_of(problem_.src().type, elements)
               > this_machine().second_cache_bytes;
    }

    // A piece: its point of the outer loops, its first row and column. Going
    // from one to the next needs no division, which is dear for short rows.
    struct place_t {
        dim_t index[max_loops] = {};
        dim_t src = 0, range = 0; // elements, of the outer loops
        dim_t row = 0, col = 0;
    };

    static dim_t blocks(dim_t extent, dim_t block) {
        return block == 0 ? 0 : div_up(extent, block);
    }

    // The next loop outwards; for ranges by column one along which they stay.
    // None whose extents another's depend on, and for ranges of rows none that
    // decides how long a row is.
    void choose_rows() {
        const bool by_column = cols_ >= 0 && range_stride(cols_) != 0;
        for (int l = 0; l < cols_; ++l)
            if (!is_parent(l) && (!by_column || range_stride(l) == 0))
                rows_ = l;
        mode_ = by_column ? range_mode_t::by_column
                : rows_ >= 0 && range_stride(rows_) != 0 ? range_mode_t::by_row
                                                         : range_mode_t::of_all;
    }

    const loop_t &loop(int l) const {
        return problem_.loops[static_cast<size_t>(l)];
    }
    dim_t extent(int l) const { return l < 0 ? 1 : loop(l).extent; }
    dim_t src_stride(int l) const {
        return l < 0 ? 0 : problem_.src().strides[static_cast<size_t>(l)];
    }
    dim_t range_stride(int l) const {
        return l < 0 ? 0 : problem_.dst().strides[static_cast<size_t>(l)];
    }
    bool is_parent(int l) const {
        return std::any_of(problem_.loops.begin(), problem_.loops.end(),
                [l](const loop_t &other) { return other.parent == l; });
    }

    // Iterations at a point of the outer loops.
    dim_t extent_at(int l, const place_t &at) const {
        if (l < 0) return 1;
        if (loop(l).parent < 0) return loop(l).extent;
        const dim_t last = loop(loop(l).parent).extent - 1;
        return at.index[loop(l).parent] == last ? loop(l).last_extent
                                                : loop(l).extent;
    }

    place_t place_of(dim_t piece) const {
        place_t at;
        at.col = piece % col_blocks_ * col_block_;
        piece /= col_blocks_;
        at.row = piece % row_blocks_ * row_block_;
        piece /= row_blocks_;
        at.src = problem_.src().offset;
        at.range = problem_.dst().offset;
        for (size_t i = outer_.size(); i-- > 0; piece /= loop(outer_[i]).extent)
            step(at, outer_[i], piece % loop(outer_[i]).extent);
        return at;
    }
    void step(place_t &at, int l, dim_t iterations) const {
        at.index[l] += iterations;
        at.src += iterations * src_stride(l);
        at.range += iterations * range_stride(l);
    }

    void advance(place_t &at) const {
        if ((at.col += col_block_) < extent(cols_)) return;
        at.col = 0;
        if ((at.row += row_block_) < extent(rows_)) return;
        at.row = 0;
        for (size_t i = outer_.size(); i-- > 0;) {
            const int l = outer_[i];
            step(at, l, 1);
            if (at.index[l] < loop(l).extent) return;
            step(at, l, -at.index[l]);
        }
    }

    void run_piece(void *const *buffers, const place_t &at) const {
        // Points beyond a short last group are none.
        for (const int l : outer_)
            if (at.index[l] >= extent_at(l, at)) return;
        const dim_t bytes = bytes_of(problem_.src().type, 1);
        const dim_t src = at.src + at.row * src_stride(rows_) + at.col;
        jit_range_args_t args;
        args.src = static_cast<const char *>(buffers[0]) + src * bytes;
        args.rows = std::min(extent_at(rows_, at) - at.row, row_block_);
        args.cols = std::min(extent_at(cols_, at) - at.col, col_block_);
        args.src_pitch = src_stride(rows_) * bytes;
        if (args.rows <= 0 || args.cols <= 0) return;
        auto *const ranges = static_cast<range_t *>(buffers[1]) + at.range;
        switch (mode_) {
        case range_mode_t::of_all: find(args, ranges, 1, 0); break;
        case range_mode_t::by_row:
            find(args, ranges + at.row * range_stride(rows_), args.rows,
                    range_stride(rows_));
            break;
        case range_mode_t::by_column:
            find(args, ranges + at.col * range_stride(cols_), args.cols,
                    range_stride(cols_));
        }
    }

    // So many ranges, that stand `stride` apart.
    void find(jit_range_args_t args, range_t *ranges, dim_t count,
            dim_t stride) const {
        alignas(64) float above[most_ranges + range_lanes];
        alignas(64) float below[most_ranges + range_lanes];
        if (mode_ == range_mode_t::by_column) {
            std::fill(above, above + count + range_lanes, 0.f);
            std::fill(below, below + count + range_lanes, 0.f);
        }
        args.above = above;
        args.below = below;
        if (args.cols == bits_cols_ && args.rows == count
                && find_by_bits(args, ranges, stride))
            return;
        (*rows_kernel_)(args);
        for (dim_t i = 0; i < count; ++i)
            // Not -below, which may be -0: of its bits all others fall short.
            put({above[i], 0.f - below[i]}, ranges[i * stride]);
    }

    // False if there is a NaN.
    bool find_by_bits(
            jit_range_args_t &args, range_t *ranges, dim_t stride) const {
        const data_type_t src = problem_.src().type;
        (*bits_kernel_)(args);
        for (dim_t i = 0; i < args.rows; ++i) {
            const float above = load_f32(src, args.above + i, 0);
            const float least = load_f32(src, args.below + i, 0);
            if (std::isnan(above) || std::isnan(least)) return false;
            put({above, 0.f - std::min(least, 0.f)}, ranges[i * stride]);
        }
        return true;
    }

    void put(const range_t &found, range_t &range) const {
        if (exclusive_) range = found;
        else widen(range, found);
    }

    const problem_t problem_;
    const isa_t isa_;
    int cols_ = -1, rows_ = -1; // loops; -1: none, of one iteration
    std::vector<int> outer_;
    range_mode_t mode_ = range_mode_t::of_all;
    bool exclusive_ = false;
    dim_t col_block_ = 1, row_block_ = 1, col_blocks_ = 1, row_blocks_ = 1;
    dim_t pieces_ = 1, pieces_per_unit_ = 1;
    std::unique_ptr<const jit_range_rows_t> rows_kernel_;
    // For pieces of so many columns, unless there is a NaN.
    std::unique_ptr<const jit_range_rows_t> bits_kernel_;
    dim_t bits_cols_ = -1;
};

} // namespace

result_t make_jit_ranges(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    if (!has(isa, isa_avx2))
        return {status_t::unimplemented,
                "jit_ranges: the instruction set is less"};
    if (!is_result_type(problem.src().type)
            || problem.loops.size() > static_cast<size_t>(max_loops))
        return {status_t::unimplemented,
                "jit_ranges: src is none of f32 bf16 f16, or too many loops"};
    auto made = std::make_shared<jit_ranges_t>(problem, isa);
    const result_t result = made->prepare();
    if (result.ok()) kernel = std::move(made);
    return result;
}

} // namespace dnnl_dequant
