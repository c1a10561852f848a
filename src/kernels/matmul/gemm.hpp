#ifndef KERNELS_MATMUL_GEMM_HPP
#define KERNELS_MATMUL_GEMM_HPP

#include <memory>

#include "base/data_type.hpp"
#include "base/isa.hpp"
#include "base/status.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// Memory that is read next: rows of `bytes` bytes, `pitch` bytes apart.
struct read_ahead_t {
    const char *first = nullptr;
    dim_t rows = 0, bytes = 0, pitch = 0;
};

/// One block of a product: c = a * b, or c += a * b. a and b have
/// gemm_t::type(), c is f32. pack_rows() makes a unless gemm_t::takes_rows();
/// c is row-major. b is [K,N], or [N,K] with an even depth if
/// gemm_t::takes_nk(). Strides are in elements. The columns of b and c are read
/// and written in whole panels, or in multiples of gemm_t::col_unit().
struct gemm_block_t {
    const void *a, *b;
    float *c;
    dim_t ldb, ldc;
    dim_t rows, cols, depth;
    bool accumulates;
    /// The kernel prefetches this memory, as far as the instruction set can.
    read_ahead_t ahead = {};
    /// Room for gemm_t::scratch_bytes(), aligned to cache lines.
    void *scratch = nullptr;
    /// Not 0: arrange_b() has run for the same b and scratch memory, with this
    /// depth. `depth` is the same, or an even number that is less.
    dim_t arranged_depth = 0;
};

/// Multiplies blocks. Generated code sums each element of c over depth in
/// order. f32 has one rounding for each term, by fused multiply-add where the
/// machine has it. bf16 is summed in pairs, as vdpbf16ps does, or as tdpbf16ps
/// does, which first sums the even and the odd depths of a tile. Both take
/// denormal numbers as zeros. oneDNN's primitive sums in an order that depends
/// on the block's sizes alone.
class gemm_t {
public:
    virtual ~gemm_t() = default;

    /// Returns the name in the log, such as "jit_matmul_avx512_core".
    virtual const char *name() const = 0;
    /// Returns the type of a and b: f32, bf16 or f16.
    virtual data_type_t type() const { return data_type_t::f32; }
    /// Returns true if a is rows of src as they are. The kernel was made for
    /// their pitch, and for those of b and c, which are at least two columns.
    /// If a block has one column, the second may be read in b and written in c.
    virtual bool takes_rows() const { return false; }
    /// Returns true if b is [N,K].
    virtual bool takes_nk() const { return false; }
    /// Returns the bytes of a row that pack_rows() leaves next to each other:
    /// those of a value, a pair or a row of a tile.
    virtual dim_t packed_bytes() const { return 4; }
    /// Returns the columns that are computed together (nr).
    virtual dim_t nr() const = 0;
    /// Returns the columns that a last, narrower panel may have.
    virtual dim_t col_unit() const { return nr(); }
    /// Returns the most rows that are computed together (mr).
    virtual dim_t mr() const = 0;
    /// Returns the scratch memory of one multiplication, in bytes.
    virtual dim_t scratch_bytes(dim_t /*cols*/, dim_t /*depth*/) const {
        return 0;
    }
    /// Arranges b in scratch memory in the order in which it is multiplied, if
    /// the kernel needs that. run() does so unless `arranged_depth` says that
    /// it has run.
    virtual void arrange_b(const gemm_block_t & /*block*/) const noexcept {}
    /// @returns success, unless oneDNN's primitive fails: c is unspecified
    /// then.
    virtual status_t run(const gemm_block_t &block) const noexcept = 0;
};

/// Elements of a packed row: bf16 is packed in pairs, the last of which may end
/// with a zero.
inline dim_t packed_depth(const gemm_t &gemm, dim_t depth) {
    return round_up(depth, 4 / bytes_of(gemm.type(), 1));
}

/// Packs rows x depth elements of gemm.type(), `pitch` elements from row to
/// row. The order is the one in which they are multiplied: block by block, and
/// in each block gemm.packed_bytes() of each row at a time. So a product reads
/// one stream, and no two rows meet in a set of a cache.
/// @param packed Rows x packed_depth().
void pack_rows(const gemm_t &gemm, const void *src, dim_t pitch, dim_t rows,
        dim_t depth, void *packed) noexcept;

/// Makes the fastest kernel of f32 that `isa` has. Returns out_of_memory if
/// there is no memory for code.
result_t make_gemm(isa_t isa, std::shared_ptr<const gemm_t> &gemm);

/// Makes a kernel of generated code. Returns unimplemented without AVX2, or
/// without bf16 products if `type` is bf16.
result_t make_jit_gemm(
        isa_t isa, data_type_t type, std::shared_ptr<const gemm_t> &gemm);

/// Makes a kernel of generated code that multiplies bf16 by tiles of AMX.
/// @param nk Whether b is [N,K].
result_t make_amx_gemm(bool nk, std::shared_ptr<const gemm_t> &gemm);

} // namespace dnnl_dequant

#endif
