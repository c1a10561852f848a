#ifndef PROBLEM_CHAIN_HPP
#define PROBLEM_CHAIN_HPP

#include "base/status.hpp"
#include "problem/problem.hpp"

namespace dnnl_dequant {

struct tensor_view_t; // make_problem.hpp

/// A value on its way through a chain of ops, as an expression over one
/// iteration space; finish() makes the problem of it.
///
/// Every dimension of the value is a row of axes, which reshaping cuts and
/// regroups and transposing moves; every operand has a place along each axis.
/// So a layout op costs a kernel nothing, and what cannot be said by strides
/// alone is refused with a sentence that says why.
class chain_t {
public:
    /// A tensor over the dimensions of the value as it is when it joins:
    /// `stride` elements further each `group` indices.
    struct along_t {
        dim_t stride = 0, group = 1;
    };
    struct view_t {
        data_type_t type = data_type_t::undef;
        std::vector<along_t> along; // one a dimension
    };

    /// Begins with a tensor of known shape as the value: operand 0.
    void begin(data_type_t type, const dims_t &shape, const dims_t &strides);
    /// Begins with a tensor whose shape is not known yet. Such a chain tells
    /// only what may follow; it cannot be finished.
    void begin_unknown(data_type_t type);

    bool has_shape() const { return known_; }
    const dims_t &shape() const { return shape_; }
    data_type_t type() const { return type_; }
    size_t operand_count() const { return operands_.size(); }
    const std::vector<step_t> &steps() const { return steps_; }

    /// Makes the value one of a floating type, rounded to it.
    void set_type(data_type_t type);

    /// Leaves out all steps that round to a type of 16 bits: the value stays
    /// f32 from operand to operand.
    void drop_roundings();

    /// Makes the value one of a quantized type, rounded to it.
    void quantize(data_type_t type);

    /// Appends a step with a new operand.
    result_t apply(step_kind_t kind, const view_t &view);
    void clamp(float lower, float upper);
    void saturate(float lower, float upper);
    void nearest();
    void apply(function_t function, float alpha = 0, float beta = 0);
    /// Pushes the value and goes on with it. pop_multiply() multiplies the
    /// value by the pushed one. No value may be pushed already.
    void dup();
    void pop_multiply();

    /// Adds a chain of the same shape, whose operands come after those here.
    /// Only one of the two may have pushed a value already; it has to be this
    /// one.
    result_t add(const chain_t &other);
    bool has_pushed() const;

    /// Dimension d of the result is dimension order[d] of the value.
    void transpose(const std::vector<size_t> &order);
    /// Gives the same elements, in row-major order, other dimensions. Refuses a
    /// shape whose dimensions do not come from cutting those that lie in memory
    /// like one, and a shape that would cut a group.
    result_t reshape(const dims_t &shape);

    /// Strides in whose order the first operand lies in memory, one a
    /// dimension: a dst in the same order is written fastest.
    dims_t preferred_order() const;

    /// The least number of neighbours along dimension `d`, more than one, that
    /// share an element of an operand which varies along it; 0 if there are no
    /// such groups.
    dim_t shortest_group(size_t d) const;
    /// True where blocks of `size` indices along dimension `d`, which begin at
    /// its multiples, look alike to every operand; a last one may be short.
    bool cuts_evenly(size_t d, dim_t size) const;
    /// The value's first sizes[d] indices along each dimension: a block that
    /// cuts_evenly(), or what a last, short one has.
    chain_t block(const dims_t &sizes) const;
    /// The same value where operand 0 has these strides over its dimensions,
    /// which no layout op has touched.
    void lay_first(const dims_t &strides);
    /// The value as it is after so many steps, without the operands that come
    /// later.
    chain_t after(size_t steps) const;
    /// The value as it is made from what after(steps) is: that is operand 0,
    /// which has no place yet; the operands that come later follow it.
    chain_t from(size_t steps) const;
    /// Appends dst as the last operand, with strides over the value's
    /// dimensions.
    void place_dst(const dims_t &strides);
    /// The same elements in the row-major order of operand 0, which layout ops
    /// may have moved, in dimensions of `shape`. Refuses as reshape() does.
    result_t order_by_first(const dims_t &shape);
    /// Returns the elements of an operand from index 0 of dimension `d` to
    /// `index`.
    dim_t offset_of(size_t operand, size_t d, dim_t index) const;
    data_type_t operand_type(size_t operand) const {
        return operands_[operand];
    }

    /// The problem that stores the value to a dst of these strides and of the
    /// value's type and shape.
    result_t finish(const dims_t &dst_strides, problem_t &problem) const;
    /// The same where dst is placed already.
    result_t finish(problem_t &problem) const;

private:
    struct axis_t {
        dim_t extent;
        std::vector<along_t> along; // one an operand
    };
    using dim_axes_t = std::vector<axis_t>; // outermost first

    static result_t split(const axis_t &axis, dim_t inner, axis_t &outer_half,
            axis_t &inner_half);
    static result_t cut_to(dim_axes_t &axes, size_t at, dim_t outer_extent);
    static bool join(const axis_t &outer, const axis_t &inner, axis_t &joined);
    dim_axes_t joined_axes() const;
    static result_t refine(dim_axes_t &a, dim_axes_t &b);
    result_t place(const along_t &along, dim_axes_t &axes) const;
    std::vector<axis_t> even_axes() const;
    result_t view_operands(dims_t &extents, dims_t &groups,
            std::vector<tensor_view_t> &views) const;

    bool known_ = false, empty_ = false;
    dims_t shape_;
    data_type_t type_ = data_type_t::undef;
    std::vector<dim_axes_t> dims_; // none of extent 1
    std::vector<data_type_t> operands_;
    std::vector<step_t> steps_;
};

} // namespace dnnl_dequant

#endif
