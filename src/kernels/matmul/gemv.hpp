#ifndef KERNELS_MATMUL_GEMV_HPP
#define KERNELS_MATMUL_GEMV_HPP

#include <memory>

#include "base/isa.hpp"
#include "base/status.hpp"
#include "problem/problem.hpp"

namespace dnnl_dequant {

/// How parameters (scales, zero points) lie over weights of depth x columns.
struct gemv_parameters_t {
    data_type_t type = data_type_t::undef;     // undef: there are none
    size_t operand = 0;                        // of the problem
    dim_t group_stride = 0, column_stride = 0; // elements
};

/// Weights of 4 or 8 bits whose columns lie side by side:
///   (weight - zp) * scale      the difference exact, in f32
struct gemv_weights_t {
    data_type_t type = data_type_t::undef;
    dim_t pitch = 0;           // elements from one row to the next
    dim_t depth = 0, cols = 0; // of all
    dim_t group = 0;           // rows that share a scale and a zero point
    gemv_parameters_t scales, zps;
};

/// The weights as a problem's loops have them; unimplemented with a reason for
/// any others. The problem's dst has gaps between its rows.
result_t describe_weights(const problem_t &problem, dim_t depth, dim_t cols,
        gemv_weights_t &weights);

/// A few rows times weights, which are read once and become numbers in
/// registers only.
class gemv_t {
public:
    static constexpr dim_t most_rows = 12;

    struct block_t {
        const float *a; // rows x depth
        float *c;       // rows x cols, c_pitch elements apart
        float *partial; // the same, scratch
        dim_t a_pitch, c_pitch, rows;
        dim_t first_col, cols; // in panels
    };

    virtual ~gemv_t() = default;
    virtual const char *name() const = 0;
    /// Columns that are done together.
    static constexpr dim_t panel = 128;

    /// @param buffers of the weights' problem
    virtual void run(void *const *buffers, const block_t &block) const noexcept
            = 0;
};

/// unimplemented with a reason where no generated code takes the weights.
result_t make_gemv(const gemv_weights_t &weights, isa_t isa,
        std::shared_ptr<const gemv_t> &gemv);

} // namespace dnnl_dequant

#endif
