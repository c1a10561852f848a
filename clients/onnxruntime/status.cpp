#include "status.hpp"

#include <new>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "oneapi/dnnl/dnnl_graph.hpp"

namespace dnnl_dequant::ort {

void check(const OrtApi &api, OrtStatus *status) {
    if (status == nullptr) return;
    const std::string sentence = api.GetErrorMessage(status);
    const OrtErrorCode code = api.GetErrorCode(status);
    api.ReleaseStatus(status);
    throw failure_t(sentence, code);
}

std::string sentence_of(const dnnl::error &error) {
    const std::string sentence = last_refusal();
    return sentence.empty() ? error.what() : sentence;
}

OrtStatus *status_of_exception(const OrtApi &api) noexcept {
    try {
        throw;
    } catch (const failure_t &error) {
        return api.CreateStatus(error.code(), error.what());
    } catch (const dnnl::error &error) {
        char sentence[512];
        const bool is_told
                = dnnl_dequant_last_refusal(sentence, sizeof(sentence)) > 0;
        return api.CreateStatus(ORT_EP_FAIL, is_told ? sentence : error.what());
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
