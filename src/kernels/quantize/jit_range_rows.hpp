#ifndef KERNELS_QUANTIZE_JIT_RANGE_ROWS_HPP
#define KERNELS_QUANTIZE_JIT_RANGE_ROWS_HPP

#include <memory>

#include "base/data_type.hpp"
#include "base/isa.hpp"
#include "base/status.hpp"

namespace dnnl_dequant {

/// Lanes of one vector of the widest instruction set.
constexpr dim_t range_lanes = 16;

struct jit_range_args_t {
    const void *src;             // rows that are dense along the columns
    dim_t rows, cols, src_pitch; // in bytes
    /// Of all rows and columns: range_lanes lanes each, any of which may have
    /// the range. Or one a column, in whole steps.
    float *above, *below; // widened
};

/// Widens ranges by what is in rows of src.
class jit_range_rows_t {
public:
    virtual ~jit_range_rows_t() = default;
    virtual void operator()(jit_range_args_t &args) const = 0;
};

/// Generates the code for one of isa_avx512_core and isa_avx2.
result_t make_jit_range_rows(data_type_t src, bool by_column, isa_t isa,
        std::unique_ptr<const jit_range_rows_t> &kernel);

} // namespace dnnl_dequant

#endif
