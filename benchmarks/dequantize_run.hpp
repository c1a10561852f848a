#ifndef BENCHMARKS_DEQUANTIZE_RUN_HPP
#define BENCHMARKS_DEQUANTIZE_RUN_HPP

#include <memory>
#include <string>
#include <vector>

#include "bench_case.hpp"
#include "buffers.hpp"

namespace dnnl_dequant {
namespace bench {

/// Who may claim the op: the plugin, or oneDNN alone.
enum class owner_t { plugin, stock };

const dnnl::engine &cpu_engine();

/// A graph of the case's op alone, made through the standard API: its only
/// partition and the descriptions of its tensors.
struct dequantize_graph_t {
    dequantize_graph_t(const bench_case_t &c, owner_t owner);

    /// Throws dnnl::error where nobody can do it.
    dnnl::graph::compiled_partition compile() const;

    std::vector<lt_t> inputs;
    std::vector<lt_t> outputs;
    dnnl::graph::partition partition;
};

/// A compiled partition with its tensors, ready to be run over and over.
class dequantize_run_t {
public:
    dequantize_run_t(
            const bench_case_t &c, owner_t owner, const buffers_t &buffers);

    /// Empty, or why there is nothing to run.
    const std::string &refusal() const { return refusal_; }
    /// impl_info; empty for a partition of oneDNN's own.
    const std::string &kernel() const { return kernel_; }

    void execute();

private:
    void bind(const dequantize_graph_t &graph, const buffers_t &buffers);

    std::string refusal_;
    std::string kernel_;
    dnnl::graph::compiled_partition compiled_;
    dnnl::stream stream_;
    std::vector<dnnl::graph::tensor> inputs_, outputs_;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
