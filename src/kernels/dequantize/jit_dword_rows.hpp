#ifndef KERNELS_DEQUANTIZE_JIT_DWORD_ROWS_HPP
#define KERNELS_DEQUANTIZE_JIT_DWORD_ROWS_HPP

#include <memory>

#include "base/status.hpp"
#include "kernels/dequantize/jit_row_kernel.hpp"

namespace dnnl_dequant {

/// Generates a row kernel for tiles of dwords (jit_pack_dwords.hpp), with the
/// results of the other row kernels. It takes no zero points of two parts, no
/// tables and no groups of columns that share vectors. The arguments differ in
/// this:
///   rows              a multiple of dword_rows()
///   src_pitch         from dword to dword
///   cols              of a group: whole steps
///   group_rows        groups beside each other in each row
///   scales_pitch      from row to row, where scales do not vary; zps alike
///   scales_jump       from group to group; zps alike
///   dst_ahead         where prefetching, a multiple of dst_pitch
/// AVX-512 only.
result_t make_jit_dword_rows(const jit_row_desc_t &desc, const char *name,
        std::unique_ptr<const jit_row_kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
