#ifndef ABI_EXECUTION_HPP
#define ABI_EXECUTION_HPP

#include "abi/boundary.hpp"

namespace dnnl_dequant {
namespace abi {

/// Executes a compiled partition of ours on a user's tensors. It is done when
/// the call returns, unless oneDNN runs it as a whole.
dnnl_status_t execute_ours(const compiled_partition_t &compiled,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs);

} // namespace abi
} // namespace dnnl_dequant

#endif
