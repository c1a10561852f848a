#ifndef KERNELS_KERNEL_HPP
#define KERNELS_KERNEL_HPP

#include <memory>

#include "base/isa.hpp"
#include "base/status.hpp"
#include "problem/problem.hpp"

namespace dnnl_dequant {

/// A kernel made for one problem. Immutable once made: any number of threads
/// may run it at once.
class kernel_t {
public:
    virtual ~kernel_t() = default;

    /// The same string in the log line, the perf map, the tests and the
    /// benchmark, e.g. "jit_dequantize_avx512_core".
    virtual const char *name() const = 0;

    /// The number of units the work can be cut into. Units may run in any
    /// order and at the same time; no two share a byte of dst.
    virtual dim_t work_amount() const = 0;

    /// Runs the units [begin, end).
    ///
    /// buffers  one a problem operand, in the problem's order, the last one
    ///          dst; none null. No alignment is assumed of any of them. Where
    ///          may_overwrite() says so, dst may be the operand's own buffer
    ///          if that is no other operand's too.
    ///
    /// Allocates nothing; what it needs besides registers fits the stack
    /// (at most 400 KiB). Reads and writes nothing outside the operands.
    virtual void run(
            void *const *buffers, dim_t begin, dim_t end) const noexcept
            = 0;
};

/// Makes a kernel for `problem` within `isa`. A kernel that does not take the
/// problem answers status_t::unimplemented and the reason.
using kernel_factory_t = result_t (*)(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
