// Rows by weights that are numbers in registers only, or in tiles.

#include <algorithm>

#include "base/text.hpp"
#include "lower/integer_product.hpp"
#include "lower/low_precision_gemm.hpp"
#include "lower/matmul_src.hpp"
#include "lower/not_taken.hpp"
#include "lower/product_ways.hpp"

namespace dnnl_dequant {

namespace {

// True if zero points are known to be 0: those of ONNX's floats.
bool has_zeros(const composition_t &weights, const skinny_parameters_t &zps) {
    if (zps.type == data_type_t::undef) return false;
    const source_t &source = weights.sources[zps.operand];
    const auto &zeros = weights.must_be_zero;
    return source.constant < 0
           && std::find(zeros.begin(), zeros.end(), source.tensor)
                      != zeros.end();
}

result_t describe(const product_cut_t &cut, skinny_weights_t &weights) {
    const dims_t &shape = cut.weights().shape();
    if (cut.blocks.depth == 0)
        return refuse("weights have a depth of 0; expected 1 or more");
    dims_t strides(shape.size(), 0), batch(shape.size(), 1);
    strides[shape.size() - 2] = shape.back() + panel;
    strides.back() = 1;
    std::copy_n(shape.end() - 2, 2, batch.end() - 2);
    problem_t problem;
    result_t result = cut.weights().block(batch).finish(strides, problem);
    if (result.ok())
        result = describe_weights(
                problem, cut.blocks.depth, shape.back(), weights);
    if (result.ok() && has_zeros(cut.product.weights, weights.zps))
        weights.zps = {};
    weights.calls_multiply = true;
    return result;
}

// Chooses what multiplies floats.
result_t choose_tiles(const product_cut_t &cut, skinny_weights_t &weights) {
    const isa_t isa = cut.target.isa;
    const data_type_t narrow = narrow_type(cut.product, cut.target.mode);
    if (narrow == data_type_t::f32 && has(isa, isa_amx_bf16)
            && cut.block_rows >= least_terms_rows(
                       bits_of(weights.type), weights.by_column, weights.group))
        weights.tiles = skinny_tiles_t::exact;
    else if (cut.block_rows > most_rows_without_terms)
        return refuse(text("blocks have ", cut.block_rows, " rows; expected ",
                most_rows_without_terms, " at most"));
    // Only AMX multiplies pairs of f16, in tiles that few rows do not fill.
    if (narrow != data_type_t::bf16) return {};
    const dim_t least = weights.by_column ? least_tile_rows_of_nk
                        : weights.have_two_bits()
                                ? least_tile_rows_of_kn_two_bits
                                : least_tile_rows_of_kn;
    if (has(isa, isa_amx_bf16)
            && (weights.are_nibbles()
                    || cut.block_rows >= least_tile_rows_of_bytes))
        weights.tiles = cut.block_rows >= least ? skinny_tiles_t::only
                                                : skinny_tiles_t::rounded;
    if (multiplies_pairs(isa, cut.block_rows,
                weights.by_column && weights.col_group == 1
                        && weights.are_nibbles()))
        weights.multiplied = data_type_t::bf16;
    return {};
}

// [K,N] weights.
dim_t most_n_lanes_cols(dim_t rows, const skinny_gemm_t &skinny_gemm) {
    const auto with_sums = [rows](dim_t cols, dim_t sums) {
        return std::min(cols, sums / rows / panel * panel);
    };
    if (skinny_gemm.packs_src())
        return with_sums(most_skinny_cols, most_tile_sums);
    if (skinny_gemm.partial_floats() > 1)
        return with_sums(
                this_machine().policy.transposed_cols, most_transposed_sums);
    return with_sums(most_skinny_cols, most_skinny_sums);
}

product_blocks_t cut_skinny_gemm(const product_cut_t &cut,
        const skinny_weights_t &weights, const skinny_gemm_t &skinny_gemm) {
    const bool are_terms = skinny_gemm.packs_src() && skinny_gemm.scales_sums();
    const dim_t most
            = are_terms && cut.block_rows > skinny_gemm_t::most_rows_in_turns
                      ? most_cols_of_many_rows
              : weights.by_column
                      ? most_k_lanes_cols(cut.block_rows, weights, are_terms)
                      : most_n_lanes_cols(cut.block_rows, skinny_gemm);
    // One thread alone may have a rest: the widths of kernels that pack nothing
    // were measured so.
    const dim_t cols
            = skinny_gemm.packs_src() || cut.threads() > 1
                      ? cut.even_cols(most, skinny_gemm.nr())
                      : std::min(most, cut.thread_cols(skinny_gemm.nr()));
    return cut.cut_cols(
            cols, panel, std::max(panel, skinny_gemm.nr()), [&](dim_t size) {
        return size % skinny_gemm.nr() == 0 && cut.cuts_cols_evenly(size);
    });
}

// True if a kernel may read the parameters in the user's memory: f32, column
// after column. Kernels read nothing beyond a block's columns if their number
// is a multiple of the most that they take at once.
bool are_in_place(const skinny_parameters_t &place,
        const product_blocks_t &blocks, const skinny_plan_t &plan) {
    const bool are_dense = place.column_stride == plan.groups
                           && (place.group_stride == 1 || plan.groups == 1);
    return place.type == data_type_t::f32
           && plan.skinny_gemm->parameters_by_column() && are_dense
           && blocks.col_blocks.back() % (skinny_gemm_t::columns_beyond + 1)
                      == 0;
}

// The scales or zero points.
result_t make_parameters(const product_cut_t &cut,
        const skinny_parameters_t &place, const product_blocks_t &blocks,
        skinny_plan_t &plan, size_t p) {
    plan.parameters[p].operand = place.operand;
    plan.parameters[p].are_in_place = are_in_place(place, blocks, plan);
    if (plan.parameters[p].are_in_place) return {};
    chain_t chain;
    chain.begin(place.type, {cut.cols(), plan.groups},
            {place.column_stride, place.group_stride});
    chain.set_type(data_type_t::f32);
    const dims_t strides = plan.skinny_gemm->parameters_by_column()
                                   ? dims_t {plan.groups, 1}
                                   : dims_t {1, blocks.pitch};
    auto &kernels = plan.parameters[p].kernels;
    kernels = block_kernels_t({place.type, data_type_t::f32},
            {block_axis(chain, {0, 0}, 0, blocks.col_blocks[0]), whole_axis(2),
                    whole_axis(2)});
    return make_kernels(kernels, cut.target.isa,
            [&](size_t block, size_t, size_t, problem_t &problem) {
        return chain.block({blocks.col_blocks[block], plan.groups})
                .finish(strides, problem);
    });
}

// Makes the parameters of all groups of columns at once.
result_t make_shared_parameters(const product_cut_t &cut,
        const skinny_parameters_t &place, skinny_plan_t &plan, size_t p) {
    auto &shared = plan.shared[p];
    shared.exist = true;
    shared.operand = place.operand;
    const dims_t dense = plan.skinny_gemm->parameters_by_column()
                                 ? dims_t {1, plan.groups}
                                 : dims_t {plan.col_groups, 1};
    if (place.type == data_type_t::f32
            && dims_t {place.group_stride, place.column_stride} == dense)
        return {};
    chain_t chain;
    chain.begin(place.type, {plan.groups, plan.col_groups},
            {place.group_stride, place.column_stride});
    chain.set_type(data_type_t::f32);
    problem_t problem;
    const result_t result = chain.finish(dense, problem);
    return result.ok() ? choose_kernel(problem, cut.target.isa, shared.kernel)
                       : result;
}

// @param src Rows of the kernel's src.
result_t make_plan(product_cut_t &cut, const skinny_weights_t &weights,
        const chain_t &src, skinny_plan_t plan,
        std::shared_ptr<const multiplier_t> &multiplier) {
    result_t result = find_batches(cut);
    if (result.ok())
        result = make_skinny_kernel(weights, cut.block_rows, cut.target.isa,
                plan.skinny_gemm, log_not_taken);
    if (!result.ok()) return result;
    product_blocks_t blocks = cut_skinny_gemm(cut, weights, *plan.skinny_gemm);
    plan.groups = weights.groups();
    const bool are_shared = weights.col_group > 1;
    if (are_shared) plan.col_groups = div_up(weights.cols, weights.col_group);
    const skinny_parameters_t *const places[] = {&weights.scales, &weights.zps};
    for (size_t p = 0; p < plan.parameters.size() && result.ok(); ++p)
        if (places[p]->type != data_type_t::undef)
            result = are_shared
                             ? make_shared_parameters(cut, *places[p], plan, p)
                             : make_parameters(
                                       cut, *places[p], blocks, plan, p);
    if (result.ok())
        result = make_src_rows(src, plan.skinny_gemm->src_type(),
                plan.skinny_gemm->src_unit(), cut.target.isa, cut.blocks,
                plan.src);
    if (!result.ok()) return result;
    multiplier = make_multiplier(std::move(blocks), std::move(plan));
    return {};
}

} // namespace

result_t make_skinny_gemm(
        product_cut_t &cut, std::shared_ptr<const multiplier_t> &multiplier) {
    skinny_weights_t weights;
    result_t result = describe(cut, weights);
    if (result.ok()) result = choose_tiles(cut, weights);
    if (result.ok())
        result = make_plan(
                cut, weights, cut.src(), skinny_plan_t(), multiplier);
    if (result.ok()) cut.integers = nullptr;
    else if (!result.reason.empty())
        result.reason = "skinny_gemm: " + result.reason;
    return result;
}

result_t make_integers_by_tiles(
        product_cut_t &cut, std::shared_ptr<const multiplier_t> &multiplier) {
    const isa_t isa = cut.target.isa;
    if (!has(isa, isa_amx_bf16) || cut.block_rows < least_rows_of_bf16_integers)
        return refuse("");
    const auto named = [](result_t result) {
        if (!result.ok() && !result.reason.empty())
            result.reason = "integers_by_tiles: " + result.reason;
        return result;
    };
    scaled_integers_t scaled;
    skinny_weights_t weights;
    result_t result = split_row_scales(cut.product.src, scaled);
    if (result.ok()) result = describe(cut, weights);
    if (!result.ok()) return named(result);
    if (!multiplies_integers_as_bf16(cut.block_rows, weights))
        return refuse("");
    // Repacked weights have to have the bits of those that are not.
    const dim_t repacked_rows
            = most_repacked_rows(isa, bits_of(weights.type), weights.by_column);
    if (cut.may_repack && is_integer(weights.type) && !weights.have_two_bits()
            && cut.blocks.rows <= repacked_rows)
        return named(refuse(text("weights of ", cut.blocks.rows,
                " rows are repacked; expected more than ", repacked_rows)));
    weights.tiles = skinny_tiles_t::integers;
    skinny_plan_t plan;
    plan.row_scales = {cut.src().operand_type(scaled.scales), scaled.scales,
            places_of_rows(cut.src(), scaled.scales)};
    return named(make_plan(
            cut, weights, scaled.differences, std::move(plan), multiplier));
}

} // namespace dnnl_dequant
