// Short rows of parameters, which lie apart from each other.

#include <algorithm>
#include <array>
#include <cstring>

#include "base/prefetch.hpp"
#include "kernels/dequantize/jit_params_blocks.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t few = staged_block / 4; // parameters of a row

// Copies rows of so many bytes one behind the other.
template <size_t bytes>
void join_rows(const staged_rows_t &all, dim_t rows, char *to) {
    const auto *row = static_cast<const char *>(all.from);
    for (dim_t r = 0; r < rows; ++r, row += all.from_pitch, to += bytes) {
        if (all.ahead > 0) prefetch_bytes(row + all.ahead, bytes);
        std::memcpy(to, row, bytes);
    }
}

using join_rows_t = void (*)(const staged_rows_t &all, dim_t rows, char *to);

// Null for rows that are not worth it, or that cannot be joined.
join_rows_t join_of(const staged_rows_t &all, dim_t bits) {
    const bool has_whole_bytes = all.count * bits % 8 == 0;
    if (all.rows == 1 || all.count > few || all.paired
            || all.to_pitch != all.count || !has_whole_bytes)
        return nullptr;
    switch (all.count * bits / 8) {
    case 1: return join_rows<1>;
    case 2: return join_rows<2>;
    case 4: return join_rows<4>;
    case 8: return join_rows<8>;
    case 16: return join_rows<16>;
    case 32: return join_rows<32>;
    default: return nullptr;
    }
}

} // namespace

bool join_and_stage(stage_blocks_t stage, staged_rows_t rows, dim_t bits) {
    const join_rows_t join = join_of(rows, bits);
    if (join == nullptr) return stage(rows);
    alignas(64) std::array<char, 1024> joined;
    const dim_t most
            = static_cast<dim_t>(joined.size()) * 8 / (rows.count * bits);
    bool found = false;
    while (rows.rows > 0) {
        const dim_t count = std::min(most, rows.rows);
        join(rows, count, joined.data());
        const dim_t all = count * rows.count;
        found |= stage(
                {rows.to, joined.data(), 1, all, all, 0, false, 0, rows.bias});
        rows.rows -= count;
        rows.to += count * rows.to_pitch;
        rows.from = static_cast<const char *>(rows.from)
                    + count * rows.from_pitch;
    }
    return found;
}

} // namespace dnnl_dequant
