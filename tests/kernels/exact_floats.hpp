#ifndef TESTS_KERNELS_EXACT_FLOATS_HPP
#define TESTS_KERNELS_EXACT_FLOATS_HPP

#include <algorithm>
#include <cmath>

#include "base/types.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {

/// Floats that end at an inaccessible page, NaN at first.
struct floats_t {
    explicit floats_t(dim_t count)
        : buffer(static_cast<size_t>(count) * 4) {
        std::fill_n(data(), count, std::nanf(""));
    }
    float *data() const { return static_cast<float *>(buffer.data()); }
    support::guarded_buffer_t buffer;
};

/// Small integers, whose sums of products are exact.
inline void fill_small(float *to, dim_t count, support::random_t &random) {
    for (dim_t i = 0; i < count; ++i)
        to[i] = static_cast<float>(random.between(-4, 4));
}

} // namespace dnnl_dequant

#endif
