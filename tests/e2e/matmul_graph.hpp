#ifndef E2E_MATMUL_GRAPH_HPP
#define E2E_MATMUL_GRAPH_HPP

#include "e2e/chain_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

/// dequantize(weights) -> MatMul, as data. Dimensions before the last two are
/// batches.
struct matmul_case_t {
    dims_t src = {3, 8};     // rows, depth
    dims_t weights = {8, 5}; // depth, columns
    data_type_t quantized = data_type_t::u4;
    data_type_t zps = data_type_t::u4;   // undef: none
    data_type_t type = data_type_t::f32; // of src and dst
    dim_t group = 0;     // along depth; 0: one for all, -1: one a column
    dim_t col_group = 1; // columns of a group, where group is not 0 or -1
    bool transpose_a = false, transpose_b = false;
    bool dense = true; // no gaps between rows
    bool bias = false;
    uint64_t seed = 1;
};

std::string to_string(const matmul_case_t &c);

struct matmul_shapes_t {
    dims_t src, weights;
};

/// Cases that are crossed: with each other, and with both values of each flag.
struct matmul_cross_t {
    std::vector<matmul_shapes_t> shapes;
    std::vector<data_type_t> zps, types;
    std::vector<dim_t> groups; // but those longer than the depth
    /// The types of weights. ONNX's DequantizeLinear dequantizes those that
    /// oneDNN's op does not take; their zero points are of their own type.
    std::vector<data_type_t> quantized = {
            data_type_t::u4, data_type_t::s4, data_type_t::u8, data_type_t::s8};
};

/// One in so many of them, fewer where the environment says so; each has a
/// seed of its own.
std::vector<matmul_case_t> cases_of(const matmul_cross_t &cross, dim_t one_in);

/// The tensors and the two ops of a case; the MatMul is op 1, its output the
/// last tensor. More ops may be added behind it.
chain_graph_t graph_of(const matmul_case_t &c);

/// Adds a tensor; returns its index.
size_t add_tensor(chain_graph_t &g, data_type_t type, const dims_t &dims,
        bool dense = true);

/// g with a node behind its last one, which has that one's output and `more` as
/// inputs.
chain_graph_t with(chain_graph_t g, chain_node_t node, data_type_t type,
        const dims_t &shape, const std::vector<size_t> &more = {});

/// Values whose products and sums are exact in f32, whatever their order:
/// small integers, scales that are powers of two.
chain_values_t exact_values(const chain_graph_t &g, uint64_t seed);

/// A MatMul's point: the sum of its products in double, and that of their
/// magnitudes.
struct sum_t {
    dim_t element = 0; // of dst
    dim_t column = 0;
    double sum = 0, magnitude = 0;
};
/// Calls point(sum) for each point of MatMul `id`.
void for_each_product(const chain_graph_t &g, size_t id,
        const chain_values_t &values,
        const std::function<void(const sum_t &)> &point);

/// Computes all ops by their formulas; products are to be exact.
void compute_exactly(const chain_graph_t &g, const chain_values_t &values);

} // namespace e2e
} // namespace dnnl_dequant

#endif
