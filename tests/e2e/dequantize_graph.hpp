#ifndef E2E_DEQUANTIZE_GRAPH_HPP
#define E2E_DEQUANTIZE_GRAPH_HPP

#include <functional>
#include <string>
#include <vector>

#include "oneapi/dnnl/dnnl_graph.hpp"
#include "support/dequantize_case.hpp"

namespace dnnl_dequant {
namespace e2e {

using dnnl::graph::compiled_partition;
using dnnl::graph::graph;
using dnnl::graph::logical_tensor;
using dnnl::graph::op;
using dnnl::graph::partition;
using dnnl::graph::tensor;
using support::dequantize_case_t;

dnnl::engine &cpu_engine();
dnnl::stream &cpu_stream();

enum id_t : size_t { src_id, scales_id, zps_id, dst_id };

logical_tensor::data_type type_of(data_type_t type);

/// Returns the logical tensor of a case's tensor, with its strides.
logical_tensor strided(size_t id, const support::tensor_t &t);

/// Return the same with only the type known, or only type and rank.
logical_tensor of_type_only(size_t id, const support::tensor_t &t);
logical_tensor of_rank_only(size_t id, const support::tensor_t &t);

/// Returns src, scales and, if there are any, zps.
std::vector<logical_tensor> inputs_of(const dequantize_case_t &c);

/// Sets what the case says besides its tensors.
void set_attributes(op &dequantize, const dequantize_case_t &c);

/// Returns the op of a case without its tensors.
op bare_op(const dequantize_case_t &c);
op op_of(const dequantize_case_t &c);

/// Returns the only partition of a finalized graph of only this op. Throws if
/// there is another number of them.
partition partition_of(const op &dequantize);

/// Checks that a user sees the right kernel for this case: the JIT of the
/// machine's (capped) ISA if it is sure to take it, else any of ours. Returns
/// what was wrong, or nothing.
std::string check_kernel(
        const dequantize_case_t &c, const compiled_partition &compiled);

/// Executes a compiled partition of the case in guarded buffers and compares
/// dst with the reference. Empty if it is right.
std::string check_execution(
        const dequantize_case_t &c, const compiled_partition &compiled);

/// Takes a case the whole way from graph to dst. Returns what was wrong with
/// dst or the kernel, or nothing.
std::string check_case(const dequantize_case_t &c);

/// partition::compile() for what may fail: the standard header (3.7.2) leaks
/// the compiled partition where its compilation fails.
compiled_partition compile_or_throw(const partition &p,
        const std::vector<logical_tensor> &inputs,
        const std::vector<logical_tensor> &outputs);

/// The tensor of a port and the place of its values, by its id.
struct bound_port_t {
    const support::tensor_t &tensor;
    void *values;
};

/// Compiles a partition for these tensors and executes it.
compiled_partition run_partition(const partition &p,
        const std::function<bound_port_t(size_t id)> &port_of);

/// The status that a call fails with, dnnl_success if it does not.
dnnl_status_t status_of(const std::function<void()> &call);

/// Returns a case with dense tensors.
dequantize_case_t dense_case(const dims_t &dims, data_type_t src,
        data_type_t dst, data_type_t zps = data_type_t::undef);
dequantize_case_t per_channel(dequantize_case_t c, dim_t axis);
dequantize_case_t per_group(dequantize_case_t c, const dims_t &group_shape);

} // namespace e2e
} // namespace dnnl_dequant

#endif
