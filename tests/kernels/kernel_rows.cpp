#include "kernels/kernel_rows.hpp"

#include <algorithm>

#include "base/convert.hpp"
#include "kernels/dequantize/dequantize.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/quantize/quantize.hpp"
#include "problem/make_problem.hpp"

namespace dnnl_dequant {

using support::dequantize_case_t;
using support::qtype_t;

const std::vector<kernel_row_t> &dequantize_rows() {
    static const std::vector<kernel_row_t> rows {
#define X(name, isa, factory) {#name, isa, factory},
#include "kernels/dequantize/kernels.def"
#undef X
            {"jit_dequantize_avx512_core_vnni", isa_avx512_core_vnni,
                    make_jit_dequantize_avx512_core},
            {"jit_dequantize_avx512_core_bf16", isa_avx512_core_bf16,
                    make_jit_dequantize_avx512_core},
            {"jit_dequantize_avx512_core_vbmi", isa_avx512_core_vbmi,
                    make_jit_dequantize_avx512_core},
            {"jit_dequantize_avx512_core_bf16_vbmi",
                    static_cast<isa_t>(
                            isa_avx512_core_bf16 | isa_avx512_core_vbmi),
                    make_jit_dequantize_avx512_core}};
    return rows;
}

const std::vector<kernel_row_t> &quantize_rows() {
    static const std::vector<kernel_row_t> rows {
#define X(name, isa, factory) {#name, isa, factory},
#include "kernels/quantize/kernels.def"
#undef X
            {"ref_elementwise", isa_none, make_ref_elementwise}};
    return rows;
}

namespace {

dims_t groups_of(const dequantize_case_t &c) {
    dims_t groups = c.src.dims;
    if (c.qtype == qtype_t::per_group) groups = c.group_shape;
    if (c.qtype == qtype_t::per_channel) {
        const auto rank = static_cast<dim_t>(groups.size());
        groups[static_cast<size_t>(c.axis < 0 ? c.axis + rank : c.axis)] = 1;
    }
    return groups;
}

// The strides of scales or zps over the dimensions of src.
dims_t strides_over_dims(
        const dequantize_case_t &c, const support::tensor_t &tensor) {
    dims_t strides(c.src.dims.size(), 0);
    if (tensor.count() == 1) return strides;
    if (c.qtype == qtype_t::per_group) return tensor.strides;
    const auto rank = static_cast<dim_t>(strides.size());
    strides[static_cast<size_t>(c.axis < 0 ? c.axis + rank : c.axis)]
            = tensor.strides[0];
    return strides;
}

} // namespace

problem_t problem_of(const dequantize_case_t &c) {
    std::vector<tensor_view_t> views {{c.src.type, c.src.strides, false}};
    std::vector<step_t> steps;
    std::vector<dim_t> offsets {c.src.offset};
    const auto add = [&](const support::tensor_t &tensor, step_kind_t kind) {
        if (!tensor.present()) return;
        steps.push_back({kind, static_cast<int>(views.size())});
        views.push_back({tensor.type, strides_over_dims(c, tensor), true});
        offsets.push_back(tensor.offset);
    };
    const bool quantizes = is_quantize(c.op);
    add(c.zps, !quantizes               ? step_kind_t::subtract
               : is_integer(c.dst.type) ? step_kind_t::offset
                                        : step_kind_t::add);
    add(c.scales, quantizes ? step_kind_t::divide : step_kind_t::multiply);
    if (quantizes) {
        std::reverse(steps.begin(), steps.end());
        const bool has_room = c.dst.type == data_type_t::f32;
        if (is_floating(c.dst.type) && c.saturate && !has_room) {
            step_t step {step_kind_t::saturate};
            step.upper = largest_of(c.dst.type);
            step.lower = -step.upper;
            steps.push_back(step);
        }
    }
    views.push_back({c.dst.type, c.dst.strides, false});
    offsets.push_back(c.dst.offset);
    problem_t problem = make_problem(c.src.dims, groups_of(c), views, steps);
    for (size_t o = 0; o < offsets.size(); ++o)
        problem.operands[o].offset = offsets[o];
    return problem;
}

dequantize_case_t with_offsets(dequantize_case_t c) {
    support::random_t random(c.seed);
    if (random.one_in(2)) return c;
    for (auto *const tensor : {&c.src, &c.scales, &c.zps, &c.dst})
        tensor->offset = random.one_in(2) ? 0 : random.between(1, 3);
    return c;
}

} // namespace dnnl_dequant
