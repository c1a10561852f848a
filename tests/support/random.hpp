#ifndef SUPPORT_RANDOM_HPP
#define SUPPORT_RANDOM_HPP

#include <cstddef>
#include <vector>

#include "base/data_type.hpp"

namespace dnnl_dequant {
namespace support {

/// A small generator, the same everywhere for the same seed (splitmix64).
class random_t {
public:
    explicit random_t(uint64_t seed)
        : state_(seed) {}

    uint64_t bits();
    /// Returns a number from [low, high], each as likely.
    dim_t between(dim_t low, dim_t high);
    bool one_in(dim_t n) { return between(1, n) == 1; }
    template <typename T>
    const T &pick(const std::vector<T> &from) {
        return from[static_cast<size_t>(
                between(0, static_cast<dim_t>(from.size()) - 1))];
    }

private:
    uint64_t state_;
};

/// Returns the numbers below `count` in an order that is as likely as any.
std::vector<size_t> any_order(random_t &random, size_t count);

enum class values_t {
    ordinary, // of either sign, around one
    extreme,  // zeros, subnormals, the largest, any finite bits
    any,      // extreme, infinities and NaN
};

/// Fills `bytes` bytes with any bits, the gaps between elements included.
void fill_bits(void *data, size_t bytes, random_t &random);

/// Fills a buffer of integers: the whole range, its ends more often than
/// chance would; wide types also with small values. Every byte is written.
void fill_integers(
        data_type_t type, void *data, size_t bytes, random_t &random);

/// Fills a buffer of floating values; of 8 bits and fewer, with any codes.
void fill_floats(data_type_t type, void *data, size_t bytes, values_t values,
        random_t &random);

} // namespace support
} // namespace dnnl_dequant

#endif
