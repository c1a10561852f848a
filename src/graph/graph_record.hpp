#ifndef GRAPH_GRAPH_RECORD_HPP
#define GRAPH_GRAPH_RECORD_HPP

#include <mutex>
#include <set>
#include <vector>

#include "graph/op_record.hpp"

namespace dnnl_dequant {

/// The user's graph: the ops that oneDNN took, in the order of add_op, and the
/// settings that partitions are compiled with.
struct graph_record_t {
    dnnl_engine_kind_t engine_kind = dnnl_any_engine;
    dnnl_fpmath_mode_t fpmath_mode = dnnl_fpmath_mode_strict;
    bool fpmath_apply_to_int = false;
    std::vector<op_record_t> ops;
    bool finalized = false;
    /// True if the plugin selects partitions, and whether several ops may
    /// become one partition, as of the last graph_filter.
    bool selects = false;
    bool fusing = false;
    /// One graph may be told things from several threads, one after another.
    std::mutex mutex;
};

const op_record_t *find_op(const graph_record_t &graph, size_t id);

} // namespace dnnl_dequant

#endif
