#ifndef KERNELS_MATMUL_JIT_APART_HPP
#define KERNELS_MATMUL_JIT_APART_HPP

#include <memory>
#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// Puts panels of floats, in place, into the order of their lanes: vector j of
/// a panel of `vectors` gets every `vectors`-th element, from j on.
class jit_apart_t {
public:
    virtual ~jit_apart_t() = default;
    virtual void operator()(float *at, dim_t panels) const = 0;
};

/// vectors  1, 2, 4 or 8
/// biases   what each vector is increased by; none where there are none
result_t make_jit_apart(int vectors, const std::vector<float> &biases,
        std::unique_ptr<jit_apart_t> &apart);

/// The same on AVX2, where words are what is apart: of each half of a panel the
/// first sixteen go to the first four vectors, vector j getting every fourth
/// from j on, and sixteen more to the next four.
/// vectors  4 or 8
result_t make_jit_apart_words(int vectors, const std::vector<float> &biases,
        std::unique_ptr<jit_apart_t> &apart);

} // namespace dnnl_dequant

#endif
