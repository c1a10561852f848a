#include "kernels/quantize/quantize.hpp"

#include <string>
#include <utility>

#include "base/convert.hpp"
#include "kernels/dequantize/jit_params.hpp"
#include "kernels/dequantize/jit_rows.hpp"
#include "kernels/quantize/jit_quantize_desc.hpp"

namespace dnnl_dequant {

namespace {

// The steps, by what they are; null where there is none.
struct steps_t {
    const step_t *divide = nullptr, *zps = nullptr, *saturate = nullptr;
};

result_t read_steps(const problem_t &problem, steps_t &steps) {
    const bool to_integers = is_integer(problem.dst().type);
    const auto zps = to_integers ? step_kind_t::offset : step_kind_t::add;
    const auto &all = problem.steps;
    size_t at = 0;
    const auto take = [&](step_kind_t kind) {
        const bool found = at < all.size() && all[at].kind == kind;
        return found ? &all[at++] : nullptr;
    };
    steps.divide = take(step_kind_t::divide);
    steps.zps = take(zps);
    steps.saturate = take(step_kind_t::saturate);
    if (steps.divide == nullptr || at != all.size())
        return refuse("the steps are not divide[, zero point][, saturate]");
    const size_t expected = steps.zps ? 4 : 3;
    if (problem.operands.size() != expected)
        return refuse(std::to_string(problem.operands.size())
                      + " operands, expected " + std::to_string(expected));
    return {};
}

result_t check_types(const problem_t &problem, const jit_quantize_desc_t &desc,
        const jit_parameters_t &params) {
    const std::string src = to_string(desc.src), dst = to_string(desc.dst);
    if (!is_result_type(desc.src) && desc.src != data_type_t::s32)
        return refuse(src + " src, expected f32 bf16 f16 s32");
    if (!is_known(desc.dst) || bits_of(desc.dst) > 32
            || desc.dst == data_type_t::e8m0)
        return refuse(dst + " dst, expected at most 32 bits, not e8m0");
    const auto scales
            = problem.operands[static_cast<size_t>(params.scales)].type;
    if (params.stage_scales == nullptr)
        return refuse(std::string(to_string(scales))
                      + " scales, expected f32 bf16 f16 e8m0");
    if (desc.has_zps() && params.stages_of_zps.whole == nullptr)
        return refuse(std::string(to_string(desc.zps)) + " zps for " + dst
                      + " dst, expected at most 32 bits of its family");
    if (desc.is_wide() && desc.saturates)
        return refuse("bounds of their own for sums beyond 32 bits");
    return {};
}

class jit_quantize_t : public jit_rows_t {
public:
    static result_t make(const problem_t &problem, isa_t isa, const char *name,
            std::shared_ptr<const kernel_t> &kernel) {
        std::shared_ptr<jit_quantize_t> made(
                new jit_quantize_t(problem, isa, name));
        result_t result = made->prepare();
        if (result.ok()) result = made->make_row_kernels();
        if (result.ok()) kernel = std::move(made);
        return result;
    }

private:
    using jit_rows_t::jit_rows_t;

    result_t prepare() {
        steps_t steps;
        if (result_t read = read_steps(problem_, steps); !read.ok())
            return read;
        const auto type_of = [this](const step_t *step) {
            return problem_.operands[static_cast<size_t>(step->operand)].type;
        };
        jit_parameters_t params;
        params.divides = true;
        params.masks_tails = has(isa_, isa_avx512_core);
        params.scales = steps.divide->operand;
        params.stage_scales = stage_divisors_of(type_of(steps.divide));
        desc_.has_small_quotients = steps.divide->has_small_quotients;
        desc_.scales = type_of(steps.divide);
        desc_.src = problem_.src().type;
        desc_.dst = problem_.dst().type;
        if (steps.zps != nullptr) {
            params.zps = steps.zps->operand;
            desc_.zps = type_of(steps.zps);
            const zps_stages_t stages = stages_of_zps(desc_.zps);
            params.stages_of_zps.whole
                    = !desc_.to_integers()  ? stage_floats_of(desc_.zps)
                      : may_have_near_zps() ? stages.checked_s32
                                            : stages.s32;
        }
        desc_.saturates = steps.saturate != nullptr;
        if (desc_.saturates) {
            desc_.lower = steps.saturate->lower;
            desc_.upper = steps.saturate->upper;
        }
        if (result_t types = check_types(problem_, desc_, params); !types.ok())
            return types;
        return make_jit_plan(problem_, params, plan_);
    }

    // Zero points of s32 are most often as near zero as those of 16 bits, whose
    // sums need no f64.
    bool may_have_near_zps() const {
        return desc_.zps == data_type_t::s32 && desc_.to_integers()
               && desc_.bits() <= 16;
    }

    // Integers by reciprocals where the scales are ordinary and zero points
    // near; what is a float needs all quotients exact.
    result_t make_row_kernel(row_src_t src, bool streams) override {
        desc_.streaming = streams;
        desc_.scales_vary = plan_.scales_vary;
        desc_.zps_vary = plan_.zps_vary;
        const bool prefetching = plan_.prefetching && src == row_of_src;
        desc_.prefetches_dst = prefetching && !streams;
        desc_.prefetches_src = streams ? plan_.prefetches_far_src : prefetching;
        desc_.cols = plan_.fixed_cols;
        always_two_part_ = !desc_.to_integers();
        for (const bool true_division : {false, true}) {
            if (!true_division && always_two_part_) continue;
            desc_.true_division = true_division;
            desc_.has_near_zps = may_have_near_zps() && !true_division;
            auto &made = row_kernels_[static_cast<size_t>(
                    streams ? streaming + src : src)][true_division];
            const result_t result
                    = make_jit_quantize_row(desc_, isa_, name_, made);
            if (!result.ok()) return result;
            step_width_ = made->width();
            if (result_t packing = make_packing_kernel(src); !packing.ok())
                return packing;
        }
        return {};
    }

    // Writes dst of 4 bits itself, where all rows are whole bytes and vectors.
    result_t make_packing_kernel(row_src_t src) {
        if (desc_.bits() != 4 || src != row_of_src || desc_.streaming)
            return {};
        jit_quantize_desc_t packing = desc_;
        packing.packs = true;
        const bool by_division = desc_.true_division;
        const result_t result = make_jit_quantize_row(
                packing, isa_, name_, packing_kernels_[0][by_division]);
        if (!result.ok() || !plan_.streams_nibbles) return result;
        packing.streaming = true;
        packing.prefetches_dst = false;
        packing.prefetches_src = plan_.prefetches_far_src;
        return make_jit_quantize_row(
                packing, isa_, name_, packing_kernels_[1][by_division]);
    }

    jit_quantize_desc_t desc_;
};

} // namespace

result_t make_jit_quantize_avx512_core(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    const char *name = "jit_quantize_avx512_core";
    if (!has(isa, isa_avx512_core))
        return refuse(std::string(name) + ": the instruction set is less");
    return jit_quantize_t::make(problem, isa_avx512_core, name, kernel);
}

result_t make_jit_quantize_avx2(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    const char *name = "jit_quantize_avx2";
    if (!has(isa, isa_avx2))
        return refuse(std::string(name) + ": the instruction set is less");
    return jit_quantize_t::make(problem, isa_avx2, name, kernel);
}

} // namespace dnnl_dequant
