#ifndef KERNELS_MATMUL_BLOCK_KERNELS_HPP
#define KERNELS_MATMUL_BLOCK_KERNELS_HPP

#include <array>
#include <vector>

#include "kernels/kernel.hpp"

namespace dnnl_dequant {

/// A problem that is computed block by block. Blocks form a grid of three axes.
/// They have few shapes, each with a kernel of its own. A block of 4 or 2 bits
/// needs another kernel if its first element is not the first of its byte.
class block_kernels_t {
public:
    static constexpr size_t axes = 3;
    using index_t = std::array<size_t, axes>;

    struct axis_t {
        /// One for each block and operand: elements from the axis' beginning.
        std::vector<dim_t> offsets = {};
        /// One for each block: the index of its shape among the axis' shapes.
        std::vector<size_t> shapes = {};
        size_t shape_count = 1;
    };

    block_kernels_t() = default;
    /// @param types One for each operand, dst last.
    block_kernels_t(
            std::vector<data_type_t> types, std::array<axis_t, axes> grid);

    size_t block_count(size_t axis) const { return grid_[axis].shapes.size(); }
    size_t operand_count() const { return types_.size(); }
    data_type_t operand_type(size_t operand) const { return types_[operand]; }

    /// Returns the kernel of a block and of those like it; null until the
    /// caller makes it.
    std::shared_ptr<const kernel_t> &kernel_of(const index_t &block);
    /// Says that blocks like this one are plain copies of so many contiguous
    /// bytes.
    void set_copied_bytes(const index_t &block, size_t bytes);
    /// Returns true if set_copied_bytes() was called for a block like this one.
    bool is_copy(const index_t &block) const noexcept {
        return copied_bytes_[slot_of(block)] > 0;
    }
    /// Returns the offset of an operand's first element within its byte.
    dim_t phase_of(const index_t &block, size_t operand) const;

    /// Returns where an operand's elements of that block begin.
    char *address_of(const index_t &block, size_t operand,
            void *const *buffers) const noexcept;

    /// Runs a block's kernel. `buffers` belong to the whole problem. An operand
    /// without places along the axes belongs to the block.
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
