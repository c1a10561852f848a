// Finding ranges by generated code: the innermost loop of src is the columns of
// a rectangle, the next along which the range stays the same its rows.

#include "kernels/quantize/ranges.hpp"

#if defined(__x86_64__)

#include <algorithm>
#include <vector>

#include "base/convert.hpp"
#include "kernels/quantize/jit_range_rows.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t most_cols = 1024; // of which each has a range of its own
constexpr dim_t block_cols = 16 * 1024;
constexpr dim_t unit_elements = 16 * 1024;

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
        by_column_ = cols_ >= 0 && range_stride(cols_) != 0;
        // Rows are a loop along which the range stays, not one whose extent
        // another's depends on, and no group is short there.
        for (int l = 0; l < cols_; ++l)
            if (range_stride(l) == 0 && !is_parent(l)) rows_ = l;
        for (int l = 0; l < cols_; ++l)
            if (l != rows_) outer_.push_back(l);
        for (const int l : outer_)
            points_ *= loop(l).extent;
        block_ = by_column_ ? most_cols : block_cols;
        blocks_ = (extent(cols_) + block_ - 1) / block_;
        const dim_t piece = std::min(extent(cols_), block_) * extent(rows_);
        pieces_per_unit_
                = std::max<dim_t>(unit_elements / std::max<dim_t>(piece, 1), 1);
        return make_jit_range_rows(
                problem_.src().type, by_column_, isa_, rows_kernel_);
    }

    const char *name() const override { return "jit_ranges"; }

    dim_t work_amount() const override {
        return (points_ * blocks_ + pieces_per_unit_ - 1) / pieces_per_unit_;
    }

    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override {
        const dim_t last = std::min(points_ * blocks_, end * pieces_per_unit_);
        for (dim_t p = begin * pieces_per_unit_; p < last; ++p)
            run_piece(buffers, p / blocks_, p % blocks_ * block_);
    }

private:
    const loop_t &loop(int l) const {
        return problem_.loops[static_cast<size_t>(l)];
    }
    dim_t extent(int l) const { return l < 0 ? 1 : loop(l).extent; }
    dim_t src_stride(int l) const {
        return problem_.src().strides[static_cast<size_t>(l)];
    }
    dim_t range_stride(int l) const {
        return problem_.dst().strides[static_cast<size_t>(l)];
    }
    bool is_parent(int l) const {
        return std::any_of(problem_.loops.begin(), problem_.loops.end(),
                [l](const loop_t &other) { return other.parent == l; });
    }

    // Iterations at a point of the outer loops.
    dim_t extent_at(int l, const dim_t *index) const {
        if (l < 0) return 1;
        if (loop(l).parent < 0) return loop(l).extent;
        const dim_t last = loop(loop(l).parent).extent - 1;
        return index[loop(l).parent] == last ? loop(l).last_extent
                                             : loop(l).extent;
    }

    void run_piece(void *const *buffers, dim_t point, dim_t col) const {
        dim_t index[max_loops] = {};
        dim_t src = problem_.src().offset + col, range = problem_.dst().offset;
        for (size_t i = outer_.size(); i-- > 0;) {
            const int l = outer_[i];
            index[l] = point % loop(l).extent;
            point /= loop(l).extent;
            src += index[l] * src_stride(l);
            range += index[l] * range_stride(l);
        }
        // Points beyond a short last group are none.
        for (const int l : outer_)
            if (index[l] >= extent_at(l, index)) return;
        const dim_t bytes = bytes_of(problem_.src().type, 1);
        jit_range_args_t args;
        args.src = static_cast<const char *>(buffers[0]) + src * bytes;
        args.rows = extent_at(rows_, index);
        args.cols = std::min(extent_at(cols_, index) - col, block_);
        args.src_pitch = rows_ < 0 ? 0 : src_stride(rows_) * bytes;
        if (args.rows <= 0 || args.cols <= 0) return;
        auto *const ranges = static_cast<range_t *>(buffers[1]) + range;
        if (by_column_) run_columns(args, ranges, col);
        else run_all(args, *ranges);
    }

    void run_all(jit_range_args_t &args, range_t &range) const {
        alignas(64) float above[range_lanes] = {}, below[range_lanes] = {};
        args.above = above;
        args.below = below;
        (*rows_kernel_)(args);
        range_t found;
        for (dim_t i = 0; i < range_lanes; ++i) {
            found.above = std::max(found.above, above[i]);
            found.below = std::max(found.below, -below[i]);
        }
        widen(range, found);
    }

    void run_columns(jit_range_args_t &args, range_t *ranges, dim_t col) const {
        alignas(64) float above[most_cols + range_lanes];
        alignas(64) float below[most_cols + range_lanes];
        std::fill(above, above + args.cols + range_lanes, 0.f);
        std::fill(below, below + args.cols + range_lanes, 0.f);
        args.above = above;
        args.below = below;
        const dim_t cols = args.cols, stride = range_stride(cols_);
        (*rows_kernel_)(args);
        for (dim_t c = 0; c < cols; ++c)
            // Not -below, which may be -0: of its bits all others fall short.
            widen(ranges[(col + c) * stride], {above[c], 0.f - below[c]});
    }

    const problem_t problem_;
    const isa_t isa_;
    int cols_ = -1, rows_ = -1;
    std::vector<int> outer_;
    bool by_column_ = false;
    dim_t points_ = 1, block_ = 1, blocks_ = 1, pieces_per_unit_ = 1;
    std::unique_ptr<const jit_range_rows_t> rows_kernel_;
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

#else

namespace dnnl_dequant {

result_t make_jit_ranges(
        const problem_t &, isa_t, std::shared_ptr<const kernel_t> &) {
    return {status_t::unimplemented, "jit_ranges: the machine is no x86-64"};
}

} // namespace dnnl_dequant

#endif
