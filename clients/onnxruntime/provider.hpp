// The execution provider of one session.
#ifndef DNNL_DEQUANT_ORT_PROVIDER_HPP
#define DNNL_DEQUANT_ORT_PROVIDER_HPP

#include <memory>
#include <string>

#include "forms.hpp"
#include "repacking.hpp"
#include "threads.hpp"

namespace dnnl_dequant::ort {

class provider_t : public OrtEp {
public:
    provider_t(const runtime_t &runtime, const settings_t &settings,
            const OrtLogger &logger);

private:
    static OrtStatus *ORT_API_CALL get_capability(OrtEp *self,
            const OrtGraph *graph, OrtEpGraphSupportInfo *support) noexcept;
    static OrtStatus *ORT_API_CALL compile(OrtEp *self, const OrtGraph **graphs,
            const OrtNode **fused_nodes, size_t count,
            OrtNodeComputeInfo **infos, OrtNode **context_nodes) noexcept;
    static void ORT_API_CALL release_infos(
            OrtEp *self, OrtNodeComputeInfo **infos, size_t count) noexcept;

    void claim(const OrtGraph &graph, OrtEpGraphSupportInfo &support);
    void report(const claim_t &claim);
    OrtNodeComputeInfo *compile_one(
            const OrtGraph &graph, const OrtNode &fused_node);
    void log(const std::string &line);

    runtime_t runtime_;
    settings_t settings_;
    const OrtLogger &logger_;
    std::shared_ptr<threads_t> threads_;
    repacking_scope_t repacking_;
};

} // namespace dnnl_dequant::ort

#endif
