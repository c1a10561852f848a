#ifndef KERNELS_RUN_CASE_HPP
#define KERNELS_RUN_CASE_HPP

#include <memory>
#include <vector>

#include "kernels/kernel.hpp"
#include "support/dequantize_case.hpp"
#include "support/guarded_buffer.hpp"

namespace dnnl_dequant {

/// The buffers of one case, at one end of their pages.
class case_buffers_t {
public:
    case_buffers_t(const support::dequantize_case_t &c,
            support::guarded_buffer_t::edge_t edge, size_t slack);

    void fill(const support::dequantize_case_t &c);
    /// Copies the values of all operands but dst.
    void copy_from(const case_buffers_t &other);

    /// Returns the operands in the order of problem_of().
    void *const *operands() const { return operands_.data(); }
    const void *src() const { return src_.data(); }
    const void *scales() const { return scales_.data(); }
    const void *zps() const { return zps_.data(); }
    void *dst() const { return dst_.data(); }
    bool intact() const;

private:
    support::guarded_buffer_t src_, scales_, zps_, dst_;
    std::vector<void *> operands_;
};

enum class order_t { at_once, one_by_one, reversed };

/// Runs all units of the kernel.
void run_units(
        const kernel_t &kernel, const case_buffers_t &buffers, order_t order);

/// The case's values and what dst has to be. dst starts as the pattern of
/// guarded buffers, here and where a kernel runs, so that a write between its
/// elements shows too.
case_buffers_t expected_of(const support::dequantize_case_t &c);

/// Runs the kernel in each order, in buffers at either end of their pages and
/// misaligned. Empty if dst is as expected each time and nothing around the
/// buffers was written.
std::string check_kernel(const kernel_t &kernel,
        const support::dequantize_case_t &c, const case_buffers_t &expected);

} // namespace dnnl_dequant

#endif
