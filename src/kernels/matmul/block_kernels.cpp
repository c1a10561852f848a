#include "kernels/matmul/block_kernels.hpp"

#include <algorithm>
#include <cstring>

namespace dnnl_dequant {

namespace {

dim_t elements_per_byte(data_type_t type) {
    return std::max<dim_t>(8 / bits_of(type), 1);
}

} // namespace

block_kernels_t::block_kernels_t(
        std::vector<data_type_t> types, std::array<axis_t, axes> grid)
    : types_(std::move(types))
    , grid_(std::move(grid)) {
    size_t slots = 1;
    for (const axis_t &axis : grid_)
        slots *= axis.shape_count;
    for (const data_type_t type : types_)
        slots *= static_cast<size_t>(elements_per_byte(type));
    kernels_.resize(slots);
    copied_bytes_.resize(slots);
}

dim_t block_kernels_t::offset_of(const index_t &block, size_t operand) const {
    dim_t offset = 0;
    for (size_t a = 0; a < axes; ++a)
        offset += grid_[a].offsets[block[a] * types_.size() + operand];
    return offset;
}

dim_t block_kernels_t::phase_of(const index_t &block, size_t operand) const {
    return offset_of(block, operand) % elements_per_byte(types_[operand]);
}

size_t block_kernels_t::slot_of(const index_t &block) const {
    size_t slot = 0;
    for (size_t a = 0; a < axes; ++a)
        slot = slot * grid_[a].shape_count + grid_[a].shapes[block[a]];
    for (size_t o = 0; o < types_.size(); ++o)
        slot = slot * static_cast<size_t>(elements_per_byte(types_[o]))
               + static_cast<size_t>(phase_of(block, o));
    return slot;
}

std::shared_ptr<const kernel_t> &block_kernels_t::kernel_of(
        const index_t &block) {
    return kernels_[slot_of(block)];
}

void block_kernels_t::set_copied_bytes(const index_t &block, size_t bytes) {
    copied_bytes_[slot_of(block)] = bytes;
}

char *block_kernels_t::address_of(const index_t &block, size_t operand,
        void *const *buffers) const noexcept {
    return static_cast<char *>(buffers[operand])
           + offset_of(block, operand) * bits_of(types_[operand]) / 8;
}

void block_kernels_t::run(
        const index_t &block, void *const *buffers) const noexcept {
    std::array<void *, max_operands> at {};
    for (size_t o = 0; o < types_.size(); ++o)
        at[o] = address_of(block, o, buffers);
    const size_t slot = slot_of(block);
    if (copied_bytes_[slot] > 0) {
        std::memcpy(at[1], at[0], copied_bytes_[slot]);
        return;
    }
    const kernel_t &kernel = *kernels_[slot];
    kernel.run(at.data(), 0, kernel.work_amount());
}

} // namespace dnnl_dequant
