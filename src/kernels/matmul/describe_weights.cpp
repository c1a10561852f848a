#include "base/text.hpp"
#include "kernels/matmul/gemv.hpp"

namespace dnnl_dequant {

namespace {

// Groups of rows, rows, columns: the strides of what varies with a group and a
// column only.
result_t describe_parameters(
        const problem_t &problem, gemv_weights_t &weights) {
    const size_t count = problem.loops.size();
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
        gemv_parameters_t &parameters = is_zps ? weights.zps : weights.scales;
        const auto o = static_cast<size_t>(step.operand);
        const operand_t &operand = problem.operands[o];
        if (parameters.type != data_type_t::undef
                || (is_zps && weights.scales.type != data_type_t::undef)
                || operand.strides[count - 2] != 0 || operand.offset != 0)
            return refuse("scales or zero points vary within groups");
        parameters = {operand.type, o, count == 3 ? operand.strides[0] : 0,
                operand.strides[count - 1]};
    }
    if (weights.scales.type == data_type_t::undef)
        return refuse("weights have no scales");
    return {};
}

} // namespace

result_t describe_weights(const problem_t &problem, dim_t depth, dim_t cols,
        gemv_weights_t &weights) {
    const auto &loops = problem.loops;
    const size_t count = loops.size();
    const operand_t &src = problem.src();
    weights = {};
    weights.type = src.type;
    weights.depth = depth;
    weights.cols = cols;
    if (!is_integer(src.type)
            || (bits_of(src.type) != 4 && bits_of(src.type) != 8))
        return refuse(text("weights are of type ", to_string(src.type),
                "; expected integers of 4 or 8 bits"));
    // Rows, perhaps in groups, by columns.
    if (count < 2 || count > 3 || loops[count - 1].extent != cols
            || src.offset != 0)
        return refuse("weights are not of rows by columns");
    const dim_t row = src.strides[count - 2], col = src.strides[count - 1];
    if (row != 1 && col != 1)
        return refuse("neither rows nor columns of the weights are side by "
                      "side");
    weights.by_column = col != 1;
    weights.pitch = weights.by_column ? col : row;
    weights.group = loops[count - 2].extent;
    if (count == 2 ? weights.group != depth
                   : src.strides[0] != row * weights.group)
        return refuse("groups of the weights are not one after the other");
    return describe_parameters(problem, weights);
}

} // namespace dnnl_dequant
