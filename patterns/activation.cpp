// Bounds of a value:
//
//   value -> ReLU | Clamp -> dst

#include <limits>

#include "base/text.hpp"
#include "graph/logical_tensor.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

result_t compose_activation(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    compose_input(scope, op, 0, composition);
    float lower = 0, upper = std::numeric_limits<float>::infinity();
    if (op.kind == dnnl_graph_op_clamp) {
        const auto *min = find_attribute<std::vector<float>>(
                op, dnnl_graph_op_attr_min);
        const auto *max = find_attribute<std::vector<float>>(
                op, dnnl_graph_op_attr_max);
        if (min == nullptr || max == nullptr || min->empty() || max->empty())
            return refuse(op, "has no min or no max");
        lower = min->front();
        upper = max->front();
        // oneDNN has no kernel for these: what is refused stays refused.
        if (!(lower <= upper))
            return refuse(op, text("min is ", lower, " and max ", upper));
    }
    composition.chain.clamp(lower, upper);
    return finish_computed_op(scope, op, composition);
}

} // namespace dnnl_dequant
