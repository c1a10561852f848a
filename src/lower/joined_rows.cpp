#include "lower/joined_rows.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "kernels/machine.hpp"
#include "kernels/short_rows/joined_rows.hpp"

namespace dnnl_dequant {

namespace {

// Rows of more elements are long enough for kernels.
constexpr dim_t most_short_row = 128;

// The two innermost loops: short rows, and their elements.
class joiner_t {
public:
    explicit joiner_t(const problem_t &problem)
        : problem_(problem)
        , col_(problem.loops.size() - 1)
        , row_(col_ - 1) {}

    bool can_join() const {
        return problem_.loops[col_].extent <= most_short_row
               && is_plain(problem_, row_) && is_plain(problem_, col_)
               && std::all_of(problem_.operands.begin(),
                       problem_.operands.end(), [this](const operand_t &o) {
            return is_dense(o) || is_repeated(o) || is_constant(o);
        }) && is_dense(problem_.dst());
    }

    result_t make(isa_t isa, std::shared_ptr<const kernel_t> &kernel) const {
        const dim_t row = problem_.loops[col_].extent,
                    rows = problem_.loops[row_].extent;
        joined_rows_t joined;
        joined.operands = problem_.operands.size();
        joined.row = row;
        dim_t bits = 0;
        for (size_t o = 0; o < problem_.operands.size(); ++o) {
            const operand_t &operand = problem_.operands[o];
            if (!is_repeated(operand)) continue;
            joined.repeated.push_back(
                    {o, operand.type, operand.offset, operand.strides[col_]});
            bits += bits_of(operand.type);
        }
        // Loops that compose for all operands are one to whoever made them.
        if (joined.repeated.empty()) return refuse("");
        if (are_faster_alone(joined)) return refuse("");
        const auto lines = static_cast<dim_t>(joined.repeated.size());
        const dim_t room
                = joined_rows_t::most_bytes - lines * joined_rows_t::line;
        const dim_t most
                = std::min(room * 8 / bits, joined_rows_t::most_elements);
        if (most / row < 2) return refuse("");
        joined.rows = std::min(rows, most / row);
        // Long rows begin with lines, or with bytes, if there are many.
        for (const dim_t unit : {64, 8})
            if (joined.rows < rows && joined.rows > unit) {
                joined.rows -= joined.rows % unit;
                break;
            }
        const dim_t whole = rows / joined.rows, left = rows % joined.rows;
        result_t result;
        if (left > 0) result = check_begins(whole * joined.rows * row);
        if (!result.ok()) return result;
        result = choose_kernel(
                part(0, whole, joined.rows), isa, joined.long_rows);
        if (result.ok() && left > 0)
            result = choose_kernel(
                    part(whole * joined.rows, 1, left), isa, joined.rest);
        if (result.ok())
            kernel = dnnl_dequant::make_joined_rows(std::move(joined));
        return result;
    }

private:
    bool is_dense(const operand_t &o) const {
        return o.strides[col_] != 0
               && o.strides[row_]
                          == o.strides[col_] * problem_.loops[col_].extent;
    }
    bool is_repeated(const operand_t &o) const {
        return o.strides[col_] != 0
               && std::all_of(o.strides.begin(), o.strides.end() - 1,
                       [](dim_t stride) { return stride == 0; });
    }
    bool is_constant(const operand_t &o) const {
        return o.strides[row_] == 0 && o.strides[col_] == 0;
    }

    // Rows of 32 to 128 f32 with scales and zero points take 0.7 to 0.9 of the
    // time past the caches where they are not joined (Zen 5).
    bool are_faster_alone(const joined_rows_t &joined) const {
        constexpr dim_t least_row = 32;
        return bits_of(problem_.src().type) == 32
               && bits_of(problem_.dst().type) < 32 && joined.row >= least_row
               && joined.repeated.size() > 1
               && bytes_to_move(problem_) > this_machine().kept_bytes();
    }

    // Refuses rows that are left behind so many elements of dst, unless they
    // begin with a byte, and so does all behind them.
    result_t check_begins(dim_t elements_before) const {
        const operand_t &dst = problem_.dst();
        const auto check = [&dst](const char *what, dim_t elements) {
            if (elements * bits_of(dst.type) % 8 == 0) return result_t();
            return refuse(text("dst has ", what, " of ", elements,
                    " elements of type ", to_string(dst.type),
                    "; expected whole bytes"));
        };
        result_t result = check("an offset", dst.offset);
        if (result.ok()) result = check("long rows", elements_before);
        for (size_t l = 0; l < row_ && result.ok(); ++l)
            result = check("an outer stride", dst.strides[l]);
        return result;
    }

    // `count` long rows of so many short ones each, from a short row on.
    problem_t part(dim_t first, dim_t count, dim_t rows) const {
        problem_t made = problem_;
        const dim_t row = problem_.loops[col_].extent;
        made.loops[row_].extent = count;
        made.loops[col_].extent = rows * row;
        for (operand_t &o : made.operands) {
            if (is_repeated(o)) {
                o.offset = 0;
                o.strides[col_] = 1;
                continue;
            }
            o.offset += first * o.strides[row_];
            o.strides[row_] *= rows;
        }
        if (count > 1) return made;
        made.loops.erase(
                made.loops.begin() + static_cast<std::ptrdiff_t>(row_));
        for (operand_t &o : made.operands)
            o.strides.erase(
                    o.strides.begin() + static_cast<std::ptrdiff_t>(row_));
        return made;
    }

    const problem_t &problem_;
    const size_t col_, row_;
};

} // namespace

result_t make_joined_rows(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    if (problem.loops.size() < 2) return refuse("");
    const joiner_t joiner(problem);
    return joiner.can_join() ? joiner.make(isa, kernel) : refuse("");
}

} // namespace dnnl_dequant
