#ifndef KERNELS_MATMUL_BLOCK_KERNELS_HPP
#define KERNELS_MATMUL_BLOCK_KERNELS_HPP

#include <array>
#include <vector>

#include "kernels/kernel.hpp"

namespace dnnl_dequant {

/// A problem done block by block. Blocks stand in a grid of three axes and
/// have few shapes, each with a kernel of its own; one of 4 or 2 bits whose
/// first element is not the first of its byte has another.
class block_kernels_t {
public:
    static constexpr size_t axes = 3;
    using index_t = std::array<size_t, axes>;

    struct axis_t {
        /// Of each block, each operand: elements from the axis' beginning.
        std::vector<dim_t> offsets = {};
        /// Of each block: which of the axis' shapes it has.
        std::vector<size_t> shapes = {};
        size_t shape_count = 1;
    };

    block_kernels_t() = default;
    /// types  of each operand, dst last
    block_kernels_t(
            std::vector<data_type_t> types, std::array<axis_t, axes> grid);

    size_t block_count(size_t axis) const { return grid_[axis].shapes.size(); }
    size_t operand_count() const { return types_.size(); }
    data_type_t operand_type(size_t operand) const { return types_[operand]; }

    /// The kernel of a block and of those like it: to be made where there is
    /// none yet.
    std::shared_ptr<const kernel_t> &kernel_of(const index_t &block);
    /// Blocks like it are so many bytes side by side in src and dst, and no
    /// more than a copy.
    void set_copied_bytes(const index_t &block, size_t bytes);
    /// An operand's offset within its byte there.
    dim_t phase_of(const index_t &block, size_t operand) const;

    /// Where an operand's elements of that block begin.
    char *address_of(const index_t &block, size_t operand,
            void *const *buffers) const noexcept;

    /// Runs a block's kernel. `buffers` are those of the whole problem; an
    /// operand without places along the axes is the block's own.
    void run(const index_t &block, void *const *buffers) const noexcept;

private:
    dim_t offset_of(const index_t &block, size_t operand) const;
    size_t slot_of(const index_t &block) const;

    std::vector<data_type_t> types_;
    std::array<axis_t, axes> grid_;
    std::vector<std::shared_ptr<const kernel_t>> kernels_;
    std::vector<size_t> copied_bytes_; // 0: the kernel has to run
};

} // namespace dnnl_dequant

#endif
