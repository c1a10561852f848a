#ifndef PROBLEM_MAKE_PROBLEM_HPP
#define PROBLEM_MAKE_PROBLEM_HPP

#include "problem/problem.hpp"

namespace dnnl_dequant {

/// A tensor over the dimensions of the iteration space.
struct tensor_view_t {
    data_type_t type = data_type_t::undef;
    /// One a dimension: elements between neighbours along it or, for a grouped
    /// tensor, between the values of neighbouring groups.
    dims_t strides;
    /// A grouped tensor has one value a group (scales, zps); others have one
    /// value a point (src, dst).
    bool grouped = false;
};

/// Builds the canonical problem.
///
/// dims    the iteration space, any rank from 0
/// groups  the group size along each dimension, 1 to dims[d]; it need not
///         divide dims[d]: the last group is then short. Per-tensor is
///         groups == dims, per-channel is dims but for 1 at the axis. A tensor
///         that is constant has stride 0 everywhere.
/// views   src first, dst last
/// steps   see step_t
/// ordered_by  the view in whose falling order of strides the loops stand: dst,
///         but for problems whose points share elements of it
///
/// The caller has checked that sizes agree, that no stride is negative and
/// that dst does not overlap itself.
problem_t make_problem(const dims_t &dims, const dims_t &groups,
        const std::vector<tensor_view_t> &views,
        const std::vector<step_t> &steps, int ordered_by = -1);

/// Builds the canonical problem of a part of another one, in which no loop is
/// one of groups.
///
/// extents   of the loops, which become dimensions
/// operands  with their offsets, the strides those of the loops
problem_t make_plain_problem(const dims_t &extents,
        const std::vector<operand_t> &operands,
        const std::vector<step_t> &steps);

} // namespace dnnl_dequant

#endif
