#ifndef KERNELS_MATMUL_GEMM_HPP
#define KERNELS_MATMUL_GEMM_HPP

#include <memory>

#include "base/data_type.hpp"
#include "base/isa.hpp"
#include "base/status.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// Memory that is read next: rows of so many bytes, `pitch` bytes apart.
struct read_ahead_t {
    const char *first = nullptr;
    dim_t rows = 0, bytes = 0, pitch = 0;
};

/// One block of a product: c is a * b, or that much more. a and b are of
/// gemm_t::type(), c is f32; a as pack_rows() leaves it, b and c row-major;
/// strides are in elements. The columns of b and c are read and written in
/// whole panels.
struct gemm_block_t {
    const void *a, *b;
    float *c;
    dim_t ldb, ldc;
    dim_t rows, cols, depth;
    bool accumulates;
    /// Asked for meanwhile, as far as the instruction set can.
    read_ahead_t ahead = {}; // none
    /// gemm_t::scratch_bytes(), in lines of the caches.
    void *scratch = nullptr;
};

/// Multiplies blocks. Each element of c is summed over depth in order. f32 has
/// one rounding a term, by fused multiply-add where the machine has it. bf16 is
/// summed in pairs, as vdpbf16ps does; it takes denormal numbers as zeros.
class gemm_t {
public:
    virtual ~gemm_t() = default;

    /// "jit_matmul_avx512_core"
    virtual const char *name() const = 0;
    /// Of a and b: f32 or bf16.
    virtual data_type_t type() const { return data_type_t::f32; }
    /// Columns that are done together.
    virtual dim_t panel() const = 0;
    /// Rows that are, at most.
    virtual dim_t strip() const = 0;
    /// Scratch memory to multiply in.
    virtual dim_t scratch_bytes(dim_t /*cols*/, dim_t /*depth*/) const {
        return 0;
    }
    virtual void run(const gemm_block_t &block) const noexcept = 0;
};

/// Parts rows into as few strips of up to `most` as there can be, none much
/// smaller than another: each asks for all of b, however few its rows. Calls
/// strip(first, rows).
template <typename strip_t>
void for_strips(dim_t rows, dim_t most, strip_t &&strip) {
    const dim_t strips = div_up(rows, most);
    dim_t first = 0;
    for (dim_t s = 0; s < strips; ++s) {
        const dim_t count = (rows - first) / (strips - s);
        strip(first, count);
        first += count;
    }
}

/// Elements of a packed row: bf16 is packed in pairs, the last of which may end
/// with a zero.
inline dim_t packed_depth(const gemm_t &gemm, dim_t depth) {
    return round_up(depth, 4 / bytes_of(gemm.type(), 1));
}

/// Rows x depth of gemm.type(), `pitch` elements from row to row, in the order
/// in which they are multiplied: strip by strip, and in a strip all rows'
/// values (or pairs) of one depth side by side. So a product reads one stream,
/// and no two rows meet in a set of a cache.
/// @param packed Rows x packed_depth().
void pack_rows(const gemm_t &gemm, const void *src, dim_t pitch, dim_t rows,
        dim_t depth, void *packed) noexcept;

/// Makes the fastest one of f32 that `isa` has; out_of_memory where there is
/// none for code.
result_t make_gemm(isa_t isa, std::shared_ptr<const gemm_t> &gemm);

/// Of generated code; unimplemented without AVX2, or without bf16 products
/// where `type` is bf16.
result_t make_jit_gemm(
        isa_t isa, data_type_t type, std::shared_ptr<const gemm_t> &gemm);

} // namespace dnnl_dequant

#endif
