#ifndef BENCHMARKS_REPLAY_GRAPH_REPLAY_HPP
#define BENCHMARKS_REPLAY_GRAPH_REPLAY_HPP

#include <set>

#include "parts.hpp"
#include "replay_row.hpp"
#include "value_memory.hpp"

namespace dnnl_dequant {
namespace bench {

/// A graph built twice, once for stock and once with the plugin, and run group
/// by group. Both get the same inputs, so that a difference in one group does
/// not spread.
class graph_replay_t {
public:
    /// Throws file_error_t where the graph cannot be built, or needs more
    /// memory than there is.
    explicit graph_replay_t(graph_file_t file);
    graph_replay_t(const graph_replay_t &) = delete;
    graph_replay_t &operator=(const graph_replay_t &) = delete;

    const graph_file_t &file() const { return file_; }
    size_t size() const { return groups_.size(); }
    std::string name_of(size_t group) const;

    /// Runs, compares and times one group: in order, each once.
    replay_row_t run(size_t group, const replay_options_t &options);

private:
    using parts_t = std::vector<part_t *>;
    struct bound_part_t {
        dnnl::graph::compiled_partition compiled;
        std::vector<dnnl::graph::tensor> inputs, outputs;
    };
    using bound_t = std::vector<bound_part_t>;

    replay_row_t describe(size_t group) const;
    bound_t bind(const parts_t &parts, owner_t owner, contender_t &contender);
    /// The ops one by one, where the plugin has fused several.
    bound_t bind_apart(const part_group_t &group, replay_row_t &row);
    void execute(bound_t &parts);
    double try_out(bound_t &parts, contender_t &contender, bool cpu_time);
    std::vector<size_t> inputs_of(const part_group_t &group) const;
    std::vector<size_t> outputs_of(const part_group_t &group) const;
    void check(const part_group_t &group, replay_row_t &row, bool ran_apart);
    void compare(const part_group_t &group, replay_row_t &row);
    void check_formula(const part_group_t &group, replay_row_t &row);
    void enter_loops(
            const part_group_t &group, replay_row_t &row, contest_t &contest);
    void publish(const part_group_t &group, const replay_row_t &row);

    graph_file_t file_;
    std::map<size_t, graph_value_t> values_; // file_'s, with inferred shapes
    std::vector<part_t> stock_, plugin_, apart_;
    std::vector<part_group_t> groups_;
    value_memory_t memory_;
    dnnl::stream stream_;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
