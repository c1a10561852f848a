#include "lower/reordered_blocks.hpp"

#include <algorithm>
#include <numeric>

#include "base/convert.hpp"
#include "base/text.hpp"
#include "kernels/machine.hpp"
#include "kernels/short_rows/reordered_blocks.hpp"
#include "lower/blocks.hpp"
#include "problem/make_problem.hpp"

namespace dnnl_dequant {

namespace {

// Elements of a block that follow one another in src, and in dst, if there are
// so many.
constexpr dim_t src_run = 128, dst_run = 64;
constexpr dim_t line = 64;
constexpr dim_t least_points = 129;
// kernels/short_rows/MEASURED.md has the next limits.
// Bytes of dst between two elements that follow one another in src: rows that
// are too short to be written by themselves.
constexpr dim_t short_row_bytes = 50;
// A row that is dense in src too has to be shorter, of 16 bits less so where a
// vector makes it (AVX-512), and of a chain.
constexpr dim_t short_dense_row_bytes = 16,
                short_dense_row_bytes_by_vector = 32,
                short_dense_row_bytes_of_chain = 36;
// Rows of a tile that are few; then columns of dst that are few, or bytes of
// them if these have parameters of their own.
constexpr dim_t few_rows_of_tile = 12, few_columns = 28, few_column_bytes = 128;
// Columns of which a multiple fills the vectors of a tile.
constexpr dim_t vector_columns = 16;
// Rows of src's run from which on each has its columns' parameters staged:
// fewer if columns are few.
constexpr dim_t rows_to_stage = 64, rows_to_stage_few = 36;
constexpr dim_t few_staged_columns = 64;

class planner_t {
public:
    planner_t(const problem_t &problem, isa_t isa)
        : problem_(problem)
        , isa_(isa)
        , count_(problem.loops.size())
        , inward_(count_)
        , blocks_(count_, 1) {
        std::iota(inward_.rbegin(), inward_.rend(), size_t(0));
        find_dense_loops();
    }

    // Whether other kernels would take longer: they would go through src
    // element by element, or through dst in short rows.
    bool gains() const {
        if (bits_of(problem_.dst().type) < 8 || dense_.empty() || overlaps()
                || is_in_order())
            return false;
        for (size_t l = 0; l < count_; ++l)
            if (!is_plain(problem_, l)) return false;
        return have_order_of_src()
               && (begins_within_bytes() || has_short_rows()
                       || has_few_columns() || spreads_parameters());
    }

    result_t make(std::shared_ptr<const kernel_t> &kernel) {
        choose_blocks();
        if (elements_of_block() > reordered_blocks_t::most_elements)
            return refuse(text("blocks that begin with bytes have ",
                    elements_of_block(), " elements; expected ",
                    reordered_blocks_t::most_elements, " at most"));
        reordered_blocks_t plan;
        plan.operands = problem_.operands.size();
        std::vector<size_t> shorter; // loops whose last block is so
        for (size_t l = 0; l < count_; ++l) {
            if (blocks_[l] == extent(l)) continue;
            reordered_blocks_t::cut_t cut;
            cut.blocks = div_up(extent(l), blocks_[l]);
            for (size_t o = 0; o < plan.operands; ++o)
                cut.bytes[o] = blocks_[l] * bits_along(o, l) / 8;
            if (extent(l) % blocks_[l] != 0) {
                cut.last_pass = size_t(1) << shorter.size();
                shorter.push_back(l);
            }
            plan.cuts.push_back(cut);
        }
        const size_t passes = size_t(1) << shorter.size();
        if (passes > plan.passes.size())
            return refuse(text("blocks have ", passes, " shapes; expected ",
                    plan.passes.size(), " at most"));
        for (size_t pass = 0; pass < passes; ++pass) {
            dims_t extents = blocks_;
            for (size_t i = 0; i < shorter.size(); ++i)
                if ((pass >> i & 1) != 0)
                    extents[shorter[i]] = rest(shorter[i]);
            const result_t result = make_pass(extents, plan.passes[pass]);
            if (!result.ok()) return result;
        }
        plan.src = src_rows();
        kernel = dnnl_dequant::make_reordered_blocks(std::move(plan));
        return {};
    }

private:
    dim_t extent(size_t l) const { return problem_.loops[l].extent; }
    dim_t rest(size_t l) const { return extent(l) % blocks_[l]; }
    dim_t bits_along(size_t o, size_t l) const {
        const operand_t &operand = problem_.operands[o];
        return operand.strides[l] * bits_of(operand.type);
    }

    // Finds the loops along which src is dense, the innermost first.
    void find_dense_loops() {
        const dims_t &strides = problem_.src().strides;
        for (dim_t stride = 1;; stride *= extent(dense_.back())) {
            const auto next = std::find(strides.begin(), strides.end(), stride);
            if (next == strides.end() || dense_.size() == count_) return;
            dense_.push_back(static_cast<size_t>(next - strides.begin()));
        }
    }

    // Two loops step through src alike: it has no order to compute blocks in.
    bool overlaps() const {
        const dims_t &strides = problem_.src().strides;
        return std::any_of(strides.begin(), strides.end(), [&](dim_t stride) {
            return stride != 0
                   && std::count(strides.begin(), strides.end(), stride) > 1;
        });
    }

    // Whether elements that follow one another in src do so in dst too, as many
    // as are wanted or as there are.
    bool is_in_order() const {
        dim_t run = 1;
        for (size_t i = 0; i < dense_.size() && run < src_run; ++i) {
            if (dense_[i] != inward_[i]) return false;
            run *= extent(dense_[i]);
        }
        return true;
    }

    // The other operands are read in the order of src too.
    bool have_order_of_src() const {
        return std::all_of(problem_.operands.begin() + 1,
                problem_.operands.end() - 1, [this](const operand_t &o) {
            return o.strides[dense_.front()] <= 1;
        });
    }

    // Runs of src that begin within a byte are no rows to be transposed, unless
    // they go on along a second loop and there are columns enough beside them.
    bool begins_within_bytes() const {
        const bool goes_on
                = is_row_of_two_loops() && extent(count_ - 1) > few_columns;
        for (size_t l = 0; l < count_; ++l) {
            const bool is_row = l == dense_[0] || (goes_on && l == dense_[1]);
            if (!is_row && bits_along(0, l) % 8 != 0) return true;
        }
        return false;
    }

    // Runs of src go on along a second loop that is not the columns.
    bool is_row_of_two_loops() const {
        const size_t columns = count_ - 1;
        return dense_.size() >= 2 && dense_[0] != columns
               && dense_[1] != columns;
    }
    // A chain's tile has more rows or columns by that loop. A dequantize stages
    // parameters of each of its columns row by row.
    dim_t rows_of_tile() const {
        const dim_t rows = extent(dense_[0]);
        return is_chain() && is_row_of_two_loops() ? rows * extent(dense_[1])
                                                   : rows;
    }

    // A dequantize whose rows go on along the next loop, such as keys in groups
    // of eight, and whose columns fill the vectors of its tiles.
    bool is_tile_of_vectors() const {
        const size_t columns = count_ - 1;
        return !is_chain() && dense_.size() >= 2 && dense_[0] + 1 == columns
               && dense_[1] + 2 == columns
               && extent(columns) % vector_columns == 0;
    }

    // Rows of dst are short: dense in src too, or between two elements that
    // follow one another in src.
    bool has_short_rows() const {
        const size_t last = count_ - 1;
        if (dense_.front() == last)
            return bytes_of_dst(extent(last)) <= short_dense_bytes();
        dim_t between = 1;
        for (size_t l = dense_.front() + 1; l < count_; ++l)
            between *= extent(l);
        return bytes_of_dst(between) <= short_row_bytes && !are_planes_of_f32();
    }
    dim_t bytes_of_dst(dim_t elements) const {
        return elements * bits_of(problem_.dst().type) / 8;
    }
    dim_t short_dense_bytes() const {
        const data_type_t type = problem_.dst().type;
        const bool is_one_loop = dense_.size() < 2 || dense_[1] != count_ - 2;
        if (is_chain() && is_result_type(type) && is_one_loop)
            return short_dense_row_bytes_of_chain;
        return bits_of(type) == 16 && has(isa_, isa_avx512_core)
                       ? short_dense_row_bytes_by_vector
                       : short_dense_row_bytes;
    }
    bool is_chain() const { return !is_dequantize(problem_.steps); }

    // A tile has few rows, and few columns side by side or some that have
    // parameters of their own. Whole vectors of rows in groups are tiles.
    bool has_few_columns() const {
        const size_t last = count_ - 1, along = dense_.front();
        if (along == last || count_ < 3 || rows_of_tile() > few_rows_of_tile
                || is_tile_of_vectors())
            return false;
        const dims_t &src = problem_.src().strides;
        const bool are_few = extent(last) <= few_columns
                             && src[last - 1] != src[last] * extent(last);
        return are_few
               || (any_parameter_varies(last, last)
                       && dense_elements() >= src_run
                       && bytes_of_dst(extent(last)) <= few_column_bytes);
    }
    dim_t dense_elements() const {
        dim_t elements = 1;
        for (const size_t l : dense_)
            elements *= extent(l);
        return elements;
    }

    // Columns of dst have parameters of their own in each row of src's run,
    // which only blocks stage along src.
    bool spreads_parameters() const {
        const size_t last = count_ - 1, along = dense_.front();
        const bool are_few = extent(last) <= few_staged_columns;
        if (!are_few && bits_of(problem_.dst().type) > 16) return false;
        return along != last
               && extent(along) >= (are_few ? rows_to_stage_few : rows_to_stage)
               && any_parameter_varies(along, last);
    }
    // Whether one varies along both. A whole tensor is none: it is transposed.
    bool any_parameter_varies(size_t l, size_t other) const {
        return std::any_of(problem_.operands.begin() + 1,
                problem_.operands.end() - 1, [&](const operand_t &o) {
            return o.strides[l] != 0 && o.strides[other] != 0
                   && std::count(o.strides.begin(), o.strides.end(), 0) > 0;
        });
    }

    // Three or four planes, each of one scale, take 0.8 to 0.95 of the time by
    // blocks in L1 (make_planes), if dst is f32 and leaves the second cache.
    bool are_planes_of_f32() const {
        const size_t planes = count_ - 1, points = dense_.front();
        const dim_t dst_bytes = element_count(problem_) * problem_.parts * 4;
        return dst_bytes > this_machine().second_cache_bytes
               && (extent(planes) == 3 || extent(planes) == 4)
               && points != planes && bits_of(problem_.dst().type) == 32
               && std::all_of(problem_.operands.begin() + 1,
                       problem_.operands.end() - 1,
                       [points](const operand_t &o) {
            return o.strides[points] == 0;
        }) && extent(points) >= least_points;
    }

    void choose_blocks() {
        for (size_t l = 0; l < count_; ++l)
            blocks_[l] = std::min(extent(l), unit(l));
        take_run(dense_, src_run);
        take_run(inward_, dst_run);
        for (const size_t l : inward_)
            grow(l, extent(l));
    }

    dim_t elements_of_block() const {
        dim_t elements = 1;
        for (const dim_t block : blocks_)
            elements *= block;
        return elements;
    }

    // Every block begins with a byte of each operand.
    dim_t unit(size_t l) const {
        dim_t unit = 1;
        for (size_t o = 0; o < problem_.operands.size(); ++o)
            while (unit * bits_along(o, l) % 8 != 0)
                unit *= 2;
        return unit;
    }

    // Takes so much of these loops that a run along them is as long as wanted.
    void take_run(const std::vector<size_t> &loops, dim_t wanted) {
        dim_t run = 1;
        for (const size_t l : loops) {
            grow(l, std::min(extent(l), div_up(wanted, run)));
            run *= blocks_[l];
            if (run >= wanted || blocks_[l] < extent(l)) return;
        }
    }

    // Makes the blocks that long, or as long as there is room for. Blocks of
    // one length are better, unless they would have to be less than half as
    // long.
    void grow(size_t l, dim_t wanted) {
        const dim_t others = elements_of_block() / blocks_[l];
        const dim_t most
                = std::min(wanted, reordered_blocks_t::most_elements / others);
        // Rows of a line's elements begin with lines.
        const dim_t step = most < extent(l) && most >= line ? line : unit(l);
        const dim_t longest = most < extent(l) ? most / step * step : most;
        if (longest <= blocks_[l]) return;
        const dim_t least = std::max(longest / 2, blocks_[l]);
        dim_t block = longest;
        while (block >= least && extent(l) % block != 0)
            block -= step;
        blocks_[l] = block >= least ? block : longest;
    }

    result_t make_pass(
            const dims_t &extents, reordered_blocks_t::pass_t &pass) const {
        const operand_t computed = computed_block(extents);
        std::vector<operand_t> operands = problem_.operands;
        operands.back() = computed;
        const result_t result = choose_kernel(
                make_plain_problem(extents, operands, problem_.steps), isa_,
                pass.compute);
        if (!result.ok()) return result;
        return choose_kernel(
                make_plain_problem(extents, {computed, problem_.dst()}, {}),
                isa_, pass.copy);
    }

    // On the stack the loops along which src is dense are the innermost.
    operand_t computed_block(const dims_t &extents) const {
        std::vector<size_t> inward = dense_;
        for (const size_t l : inward_)
            if (std::find(dense_.begin(), dense_.end(), l) == dense_.end())
                inward.push_back(l);
        operand_t computed {problem_.dst().type, 0, dims_t(count_)};
        dim_t stride = 1;
        for (const size_t l : inward) {
            computed.strides[l] = stride;
            stride *= extents[l];
        }
        return computed;
    }

    // The rows that a whole block reads of src.
    reordered_blocks_t::src_rows_t src_rows() const {
        const operand_t &src = problem_.src();
        const read_ahead_t rows
                = rows_of(make_plain_problem(blocks_, {src, src}, {}));
        return {src.offset * bits_of(src.type) / 8, rows.bytes, rows.rows,
                rows.pitch};
    }

    const problem_t &problem_;
    const isa_t isa_;
    const size_t count_;
    std::vector<size_t> inward_; // all loops, the innermost first
    std::vector<size_t> dense_;  // along which src is so, the innermost first
    dims_t blocks_;              // their extents
};

} // namespace

result_t make_reordered_blocks(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    if (problem.loops.size() < 2 || problem.steps.empty()
            || !has(isa, isa_avx2))
        return refuse("");
    planner_t planner(problem, isa);
    return planner.gains() ? planner.make(kernel) : refuse("");
}

} // namespace dnnl_dequant
