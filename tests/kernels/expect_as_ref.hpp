#ifndef KERNELS_EXPECT_AS_REF_HPP
#define KERNELS_EXPECT_AS_REF_HPP

#include "kernels/chain_case.hpp"

namespace dnnl_dequant {

/// Expects the bits of the reference kernel from every kernel of the
/// elementwise family whose name begins so, each run in two parts. Kernels may
/// differ in which NaN a result is; with `any_nan` that counts as equal.
void expect_as_ref(const support::chain_case_t &c, const char *prefix,
        bool any_nan = false);

} // namespace dnnl_dequant

#endif
