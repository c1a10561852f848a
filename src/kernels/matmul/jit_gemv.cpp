// A few rows times weights of 4 or 8 bits whose columns lie side by side:
// strips of rows of weights, a panel of columns after the other.

#include "kernels/matmul/gemv.hpp"

#if defined(__x86_64__)

#include <algorithm>
#include <array>

#include "base/convert.hpp"
#include "kernels/jit/lanes.hpp"
#include "kernels/matmul/jit_gemv_code.hpp"

namespace dnnl_dequant {

namespace {

// Rows of weights that are read side by side: few enough for the machine to see
// each as a stream.
constexpr dim_t strip_rows = 32;

class jit_gemv_t : public gemv_t {
public:
    explicit jit_gemv_t(const gemv_weights_t &weights)
        : weights_(weights) {}

    const char *name() const override {
        return "jit_matmul_few_rows_avx512_core";
    }

    result_t make() {
        for (int rows = 1; rows <= most_jit_rows; ++rows) {
            auto &code = code_[static_cast<size_t>(rows)];
            if (result_t made = make_jit_gemv_code(weights_, rows, code);
                    !made.ok())
                return made;
        }
        return {};
    }

    void run(
            void *const *buffers, const block_t &block) const noexcept override;

private:
    // A panel's parameters of a group, where code can read them.
    const void *place(void *const *buffers, const gemv_parameters_t &parameters,
            dim_t group, dim_t col, float *copies) const;
    void put_right(const block_t &block) const;

    const gemv_weights_t weights_;
    std::array<std::unique_ptr<jit_gemv_code_t>, most_jit_rows + 1> code_;
};

const void *jit_gemv_t::place(void *const *buffers,
        const gemv_parameters_t &parameters, dim_t group, dim_t col,
        float *copies) const {
    if (parameters.type == data_type_t::undef) return nullptr;
    const void *const buffer = buffers[parameters.operand];
    const dim_t at
            = group * parameters.group_stride + col * parameters.column_stride;
    if (parameters.column_stride != 0)
        return static_cast<const char *>(buffer)
               + at * bits_of(parameters.type) / 8;
    const float value = is_integer(parameters.type)
                                ? static_cast<float>(
                                          load_int(parameters.type, buffer, at))
                                : load_f32(parameters.type, buffer, at);
    std::fill_n(copies, panel, value);
    return copies;
}

void jit_gemv_t::run(
        void *const *buffers, const block_t &block) const noexcept {
    alignas(64) float scales[panel], zps[panel];
    for (dim_t r = 0; r < block.rows; ++r)
        std::fill_n(block.c + r * block.c_pitch, block.cols, 0.f);
    const dim_t parts = (block.rows + most_jit_rows - 1) / most_jit_rows;
    jit_gemv_args_t args;
    args.a_pitch = block.a_pitch * 4;
    args.c_pitch = block.c_pitch * 4;
    args.weights_pitch = bytes_of(weights_.type, weights_.pitch);
    for (dim_t k = 0; k < weights_.depth; k += args.depth) {
        const dim_t group = k / weights_.group, within = k % weights_.group;
        const dim_t left
                = std::min(weights_.group - within, weights_.depth - k);
        args.depth = std::min(left, strip_rows);
        args.continues = within != 0;
        args.ends = args.depth == left;
        dim_t row = 0;
        for (dim_t p = 0; p < parts; ++p) {
            const dim_t rows = (block.rows - row) / (parts - p);
            const jit_gemv_code_t &code = *code_[static_cast<size_t>(rows)];
            for (dim_t n = 0; n < block.cols; n += code.cols()) {
                const dim_t col = block.first_col + n;
                args.a = block.a + row * block.a_pitch + k;
                args.weights
                        = static_cast<const char *>(buffers[0])
                          + bytes_of(weights_.type, k * weights_.pitch + col);
                args.scales
                        = place(buffers, weights_.scales, group, col, scales);
                args.zps = place(buffers, weights_.zps, group, col, zps);
                args.c = block.c + row * block.c_pitch + n;
                args.partial = block.partial + row * block.c_pitch + n;
                code(args);
            }
            row += rows;
        }
    }
    if (bits_of(weights_.type) == 4) put_right(block);
}

// Sixteen even columns and as many odd ones, side by side again.
void jit_gemv_t::put_right(const block_t &block) const {
    constexpr dim_t half = 16;
    for (dim_t r = 0; r < block.rows; ++r)
        for (dim_t n = 0; n < block.cols; n += 2 * half) {
            float *const c = block.c + r * block.c_pitch + n;
            float parted[2 * half];
            std::copy_n(c, 2 * half, parted);
            for (dim_t i = 0; i < half; ++i) {
                c[2 * i] = parted[i];
                c[2 * i + 1] = parted[half + i];
            }
        }
}

bool is_readable(const gemv_parameters_t &parameters) {
    // An integer that is no f32.
    if (is_integer(parameters.type) && bits_of(parameters.type) > 16)
        return false;
    if (parameters.type == data_type_t::undef || parameters.column_stride == 0)
        return true;
    return parameters.column_stride == 1
           && jit_lanes_t<isa_avx512_core>::is_loadable(parameters.type)
           && bits_of(parameters.type) >= 4
           && (!is_floating(parameters.type) || bits_of(parameters.type) >= 16);
}

bool is_whole_bytes(data_type_t type, dim_t elements) {
    return elements * bits_of(type) % 8 == 0;
}

} // namespace

result_t make_gemv(const gemv_weights_t &weights, isa_t isa,
        std::shared_ptr<const gemv_t> &gemv) {
    const auto refuse = [](const char *why) {
        return result_t(status_t::unimplemented, why);
    };
    if (!has(isa, isa_avx512_core)) return refuse("there is no AVX-512");
    if (weights.cols % gemv_t::panel != 0)
        return refuse("columns are not in whole panels");
    if (!is_readable(weights.scales) || !is_readable(weights.zps))
        return refuse("scales or zero points do not lie side by side");
    if (!is_whole_bytes(weights.type, weights.pitch)
            || !is_whole_bytes(weights.zps.type, weights.zps.group_stride))
        return refuse("a row begins within a byte");
    auto made = std::make_shared<jit_gemv_t>(weights);
    const result_t result = made->make();
    if (result.ok()) gemv = std::move(made);
    return result;
}

} // namespace dnnl_dequant

#else

namespace dnnl_dequant {

result_t make_gemv(
        const gemv_weights_t &, isa_t, std::shared_ptr<const gemv_t> &) {
    return {status_t::unimplemented, "the machine is no x86-64"};
}

} // namespace dnnl_dequant

#endif
