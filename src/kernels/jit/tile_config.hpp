#ifndef KERNELS_JIT_TILE_CONFIG_HPP
#define KERNELS_JIT_TILE_CONFIG_HPP

#include <array>
#include <cstdint>

#include "base/types.hpp"

namespace dnnl_dequant {

/// The configuration that ldtilecfg loads: how many rows each tile of AMX has,
/// and how many bytes a row has.
struct tile_config_t {
    static constexpr dim_t most_rows = 16, row_bytes = 64;

    uint8_t palette = 1, start_row = 0;
    std::array<uint8_t, 14> reserved = {};
    std::array<uint16_t, 16> bytes = {};
    std::array<uint8_t, 16> rows = {};

    void set(int tile, dim_t rows_of_it, dim_t bytes_of_row) {
        rows[static_cast<size_t>(tile)] = static_cast<uint8_t>(rows_of_it);
        bytes[static_cast<size_t>(tile)] = static_cast<uint16_t>(bytes_of_row);
    }
};
static_assert(sizeof(tile_config_t) == 64);

} // namespace dnnl_dequant

#endif
