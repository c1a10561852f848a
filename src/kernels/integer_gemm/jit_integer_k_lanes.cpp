// A skinny integer GEMM by [N,K] weights, K lanes.

#include <algorithm>

#include "base/prefetch.hpp"
#include "kernels/integer_gemm/jit_integer_k_lanes_code.hpp"
#include "kernels/integer_gemm/jit_integer_stream.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t line = 64;
// The code may read so many groups behind the last one, whatever they hold.
// Staged memory has room for them.
constexpr dim_t beyond = 16;

using args_t = jit_integer_k_lanes_args_t;

class jit_integer_k_lanes_stream_t : public jit_integer_stream_t<args_t> {
public:
    // So many rows share the splitting of nibbles. Their sums, and those of the
    // weights where needed, stay in registers.
    jit_integer_k_lanes_stream_t(
            const integer_stream_weights_t &weights, isa_t isa)
        : jit_integer_stream_t(
                  "k_lanes", weights, isa, isa_vnni, is_avx512(isa) ? 3 : 4) {}

    // Puts the even nibbles of a line of weights before the odd ones.
    void arrange(uint8_t *row) const noexcept override {
        if (bits_of(w_.format.weights) != 4) return;
        uint8_t natural[2 * line];
        for (dim_t k = 0; k < w_.depth; k += 2 * line) {
            std::copy_n(row + k, 2 * line, natural);
            for (dim_t i = 0; i < line; ++i) {
                row[k + i] = natural[2 * i];
                row[k + line + i] = natural[2 * i + 1];
            }
        }
    }

    dim_t own_bytes(dim_t rows, dim_t) const override {
        return 4 * (2 * staged_floats() + scaled_floats() + 2 * rows * pitch_);
    }

    void run(const void *weights, const void *scales, const void *zps,
            const block_t &block) const noexcept override;

private:
    dim_t staged_floats() const { return args_t::cols * groups_ + beyond; }
    dim_t scaled_floats() const { return most_rows_ * pitch_ * args_t::cols; }

    result_t make_code(int rows, code_t &code) const override {
        return is_avx512(isa_)
                       ? make_jit_integer_k_lanes(w_, rows, code)
                       : make_jit_integer_k_lanes_avx2(w_, isa_, rows, code);
    }
    void load_row_params(const block_t &block, int32_t *of_rows) const noexcept;
    void stage(const params_t &params, float *to, const void *from,
            dim_t first_col, dim_t cols) const noexcept;

    const dim_t groups_ = w_.groups(),
                pitch_ = jit_integer_k_lanes_pitch(groups_);
};

// Stores a row's sums, one for each group, and then its zero points.
void jit_integer_k_lanes_stream_t::load_row_params(
        const block_t &block, int32_t *of_rows) const noexcept {
    for (dim_t r = 0; r < block.rows; ++r) {
        const auto *from = block.row_groups + r * block.row_groups_pitch;
        int32_t *const sums = of_rows + 2 * r * pitch_, *const zps
                                                        = sums + pitch_;
        for (dim_t g = 0; g < groups_; ++g) {
            sums[g] = from[g].sum;
            zps[g] = from[g].zp;
        }
    }
}

// Converts parameters to f32, column by column, one for each group. It
// prefetches those of the next columns if all are contiguous.
void jit_integer_k_lanes_stream_t::stage(const params_t &params, float *to,
        const void *from, dim_t first_col, dim_t cols) const noexcept {
    if (params.stage == nullptr) return;
    if (params.group_stride != 1 || params.col_stride != groups_) {
        for (dim_t n = 0; n < cols; ++n)
            params.stage(to + n * groups_, from,
                    (first_col + n) * params.col_stride, params.group_stride,
                    groups_);
        return;
    }
    params.stage(to, from, first_col * groups_, 1, cols * groups_);
    const char *const next
            = static_cast<const char *>(from)
              + bytes_of(params.type, (first_col + args_t::cols) * groups_);
    const dim_t bytes = bytes_of(params.type, args_t::cols * groups_);
    for (dim_t i = 0; i < bytes; i += line)
        prefetch_into<2>(next + i);
}

void jit_integer_k_lanes_stream_t::run(const void *weights, const void *scales,
        const void *zps, const block_t &block) const noexcept {
    auto *const of_scales = static_cast<float *>(block.own);
    float *const of_zps = of_scales + staged_floats();
    float *const scaled = of_zps + staged_floats();
    auto *const of_rows = reinterpret_cast<int32_t *>(scaled + scaled_floats());
    load_row_params(block, of_rows);
    std::fill_n(of_zps, staged_floats(), 0.f);

    args_t args;
    args.pitch = bytes_of(w_.format.weights, w_.format.col_stride);
    args.scales = of_scales;
    args.zps = of_zps;
    args.scaled = scaled;
    for (dim_t n = 0; n < block.cols; n += args_t::cols) {
        const dim_t first = block.first_col + n;
        args.count = std::min(args_t::cols, block.cols - n);
        stage(scales_, of_scales, scales, first, args.count);
        stage(zps_, of_zps, zps, first, args.count);
        args.weights = static_cast<const char *>(weights) + first * args.pitch;
        run_rows(args, block, 0, n, [&](dim_t, dim_t row, dim_t) {
            args.of_rows = of_rows + 2 * row * pitch_;
        });
    }
}

// A group's sums fill 2, 4, 8 or 16 lanes, or several vectors. On AVX2 16 lanes
// are two vectors.
bool has_whole_lanes(const integer_stream_weights_t &weights) {
    const dim_t bits = weights.group * bits_of(weights.format.weights);
    return weights.groups() == 1 || bits == 2 * 32 || bits == 4 * 32
           || bits == 8 * 32 || bits % (16 * 32) == 0;
}

} // namespace

result_t make_integer_k_lanes(const integer_stream_weights_t &weights,
        isa_t isa, std::shared_ptr<const integer_stream_t> &stream) {
    if (!has_whole_lanes(weights))
        return refuse("groups are not in whole vectors");
    if (weights.depth * bits_of(weights.format.weights) % 8 != 0)
        return refuse("columns end within a byte");
    auto made = std::make_shared<jit_integer_k_lanes_stream_t>(weights, isa);
    const result_t result = made->make();
    if (result.ok()) stream = std::move(made);
    return result;
}

} // namespace dnnl_dequant
