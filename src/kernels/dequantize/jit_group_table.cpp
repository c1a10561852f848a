#include "kernels/dequantize/jit_group_table.hpp"

#include "kernels/dequantize/jit_row_kernel.hpp"

namespace dnnl_dequant {

void fill_group_table(
        const jit_grouped_cols_t &cols, dim_t count, uint32_t *table) {
    const dim_t half = cols.width / 2;
    dim_t left = cols.group_cols;
    uint32_t group = 0;
    for (dim_t step = 0; step < count; step += cols.width) {
        const uint32_t first_of_step = group;
        for (dim_t c = 0; c < cols.width; ++c) {
            const dim_t place = cols.are_paired ? c / 2 + c % 2 * half : c;
            table[step + place]
                    = group << group_table_shift | (group - first_of_step);
            if (--left > 0) continue;
            left = cols.group_cols;
            ++group;
        }
    }
}

} // namespace dnnl_dequant
