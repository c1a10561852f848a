// A oneDNN of asynchronous streams, as with SYCL: what is executed is done when
// the thread waits for a stream, not before. It knows SYCL's entry points too,
// with events of its own: `deps` is a function that completes them, a
// `void (*)()`, and `event` is a bool that becomes true.

#include <dlfcn.h>

#include <functional>
#include <utility>
#include <vector>

#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_graph.h"
#include "oneapi/dnnl/dnnl_graph_sycl.h"
#include "oneapi/dnnl/dnnl_sycl.h"

#define EXPORTED extern "C" [[gnu::visibility("default")]]

namespace {

template <typename F>
F *next(F *, const char *name) {
    return reinterpret_cast<F *>(dlsym(RTLD_NEXT, name));
}

thread_local std::vector<std::function<void()>> pending;
thread_local bool is_running = false; // oneDNN executes parts of what it runs

dnnl_status_t later(std::function<dnnl_status_t()> work) {
    if (is_running) return work();
    pending.push_back([work = std::move(work)] { work(); });
    return dnnl_success;
}

void run_pending() {
    is_running = true;
    const auto works = std::exchange(pending, {});
    for (const auto &work : works)
        work();
    is_running = false;
}

void complete(const void *deps, void *event) {
    if (deps) (*static_cast<void (*const *)()>(deps))();
    if (event) *static_cast<bool *>(event) = true;
}

} // namespace

EXPORTED dnnl_status_t dnnl_stream_wait(dnnl_stream_t stream) {
    static const auto own = next(&dnnl_stream_wait, "dnnl_stream_wait");
    if (!is_running) run_pending();
    return own(stream);
}

EXPORTED dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive,
        dnnl_stream_t stream, int nargs, const dnnl_exec_arg_t *args) {
    static const auto own
            = next(&dnnl_primitive_execute, "dnnl_primitive_execute");
    return later([=, given = std::vector<dnnl_exec_arg_t>(args, args + nargs)] {
        return own(primitive, stream, nargs, given.data());
    });
}

EXPORTED dnnl_status_t dnnl_graph_compiled_partition_execute(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs) {
    using tensors_t = std::vector<const_dnnl_graph_tensor_t>;
    static const auto own = next(&dnnl_graph_compiled_partition_execute,
            "dnnl_graph_compiled_partition_execute");
    return later([=, from = tensors_t(inputs, inputs + num_inputs),
                         to = tensors_t(outputs, outputs + num_outputs)] {
        tensors_t in = from, out = to;
        return own(compiled_partition, stream, num_inputs, in.data(),
                num_outputs, out.data());
    });
}

EXPORTED dnnl_status_t dnnl_sycl_interop_primitive_execute(
        const_dnnl_primitive_t primitive, dnnl_stream_t stream, int nargs,
        const dnnl_exec_arg_t *args, const void *deps, void *event) {
    const dnnl_status_t status
            = later([=] { return complete(deps, event), dnnl_success; });
    if (status != dnnl_success) return status;
    return dnnl_primitive_execute(primitive, stream, nargs, args);
}

// NOLINTNEXTLINE(readability-function-size): oneDNN's own signature
EXPORTED dnnl_status_t dnnl_graph_sycl_interop_compiled_partition_execute(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs, const void *deps, void *event) {
    const dnnl_status_t status
            = later([=] { return complete(deps, event), dnnl_success; });
    if (status != dnnl_success) return status;
    return dnnl_graph_compiled_partition_execute(compiled_partition, stream,
            num_inputs, inputs, num_outputs, outputs);
}
