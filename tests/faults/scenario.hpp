#ifndef FAULTS_SCENARIO_HPP
#define FAULTS_SCENARIO_HPP

#include <array>
#include <cstdint>
#include <vector>

#include "oneapi/dnnl/dnnl_graph.h"

namespace dnnl_dequant {
namespace faults {

using lt_t = dnnl_graph_logical_tensor_t;

/// Returns a dense logical tensor.
lt_t dense(size_t id, int type, const std::vector<dnnl_dim_t> &dims);

/// An op with at most one attribute of each kind.
struct op_spec_t {
    int kind;
    std::vector<size_t> inputs, outputs; // ids
    const char *qtype = nullptr;
    int list_name = 0; // an attribute that is a list of s64
    std::vector<int64_t> list;
};

/// A graph, the tensors that are given to its only partition, and what dst
/// has to be.
struct scenario_t {
    const char *name;
    std::vector<lt_t> tensors; // by id
    std::vector<op_spec_t> ops;
    std::vector<size_t> inputs; // ids; each is filled with the word `fill`
    size_t output;
    uint32_t fill;
    std::vector<unsigned char> expected; // the first bytes of dst
    dnnl_status_t compile_status = dnnl_success;
    size_t constant_capacity = 0; // of oneDNN's constant tensor cache, MB
    int step = 1; // of its requests every so-manieth is made to fail
};

const std::vector<scenario_t> &scenarios();

/// Return the process's engine and stream, made at the first call.
dnnl_engine_t engine();
dnnl_stream_t stream();

/// Forgets every compiled partition that nobody uses.
void clear_caches();

/// One way through the C API, from ops to dst. It goes on to the end, or to the
/// first call that fails. It destroys whatever was made.
class attempt_t {
public:
    explicit attempt_t(const scenario_t &scenario);
    /// The engine and stream are the caller's. Every tensor's memory comes from
    /// the engine's allocator.
    attempt_t(const scenario_t &scenario, dnnl_engine_t engine,
            dnnl_stream_t stream);
    ~attempt_t();
    attempt_t(const attempt_t &) = delete;
    attempt_t &operator=(const attempt_t &) = delete;

    dnnl_status_t run();
    const char *last_call() const { return last_call_; }
    /// The kernel that ran, "" where it did not come to that.
    const char *kernel() const { return kernel_; }
    /// dst as it has to be after success; after a failure, as it was.
    bool dst_is_right() const;

private:
    template <typename F, typename... Args>
    bool call(const char *name, F function, Args... args) {
        last_call_ = name;
        status_ = function(args...);
        return status_ == dnnl_success;
    }

    // A call that failed has made nothing, whatever it wrote.
    template <typename Handle, typename F, typename... Args>
    bool create(const char *name, F function, Handle &handle, Args... args) {
        if (call(name, function, &handle, args...)) return true;
        handle = nullptr;
        return false;
    }

    bool make_ops();
    bool make_partition();
    bool compile();
    bool make_tensor(size_t position, size_t id);
    bool execute();

    const scenario_t &scenario_;
    const dnnl_engine_t engine_;
    const dnnl_stream_t stream_;
    const bool allocated_;
    std::vector<std::vector<unsigned char>> buffers_; // by id
    dnnl_status_t status_ = dnnl_success;
    const char *last_call_ = "", *kernel_ = "";
    std::array<char, 256> kernel_name_ {};
    std::vector<dnnl_graph_op_t> ops_;
    dnnl_graph_graph_t graph_ = nullptr;
    dnnl_graph_partition_t partition_ = nullptr;
    dnnl_graph_compiled_partition_t compiled_ = nullptr;
    std::vector<dnnl_graph_tensor_t> tensors_;
};

} // namespace faults
} // namespace dnnl_dequant

#endif
