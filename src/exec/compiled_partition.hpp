#ifndef EXEC_COMPILED_PARTITION_HPP
#define EXEC_COMPILED_PARTITION_HPP

#include <memory>

#include "exec/constant_cache.hpp"
#include "exec/executable.hpp"

namespace dnnl_dequant {

/// A compiled partition as the user holds it: created empty for a partition,
/// filled by compile. Exactly one of `executable` and `upstream` is then set.
struct compiled_partition_t {
    std::shared_ptr<const partition_t> partition;
    std::shared_ptr<const executable_t> executable;
    /// oneDNN's own, for what we refuse and oneDNN takes.
    std::shared_ptr<dnnl_graph_compiled_partition> upstream;
    /// Null where nothing is to be kept.
    std::unique_ptr<constant_store_t> constants;
};

/// oneDNN's compiled partition for a partition of ours that we refuse to
/// compile; null where oneDNN refuses it as well.
std::shared_ptr<dnnl_graph_compiled_partition> compile_upstream(
        dnnl_graph_partition &partition,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, dnnl_engine_t engine);

} // namespace dnnl_dequant

#endif
