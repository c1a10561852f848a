// The parts that all ways to multiply share.

#include "kernels/matmul/multiplier.hpp"

#include <algorithm>
#include <numeric>

namespace dnnl_dequant {

dim_t product_blocks_t::cols() const {
    return std::accumulate(col_blocks.begin(), col_blocks.end(), dim_t(0));
}

dim_t product_blocks_t::sums_floats() const {
    dim_t most = 0;
    for (const row_block_t &block : row_blocks)
        most = std::max(most, block.rows);
    return most * pitch;
}

void *product_blocks_t::weights_operand(
        void *const *buffers, size_t batch, size_t operand) const {
    const dim_t place
            = batch_places.empty()
                      ? 0
                      : batch_places[batch * weights_operands + operand];
    return static_cast<char *>(weights_of(buffers)[operand]) + place;
}

std::array<void *, max_operands> product_blocks_t::weights_of_batch(
        void *const *buffers, size_t batch) const {
    std::array<void *, max_operands> operands {};
    for (size_t o = 0; o < weights_operands; ++o)
        operands[o] = weights_operand(buffers, batch, o);
    return operands;
}

void src_rows_t::add_stage(
        dim_t rows, dim_t offset, std::vector<stage_t> &stages) const {
    if (!kernel) return;
    stages.push_back(make_stage(kernel, bytes(rows),
            [offset, count = operands](
                    const stage_memory_t &memory, void **buffers) {
        std::copy_n(memory.buffers, count, buffers);
        buffers[count] = static_cast<char *>(memory.shared) + offset;
    }));
}

const void *src_rows_t::find(const stage_memory_t &memory, dim_t offset) const {
    return kernel ? static_cast<const char *>(memory.shared) + offset
                  : memory.buffers[0];
}

const void *src_rows_t::find(
        const stage_memory_t &memory, dim_t offset, dim_t row) const {
    return static_cast<const char *>(find(memory, offset)) + bytes(row);
}

} // namespace dnnl_dequant
