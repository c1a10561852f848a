#include "status.hpp"

#include <new>

#include "oneapi/dnnl/dnnl_graph.hpp"

namespace dnnl_dequant::ort {

void check(const OrtApi &api, OrtStatus *status) {
    if (status == nullptr) return;
    const std::string sentence = api.GetErrorMessage(status);
    const OrtErrorCode code = api.GetErrorCode(status);
    api.ReleaseStatus(status);
    throw failure_t(sentence, code);
}

OrtStatus *status_of_exception(const OrtApi &api) noexcept {
    try {
        throw;
    } catch (const failure_t &error) {
        return api.CreateStatus(error.code(), error.what());
    } catch (const dnnl::error &error) {
        return api.CreateStatus(ORT_EP_FAIL, error.what());
    } catch (const std::bad_alloc &) {
        return api.CreateStatus(ORT_FAIL, "dnnl_dequant: no memory is left.");
    } catch (const std::exception &error) {
        return api.CreateStatus(ORT_FAIL, error.what());
    } catch (...) {
        return api.CreateStatus(
                ORT_FAIL, "dnnl_dequant: an unknown exception was caught.");
    }
}

} // namespace dnnl_dequant::ort
