#ifndef KERNELS_ROW_BLOCKS_HPP
#define KERNELS_ROW_BLOCKS_HPP

#include "base/types.hpp"

namespace dnnl_dequant {

/// Splits rows into as few blocks of up to `most` rows as possible, of nearly
/// equal size, because each block reads all of b. Calls run(first, rows).
template <typename run_t>
void for_row_blocks(dim_t rows, dim_t most, run_t &&run) {
    const dim_t blocks = div_up(rows, most);
    dim_t first = 0;
    for (dim_t s = 0; s < blocks; ++s) {
        const dim_t count = (rows - first) / (blocks - s);
        run(first, count);
        first += count;
    }
}

} // namespace dnnl_dequant

#endif
