#ifndef KERNELS_SHORT_ROWS_INTERLEAVE_HPP
#define KERNELS_SHORT_ROWS_INTERLEAVE_HPP

#include <memory>

#include "base/isa.hpp"
#include "base/status.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// A few planes of elements, such as the colours of an image, and points that
/// have one element of each plane side by side.
struct planes_t {
    int count = 0;         // 2 to most_planes, to most_plain without AVX-512
    int element_bytes = 0; // 1, 2 or 4
    /// True if planes become points, false if points become planes.
    bool interleaves = false;

    static constexpr int most_plain = 8, most_planes = 15;
};

struct interleave_args_t {
    const void *from;
    void *to;
    dim_t pitch;  // bytes from plane to plane
    dim_t points; // vectors of them, where code is generated
    /// Rows of so many points, and the bytes from row to row.
    dim_t rows = 1, from_row = 0, to_row = 0;
};

/// Moves elements from planes to points, or back. Immutable once made.
class interleave_t {
public:
    virtual ~interleave_t() = default;
    virtual void run(const interleave_args_t &args) const noexcept = 0;
};

/// Plain C++ on any machine; for whole vectors by generated code where there
/// is some. Without it more planes than most_plain are refused: those who
/// transpose take them in less time.
result_t make_interleave(const planes_t &planes, isa_t isa,
        std::shared_ptr<const interleave_t> &interleave);

/// Moves whole vectors of points: 64 bytes of each plane. Bytes take VBMI.
/// @returns unimplemented where the instructions are not there.
result_t make_jit_interleave(const planes_t &planes, isa_t isa,
        std::shared_ptr<const interleave_t> &interleave);

} // namespace dnnl_dequant

#endif
