#include "exec/parallel.hpp"

#include <algorithm>
#include <vector>

#include <omp.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace dnnl_dequant {

namespace {

// A parallel region costs a few microseconds, in which one core moves about
// this much within its caches.
constexpr dim_t bytes_per_thread = 64 * 1024;

// The first unit of thread `index` of `count`; shares differ by one at most.
dim_t split(dim_t amount, dim_t index, dim_t count) {
    return amount / count * index + std::min(index, amount % count);
}

// The thread sanitizer does not see libgomp's barriers. What was done before
// reached() has happened before what follows passed().
class barrier_t {
public:
#ifdef __SANITIZE_THREAD__
    void reached() { __tsan_release(this); }
    void passed() { __tsan_acquire(this); }
#else
    void reached() {}
    void passed() {}
#endif
};

} // namespace

int available_threads() {
    return omp_in_parallel() ? 1 : omp_get_max_threads();
}

void run_parallel(const kernel_t &kernel, void *const *buffers, dim_t bytes) {
    const dim_t amount = kernel.work_amount();
    const dim_t useful = std::min(amount, bytes / bytes_per_thread);
    const int threads
            = static_cast<int>(std::min<dim_t>(available_threads(), useful));
    if (threads <= 1) {
        kernel.run(buffers, 0, amount);
        return;
    }
    barrier_t begin, end;
    begin.reached();
#pragma omp parallel num_threads(threads)
    {
        begin.passed();
        // The runtime may give fewer threads than asked for.
        const dim_t index = omp_get_thread_num();
        const dim_t count = omp_get_num_threads();
        kernel.run(buffers, split(amount, index, count),
                split(amount, index + 1, count));
        end.reached();
    }
    end.passed();
}

void run_dynamic(
        const dynamic_quantize_t &kernel, void *const *buffers, dim_t bytes) {
    if (kernel.in_slabs()) {
        run_parallel(kernel, buffers, bytes);
        return;
    }
    const auto &whole = kernel.whole();
    const auto groups = static_cast<size_t>(whole.parameters.count());
    range_t few[dynamic_quantize_t::most_groups];
    // Grown once a thread.
    static thread_local std::vector<range_t> many;
    range_t *ranges = few;
    if (groups > dynamic_quantize_t::most_groups) {
        many.resize(std::max(many.size(), groups));
        ranges = many.data();
    }
    std::fill(ranges, ranges + groups, range_t());
    void *const of_ranges[] = {buffers[0], ranges};
    run_parallel(*whole.ranges, of_ranges, bytes);
    kernel.finish(ranges, buffers);
    run_parallel(*whole.quantize, buffers, bytes);
}

} // namespace dnnl_dequant
