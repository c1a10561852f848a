#include "lower/attention_factor.hpp"

#include "base/text.hpp"
#include "lower/low_precision_gemm.hpp"
#include "lower/lower.hpp"
#include "lower/matmul_sizes.hpp"

namespace dnnl_dequant {

block_kernels_t attention_factor_t::places(data_type_t dst) const {
    chain_t chain = chain_;
    chain.place_dst(dims_t(rank_, 0));
    auto outer = whole_axis(chain.operand_count());
    for (size_t d = 0; d + 2 < rank_; ++d)
        outer = combined_axis(outer, block_axis(chain, d, 1));
    return block_kernels_t(operand_types(chain_, dst),
            {outer, block_axis(chain, tokens_, cut_.tokens),
                    whole_axis(chain.operand_count())});
}

result_t attention_factor_t::block_problem(size_t block, dim_t pitch,
        problem_t &problem, data_type_t dst, bool nk) const {
    dims_t sizes(rank_, 1), strides(rank_, 0);
    sizes[rank_ - 2] = chain_.shape()[rank_ - 2];
    sizes[rank_ - 1] = chain_.shape()[rank_ - 1];
    sizes[tokens_] = tokens_of(block);
    strides[rank_ - 2] = nk ? 1 : pitch;
    strides[rank_ - 1] = nk ? pitch : 1;
    chain_t chain = chain_.block(sizes);
    chain.set_type(dst);
    return chain.finish(strides, problem);
}

result_t attention_factor_t::make_blocks(attention_blocks_t &plan) const {
    plan.ldb = cut_.pitch;
    plan.kernels = places();
    plan.depth = chain_.shape()[rank_ - 2];
    plan.cols = chain_.shape()[rank_ - 1];
    if (tokens_ + 2 == rank_) plan.depth = cut_.tokens;
    else plan.cols = cut_.tokens;
    const result_t result = make_gemm(cut_.isa, plan.gemm);
    if (!result.ok()) return result;
    return make_kernels(plan.kernels, cut_.isa,
            [&](size_t, size_t block, size_t, problem_t &problem) {
        return block_problem(block, cut_.pitch, problem);
    });
}

result_t attention_factor_t::make_narrow(const std::set<dim_t> &depths,
        dim_t cols, dim_t pitch, attention_blocks_t &plan) const {
    if (cut_.compute_type != data_type_t::bf16)
        return refuse(text("both factors are multiplied as ",
                to_string(cut_.compute_type), "; expected bf16"));
    if (cut_.rows < least_narrow_rows)
        return refuse(text("blocks have ", cut_.rows, " rows; expected ",
                least_narrow_rows, " or more"));
    const bool is_even = std::all_of(depths.begin(), depths.end(),
            [](dim_t depth) { return depth % 2 == 0; });
    const bool nk = is_even && stored_nk();
    result_t result = make_bf16_gemm(cut_.isa, cut_.rows, nk, plan.gemm);
    if (!result.ok()) return result;
    plan.depth = *depths.rbegin();
    plan.cols = cols;
    plan.ldb = plan.gemm->takes_nk() ? round_up(plan.depth, nk_pad) + nk_pad
                                     : cut_.pitch;
    plan.src_pitch = round_up(plan.depth, dim_t(16));
    for (const dim_t rows : cut_.row_counts)
        for (const dim_t depth : depths) {
            plan.roundings.push_back({rows, depth, nullptr});
            chain_t chain;
            chain.begin(data_type_t::f32, {rows, depth}, {pitch, 1});
            chain.set_type(cut_.compute_type);
            problem_t problem;
            result = chain.finish({plan.src_pitch, 1}, problem);
            if (result.ok())
                result = choose_kernel(
                        problem, cut_.isa, plan.roundings.back().kernel);
            if (!result.ok()) return result;
        }
    plan.kernels = places(cut_.compute_type);
    return make_kernels(plan.kernels, cut_.isa,
            [&](size_t, size_t block, size_t, problem_t &problem) {
        return block_problem(block, plan.ldb, problem, cut_.compute_type,
                plan.gemm->takes_nk());
    });
}

// True if the depth is what lies side by side.
bool attention_factor_t::stored_nk() const {
    return chain_.preferred_order().back() + 2 == static_cast<dim_t>(rank_);
}

} // namespace dnnl_dequant
