#include "kernels/dequantize/dequantize.hpp"

#include <string>
#include <utility>

#include "base/convert.hpp"
#include "kernels/dequantize/jit_dequantize.hpp"
#include "kernels/dequantize/jit_dword_rows.hpp"
#include "kernels/dequantize/jit_pack_dwords.hpp"
#include "kernels/dequantize/jit_row_eights.hpp"
#include "kernels/dequantize/jit_row_f8.hpp"
#include "kernels/jit/byte_table.hpp"
#include "kernels/machine.hpp"

namespace dnnl_dequant {

namespace {

// Zero points are of src's family, as many bits as 32.
result_t check_step_type(const problem_t &problem, const step_t &step) {
    const data_type_t type
            = problem.operands[static_cast<size_t>(step.operand)].type;
    const data_type_t src = problem.src().type;
    const std::string name = to_string(type);
    if (step.kind == step_kind_t::multiply) {
        if (stage_floats_of(type) == nullptr)
            return refuse(name + " scales, expected a floating type");
        return {};
    }
    if (stages_of_zps(type).whole == nullptr)
        return refuse(name + " zps, expected at most 32 bits");
    if (is_floating(type) != is_floating(src))
        return refuse(name + " zps for " + to_string(src)
                      + " src, expected both integer or both floating");
    return {};
}

result_t check_types(const problem_t &problem) {
    const data_type_t src = problem.src().type, dst = problem.dst().type;
    if (dense_format(src).container_bits == 0)
        return refuse(std::string(to_string(src))
                      + " src, expected integers of at most 32 bits or floats");
    if (!is_result_type(dst))
        return refuse(
                std::string(to_string(dst)) + " dst, expected f32 bf16 f16");
    for (const auto &step : problem.steps) {
        const result_t type = check_step_type(problem, step);
        if (!type.ok()) return type;
    }
    return {};
}

result_t check_steps(const problem_t &problem) {
    const auto &steps = problem.steps;
    if (!is_dequantize(steps))
        return refuse("the steps are not [subtract,] multiply");
    if (problem.operands.size() != steps.size() + 2)
        return refuse(std::to_string(problem.operands.size())
                      + " operands, expected src, one a step, dst");
    for (const auto &step : steps)
        if (step.operand <= 0
                || step.operand + 1
                           >= static_cast<int>(problem.operands.size()))
            return refuse("a step names no operand between src and dst");
    return {};
}

jit_parameters_t parameters_of(const problem_t &problem, isa_t isa) {
    jit_parameters_t params;
    params.masks_tails = params.stores_lines = has(isa, isa_avx512_core);
    const auto blocks_of = [&params](data_type_t type) {
        return params.masks_tails ? stage_blocks_of(type) : stage_rows_of(type);
    };
    for (const auto &step : problem.steps) {
        const auto type
                = problem.operands[static_cast<size_t>(step.operand)].type;
        if (step.kind == step_kind_t::subtract) {
            params.zps = step.operand;
            params.stages_of_zps = stages_of_zps(type);
            params.blocks_of_zps = blocks_of(type);
        } else {
            params.scales = step.operand;
            params.stage_scales = stage_floats_of(type);
            params.blocks_of_scales = blocks_of(type);
        }
    }
    return params;
}

} // namespace

result_t jit_dequantize_t::make(const problem_t &problem, isa_t isa,
        const char *name, std::shared_ptr<const kernel_t> &kernel) {
    std::shared_ptr<jit_dequantize_t> made(
            new jit_dequantize_t(problem, isa, name));
    result_t result = check_steps(problem);
    if (result.ok()) result = check_types(problem);
    if (result.ok())
        result = make_jit_plan(
                problem, parameters_of(problem, isa), made->plan_);
    if (result.ok()) made->choose_order();
    if (result.ok()) made->choose_dwords();
    if (result.ok()) result = made->make_row_kernels();
    if (result.ok()) made->make_group_table();
    if (result.ok()) kernel = std::move(made);
    return result;
}

// Halves pay on machines that round two vectors to one of bf16. f16 gains from
// them if whole lines are stored past the caches. The difference of two f16 is
// not subnormal; that of others may be.
bool jit_dequantize_t::takes_halves() const {
    const data_type_t src = problem_.src().type;
    if (!has(isa_, isa_avx512_core_bf16) || plan_.group_cols > 1
            || !jit_io_t<isa_avx512_core>::takes_halves(
                    dense_format(src), problem_.dst().type))
        return false;
    if (src != data_type_t::f16) return true;
    const int zps = plan_.params.zps;
    return this_machine().policy.halves_vectors
           && (zps < 0
                   || problem_.operands[static_cast<size_t>(zps)].type == src);
}

void jit_dequantize_t::choose_order() {
    const data_type_t src = problem_.src().type, dst = problem_.dst().type;
    in_halves_ = takes_halves();
    in_eights_ = has_eights();
    has_f8_rows_ = has_f8_rows();
    auto &params = plan_.params;
    if (in_eights_ && params.zps >= 0) {
        zps_bias_ = jit_row_eights_t::zps_bias(src);
        params.blocks_of_biased_zps = stage_biased_blocks_of(
                problem_.operands[static_cast<size_t>(params.zps)].type);
    }
    params.checks_scales = (in_halves_ || in_eights_ || has_f8_rows_)
                           && dst == data_type_t::bf16;
    if (!params.checks_scales) return;
    const data_type_t scales
            = problem_.operands[static_cast<size_t>(params.scales)].type;
    params.stage_scales = stage_checked_floats_of(scales);
    params.blocks_of_scales = stage_checked_blocks_of(scales);
}

// Tiles of dwords if the policy wants them and rows of bytes take no less.
void jit_dequantize_t::choose_dwords() {
    const int bits = bits_of(problem_.src().type);
    if (!this_machine().policy.packs_dwords || !has(isa_, isa_avx512_core_bf16)
            || plan_.path != jit_src_path_t::transposed
            || !is_integer(problem_.src().type) || !can_be_dwords(bits)
            || is_row_better(bits))
        return;
    plan_.dword_tiles = true;
    plan_.both_halves = plan_.has_odd_row = false;
}

// Measured on a Zen 4, see MEASURED.md.
bool jit_dequantize_t::is_row_better(int bits) const {
    const data_type_t dst = problem_.dst().type;
    if (plan_.streaming && !plan_.outer.empty() && dst != data_type_t::f32)
        return true;
    if (bits == 4)
        return dst == data_type_t::f32 ? !plan_.panels : !plan_.params_vary();
    return looks_up_bytes() && !(plan_.panels && dst == data_type_t::bf16);
}

// Tiles, and the rectangles that calls take of them, are whole blocks, and zero
// points are one f32.
bool jit_dequantize_t::can_be_dwords(int bits) const {
    if ((bits != 8 && bits != 4) || plan_.group_cols > 1 || plan_.joins_groups
            || !plan_.rows_share() || plan_.src_group() > 0
            || (plan_.params.zps >= 0 && zps_may_be_wide()))
        return false;
    for (const auto &each : problem_.loops)
        if (each.parent >= 0) return false;
    const auto &rows = plan_.rows, &cols = plan_.cols;
    const dim_t row_bytes = bytes_of(problem_.dst().type, cols.block);
    if (plan_.streaming && jit_bounce_bytes / row_bytes < dword_rows(bits))
        return false;
    const dim_t block = dword_block_rows * 8 / bits;
    const dim_t step = in_halves_ ? 2 * dword_block_cols : dword_block_cols;
    return rows.extent() % block == 0 && plan_.rows_at_once() % block == 0
           && rows.inner_extent % dword_rows(bits) == 0
           && cols.extent() % step == 0 && cols.block % step == 0;
}

// Whole groups, whose zero points leave room for the bias.
bool jit_dequantize_t::has_eights() const {
    const auto &cols = plan_.cols;
    const auto is_clipped = [this](int l) {
        return l >= 0 && problem_.loops[static_cast<size_t>(l)].parent >= 0;
    };
    const int zps = plan_.params.zps;
    const bool has_short_zps
            = zps < 0
              || bits_of(problem_.operands[static_cast<size_t>(zps)].type) <= 8;
    const bool has_isa = has(isa_, isa_avx512_core_bf16)
                         && has(isa_, isa_avx512_core_vbmi);
    return this_machine().policy.halves_vectors && has_isa && has_short_zps
           && plan_.path == jit_src_path_t::direct && !plan_.streaming
           && !is_clipped(cols.inner) && !is_clipped(cols.outer)
           && jit_row_eights_t::takes(desc_of(row_of_src, false));
}

// Zero points, if any, are zeros where the first of the row kernels is called.
// The halves of e5m2 are f16's, which is faster where f32 is rounded to f16 or
// not at all.
bool jit_dequantize_t::has_f8_rows() const {
    const bool has_isa = has(isa_, isa_avx512_core_bf16)
                         && has(isa_, isa_avx512_core_vbmi);
    const bool gains = problem_.src().type != data_type_t::f8_e5m2
                       || problem_.dst().type == data_type_t::bf16
                       || looks_up_f8();
    return this_machine().policy.halves_vectors && has_isa && gains
           && (plan_.params.zps < 0 || zps_may_be_zero())
           && plan_.path == jit_src_path_t::direct
           && jit_row_f8_t::takes(desc_of(row_of_src, false));
}

jit_row_desc_t jit_dequantize_t::desc_of(row_src_t src, bool streams) const {
    jit_row_desc_t desc;
    desc.src = dense_format(problem_.src().type);
    if (src != row_of_src)
        desc.src.container_bits = std::max(desc.src.container_bits, 8);
    if (src == row_of_tile_high) desc.src.shift = 4;
    desc.dst = problem_.dst().type;
    desc.scales_vary = plan_.scales_vary;
    desc.zps_vary = plan_.zps_vary;
    desc.has_zps = plan_.params.zps >= 0;
    desc.group_cols = static_cast<uint32_t>(plan_.group_cols);
    desc.block_rows = plan_.block_rows;
    desc.in_groups = plan_.joins_groups || plan_.panel_loop >= 0;
    desc.both_halves = src == row_of_tile_both;
    desc.two_part_zps = false;
    desc.streaming = streams;
    desc.stream_ahead = plan_.stream_ahead;
    desc.prefetching = plan_.prefetching && (src == row_of_src || plan_.panels);
    desc.prefetches_dst_into_l2 = plan_.prefetches_dst_into_l2;
    desc.cols = plan_.fixed_cols;
    desc.dot_products = has(isa_, isa_avx512_core_vnni);
    desc.in_halves = in_halves_;
    desc.bf16_conversion = false;
    desc.halves_vectors = this_machine().policy.halves_vectors;
    desc.byte_table = looks_up_bytes();
    desc.one_table_a_call = desc.byte_table && has_one_scale();
    desc.dense_rows = src == row_of_src && plan_.strides[0].row == desc.cols;
    return desc;
}

result_t jit_dequantize_t::make_row_kernel(row_src_t src, bool streams) {
    jit_row_desc_t desc = desc_of(src, streams);
    always_two_part_ = desc.src.is_wide();
    const bool may_be_two_part
            = always_two_part_ || (plan_.params.zps >= 0 && zps_may_be_wide());
    has_two_part_zps_ = may_be_two_part;
    for (const bool two_part : {false, true}) {
        const bool has_another = may_be_two_part || zps_may_be_zero()
                                 || plan_.params.checks_scales;
        if (two_part ? !has_another : always_two_part_) continue;
        desc.two_part_zps = two_part && may_be_two_part;
        desc.bf16_conversion = plan_.params.checks_scales && !two_part;
        if (zps_may_be_zero()) {
            desc.has_zps = two_part;
            desc.zps_vary = two_part && plan_.zps_vary;
        }
        auto &made = row_kernels_[static_cast<size_t>(
                streams ? streaming + src : src)][two_part];
        const result_t result = make_one_row_kernel(desc, !two_part, made);
        if (!result.ok()) return result;
        step_width_ = std::max(step_width_, made->width());
        paired_ = made->is_paired();
    }
    return {};
}

result_t jit_dequantize_t::make_one_row_kernel(const jit_row_desc_t &desc,
        bool is_first, std::unique_ptr<const jit_row_kernel_t> &made) const {
    if (plan_.dword_tiles) return make_jit_dword_rows(desc, name_, made);
    if (in_eights_ && is_first) return make_jit_row_eights(desc, name_, made);
    if (!has_f8_rows_ || !is_first)
        return make_jit_row_kernel(desc, isa_, name_, made);
    jit_row_desc_t of_f8 = desc;
    of_f8.byte_table = looks_up_f8();
    of_f8.one_table_a_call = of_f8.byte_table && has_one_scale();
    return make_jit_row_f8(of_f8, name_, made);
}

// No row has a scale or a zero point that another of its call has not.
bool jit_dequantize_t::has_one_scale() const {
    return !plan_.params_vary() && !plan_.scales_rows && !plan_.zps_rows
           && !plan_.joins_groups && plan_.panel_loop < 0;
}

// Integers of 8 bits where enough elements share the table.
bool jit_dequantize_t::looks_up_bytes() const {
    const data_type_t src = problem_.src().type, dst = problem_.dst().type;
    if (!has(isa_, isa_avx512_core_vbmi) || plan_.params_vary()
            || !is_integer(src) || bits_of(src) != 8 || bits_of(dst) != 16
            || !is_floating(dst) || plan_.block_rows != 1)
        return false;
    const dim_t rows = has_one_scale() ? plan_.rows_at_once() : 1;
    return rows * plan_.cols.block >= jit_byte_table_t::least_elements;
}

// A table of f32 would be of four bytes each.
bool jit_dequantize_t::looks_up_f8() const {
    const data_type_t src = problem_.src().type, dst = problem_.dst().type;
    return bits_of(dst) == 16 && !plan_.params_vary()
           && plan_.cols.block >= jit_row_f8_t::least_looked_up(src, dst);
}

// Integers only: no floating type has two parts.
bool jit_dequantize_t::zps_may_be_wide() const {
    const auto type
            = problem_.operands[static_cast<size_t>(plan_.params.zps)].type;
    return is_integer(type) && bits_of(type) > 16;
}

// Zero points of small floats are 0, as ONNX demands.
bool jit_dequantize_t::zps_may_be_zero() const {
    if (plan_.params.zps < 0) return false;
    const auto type
            = problem_.operands[static_cast<size_t>(plan_.params.zps)].type;
    return is_floating(type) && bits_of(type) <= 8;
}

result_t make_jit_dequantize_avx512_core(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    const char *name = "jit_dequantize_avx512_core";
    if (!has(isa, isa_avx512_core))
        return {status_t::unimplemented,
                std::string(name) + ": the instruction set is less"};
    return jit_dequantize_t::make(problem, isa, name, kernel);
}

result_t make_jit_dequantize_avx2(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    const char *name = "jit_dequantize_avx2";
    if (!has(isa, isa_avx2))
        return {status_t::unimplemented,
                std::string(name) + ": the instruction set is less"};
    return jit_dequantize_t::make(problem, isa_avx2, name, kernel);
}

} // namespace dnnl_dequant
