#include "lower/blocks.hpp"

#include "lower/lower.hpp"

namespace dnnl_dequant {

using axis_t = block_kernels_t::axis_t;

axis_t block_axis(const chain_t &chain, size_t d, dim_t size) {
    axis_t axis;
    const dim_t extent = chain.shape()[d];
    for (dim_t at = 0; at < extent; at += size) {
        for (size_t o = 0; o < chain.operand_count(); ++o)
            axis.offsets.push_back(chain.offset_of(o, d, at));
        axis.shapes.push_back(extent - at < size);
    }
    axis.shape_count = extent % size == 0 ? 1 : 2;
    // A short block that is the only one is the first shape.
    if (0 < extent && extent < size) axis.shapes.assign(1, 0);
    return axis;
}

axis_t block_axis(
        const chain_t &chain, const dims_t &dst_strides, size_t d, dim_t size) {
    chain_t placed = chain;
    placed.place_dst(dst_strides);
    return block_axis(placed, d, size);
}

axis_t combined_axis(const axis_t &outer, const axis_t &inner) {
    axis_t axis;
    const size_t operands = outer.offsets.size() / outer.shapes.size();
    for (size_t i = 0; i < outer.shapes.size(); ++i)
        for (size_t j = 0; j < inner.shapes.size(); ++j) {
            axis.shapes.push_back(
                    outer.shapes[i] * inner.shape_count + inner.shapes[j]);
            for (size_t o = 0; o < operands; ++o)
                axis.offsets.push_back(outer.offsets[i * operands + o]
                                       + inner.offsets[j * operands + o]);
        }
    axis.shape_count = outer.shape_count * inner.shape_count;
    return axis;
}

axis_t whole_axis(size_t operands) {
    return {std::vector<dim_t>(operands, 0), {0}, 1};
}

std::vector<data_type_t> operand_types(const chain_t &chain) {
    std::vector<data_type_t> types;
    for (size_t o = 0; o < chain.operand_count(); ++o)
        types.push_back(chain.operand_type(o));
    return types;
}

std::vector<data_type_t> operand_types(const chain_t &chain, data_type_t dst) {
    auto types = operand_types(chain);
    types.push_back(dst);
    return types;
}

read_ahead_t rows_of(const problem_t &problem) {
    const operand_t &src = problem.src();
    // {stride, extent}, the innermost first.
    std::vector<std::pair<dim_t, dim_t>> loops;
    for (size_t l = 0; l < problem.loops.size(); ++l)
        if (src.strides[l] != 0)
            loops.push_back({src.strides[l], problem.loops[l].extent});
    std::sort(loops.begin(), loops.end());
    for (size_t l = 1; l < loops.size();) {
        auto &inner = loops[l - 1];
        if (loops[l].first == inner.first * inner.second) {
            inner.second *= loops[l].second;
            loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(l));
        } else ++l;
    }
    if (loops.empty() || loops.size() > 2 || loops[0].first != 1) return {};
    const dim_t bits = bits_of(src.type);
    read_ahead_t rows;
    rows.bytes = (loops[0].second * bits + 7) / 8;
    rows.rows = loops.size() == 2 ? loops[1].second : 1;
    rows.pitch = loops.size() == 2 ? loops[1].first * bits / 8 : 0;
    return rows;
}

namespace {

// More than this is copied past the caches or with prefetches, by a kernel.
constexpr dim_t most_copied_bytes = 32 * 1024;

// Bytes of a problem that copies what lies side by side; 0 for any other.
dim_t copied_bytes(const problem_t &problem) {
    const data_type_t type = problem.dst().type;
    if (problem.operands.size() != 2 || !problem.steps.empty()
            || problem.src().type != type || bits_of(type) < 8
            || problem.loops.size() != 1 || problem.src().strides[0] != 1
            || problem.dst().strides[0] != 1 || problem.src().offset != 0
            || problem.dst().offset != 0)
        return 0;
    const dim_t bytes = bytes_of(type, problem.loops[0].extent);
    return bytes <= most_copied_bytes ? bytes : 0;
}

} // namespace

result_t make_kernels(block_kernels_t &blocks, isa_t isa,
        const std::function<result_t(size_t, size_t, size_t, problem_t &)>
                &make) {
    for (size_t i = 0; i < blocks.block_count(0); ++i)
        for (size_t j = 0; j < blocks.block_count(1); ++j)
            for (size_t k = 0; k < blocks.block_count(2); ++k) {
                auto &kernel = blocks.kernel_of({i, j, k});
                if (kernel) continue;
                problem_t problem;
                result_t result = make(i, j, k, problem);
                for (size_t o = 0; o < problem.operands.size(); ++o)
                    problem.operands[o].offset += blocks.phase_of({i, j, k}, o);
                if (result.ok()) result = choose_kernel(problem, isa, kernel);
                if (!result.ok()) return result;
                blocks.set_copied_bytes(
                        {i, j, k}, static_cast<size_t>(copied_bytes(problem)));
            }
    return {};
}

} // namespace dnnl_dequant
