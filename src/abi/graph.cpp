// dnnl_graph_graph_*, dnnl_graph_add_op: oneDNN's graph, our record beside
// it, and our partitions among oneDNN's.

#include "abi/boundary.hpp"
#include "graph/records.hpp"
#include "pipeline.hpp"

using namespace dnnl_dequant;
using namespace dnnl_dequant::abi;

namespace {

void record_graph(dnnl_graph_graph_t graph, dnnl_engine_kind_t engine_kind,
        dnnl_fpmath_mode_t mode) {
    auto record = std::make_shared<graph_record_t>();
    record->engine_kind = engine_kind;
    record->fpmath_mode = mode;
    records().graphs.insert(graph, std::move(record));
}

} // namespace

extern "C" {

dnnl_status_t dnnl_graph_graph_create(
        dnnl_graph_graph_t *graph, dnnl_engine_kind_t engine_kind) {
    return enter(&api_t::dnnl_graph_graph_create, [=] {
        const dnnl_status_t status = upstream::call(
                &api_t::dnnl_graph_graph_create, graph, engine_kind);
        if (status == dnnl_success)
            record_graph(*graph, engine_kind, dnnl_fpmath_mode_strict);
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
        if (status == dnnl_success) record_graph(*graph, engine_kind, mode);
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
        record->claiming = claims_enabled();
        return status;
    }, graph, policy);
}

dnnl_status_t dnnl_graph_graph_get_partitions(dnnl_graph_graph_t graph,
        size_t num, dnnl_graph_partition_t *partitions) {
    return enter(&api_t::dnnl_graph_graph_get_partitions, [=] {
        const dnnl_status_t status
                = upstream::call(&api_t::dnnl_graph_graph_get_partitions, graph,
                        num, partitions);
        const auto record = records().graphs.find(graph);
        if (status != dnnl_success || record == nullptr) return status;
        for (size_t i = 0; i < num; ++i)
            if (auto claimed = claim_partition(*record, partitions[i]))
                partitions[i] = new_handle(std::move(claimed));
        return status;
    }, graph, num, partitions);
}

} // extern "C"
