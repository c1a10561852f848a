#include "provider.hpp"

#include <algorithm>

#include "capability.hpp"
#include "kernel.hpp"
#include "model_read.hpp"
#include "status.hpp"

namespace dnnl_dequant::ort {

namespace {

// ONNX Runtime 1.23 and 1.24 give fused nodes of two subgraphs one id, and the
// session fails.
constexpr uint32_t least_api_for_subgraphs = 25;

// ONNX Runtime keeps this of a fused node. Every kernel state shares in the
// kernel, so the order of their ends does not matter.
class compute_info_t : public OrtNodeComputeInfo {
public:
    compute_info_t(const runtime_t &runtime, std::shared_ptr<kernel_t> kernel)
        : api_(*runtime.api)
        , kernel_(std::move(kernel)) {
        ort_version_supported = runtime.version;
        CreateState = create_state;
        Compute = compute;
        ReleaseState = release_state;
    }

private:
    using state_t = std::shared_ptr<kernel_t>;

    static OrtStatus *ORT_API_CALL create_state(OrtNodeComputeInfo *self,
            OrtNodeComputeContext *, void **state) noexcept {
        auto &info = *static_cast<compute_info_t *>(self);
        return guarded(info.api_, [&] { *state = new state_t(info.kernel_); });
    }
    static OrtStatus *ORT_API_CALL compute(OrtNodeComputeInfo *self,
            void *state, OrtKernelContext *context) noexcept {
        auto &info = *static_cast<compute_info_t *>(self);
        return guarded(info.api_,
                [&] { (*static_cast<state_t *>(state))->compute(context); });
    }
    static void ORT_API_CALL release_state(
            OrtNodeComputeInfo *, void *state) noexcept {
        delete static_cast<state_t *>(state);
    }

    const OrtApi &api_;
    state_t kernel_;
};

const char *ORT_API_CALL get_name(const OrtEp *) noexcept {
    return provider_name;
}

std::vector<const value_t *> values_of(const OrtApi &api,
        const std::vector<const OrtValueInfo *> &infos, const model_t &model) {
    std::vector<const value_t *> result;
    for (const OrtValueInfo *info : infos) {
        const char *name = read::value_name(api, info);
        result.push_back(name == nullptr ? nullptr : model.find(name));
    }
    return result;
}

} // namespace

provider_t::provider_t(const runtime_t &runtime, const settings_t &settings,
        const OrtLogger &logger)
    : OrtEp {}
    , runtime_(runtime)
    , settings_(settings)
    , logger_(logger)
    , threads_(std::make_shared<threads_t>()) {
    ort_version_supported = runtime.version;
    GetName = get_name;
    GetCapability = get_capability;
    Compile = compile;
    ReleaseNodeComputeInfos = release_infos;
}

void provider_t::log(const std::string &line) {
    OrtStatus *status = runtime_.api->Logger_LogMessage(&logger_,
            ORT_LOGGING_LEVEL_INFO, line.c_str(), ORT_TSTR("dnnl_dequant"),
            __LINE__, "GetCapability");
    if (status != nullptr) runtime_.api->ReleaseStatus(status);
}

void provider_t::report(const claim_t &claim) {
    std::string line
            = std::string(provider_name) + " takes " + claim.form->name + ":";
    for (const node_t *node : claim.nodes)
        line += " " + node->title() + ";";
    log(line);
}

void provider_t::claim(const OrtGraph &graph, OrtEpGraphSupportInfo &support) {
    const OrtNode *parent = nullptr;
    check(*runtime_.api, runtime_.api->Graph_GetParentNode(&graph, &parent));
    if (settings_.take == take_t::none) return;
    const model_t model(*runtime_.api, graph);
    // 1.23 does not name the parent of a graph that it shows by itself.
    const bool is_inside = parent != nullptr || model.uses_outer_values();
    if (is_inside && runtime_.minor < least_api_for_subgraphs) {
        log(std::string(provider_name)
                + " takes nothing inside a subgraph before ONNX Runtime 1.25.");
        return;
    }
    const auto claims = find_claims(
            model, settings_, [&](const node_t &node, const std::string &why) {
        log(std::string(provider_name) + " does not take " + node.title() + ": "
                + why + ".");
    });
    for (const claim_t &claim : claims) {
        report(claim);
        std::vector<const OrtNode *> nodes;
        for (const node_t *node : claim.nodes)
            nodes.push_back(node->handle);
        OrtNodeFusionOptions options {};
        options.ort_version_supported = runtime_.version;
        options.drop_constant_initializers = false;
        check(*runtime_.api,
                runtime_.ep_api->EpGraphSupportInfo_AddNodesToFuse(
                        &support, nodes.data(), nodes.size(), &options));
    }
}

OrtStatus *ORT_API_CALL provider_t::get_capability(OrtEp *self,
        const OrtGraph *graph, OrtEpGraphSupportInfo *support) noexcept {
    auto &provider = *static_cast<provider_t *>(self);
    return guarded(
            *provider.runtime_.api, [&] { provider.claim(*graph, *support); });
}

OrtNodeComputeInfo *provider_t::compile_one(
        const OrtGraph &graph, const OrtNode &fused_node) {
    const OrtApi &api = *runtime_.api;
    auto model = std::make_shared<const model_t>(api, graph);
    // The nodes were chosen before, so all of them are taken.
    settings_t settings = settings_;
    settings.take = take_t::all;
    std::string reasons;
    const auto claims = find_claims(
            *model, settings, [&](const node_t &node, const std::string &why) {
        reasons += " " + node.title() + ": " + why + ".";
    });
    if (claims.size() != 1 || claims[0].nodes.size() != model->nodes().size())
        throw failure_t(
                std::string(provider_name)
                        + ": the nodes that were taken as one do not compile "
                          "as one."
                        + reasons,
                ORT_EP_FAIL);
    kernel_ports_t ports;
    ports.inputs = values_of(api, read::inputs(api, &fused_node), *model);
    ports.outputs = values_of(api, read::outputs(api, &fused_node), *model);
    return new compute_info_t(
            runtime_, std::make_shared<kernel_t>(api, model, claims[0], ports,
                              settings, threads_));
}

OrtStatus *ORT_API_CALL provider_t::compile(OrtEp *self,
        const OrtGraph **graphs, const OrtNode **fused_nodes, size_t count,
        OrtNodeComputeInfo **infos, OrtNode **) noexcept {
    auto &provider = *static_cast<provider_t *>(self);
    size_t made = 0;
    OrtStatus *status = guarded(*provider.runtime_.api, [&] {
        for (; made < count; ++made)
            infos[made]
                    = provider.compile_one(*graphs[made], *fused_nodes[made]);
    });
    // After a failure nobody asks for the release of those before it.
    if (status != nullptr)
        for (size_t i = 0; i < made; ++i) {
            delete static_cast<compute_info_t *>(infos[i]);
            infos[i] = nullptr;
        }
    return status;
}

void ORT_API_CALL provider_t::release_infos(
        OrtEp *, OrtNodeComputeInfo **infos, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i)
        delete static_cast<compute_info_t *>(infos[i]);
}

} // namespace dnnl_dequant::ort
