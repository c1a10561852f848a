// A few rows times weights of 4 bits whose columns lie side by side and which
// are rounded: a tile after the other is transposed in cache, so that a
// column's weights are looked up in a table.

#include "kernels/matmul/gemv.hpp"

#include <algorithm>
#include <array>

#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/jit_transpose_nibbles.hpp"
#include "kernels/matmul/jit_transposed_code.hpp"

namespace dnnl_dequant {

namespace {

class jit_transposed_t : public gemv_t {
public:
    explicit jit_transposed_t(const gemv_weights_t &weights)
        : gemv_t(weights) {}

    const char *name() const override {
        return src_type() == data_type_t::bf16
                       ? "jit_matmul_transposed_avx512_core_bf16"
                       : "jit_matmul_transposed_avx512_core";
    }
    dim_t panel() const override { return transposed_tile; }
    bool parameters_by_column() const override { return false; }
    dim_t src_unit() const override { return transposed_tile; }
    data_type_t src_type() const override { return weights_.multiplied; }
    void arrange(void *row) const noexcept override {
        arrange_for_nibbles(row, weights_, transposed_step_of(weights_));
    }
    bool scales_sums() const override { return false; }
    dim_t partial_floats() const override { return transposed_parts; }

    result_t make(dim_t rows) {
        result_t made = make_jit_transpose_nibbles(transpose_);
        for (dim_t r = 1;
                r <= std::min<dim_t>(rows, most_transposed_rows) && made.ok();
                ++r)
            made = make_jit_transposed_code(weights_, static_cast<int>(r),
                    code_[static_cast<size_t>(r)]);
        return made;
    }

    void run(
            void *const *buffers, const block_t &block) const noexcept override;

private:
    void run_tile(
            const block_t &block, jit_transposed_args_t &args) const noexcept;
    void add_parts(const block_t &block) const noexcept;

    jit_transpose_nibbles_t transpose_;
    std::array<jit_transposed_code_t, most_transposed_rows + 1> code_;
};

void jit_transposed_t::run(
        void *const *buffers, const block_t &block) const noexcept {
    std::fill_n(
            block.partial, block.rows * block.c_pitch * transposed_parts, 0.f);
    const dim_t pitch = bytes_of(weights_.type, weights_.pitch);
    const dim_t block_bytes = bytes_of(weights_.type, block.cols);
    const char *strip = static_cast<const char *>(buffers[0])
                        + bytes_of(weights_.type, block.first_col);
    alignas(64) char tile[transposed_bytes];
    jit_transposed_args_t args;
    args.tile = tile;
    args.a_pitch = src_pitch_bytes(block);
    args.sums_pitch = block.c_pitch * transposed_parts * 4;
    args.ahead_pitch = pitch;
    const char *const next_block = strip + block_bytes;
    for (dim_t k = 0; k < weights_.depth; k += transposed_tile) {
        const dim_t parameters = k / weights_.group * block.c_pitch;
        const char *const next_strip = strip + transposed_tile * pitch;
        args.ahead = k + transposed_tile < weights_.depth ? next_strip
                                                          : next_block;
        args.ahead_row = args.ahead;
        args.ahead_end = args.ahead + block_bytes;
        for (dim_t n = 0; n < block.cols; n += transposed_tile) {
            const char *const from = strip + bytes_of(weights_.type, n);
            transpose_({from, pitch, tile});
            args.a = src_at(block, 0, k);
            args.scales = block.scales + parameters + n;
            args.zps = block.zps + parameters + n;
            args.sums = block.partial + n * transposed_parts;
            run_tile(block, args);
        }
        strip = next_strip;
    }
    add_parts(block);
}

// Every strip asks for the same lines of what is transposed later; the next
// tile goes on where the first strip ended.
void jit_transposed_t::run_tile(
        const block_t &block, jit_transposed_args_t &args) const noexcept {
    const jit_transposed_args_t begin = args;
    for_strips(block.rows, most_transposed_rows, [&](dim_t row, dim_t rows) {
        jit_transposed_args_t strip = begin;
        strip.a = static_cast<const char *>(begin.a) + row * begin.a_pitch;
        strip.sums = begin.sums + row * begin.sums_pitch / 4;
        code_[static_cast<size_t>(rows)](strip);
        if (row == 0) args = strip;
    });
}

void jit_transposed_t::add_parts(const block_t &block) const noexcept {
    for (dim_t r = 0; r < block.rows; ++r) {
        const float *parts
                = block.partial + r * block.c_pitch * transposed_parts;
        for (dim_t n = 0; n < block.cols; ++n, parts += transposed_parts) {
            float quarter[4];
            for (int i = 0; i < 4; ++i)
                quarter[i] = (parts[i] + parts[i + 8])
                             + (parts[i + 4] + parts[i + 12]);
            block.c[r * block.c_pitch + n]
                    = (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
        }
    }
}

} // namespace

result_t make_transposed(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv) {
    auto made = std::make_shared<jit_transposed_t>(weights);
    const result_t result = made->make(rows);
    if (result.ok()) gemv = std::move(made);
    return result;
}

} // namespace dnnl_dequant
