#ifndef E2E_INTEGER_GRAPH_HPP
#define E2E_INTEGER_GRAPH_HPP

#include "e2e/matmul_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

/// How src is quantized: a scale for all, for each row, or for groups of a row.
struct quantized_src_t {
    data_type_t type;
    support::qtype_t qtype;
    dim_t group;
    bool has_zps;
    bool from_f32; // by a DynamicQuantize in the graph
};

/// graph_of(c) with a src that is dequantized: ops 2 and, perhaps, 3 before the
/// MatMul in order of use; the MatMul stays op 1.
chain_graph_t graph_of(const matmul_case_t &c, const quantized_src_t &source);

} // namespace e2e
} // namespace dnnl_dequant

#endif
