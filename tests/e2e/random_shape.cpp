#include "e2e/random_shape.hpp"

#include <algorithm>

#include "support/dequantize_case.hpp"

namespace dnnl_dequant {
namespace e2e {

using support::random_t;

dims_t any_shape(random_t &random) {
    static const std::vector<dim_t> extents {
            1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 24, 33};
    static const std::vector<dims_t> large {
            {64, 130}, {3, 40, 96}, {2, 8, 33, 32}, {260, 36}, {5, 1024}};
    if (random.one_in(12)) return random.pick(large);
    dims_t shape;
    const dim_t rank = random.between(1, 4);
    dim_t count = 1;
    for (dim_t d = 0; d < rank; ++d) {
        shape.push_back(random.pick(extents));
        if (count * shape.back() > 3000) shape.back() = 2;
        count *= shape.back();
    }
    if (random.one_in(60)) shape.front() = 0;
    return shape;
}

dims_t any_reshape(random_t &random, const dims_t &from) {
    if (support::tensor_t {data_type_t::u8, from, {}}.count() == 0)
        return {3, 0};
    dims_t factors;
    for (dim_t dim : from)
        for (dim_t prime = 2; dim > 1; ++prime)
            for (; dim % prime == 0; dim /= prime)
                factors.push_back(prime);
    if (random.one_in(4)) std::reverse(factors.begin(), factors.end());
    dims_t shape {1};
    for (const dim_t factor : factors) {
        if (shape.size() < 5 && random.one_in(3)) shape.push_back(1);
        shape.back() *= factor;
    }
    return shape;
}

} // namespace e2e
} // namespace dnnl_dequant
