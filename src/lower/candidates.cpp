#include "base/log.hpp"
#include "kernels/dequantize/dequantize.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/quantize/quantize.hpp"
#include "lower/lower.hpp"

namespace dnnl_dequant {

namespace {

struct candidate_t {
    const char *name;
    isa_t isa;
    kernel_factory_t make;
};

constexpr candidate_t candidates[] = {
#define X(name, isa, factory) {#name, isa, factory},
#include "kernels/dequantize/kernels.def"
#include "kernels/quantize/kernels.def"
// Last: its plain C++ takes all steps.
#include "kernels/elementwise/kernels.def"
#undef X
};

void log_not_taken(const char *name, const std::string &reason) {
    log_refusal(
            log_dispatch, "implementation", std::string(name) + ": " + reason);
}

} // namespace

result_t choose_implementation(
        const problem_t &problem, isa_t isa, implementation_t &implementation) {
    result_t last;
    bool tried_primitive = false;
    for (const candidate_t &candidate : candidates) {
        // oneDNN's primitive is better than plain C++ and no better than the
        // kernels above: its turn comes just before the first portable one.
        if (candidate.isa == isa_none && !tried_primitive) {
            tried_primitive = true;
            const result_t made
                    = make_reorder(problem, implementation.primitive);
            if (made.ok() || made.status == status_t::out_of_memory)
                return made;
            log_not_taken(reorder_name, made.reason);
        }
        if (!has(isa, candidate.isa)) {
            log_not_taken(candidate.name, "its instructions are not available");
            continue;
        }
        last = candidate.make(problem, isa, implementation.kernel);
        // A slower kernel would stay in the cache when memory is back.
        if (last.ok() || last.status == status_t::out_of_memory) return last;
        log_not_taken(candidate.name, last.reason);
    }
    return last;
}

} // namespace dnnl_dequant
