#include "lower/matmul_src.hpp"

#include <algorithm>

#include "graph/logical_tensor.hpp"
#include "lower/blocks.hpp"
#include "lower/lower.hpp"
#include "lower/matmul_sizes.hpp"

namespace dnnl_dequant {

namespace {

// Loops are merged: there is one, or one of rows and one along them.
bool is_rows(const problem_t &problem, dim_t depth) {
    const auto &loops = problem.loops;
    const operand_t &src = problem.src();
    if (loops.empty()) return true;
    if (loops.size() > 2 || src.strides.back() != 1
            || problem.dst().strides.back() != 1)
        return false;
    return loops.size() == 1 || loops[1].extent == depth;
}

// Prepends ones, up to the product's rank.
dims_t aligned(dims_t shape, size_t rank) {
    shape.insert(shape.begin(), rank - shape.size(), 1);
    return shape;
}

// The next block's place, or false.
bool advance(const dims_t &shape, const dims_t &sizes, dims_t &at) {
    for (size_t d = at.size(); d-- > 0;) {
        at[d] += sizes[d];
        if (at[d] < shape[d]) return true;
        at[d] = 0;
    }
    return false;
}

} // namespace

result_t make_src_rows(const chain_t &src, data_type_t type, dim_t unit,
        isa_t isa, const product_blocks_t &blocks, src_rows_t &rows) {
    const dim_t depth = blocks.depth;
    chain_t chain = src;
    chain.set_type(type);
    dims_t strides = dense_strides(chain.shape());
    problem_t problem;
    rows.type = type;
    rows.pitch = depth;
    result_t result = chain.finish(strides, problem);
    if (!result.ok() || depth == 0) return result;
    rows.operands = chain.operand_count();
    const operand_t &from = problem.src();
    if (from.type == type && problem.steps.empty() && from.offset == 0
            && is_rows(problem, depth)) {
        const dim_t pitch = problem.loops.size() == 2 ? from.strides[0] : depth;
        rows.pitch = pitch;
        if (unit == 1) return {};
        rows.copied_pitch = pitch;
    }
    rows.pitch = round_up(depth, std::max(panel, unit)) + src_pad;
    for (size_t d = 0; d + 1 < strides.size(); ++d)
        strides[d] = strides[d] / depth * rows.pitch;
    result = chain.finish(strides, problem);
    return result.ok() ? choose_kernel(problem, isa, rows.kernel) : result;
}

std::vector<dim_t> places_along(
        const chain_t &chain, size_t operand, size_t d) {
    std::vector<dim_t> result;
    for (dim_t i = 0; i < chain.shape()[d]; ++i)
        result.push_back(chain.offset_of(operand, d, i));
    return result;
}

std::vector<dim_t> places_of_rows(const chain_t &chain, size_t operand) {
    std::vector<dim_t> result {0};
    for (size_t d = 0; d + 1 < chain.shape().size(); ++d) {
        std::vector<dim_t> finer;
        for (const dim_t from : result)
            for (const dim_t place : places_along(chain, operand, d))
                finer.push_back(from + place);
        result = std::move(finer);
    }
    return result;
}

std::vector<dims_t> init_row_blocks(const product_t &product,
        const dims_t &sizes, product_blocks_t &blocks) {
    const dims_t &shape = product.shape;
    const dims_t weights = aligned(product.weights.chain.shape(), shape.size());
    const dims_t src = aligned(product.src.chain.shape(), shape.size());
    std::vector<dims_t> all;
    dims_t at(sizes.size(), 0);
    do {
        dims_t own;
        dim_t first = 0, rows = 1, outer = 0;
        for (size_t d = 0; d < sizes.size(); ++d) {
            own.push_back(std::min(sizes[d], shape[d] - at[d]));
            rows *= own.back();
            first = first * src[d] + (src[d] == 1 ? 0 : at[d]);
            if (d + 1 < sizes.size() && weights[d] != 1)
                outer = outer * weights[d] + at[d];
        }
        all.push_back(own);
        blocks.row_blocks.push_back({first, rows, static_cast<size_t>(outer)});
    } while (advance(shape, sizes, at));
    return all;
}

} // namespace dnnl_dequant
