// A function of each element:
//
//   value -> Abs | Elu | Exp | GELU | HardSigmoid | HardSwish | LeakyReLU
//          | Sigmoid | Sqrt | Square | Tanh -> dst

#include "graph/logical_tensor.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

namespace {

function_t function_of(const op_record_t &op) {
    switch (op.kind) {
    case dnnl_graph_op_abs: return function_t::abs;
    case dnnl_graph_op_elu: return function_t::elu;
    case dnnl_graph_op_exp: return function_t::exp;
    case dnnl_graph_op_hard_sigmoid: return function_t::hard_sigmoid;
    case dnnl_graph_op_hard_swish: return function_t::hard_swish;
    case dnnl_graph_op_leaky_relu: return function_t::leaky_relu;
    case dnnl_graph_op_sigmoid: return function_t::sigmoid;
    case dnnl_graph_op_sqrt: return function_t::sqrt;
    case dnnl_graph_op_square: return function_t::square;
    case dnnl_graph_op_tanh: return function_t::tanh;
    default: return function_t::none;
    }
}

// oneDNN 3.7 knows no mode of GELU, and computes it by erf.
function_t gelu_of(const op_record_t &op) {
    const auto *mode = find_attribute<std::string>(op, dnnl_graph_op_attr_mode);
    if (mode == nullptr || *mode == "gelu_erf") return function_t::gelu_erf;
    return *mode == "gelu_tanh" ? function_t::gelu_tanh : function_t::none;
}

float number(const op_record_t &op, int name, float otherwise) {
    const auto *value = find_attribute<std::vector<float>>(op, name);
    return value == nullptr || value->empty() ? otherwise : value->front();
}

} // namespace

result_t compose_function(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    compose_input(scope, op, 0, composition);
    const function_t function
            = op.kind == dnnl_graph_op_gelu ? gelu_of(op) : function_of(op);
    if (function == function_t::none) return refuse(op, "of an unknown mode");
    const bool is_hard_swish = function == function_t::hard_swish;
    const float alpha = number(
            op, dnnl_graph_op_attr_alpha, is_hard_swish ? 1.f / 6 : 0.f);
    const float beta
            = number(op, dnnl_graph_op_attr_beta, is_hard_swish ? 0.5f : 0.f);
    composition.chain.apply(function, alpha, beta);
    return finish_computed_op(scope, op, composition);
}

} // namespace dnnl_dequant
