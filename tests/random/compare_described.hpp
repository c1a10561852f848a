#ifndef RANDOM_COMPARE_DESCRIBED_HPP
#define RANDOM_COMPARE_DESCRIBED_HPP

#include <sstream>

#include "random/compare.hpp"

namespace dnnl_dequant {
namespace random_graphs {

using ids_t = std::vector<uint64_t>;

bool is_ours(const partition &p);
/// Returns a text such as "op1 op2".
std::string list(const ids_t &ids);

/// A user is told this before anything is compiled: statuses and partitions.
class described_comparison_t {
public:
    described_comparison_t(const spec_t &spec, const trace_t &stock,
            bool disabled, tally_t &tally)
        : spec_(spec)
        , stock_(stock)
        , disabled_(disabled)
        , tally_(tally) {}

protected:
    template <typename... T>
    void complain(const T &...what) {
        std::ostringstream line;
        (line << ... << what);
        complaints_.push_back(line.str());
    }

    void compare_statuses();
    void compare_partitions(const std::vector<partition> &made);
    void compare_ports(const std::string &name,
            const std::vector<traced_port_t> &theirs,
            const std::vector<traced_port_t> &ours);

    /// Returns stock's partition of exactly these ops, or null.
    const traced_partition_t *of_stock(const ids_t &ops) const;
    /// Stock's partitions that have some of them.
    std::vector<const traced_partition_t *> overlapping(const ids_t &ops) const;

    const spec_t &spec_;
    const trace_t &stock_;
    const bool disabled_;
    tally_t &tally_;
    trace_t trace_; // of this process
    bool gains_ = false;
    bool is_other_ = false; // an op is missing that stock has
    std::vector<std::string> complaints_;

private:
    bool may_be_accepted(size_t op) const;
    bool is_meaningless(size_t op) const;
    void compare_described(const traced_partition_t &theirs,
            const traced_partition_t &ours, bool is_ours);
    void compare_fused(const traced_partition_t &p, bool is_ours);
    void compare_counts();
};

} // namespace random_graphs
} // namespace dnnl_dequant

#endif
