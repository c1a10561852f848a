#ifndef EXEC_COMPILED_PARTITION_HPP
#define EXEC_COMPILED_PARTITION_HPP

#include <memory>

#include "exec/constant_cache.hpp"
#include "exec/executable.hpp"

namespace dnnl_dequant {

struct compound_t;

/// A compiled partition as the user holds it: created empty for a partition,
/// filled by compile. Exactly one of `executable`, `compound` and `upstream` is
/// then set.
struct compiled_partition_t {
    std::shared_ptr<const partition_t> partition;
    std::shared_ptr<const executable_t> executable;
    /// Set for a partition that has parts.
    std::shared_ptr<const compound_t> compound;
    /// oneDNN's own, for what we refuse and oneDNN takes.
    std::shared_ptr<dnnl_graph_compiled_partition> upstream;
    /// Null where nothing is to be kept.
    std::unique_ptr<constant_store_t> constants;

    bool is_filled() const { return executable || compound || upstream; }

    /// A port's logical tensor with shape and strides, or null.
    const logical_tensor_t *find_tensor(size_t id) const;

    /// Null where there is nothing to ask.
    const std::vector<dnnl_graph_inplace_pair_t> *inplace() const;

    /// The name of the kernel, or of those of all parts; empty for what oneDNN
    /// runs.
    const char *kernel() const;

    /// Why implementations before those were not taken: a line each.
    const char *not_taken() const;
};

/// oneDNN's compiled partition for a partition of ours that we refuse to
/// compile; null where oneDNN refuses it as well.
std::shared_ptr<dnnl_graph_compiled_partition> compile_upstream(
        dnnl_graph_partition &partition,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, dnnl_engine_t engine);

/// Runs oneDNN's compiled partition of a part on values that are found by id.
/// Waits for it, since the values are freed and the next part reads them.
dnnl_status_t execute_upstream(const compiled_partition_t &compiled,
        dnnl_stream_t stream, const buffer_list_t &buffers);

} // namespace dnnl_dequant

#endif
