#ifndef KERNELS_DEQUANTIZE_JIT_ROWS_HPP
#define KERNELS_DEQUANTIZE_JIT_ROWS_HPP

#include <array>
#include <memory>
#include <vector>

#include "kernels/dequantize/jit_group_table.hpp"
#include "kernels/dequantize/jit_plan.hpp"
#include "kernels/dequantize/jit_row_kernel.hpp"
#include "kernels/kernel.hpp"

namespace dnnl_dequant {

/// The base of kernels of both instruction sets: they walk the plan in plain
/// C++ and call generated code for rectangles of rows.
class jit_rows_t : public kernel_t {
public:
    const char *name() const override { return name_; }
    dim_t work_amount() const override;
    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override;

protected:
    friend class jit_walk_t;

    // The place of a row's numbers.
    enum row_src_t {
        row_of_src,       // as the problem says
        row_of_tile,      // in whole bytes, in their low bits
        row_of_tile_high, // nibbles, in the high half
        row_of_tile_both, // nibbles, two rows, in both halves
        row_src_count,
        streaming = row_src_count, // added to one of those
    };

    jit_rows_t(const problem_t &problem, isa_t isa, const char *name)
        : problem_(problem)
        , isa_(isa)
        , name_(name) {}

    /// All row kernels that the plan needs.
    result_t make_row_kernels();
    virtual result_t make_row_kernel(row_src_t src, bool streams) = 0;
    /// Makes the table. It needs the row kernels' step width.
    void make_group_table();

    const problem_t problem_;
    const isa_t isa_;
    const char *const name_;
    jit_plan_t plan_;
    // Two kernels: one for parameters that jit_walk_t calls ordinary, one for
    // the rest; null if never needed.
    using row_kernels_t
            = std::array<std::unique_ptr<const jit_row_kernel_t>, 2>;
    std::array<row_kernels_t, 2 * row_src_count> row_kernels_;
    // Kernels of row_of_src that pack rows of whole steps beginning at a byte
    // of dst; null if the walk packs. The second two store past the caches.
    std::array<row_kernels_t, 2> packing_kernels_;
    // All row kernels share these, see jit_row_kernel_t.
    dim_t step_width_ = 1;
    bool paired_ = false;
    bool always_two_part_ = false;  // for what src is
    bool has_two_part_zps_ = false; // the second of the row kernels reads them
    // The first of the row kernels wants this added to zero points.
    float zps_bias_ = 0.f;
    // The plan's table, if it has one, for a block of columns.
    std::vector<uint32_t> group_table_;

private:
    result_t make_kernels_of(row_src_t src);
    void run_panels(
            void *const *buffers, dim_t begin, dim_t end) const noexcept;
    template <size_t bytes>
    void run_tiles(void *const *buffers, dim_t begin, dim_t end) const noexcept;
    void run_pieces(void *const *buffers, dim_t begin, dim_t end,
            uint8_t *tile) const noexcept;
};

} // namespace dnnl_dequant

#endif
