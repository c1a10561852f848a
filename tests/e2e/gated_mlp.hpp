#ifndef E2E_GATED_MLP_HPP
#define E2E_GATED_MLP_HPP

#include "e2e/matmul_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

enum class gate_t { silu, gelu, relu };

/// The gated MLP of oneDNN's own graphs, its weights u4 in groups of 32
/// columns with zero points:
///
///   dst = (gate(src * weights_0) . (src * weights_1)) * weights_2
///
/// oneDNN 3.7 makes one partition of it.
struct gated_mlp_t {
    data_type_t type = data_type_t::f32;    // of src, scales and dst
    data_type_t between = data_type_t::f32; // of what the first products give
    gate_t gate = gate_t::silu;
    dim_t rows = 1, hidden = 64, inner = 96;
};

chain_graph_t graph_of(const gated_mlp_t &mlp);

/// Exact values, with scales so small that f16 holds what is gated.
chain_values_t gated_values(const chain_graph_t &g);

} // namespace e2e
} // namespace dnnl_dequant

#endif
