#ifndef DNNL_DEQUANT_PYTHON_BUILD_GRAPH_HPP
#define DNNL_DEQUANT_PYTHON_BUILD_GRAPH_HPP

#include <map>
#include <vector>

#include "oneapi/dnnl/dnnl_graph.hpp"

#include "program.h"

namespace dnnl_dequant_python {

using logical_tensor_t = dnnl::graph::logical_tensor;
using tensors_by_id_t = std::map<uint64_t, logical_tensor_t>;

/// The logical tensors of a description, by id.
tensors_by_id_t tensors_of(const dnnl_dequant_python_graph_t &description);

/// The one partition that all ops of a description make. Throws dnnl::error
/// where the ops do not become a single partition that is supported.
dnnl::graph::partition partition_of(
        const dnnl_dequant_python_graph_t &description,
        const tensors_by_id_t &tensors);

} // namespace dnnl_dequant_python

#endif
