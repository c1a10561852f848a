#ifndef RANDOM_WORKERS_HPP
#define RANDOM_WORKERS_HPP

#include "random/compare.hpp"

namespace dnnl_dequant {
namespace random_graphs {

/// A process works on this: graphs of some seeds.
struct chunk_t {
    uint64_t first = 0, count = 0;
    // Stock oneDNN made these of them, and again once more, or many times. They
    // differ by memory that oneDNN did not write, or by threads.
    std::string records, again;
    std::string note;  // the file that says which call is at work
    std::string tally; // the file with what was seen
    std::string wrong; // the file with the seeds of which something is wrong
    // Calls known to end the process, and seeds to be left out.
    std::set<std::pair<uint64_t, int>> skipped;
    std::set<uint64_t> dropped;
    bool prints = false; // every graph, not only what is wrong of one alone
};

/// Appends the traces to the file. It runs in a process without the plugin.
void record(const chunk_t &chunk);

/// In one with it: compares, writes seeds of which something is wrong to the
/// file, and prints what that is where there is one graph alone. False if the
/// plugin is not as it should be.
bool compare(const chunk_t &chunk, bool disabled);

/// The minor version of the oneDNN in this process, whose major is 3.
int onednn_minor();

} // namespace random_graphs
} // namespace dnnl_dequant

#endif
