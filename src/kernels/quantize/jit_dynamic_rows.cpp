#include "kernels/quantize/jit_dynamic_rows.hpp"

#include <algorithm>

#include "base/convert.hpp"
#include "kernels/dequantize/jit_stream.hpp"
#include "kernels/machine.hpp"
#include "kernels/quantize/jit_one_product.hpp"
#include "kernels/quantize/jit_quantize_desc.hpp"
#include "kernels/quantize/jit_range_bits.hpp"
#include "kernels/quantize/jit_row_factors.hpp"
#include "kernels/quantize/jit_row_parameters.hpp"

namespace dnnl_dequant {

namespace {

constexpr const char *kernel_name = "jit_dynamic_quantize_avx512_core";
constexpr dim_t line = 64;
// Fewer slabs would leave threads without work.
constexpr dim_t fewest_slabs = 8;
// L2 holds a row of this many bytes next to the one that is prefetched.
constexpr dim_t most_row_bytes = 128 * 1024;

dim_t wanted_slab_bytes(data_type_t src) {
    const machine_policy_t &policy = this_machine().policy;
    return bits_of(src) == 16 ? policy.dynamic_slab_bytes_of_16_bits
                              : policy.dynamic_slab_bytes;
}

class jit_dynamic_rows_kernel_t : public kernel_t {
public:
    explicit jit_dynamic_rows_kernel_t(const dynamic_rows_t &problem)
        : problem_(problem)
        , row_bytes_(bytes_of(problem.src, problem.cols))
        , slab_rows_(slab_rows_of(problem, row_bytes_)) {}

    result_t prepare() {
        result_t result = make_jit_range_bits(
                {problem_.src, problem_.cols, !problem_.has_zps}, ranges_);
        if (result.ok())
            result = make_jit_range_rows(problem_.src, range_mode_t::by_row,
                    isa_avx512_core, ranges_among_nan_);
        const dim_t moved = problem_.rows * (row_bytes_ + problem_.cols);
        streams_ = moved > streaming_threshold(false);
        for (const bool streaming : {false, true})
            for (const bool odd : {false, true})
                if (result.ok() && (streams_ || !streaming))
                    result = !odd && has_factors()
                                     ? make_one_product(streaming)
                                     : make_quantize(streaming, odd);
        return result;
    }

    const char *name() const override { return kernel_name; }
    dim_t work_amount() const override {
        return div_up(problem_.rows, slab_rows_);
    }

    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override {
        for (dim_t slab = begin; slab < end; ++slab)
            run_slab(buffers, slab * slab_rows_);
        if (streams_) stream_fence();
    }

private:
    static dim_t slab_rows_of(const dynamic_rows_t &problem, dim_t row_bytes) {
        const dim_t rows = problem.rows;
        const dim_t in_slab = wanted_slab_bytes(problem.src) / row_bytes;
        const dim_t most = std::min(
                rows / fewest_slabs, dim_t(row_parameters_t::most_rows));
        return std::max<dim_t>(std::min(in_slab, most), 1);
    }

    bool has_factors() const { return bits_of(problem_.src) == 16; }

    // For numbers of 16 bits by ordinary scales.
    result_t make_one_product(bool streaming) {
        return make_jit_one_product(
                {problem_.src, problem_.dst, problem_.has_zps, streaming,
                        problem_.cols},
                one_product_[streaming]);
    }

    // For numbers by ordinary scales, or for all.
    result_t make_quantize(bool streaming, bool odd) {
        jit_quantize_desc_t desc;
        desc.src = problem_.src;
        desc.dst = problem_.dst;
        if (problem_.has_zps) desc.zps = problem_.dst;
        desc.true_division = odd;
        desc.has_no_nan = !odd;
        desc.has_small_quotients = true;
        desc.prefetches_src = true;
        desc.prefetches_dst = !streaming;
        desc.streaming = streaming;
        desc.cols = problem_.cols;
        desc.saturates = problem_.dst == data_type_t::s8;
        desc.lower = -127.f;
        desc.upper = 127.f;
        return make_jit_quantize_row(desc, isa_avx512_core,
                "jit_quantize_avx512_core", quantize_[streaming][odd]);
    }

    void run_slab(void *const *buffers, dim_t row) const {
        const auto *src
                = static_cast<const char *>(buffers[0]) + row * row_bytes_;
        auto *scales = static_cast<float *>(buffers[1]) + row;
        auto *zps = problem_.has_zps ? static_cast<char *>(buffers[2]) + row
                                     : nullptr;
        auto *dst = static_cast<char *>(buffers[problem_.has_zps ? 3 : 2])
                    + row * problem_.cols;
        const dim_t rows = std::min(slab_rows_, problem_.rows - row);
        row_parameters_t made;
        find_parameters(src, rows, made, scales, zps);
        const bool at_line = reinterpret_cast<uintptr_t>(dst) % line == 0;
        const bool streaming = streams_ && at_line;
        const bool odd = made.is_odd || made.has_nan;
        if (!odd && has_factors()) {
            one_product_args_t args {src, dst, &made, rows, 2 * slab_bytes(),
                    slab_rows_ * problem_.cols};
            one_product_[streaming](args);
            return;
        }
        jit_row_args_t args {};
        args.src = src;
        args.dst = dst;
        args.scales = made.scales;
        args.zps = reinterpret_cast<const float *>(made.zps);
        args.reciprocals = made.reciprocals;
        args.rows = rows;
        args.cols = args.dst_pitch = problem_.cols;
        args.src_pitch = row_bytes_;
        args.scales_pitch = args.zps_pitch = sizeof(float);
        // The same place of the next slab.
        args.src_ahead = slab_bytes();
        args.dst_ahead = slab_rows_ * problem_.cols;
        (*quantize_[streaming][odd])(args);
    }

    dim_t slab_bytes() const { return slab_rows_ * row_bytes_; }

    void find_parameters(const char *src, dim_t rows, row_parameters_t &made,
            float *scales, void *zps) const {
        alignas(64) float above[row_parameters_t::most_rows];
        alignas(64) float below[row_parameters_t::most_rows];
        row_ranges_t ranges {problem_.src, problem_.has_zps,
                problem_.dst == data_type_t::u8, above,
                problem_.has_zps ? below : nullptr, rows};
        find_ranges(*ranges_, src, rows, above, below);
        make_row_parameters(ranges, made, scales, zps);
        if (!made.has_nan) {
            if (has_factors() && !made.is_odd) make_row_factors(ranges, made);
            return;
        }
        find_ranges(*ranges_among_nan_, src, rows, above, below);
        ranges.src = data_type_t::f32;
        ranges.below = below;
        make_row_parameters(ranges, made, scales, zps);
        made.has_nan = true;
    }

    void find_ranges(const jit_range_rows_t &kernel, const char *src,
            dim_t rows, float *above, float *below) const {
        jit_range_args_t args {
                src, rows, problem_.cols, row_bytes_, above, below};
        kernel(args);
    }

    const dynamic_rows_t problem_;
    const dim_t row_bytes_, slab_rows_;
    bool streams_ = false;
    std::unique_ptr<const jit_range_rows_t> ranges_, ranges_among_nan_;
    // The first index says whether it streams, the second whether it is odd.
    std::unique_ptr<const jit_row_kernel_t> quantize_[2][2];
    jit_function_t<one_product_args_t> one_product_[2]; // streams
};

} // namespace

result_t make_jit_dynamic_rows(const dynamic_rows_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    const char *refusal = !has(isa, isa_avx512_core)
                                  ? "the instruction set is less"
                          : wanted_slab_bytes(problem.src) == 0
                                  ? "the policy has larger slabs"
                          : problem.rows < fewest_slabs ? "there are few rows"
                          : problem.cols % line != 0
                                          || bytes_of(problem.src, problem.cols)
                                                     > most_row_bytes
                                  ? "rows are no whole 64 elements, or are long"
                                  : nullptr;
    if (refusal != nullptr)
        return {status_t::unimplemented,
                std::string("jit_dynamic_rows: ") + refusal};
    auto made = std::make_shared<jit_dynamic_rows_kernel_t>(problem);
    result_t result = made->prepare();
    if (result.ok()) kernel = std::move(made);
    return result;
}

} // namespace dnnl_dequant
