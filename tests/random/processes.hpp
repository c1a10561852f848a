#ifndef RANDOM_PROCESSES_HPP
#define RANDOM_PROCESSES_HPP

#include "random/workers.hpp"

namespace dnnl_dequant {
namespace random_graphs {

/// `again` is `record` once more, in other memory.
enum class role_t { record, again, compare, disabled };
const char *to_string(role_t role);

/// Runs every worker on the chunk, each in a process of its own, again if a
/// call ends it. Returns the seeds with complaints, and those that need
/// processes of their own. The plugin, switched on, adds to `tally`.
std::set<uint64_t> run_chunk(
        chunk_t chunk, const std::string &plugin, tally_t &tally);

/// A worker's arguments, which the program reads back.
std::vector<std::string> arguments_of(const chunk_t &chunk, role_t role);

} // namespace random_graphs
} // namespace dnnl_dequant

#endif
