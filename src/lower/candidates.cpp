#include "kernels/dequantize/dequantize.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/quantize/quantize.hpp"
#include "kernels/stage.hpp"
#include "lower/joined_rows.hpp"
#include "lower/last_group.hpp"
#include "lower/lower.hpp"
#include "lower/not_taken.hpp"
#include "lower/planes.hpp"
#include "lower/reordered_blocks.hpp"
#include "primitives/reorder.hpp"

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

// `before_ref` is tried just before the first reference kernel.
template <typename before_ref_t>
result_t choose(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel, before_ref_t &&before_ref) {
    result_t last = make_joined_rows(problem, isa, kernel);
    if (!last.is_final()) last = make_reordered_blocks(problem, isa, kernel);
    if (!last.is_final()) last = make_planes(problem, isa, kernel);
    if (!last.is_final()) last = make_last_group(problem, isa, kernel);
    if (last.is_final()) return last;
    bool tried = false;
    for (const candidate_t &candidate : candidates) {
        if (candidate.isa == isa_none && !tried) {
            tried = true;
            const result_t made = before_ref();
            if (made.is_final()) return made;
        }
        if (!has(isa, candidate.isa)) {
            log_not_taken(candidate.name, "its instructions are not available");
            continue;
        }
        last = candidate.make(problem, isa, kernel);
        if (last.is_final()) return last;
        log_not_taken(candidate.name, last.reason);
    }
    return last;
}

// oneDNN has threads of its own.
stage_t stage_of(const std::shared_ptr<const reorder_t> &primitive) {
    stage_t stage;
    stage.run = [primitive](const stage_memory_t &memory, dim_t, dim_t) {
        return primitive->execute(memory.buffers);
    };
    return stage;
}

} // namespace

result_t choose_kernel(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    return choose(problem, isa, kernel,
            [] { return result_t(status_t::unimplemented, ""); });
}

result_t choose_implementation(
        const problem_t &problem, isa_t isa, implementation_t &implementation) {
    // oneDNN's primitive is better than plain C++ and no better than generated
    // code.
    std::shared_ptr<const kernel_t> kernel;
    std::shared_ptr<const reorder_t> primitive;
    const result_t result = choose(problem, isa, kernel, [&] {
        result_t made = make_reorder(problem, primitive);
        if (!made.ok()) log_not_taken(reorder_name, made.reason);
        return made;
    });
    if (!result.ok()) return result;
    implementation.name = primitive ? primitive->name() : kernel->name();
    implementation.workload.stages
            = {primitive ? stage_of(primitive)
                         : make_stage(kernel, bytes_to_move(problem))};
    return result;
}

} // namespace dnnl_dequant
