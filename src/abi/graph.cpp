// dnnl_graph_graph_*, dnnl_graph_add_op: oneDNN's graph, and our record
// it, and our partitions among oneDNN's.

#include "abi/boundary.hpp"
#include "graph/dump.hpp"
#include "graph/records.hpp"
#include "pipeline.hpp"

using namespace dnnl_dequant;
using namespace dnnl_dequant::abi;

namespace {

void record_graph(dnnl_graph_graph_t *graph, dnnl_engine_kind_t engine_kind,
        dnnl_fpmath_mode_t mode) {
    complete(graph, &api_t::dnnl_graph_graph_destroy, [=] {
        auto record = std::make_shared<graph_record_t>();
        record->engine_kind = engine_kind;
        record->fpmath_mode = mode;
        records().graphs.insert(*graph, std::move(record));
    });
}

} // namespace

extern "C" {

dnnl_status_t dnnl_graph_graph_create(
        dnnl_graph_graph_t *graph, dnnl_engine_kind_t engine_kind) {
    return enter(&api_t::dnnl_graph_graph_create, [=] {
        const dnnl_status_t status = upstream::call(
                &api_t::dnnl_graph_graph_create, graph, engine_kind);
        if (status == dnnl_success)
            record_graph(graph, engine_kind, dnnl_fpmath_mode_strict);
        return status;
    }, graph, engine_kind);
}

dnnl_status_t dnnl_graph_graph_create_with_fpmath_mode(
        dnnl_graph_graph_t *graph, dnnl_engine_kind_t engine_kind,
        dnnl_fpmath_mode_t mode) {
    return enter(&api_t::dnnl_graph_graph_create_with_fpmath_mode, [=] {
        const dnnl_status_t status = upstream::call(
                &api_t::dnnl_graph_graph_create_with_fpmath_mode, graph,
                engine_kind, mode);
        if (status == dnnl_success) record_graph(graph, engine_kind, mode);
        return status;
    }, graph, engine_kind, mode);
}

dnnl_status_t dnnl_graph_graph_destroy(dnnl_graph_graph_t graph) {
    return enter(&api_t::dnnl_graph_graph_destroy, [=] {
        records().graphs.erase(graph);
        return upstream::call(&api_t::dnnl_graph_graph_destroy, graph);
    }, graph);
}

dnnl_status_t dnnl_graph_graph_set_fpmath_mode(
        dnnl_graph_graph_t graph, dnnl_fpmath_mode_t mode, int apply_to_int) {
    return enter(&api_t::dnnl_graph_graph_set_fpmath_mode, [=] {
        const dnnl_status_t status
                = upstream::call(&api_t::dnnl_graph_graph_set_fpmath_mode,
                        graph, mode, apply_to_int);
        const auto record = records().graphs.find(graph);
        if (status != dnnl_success || record == nullptr) return status;
        const std::lock_guard<std::mutex> lock(record->mutex);
        record->fpmath_mode = mode;
        record->fpmath_apply_to_int = apply_to_int != 0;
        return status;
    }, graph, mode, apply_to_int);
}

dnnl_status_t dnnl_graph_add_op(dnnl_graph_graph_t graph, dnnl_graph_op_t op) {
    return enter(&api_t::dnnl_graph_add_op, [=] {
        const auto graph_record = records().graphs.find(graph);
        const auto op_record = records().ops.find(op);
        if (graph_record == nullptr || op_record == nullptr)
            return upstream::call(&api_t::dnnl_graph_add_op, graph, op);
        return add_op(graph, *graph_record, op, *op_record);
    }, graph, op);
}

dnnl_status_t dnnl_graph_graph_finalize(dnnl_graph_graph_t graph) {
    return enter(&api_t::dnnl_graph_graph_finalize, [=] {
        const dnnl_status_t status
                = upstream::call(&api_t::dnnl_graph_graph_finalize, graph);
        const auto record = records().graphs.find(graph);
        if (status != dnnl_success || record == nullptr) return status;
        const std::lock_guard<std::mutex> lock(record->mutex);
        record->finalized = true;
        return status;
    }, graph);
}

dnnl_status_t dnnl_graph_graph_filter(
        dnnl_graph_graph_t graph, dnnl_graph_partition_policy_t policy) {
    return enter(&api_t::dnnl_graph_graph_filter, [=] {
        const dnnl_status_t status = upstream::call(
                &api_t::dnnl_graph_graph_filter, graph, policy);
        const auto record = records().graphs.find(graph);
        if (status != dnnl_success || record == nullptr) return status;
        const std::lock_guard<std::mutex> lock(record->mutex);
        record->selects = plugin_enabled();
        record->fusing = policy == dnnl_graph_partition_policy_fusion;
        if (dump_wanted()) dump(*record);
        return status;
    }, graph, policy);
}

dnnl_status_t dnnl_graph_graph_get_partition_num(
        const_dnnl_graph_graph_t graph, size_t *num) {
    return enter(&api_t::dnnl_graph_graph_get_partition_num, [=] {
        const auto record = records().graphs.find(graph);
        if (record == nullptr || num == nullptr)
            return upstream::call(
                    &api_t::dnnl_graph_graph_get_partition_num, graph, num);
        std::vector<listed_t> list;
        // The C API takes the handle without const where it only reads.
        const dnnl_status_t status = list_partitions(
                const_cast<dnnl_graph_graph_t>(graph), *record, list);
        if (status == dnnl_success) *num = list.size();
        return status;
    }, graph, num);
}

dnnl_status_t dnnl_graph_graph_get_partitions(dnnl_graph_graph_t graph,
        size_t num, dnnl_graph_partition_t *partitions) {
    return enter(&api_t::dnnl_graph_graph_get_partitions, [=] {
        const auto record = records().graphs.find(graph);
        if (record == nullptr || num == 0 || partitions == nullptr)
            return upstream::call(&api_t::dnnl_graph_graph_get_partitions,
                    graph, num, partitions);
        std::vector<listed_t> list;
        const dnnl_status_t status = list_partitions(graph, *record, list);
        if (status != dnnl_success) return status;
        if (num < list.size()) return dnnl_invalid_arguments;
        // All handles of ours before the first is handed out.
        std::vector<std::unique_ptr<partition_handle_t>> ours(list.size());
        for (size_t i = 0; i < list.size(); ++i)
            if (list[i].ours)
                ours[i] = std::make_unique<partition_handle_t>(
                        partition_handle_t {std::move(list[i].ours)});
        for (size_t i = 0; i < list.size(); ++i)
            partitions[i] = ours[i] ? to_handle<dnnl_graph_partition_t>(
                                              ours[i].release())
                                    : list[i].upstream.release();
        return dnnl_success;
    }, graph, num, partitions);
}

} // extern "C"
