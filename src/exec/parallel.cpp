#include "exec/parallel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <new>
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

// The same of multiplications.
constexpr dim_t products_per_thread = 256 * 1024;

constexpr size_t scratch_alignment = 64;

struct aligned_delete_t {
    void operator()(float *floats) const {
        ::operator delete[](floats, std::align_val_t(scratch_alignment));
    }
};

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

namespace {

// Calls share(index, begin, end) on up to `threads` threads, which part
// `amount` units evenly.
template <typename share_t>
void split_over(int threads, dim_t amount, share_t &&share) {
    if (threads <= 1) {
        share(0, dim_t(0), amount);
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
        share(static_cast<int>(index), split(amount, index, count),
                split(amount, index + 1, count));
        end.reached();
    }
    end.passed();
}

// The same, one unit after the other as threads become free: units that take
// long, and cores that are not as fast or have others to serve.
template <typename share_t>
void take_units(int threads, dim_t amount, const share_t &share) {
    std::atomic<dim_t> next {0};
    split_over(threads, threads, [&](int index, dim_t, dim_t) {
        dim_t unit;
        while ((unit = next.fetch_add(1, std::memory_order_relaxed)) < amount)
            share(index, unit, unit + 1);
    });
}

int useful_threads(dim_t most) {
    return static_cast<int>(std::min<dim_t>(available_threads(), most));
}

} // namespace

void run_parallel(const kernel_t &kernel, void *const *buffers, dim_t bytes) {
    const dim_t amount = kernel.work_amount();
    split_over(useful_threads(std::min(amount, bytes / bytes_per_thread)),
            amount, [&](int, dim_t begin, dim_t end) {
        kernel.run(buffers, begin, end);
    });
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

void run_spelled(
        const spelled_quantize_t &kernel, void *const *buffers, dim_t bytes) {
    range_t range;
    void *const of_range[] = {buffers[0], &range};
    if (kernel.bounds_hold_zero(buffers)) {
        run_parallel(*kernel.ranges, of_range, bytes);
    } else {
        range.above = range.below = -std::numeric_limits<float>::infinity();
        kernel.extremes->run(of_range, 0, kernel.extremes->work_amount());
    }
    auto parameters = kernel.parameters_of(range, buffers);
    kernel.give(parameters, buffers);
    void *const zero_point
            = kernel.zero_point_is_u8
                      ? static_cast<void *>(&parameters.zero_point)
                      : &parameters.rounded;
    void *const of_quantize[]
            = {buffers[0], &parameters.scale, zero_point, buffers[kernel.dst]};
    run_parallel(*kernel.quantize, of_quantize, bytes);
}

namespace {

// The integers of src, and what their groups need.
void lay_out_integers(const integer_product_t &product, void *const *buffers,
        void *shared, int threads) {
    const integer_plan_t &plan = product.plan();
    if (plan.quantize) {
        std::array<void *, max_operands> of_src {};
        std::copy(buffers, buffers + plan.quantize_operands, of_src.begin());
        of_src[plan.quantize_operands] = product.quantized(shared);
        run_parallel(*plan.quantize, of_src.data(), plan.rows * plan.depth);
    }
    split_over(std::min(threads, useful_threads(plan.rows)), plan.rows,
            [&](int, dim_t begin, dim_t end) {
        product.lay_out(buffers, begin, end, shared);
    });
}

} // namespace

void run_repack(const integer_product_t &product, void *const *buffers,
        void *to) noexcept {
    const dim_t panels = product.repacked_panels();
    const dim_t bytes = product.repacked_bytes();
    split_over(useful_threads(std::min(panels, bytes / bytes_per_thread)),
            panels, [&](int, dim_t begin, dim_t end) {
        product.repack(buffers, begin, end, to);
    });
}

result_t run_matmul(const matmul_t &matmul, void *const *buffers) {
    const matmul_plan_t &plan = matmul.plan();
    const dim_t shared = matmul.shared_floats();
    const dim_t own = matmul.thread_floats();
    const dim_t work = plan.rows * plan.depth * matmul.cols();
    const int threads = useful_threads(
            std::min(matmul.work_amount(), work / products_per_thread));
    const std::unique_ptr<float[], aligned_delete_t> scratch(
            new (std::align_val_t(scratch_alignment), std::nothrow) float
                    [static_cast<size_t>(shared + own * std::max(threads, 1))]);
    if (!scratch)
        return {status_t::out_of_memory, "no memory for blocks of a product"};
    if (plan.integers)
        lay_out_integers(*plan.integers, buffers, scratch.get(), threads);
    if (plan.src) {
        std::array<void *, max_operands> of_src {};
        std::copy(buffers, buffers + plan.src_operands, of_src.begin());
        of_src[plan.src_operands] = matmul.rows_in(scratch.get());
        run_parallel(*plan.src, of_src.data(),
                bytes_of(plan.src_type(), plan.rows * plan.src_pitch));
        matmul.arrange(scratch.get());
    }
    const dim_t parts = matmul.pack_amount();
    split_over(std::min(threads, useful_threads(parts)), parts,
            [&](int, dim_t begin, dim_t end) {
        matmul.pack(buffers, begin, end, scratch.get());
    });
    std::atomic<status_t> failed {status_t::success};
    const auto run = [&](int index, dim_t begin, dim_t end) {
        const status_t status = matmul.run(buffers, begin, end, scratch.get(),
                scratch.get() + shared + own * index);
        if (status != status_t::success) failed = status;
    };
    // What reads weights as a stream has a part of them for each thread.
    if (matmul.is_stream()) split_over(threads, matmul.work_amount(), run);
    else take_units(threads, matmul.work_amount(), run);
    if (failed != status_t::success)
        return {failed, "oneDNN's matmul primitive failed"};
    return {};
}

} // namespace dnnl_dequant
