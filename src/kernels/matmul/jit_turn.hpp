#ifndef KERNELS_MATMUL_JIT_TURN_HPP
#define KERNELS_MATMUL_JIT_TURN_HPP

#include <memory>

#include "base/status.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// Rows, and columns, of a tile of 4-bit weights.
constexpr dim_t turned_tile = 128;
constexpr dim_t turned_bytes = turned_tile * turned_tile / 2;
/// Of 32 rows: vector i has those of columns i, i + 32, i + 64 and i + 96, a
/// quarter each.
constexpr dim_t turned_part_bytes = turned_bytes / 4;

/// Transposes a tile of nibbles, whose columns lie side by side, by parts.
class jit_turn_t {
public:
    virtual ~jit_turn_t() = default;
    /// pitch  bytes from row to row of `from`
    virtual void operator()(const void *from, dim_t pitch, void *to) const = 0;
};

/// AVX-512.
result_t make_jit_turn(std::unique_ptr<jit_turn_t> &turn);

} // namespace dnnl_dequant

#endif
