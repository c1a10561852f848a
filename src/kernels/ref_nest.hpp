#ifndef KERNELS_REF_NEST_HPP
#define KERNELS_REF_NEST_HPP

#include <array>

#include "kernels/kernel.hpp"

namespace dnnl_dequant {

/// A kernel in plain C++: walks the nest point by point, in the loops' order.
/// The derived kernel says what happens at a point.
class ref_nest_t : public kernel_t {
public:
    /// The element of each operand at one point.
    using elements_t = std::array<dim_t, max_operands>;

    /// Why the nest cannot be walked; success where it can.
    static result_t check(const problem_t &problem);

    dim_t work_amount() const override { return units_; }
    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override;

protected:
    explicit ref_nest_t(const problem_t &problem);

    virtual void run_point(
            void *const *buffers, const elements_t &elements) const
            = 0;

    const problem_t problem_;

private:
    struct position_t {
        std::array<dim_t, max_loops> index {};
        elements_t element {};
    };

    dim_t extent_of(size_t l, const position_t &at) const;
    void run_outer_point(void *const *buffers, dim_t point) const;
    void run_loop(void *const *buffers, size_t l, const position_t &from) const;

    size_t outer_loops_ = 0;
    dim_t outer_points_ = 1;
    dim_t units_ = 0;
};

} // namespace dnnl_dequant

#endif
