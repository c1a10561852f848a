#include "pipeline.hpp"

#include <atomic>

#include "base/config.hpp"
#include "base/growth.hpp"
#include "base/last_refusal.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "exec/cache.hpp"
#include "exec/compound.hpp"
#include "exec/constant_cache.hpp"
#include "exec/log_text.hpp"
#include "exec/parallel.hpp"
#include "graph/op_schema.hpp"
#include "graph/placeholder.hpp"
#include "kernels/machine.hpp"
#include "primitives/sycl_events.hpp"
#include "upstream/api.hpp"
#include "upstream/mapping.hpp"

namespace dnnl_dequant {

namespace {

using upstream::api_t;

std::atomic<bool> &enabled_flag() {
    static std::atomic<bool> flag {!environment_flag("DNNL_DEQUANT_DISABLE")};
    return flag;
}

dnnl_status_t refuse(const char *where, const result_t &result) {
    log_refusal(log_check, where, result.reason);
    keep_refusal(result.reason);
    return to_c(result.status);
}

dnnl_status_t refuse_interop(const compiled_partition_t &compiled,
        const char *runtime, const result_t &result) {
    return refuse("execute",
            {result.status,
                    text(describe(compiled.partition->ops.back()),
                            ": called for the runtime ", runtime, ", but ",
                            result.reason,
                            "; call dnnl_graph_compiled_partition_execute")});
}

// Once, where somebody looks: after oneDNN's own backend, number 0.
void log_backend() {
    static std::atomic<bool> is_logged {false};
    if (!log_enabled(log_info) || is_logged.exchange(true)) return;
    log_done([] {
        return text("backend,1:dequant_backend,version:", DNNL_DEQUANT_VERSION,
                ",plugin:", plugin_enabled() ? "on" : "off");
    });
    log_done(
            [] { return "info,dequant_backend," + to_string(this_machine()); });
    const auto get_version = upstream::api().dnnl_version;
    const dnnl_version_t *version = get_version ? get_version() : nullptr;
    if (version && is_newer_than_known(version->major, version->minor))
        log_done([version] {
            return text("info,dequant_backend,oneDNN ", version->major, ".",
                    version->minor, " is newer than ", newest_known_major, ".",
                    newest_known_minor,
                    ": its types, ops and attributes may have values of the "
                    "plugin's");
        });
}

// The kernel for the given shapes, from the cache where it can.
result_t fill_kernel(compiled_partition_t &compiled,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs) {
    const double start = now_ms();
    const partition_t &partition = *compiled.partition;
    const isa_t isa = isa_of_this_cpu(effective_isa());
    const int threads = available_threads();
    const bool keeps = keeps_constants();
    const auto make = [&]() -> compile_result_t {
        lowered_t lowered;
        const result_t result = lower(
                partition, inputs, outputs, isa, threads, keeps, lowered);
        if (!result.ok()) return {result, nullptr};
        return {result, std::make_shared<executable_t>(std::move(lowered))};
    };
    bool hit = false;
    const compile_result_t made = find_or_make(
            cache_key(partition, inputs, outputs, threads, isa, keeps), make,
            hit);
    compiled.executable = made.executable;
    if (made.executable && made.executable->lowered().implementation.repacked)
        compiled.constants = std::make_unique<constant_store_t>();
    if (made.result.ok() && log_enabled(log_profile_create))
        log_done([&] {
            return std::string(hit ? "compile:compiled_partition_cache_hit,"
                                   : "compile:cache_miss,")
                   + make_log_text(partition, made.executable->lowered()) + ","
                   + std::to_string(now_ms() - start);
        });
    return made.result;
}

// Fills a compiled partition, or a part of one. oneDNN serves what we refuse,
// if its partition is of the same ops.
result_t fill(compiled_partition_t &compiled,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, dnnl_engine_t engine) {
    const partition_t &partition = *compiled.partition;
    compiled.executable.reset();
    compiled.compound.reset();
    compiled.constants.reset();
    compiled.upstream.reset();
    result_t result;
    if (partition.kind == partition_kind_t::onednn)
        result = {status_t::unimplemented,
                describe(partition.ops.back())
                        + ": oneDNN does not compile it"};
    else if (partition.kind == partition_kind_t::compound)
        result = compile_parts(partition, inputs, outputs,
                [engine](auto &part, const auto &in, const auto &out) {
            return fill(part, in, out, engine);
        }, compiled.compound);
    else result = fill_kernel(compiled, inputs, outputs);
    if (result.status != status_t::unimplemented
            || partition.upstream.size() != 1)
        return result;
    compiled.upstream = compile_upstream(
            *partition.upstream.front(), inputs, outputs, engine);
    return compiled.upstream ? result_t() : result;
}

// Runs the kernel of a compiled partition.
result_t run_kernel(
        const compiled_partition_t &compiled, const buffer_list_t &buffers) {
    const bool profile = log_enabled(log_profile_exec);
    const double start = profile ? now_ms() : 0;
    const result_t result
            = compiled.executable->execute(buffers, compiled.constants.get());
    if (result.ok() && profile)
        log_done([&] {
            return "exec,"
                   + make_log_text(
                           *compiled.partition, compiled.executable->lowered())
                   + "," + std::to_string(now_ms() - start);
        });
    return result;
}

} // namespace

bool plugin_enabled() {
    return enabled_flag().load(std::memory_order_relaxed);
}

void enable_plugin(bool enabled) {
    enabled_flag().store(enabled, std::memory_order_relaxed);
}

dnnl_status_t add_op(dnnl_graph_graph_t graph, graph_record_t &graph_record,
        dnnl_graph_op_t op, const op_record_t &op_record) {
    const std::lock_guard<std::mutex> lock(graph_record.mutex);
    const bool extension = is_extension_kind(op_record.kind);
    const bool ours = (plugin_enabled() || extension) && !graph_record.finalized
                      && find_schema(op_record.kind) != nullptr;
    const result_t verified
            = ours ? verify(op_record)
                   : result_t(status_t::unimplemented, describe(op_record));
    const bool outside = verified.status == status_t::unimplemented;
    if (!verified.ok() && !outside) return refuse("add_op", verified);
    if (ours && extension && outside)
        return refuse("add_op", {status_t::invalid_graph_op, verified.reason});

    // Memory may run out before oneDNN's graph changes, not after.
    op_record_t copy = op_record;
    make_room_for_one(graph_record.ops);
    dnnl_status_t status = upstream::call(&api_t::dnnl_graph_add_op, graph, op);
    if (status == dnnl_invalid_graph_op && ours) {
        if (!verified.ok())
            return refuse(
                    "add_op", {status_t::invalid_graph_op, verified.reason});
        if (const auto placeholder = make_placeholder(op_record))
            status = upstream::call(
                    &api_t::dnnl_graph_add_op, graph, placeholder.get());
    }
    // oneDNN ignores an op whose id is there already; so do we.
    if (status == dnnl_success && !find_op(graph_record, op_record.id))
        graph_record.ops.push_back(std::move(copy));
    return status;
}

dnnl_status_t list_partitions(dnnl_graph_graph_t graph,
        graph_record_t &graph_record, std::vector<listed_t> &list) {
    const std::lock_guard<std::mutex> lock(graph_record.mutex);
    size_t count = 0;
    dnnl_status_t status = upstream::call(
            &api_t::dnnl_graph_graph_get_partition_num, graph, &count);
    if (status != dnnl_success) return status;
    std::vector<dnnl_graph_partition_t> handles(count);
    std::vector<upstream_partition_t> owned(count);
    if (count > 0)
        status = upstream::call(&api_t::dnnl_graph_graph_get_partitions, graph,
                count, handles.data());
    if (status != dnnl_success) return status;
    for (size_t i = 0; i < count; ++i)
        owned[i].reset(handles[i]);
    list = select_partitions(graph_record, std::move(owned));
    return dnnl_success;
}

std::shared_ptr<const partition_t> select_op(
        const op_record_t &op, dnnl_engine_kind_t engine_kind) {
    if (!plugin_enabled() || find_schema(op.kind) == nullptr) return nullptr;
    // A placeholder, because oneDNN may refuse the op itself. All we need of
    // oneDNN's partition is its id.
    const auto placeholder = make_placeholder(op);
    std::vector<upstream_partition_t> only(1);
    dnnl_graph_partition_t upstream = nullptr;
    if (placeholder == nullptr
            || upstream::call(&api_t::dnnl_graph_partition_create_with_op,
                       &upstream, const_dnnl_graph_op_t(placeholder.get()),
                       engine_kind)
                       != dnnl_success)
        return nullptr;
    only.front().reset(upstream);
    graph_record_t graph;
    graph.engine_kind = engine_kind;
    graph.ops = {op};
    graph.selects = true;
    return select_partitions(graph, std::move(only)).front().ours;
}

dnnl_status_t compile(compiled_partition_t &compiled,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, dnnl_engine_t engine) {
    log_backend();
    const result_t result = fill(compiled, inputs, outputs, engine);
    return result.ok() ? dnnl_success : refuse("compile", result);
}

dnnl_status_t execute(const compiled_partition_t &compiled,
        dnnl_stream_t stream, const buffer_list_t &buffers) {
    const auto execute_part = [stream](const compiled_partition_t &part,
                                      const buffer_list_t &given) -> result_t {
        if (part.executable) return run_kernel(part, given);
        const dnnl_status_t status = execute_upstream(part, stream, given);
        return {from_c(status), "oneDNN does not run it"};
    };
    // oneDNN's work on this stream may still write what we read.
    if (stream != nullptr) {
        const dnnl_status_t waited
                = upstream::call(&api_t::dnnl_stream_wait, stream);
        if (waited != dnnl_success)
            return refuse("execute",
                    {from_c(waited), "oneDNN does not wait for the stream"});
    }
    const result_t result
            = compiled.compound
                      ? execute_parts(*compiled.compound, buffers, execute_part)
                      : execute_part(compiled, buffers);
    if (result.ok()) return dnnl_success;
    return refuse(
            "execute", {result.status, describe(compiled.partition->ops.back())
                                               + ": " + result.reason});
}

dnnl_status_t wait_for_sycl(const compiled_partition_t &compiled,
        dnnl_stream_t stream, const void *deps, void *event) {
    if (stream == nullptr || !compiled.is_filled())
        return dnnl_invalid_arguments;
    const result_t result = wait_for_sycl_events(stream, deps, event);
    if (result.ok()) return dnnl_success;
    return refuse_interop(compiled, "SYCL", result);
}

dnnl_status_t refuse_opencl(const compiled_partition_t &compiled) {
    if (!compiled.is_filled()) return dnnl_invalid_arguments;
    return refuse_interop(compiled, "OpenCL",
            {status_t::unimplemented, "its kernel runs on the CPU alone"});
}

} // namespace dnnl_dequant
