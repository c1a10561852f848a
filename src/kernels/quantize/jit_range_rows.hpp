#ifndef KERNELS_QUANTIZE_JIT_RANGE_ROWS_HPP
#define KERNELS_QUANTIZE_JIT_RANGE_ROWS_HPP

#include <memory>

#include "base/data_type.hpp"
#include "base/isa.hpp"
#include "base/status.hpp"

namespace dnnl_dequant {

/// Lanes of one vector of the widest instruction set: what ranges by column are
/// padded by.
constexpr dim_t range_lanes = 16;

struct jit_range_args_t {
    const void *src;             // rows that are dense along the columns
    dim_t rows, cols, src_pitch; // in bytes
    /// Mode by_column widens one range a column, in whole steps. The other
    /// modes write one range of all rows, or one a row.
    float *above, *below;
};

enum class range_mode_t { of_all, by_row, by_column };

/// Finds ranges of what is in rows of src; `below` as it is, 0 or negative.
class jit_range_rows_t {
public:
    virtual ~jit_range_rows_t() = default;
    virtual void operator()(jit_range_args_t &args) const = 0;
};

/// Generates the code for one of isa_avx512_core and isa_avx2.
result_t make_jit_range_rows(data_type_t src, range_mode_t mode, isa_t isa,
        std::unique_ptr<const jit_range_rows_t> &kernel);

} // namespace dnnl_dequant

#endif
