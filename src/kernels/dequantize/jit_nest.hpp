#ifndef KERNELS_DEQUANTIZE_JIT_NEST_HPP
#define KERNELS_DEQUANTIZE_JIT_NEST_HPP

#include <algorithm>

#include "base/convert.hpp"
#include "problem/problem.hpp"

namespace dnnl_dequant {

/// Questions that a planner asks about a problem's loops. A loop of -1 is none.
class jit_nest_t {
public:
    explicit jit_nest_t(const problem_t &problem)
        : problem_(problem) {}

    int loop_count() const { return static_cast<int>(problem_.loops.size()); }
    const loop_t &loop(int l) const {
        return problem_.loops[static_cast<size_t>(l)];
    }
    static dim_t stride(const operand_t &operand, int l) {
        return l < 0 ? 0 : operand.strides[static_cast<size_t>(l)];
    }
    const operand_t &operand(int o) const {
        return problem_.operands[static_cast<size_t>(o)];
    }
    bool composes(const operand_t &operand, int outer, int inner) const {
        return stride(operand, outer)
               == stride(operand, inner) * loop(inner).extent;
    }

    // The two loops' indices, counted together, are without gaps.
    bool gapless(int outer, int inner) const {
        const int parent = loop(inner).parent;
        return parent < 0 || (parent == outer && loop(outer).parent < 0);
    }

    bool varies(int o, int loop_a, int loop_b = -1) const {
        return o >= 0
               && (stride(operand(o), loop_a) != 0
                       || stride(operand(o), loop_b) != 0);
    }

    bool is_clipped(int l) const {
        return l >= 0 && loop(l).parent >= 0
               && loop(l).last_extent != loop(l).extent;
    }
    dim_t nominal_points() const {
        dim_t points = 1;
        for (const auto &l : problem_.loops)
            points *= l.extent;
        return points;
    }

    int src_bits() const { return bits_of(problem_.src().type); }
    /// Bytes of an element, at least one, and bytes of all of dst.
    dim_t dst_bytes() const { return bytes_of(problem_.dst().type, 1); }
    dim_t dst_total() const { return nominal_points() * dst_bytes(); }
    dim_t src_total() const { return nominal_points() * src_bits() / 8; }

    /// A dst that is small next to its source is pushed out of the caches by
    /// it, as one of so many bytes would be.
    dim_t pushing_bytes() const { return (src_total() + dst_total()) / 2; }

    // True if every run along `dense_loop` begins at a whole byte. With `outer`
    // the runs go along both loops.
    bool all_at_bytes_but(int dense_loop, int outer = -1) const {
        const dim_t per_byte = std::max(8 / src_bits(), 1);
        const auto &src = problem_.src();
        if (src.offset % per_byte != 0) return false;
        for (int l = 0; l < loop_count(); ++l)
            if (l != dense_loop && l != outer && stride(src, l) % per_byte != 0)
                return false;
        return true;
    }

protected:
    const problem_t &problem_;
};

} // namespace dnnl_dequant

#endif
