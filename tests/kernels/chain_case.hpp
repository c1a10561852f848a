#ifndef KERNELS_CHAIN_CASE_HPP
#define KERNELS_CHAIN_CASE_HPP

#include <string>
#include <vector>

#include "problem/problem.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace support {

/// One tensor of a chain, over the chain's dimensions.
struct chain_tensor_t {
    data_type_t type = data_type_t::undef;
    dims_t strides;       // 0 along what it is broadcast over
    bool grouped = false; // one value a group
    dim_t offset = 0;     // elements of the buffer before the first
};

/// A chain of steps: everything but the values, which `seed` gives.
struct chain_case_t {
    dims_t dims;
    dims_t groups;                       // see make_problem()
    std::vector<chain_tensor_t> tensors; // src first, dst last
    std::vector<step_t> steps;
    values_t values = values_t::any; // of floating tensors
    uint64_t seed = 0;

    const chain_tensor_t &dst() const { return tensors.back(); }
    /// No steps, and dst of src's type: bits are moved.
    bool copies() const;
    dim_t count() const;
    /// Elements of the tensor's buffer up to the last.
    dim_t span(const chain_tensor_t &tensor) const;
    size_t bytes(const chain_tensor_t &tensor) const;
};

problem_t problem_of(const chain_case_t &c);

/// Fills tensor `t` with values that are the same each time.
void fill(const chain_case_t &c, size_t t, void *data);

/// Writes what dst has to be, point by point over the dims, in double
/// arithmetic: one buffer a tensor. Bits between dst's elements stay.
void reference(const chain_case_t &c, const std::vector<void *> &buffers);

/// Compares dst bit for bit, but any NaN of a result with any NaN. Empty if
/// equal.
std::string difference(
        const chain_case_t &c, const void *expected, const void *got);

/// Makes case `n` of chain_case_count() for a src of type `src`. The cases are
/// the cross product of chains, layouts, granularities and shapes. `wide` asks
/// for shapes around whole vectors and tiles rather than a few elements. Types,
/// group sizes and values follow from `seed`.
chain_case_t make_chain_case(
        data_type_t src, bool wide, dim_t n, uint64_t seed);
dim_t chain_case_count(bool wide);

} // namespace support
} // namespace dnnl_dequant

#endif
