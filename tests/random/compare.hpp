#ifndef RANDOM_COMPARE_HPP
#define RANDOM_COMPARE_HPP

#include "random/run.hpp"

namespace dnnl_dequant {
namespace random_graphs {

/// Counts of what was seen, in the order in which it is told.
struct tally_t {
    std::map<std::string, uint64_t> counts;
    void count(const std::string &what, uint64_t more = 1) {
        counts[what] += more;
    }
};

/// Counts have these words and the number of a kind of op.
constexpr const char *executed_kind = "ops executed, of kind ",
                     *refused_kind = "ops not executed, of kind ";

/// Makes the graph in this process, which has the plugin, and holds it against
/// what stock oneDNN made of it. Returns what is wrong, one line each.
///
/// again     what other processes without the plugin made of it, one at least
/// disabled  the plugin is switched off: nothing may differ
std::vector<std::string> compare(const spec_t &spec, const trace_t &stock,
        const std::vector<trace_t> &again, const std::string &note,
        bool disabled, tally_t &tally);

} // namespace random_graphs
} // namespace dnnl_dequant

#endif
