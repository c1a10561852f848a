#include <algorithm>

#include "base/text.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"

namespace dnnl_dequant {

namespace {

// The loops of a weights problem: groups of rows, rows, groups of columns,
// columns. Rows and columns are always there; the groups may be missing.
struct loops_t {
    size_t row, col;     // indices of rows and columns
    bool has_col_groups; // at col - 1
    bool has_groups;     // at row - 1

    size_t varying_col() const { return has_col_groups ? col - 1 : col; }
};

// True if a scale or a zero point varies with each index of a loop.
bool vary_along(const problem_t &problem, size_t loop) {
    return std::any_of(problem.steps.begin(), problem.steps.end(),
            [&](const step_t &step) {
        return step.operand >= 0
               && problem.operands[static_cast<size_t>(step.operand)]
                                  .strides[loop]
                          != 0;
    });
}

// Finds the strides of scales and zero points. They may vary with a group of
// rows and with a column, or a group of columns, and with nothing else.
result_t describe_parameters(const problem_t &problem, const loops_t &loops,
        skinny_weights_t &weights) {
    const bool rows_are_groups = weights.group == 1 && !loops.has_groups;
    for (const step_t &step : problem.steps) {
        if (step.kind == step_kind_t::round
                && weights.scales.type != data_type_t::undef) {
            if (weights.rounded != data_type_t::f32)
                return refuse("weights are rounded twice");
            weights.rounded = step.type;
            continue;
        }
        const bool is_zps = step.kind == step_kind_t::subtract;
        if (!is_zps && step.kind != step_kind_t::multiply)
            return refuse("weights take steps beside zero points and scales");
        skinny_parameters_t &parameters = is_zps ? weights.zps : weights.scales;
        const auto o = static_cast<size_t>(step.operand);
        const operand_t &operand = problem.operands[o];
        if (parameters.type != data_type_t::undef
                || (is_zps && weights.scales.type != data_type_t::undef)
                || (!rows_are_groups && operand.strides[loops.row] != 0)
                || (loops.has_col_groups && operand.strides[loops.col] != 0)
                || operand.offset != 0)
            return refuse("scales or zero points vary within groups");
        const dim_t group_stride = rows_are_groups ? operand.strides[loops.row]
                                   : loops.has_groups
                                           ? operand.strides[loops.row - 1]
                                           : 0;
        parameters = {operand.type, o, group_stride,
                operand.strides[loops.varying_col()]};
    }
    if (weights.scales.type == data_type_t::undef)
        return refuse("weights have no scales");
    return {};
}

// Returns the columns of the two innermost loops. The last group may be short.
dim_t columns_of_groups(const std::vector<loop_t> &loops) {
    const size_t col = loops.size() - 1;
    const dim_t last = loops[col].parent == static_cast<int>(col) - 1
                               ? loops[col].last_extent
                               : loops[col].extent;
    return (loops[col - 1].extent - 1) * loops[col].extent + last;
}

// Finds which loop is rows and which is columns; false if one of them is
// missing.
bool find_loops(const problem_t &problem, dim_t cols, loops_t &found) {
    const auto &loops = problem.loops;
    const dims_t &strides = problem.src().strides;
    const size_t count = loops.size();
    if (count < 2) return false;
    found.col = count - 1;
    found.has_col_groups
            = count > 2 && loops[count - 1].extent != cols
              && columns_of_groups(loops) == cols
              && strides[count - 2]
                         == strides[count - 1] * loops[count - 1].extent;
    const size_t col_loops = found.has_col_groups ? 2 : 1;
    if (!found.has_col_groups && loops[count - 1].extent != cols) return false;
    found.row = count - col_loops - 1;
    found.has_groups = found.row == 1;
    return found.row < 2;
}

} // namespace

result_t describe_weights(const problem_t &problem, dim_t depth, dim_t cols,
        skinny_weights_t &weights) {
    const auto &loops = problem.loops;
    const operand_t &src = problem.src();
    weights = {};
    weights.type = src.type;
    weights.depth = depth;
    weights.cols = cols;
    const bool is_float = src.type == data_type_t::f8_e4m3
                          || src.type == data_type_t::f8_e5m2
                          || src.type == data_type_t::f4_e2m1;
    if (!is_float && (!is_integer(src.type) || bits_of(src.type) > 8))
        return refuse(text("weights are of type ", to_string(src.type),
                "; expected integers of up to 8 bits, f8_e4m3, f8_e5m2 or "
                "f4_e2m1"));
    loops_t found {};
    if (!find_loops(problem, cols, found) || src.offset != 0)
        return refuse("weights are not of rows by columns");
    const dim_t row = src.strides[found.row], col = src.strides[found.col];
    if (row != 1 && col != 1)
        return refuse("neither rows nor columns of the weights are side by "
                      "side");
    weights.by_column = col != 1;
    weights.pitch = weights.by_column ? col : row;
    weights.group = loops[found.row].extent;
    if (found.has_col_groups) weights.col_group = loops[found.col].extent;
    if (cols % weights.col_group != 0 && !weights.by_column)
        return refuse("the last columns that share scales are fewer");
    if (found.has_groups ? src.strides[0] != row * weights.group
                         : weights.group != depth)
        return refuse("groups of the weights are not one after the other");
    if (!found.has_groups && vary_along(problem, found.row)) {
        // All columns may share what each row has of its own.
        if (!found.has_col_groups && !vary_along(problem, found.col))
            weights.col_group = cols;
        if (weights.col_group > 1) weights.group = 1;
    }
    return describe_parameters(problem, found, weights);
}

} // namespace dnnl_dequant
