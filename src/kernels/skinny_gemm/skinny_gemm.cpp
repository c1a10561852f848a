#include "kernels/skinny_gemm/skinny_gemm.hpp"

#include <algorithm>
#include <cstring>

namespace dnnl_dequant {

void skinny_gemm_t::run_with_rest(
        void *const *buffers, const block_t &block, void *room) const noexcept {
    const dim_t rest = rest_of(block.cols), whole = block.cols - rest;
    if (rest == 0) return run(buffers, block);
    block_t part = block;
    part.cols = whole;
    if (whole > 0) run(buffers, part);

    const dim_t bytes = bytes_of(weights_.type, nr());
    const auto taken = static_cast<size_t>(bytes_of(weights_.type, rest));
    const auto *from = static_cast<const char *>(buffers[0])
                       + bytes_of(weights_.type, block.first_col + whole);
    auto *const copied = static_cast<char *>(room);
    std::fill_n(copied, rest_bytes(block.cols), 0);
    for (dim_t k = 0; k < weights_.depth; ++k, from += row_bytes(block))
        std::memcpy(copied + k * bytes, from, taken);
    part.copied_pitch = nr();
    part.first_col = 0;
    part.cols = nr();
    // Only kernels of [N,K] weights have parameters by column.
    part.scales += whole;
    part.zps += whole;
    part.c += whole;
    run(&room, part);
}

} // namespace dnnl_dequant
