#ifndef KERNELS_DEQUANTIZE_JIT_DEQUANTIZE_HPP
#define KERNELS_DEQUANTIZE_JIT_DEQUANTIZE_HPP

#include <array>
#include <memory>

#include "kernels/dequantize/jit_plan.hpp"
#include "kernels/dequantize/jit_row_kernel.hpp"
#include "kernels/kernel.hpp"

namespace dnnl_dequant {

/// The kernel of both instruction sets: walks the plan in plain C++ and calls
/// generated code for rectangles of rows.
class jit_dequantize_t : public kernel_t {
public:
    static result_t make(const problem_t &problem, isa_t isa, const char *name,
            std::shared_ptr<const kernel_t> &kernel);

    const char *name() const override { return name_; }
    dim_t work_amount() const override;
    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override;

private:
    friend class jit_walk_t;

    // Where the numbers of a row stand.
    enum row_src_t {
        row_of_src,       // as the problem says
        row_of_tile,      // in whole bytes, in their low bits
        row_of_tile_high, // nibbles, in the high half
        row_src_count,
        streaming = row_src_count, // added to those of a tile
    };

    jit_dequantize_t(const problem_t &problem, isa_t isa, const char *name)
        : problem_(problem)
        , isa_(isa)
        , name_(name) {}

    result_t make_row_kernels();
    result_t make_tile_kernels(row_src_t src);
    result_t make_row_kernel(row_src_t src, bool streams);
    bool zps_may_be_wide() const;

    const problem_t problem_;
    const isa_t isa_;
    const char *const name_;
    jit_plan_t plan_;
    // For zero points of one part and of two; null where never needed.
    using row_kernels_t
            = std::array<std::unique_ptr<const jit_row_kernel_t>, 2>;
    std::array<row_kernels_t, 2 * row_src_count> row_kernels_;
    // Of all row kernels, see jit_row_kernel_t.
    dim_t step_width_ = 1;
    bool paired_ = false;
    bool always_two_part_ = false; // for what src is
};

} // namespace dnnl_dequant

#endif
