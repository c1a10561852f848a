// A few rows times weights of 4 or 8 bits whose columns lie one after the
// other.

#include "kernels/matmul/gemv.hpp"

#include <algorithm>
#include <array>

#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/jit_dot_code.hpp"

namespace dnnl_dequant {

namespace {

// Rows that one piece of code does, at most.
constexpr int most_code_rows = 8;

// As many sums stay in registers beside what the columns need.
static_assert(most_dot_cols - 1 <= gemv_t::columns_beyond, "");

constexpr int cols_of(int rows) {
    return rows <= 4 ? most_dot_cols : rows <= 6 ? 3 : 2;
}

class jit_dot_t : public gemv_t {
public:
    explicit jit_dot_t(const gemv_weights_t &weights)
        : gemv_t(weights)
        , step_(dot_step_of(weights)) {}

    const char *name() const override {
        return src_type() == data_type_t::bf16
                       ? "jit_matmul_dot_avx512_core_bf16"
                       : "jit_matmul_dot_avx512_core";
    }
    dim_t panel() const override { return 1; }
    bool parameters_by_column() const override { return true; }
    dim_t src_unit() const override {
        return bits_of(weights_.type) == 4 ? step_.elements() : 1;
    }
    data_type_t src_type() const override { return weights_.multiplied; }
    void arrange(void *row) const noexcept override {
        arrange_for_nibbles(row, weights_, step_);
    }
    bool scales_sums() const override { return false; }
    dim_t partial_floats() const override { return 0; }

    result_t make() {
        for (int rows = 1; rows <= most_code_rows; ++rows) {
            auto &code = code_[static_cast<size_t>(rows)];
            if (result_t made
                    = make_jit_dot_code(weights_, rows, cols_of(rows), code);
                    !made.ok())
                return made;
        }
        return {};
    }

    void run(
            void *const *buffers, const block_t &block) const noexcept override;

private:
    void run_rows(void *const *buffers, const block_t &block, dim_t row,
            int rows) const noexcept;

    const nibble_step_t step_;
    std::array<jit_dot_code_t, most_code_rows + 1> code_;
};

void jit_dot_t::run_rows(void *const *buffers, const block_t &block, dim_t row,
        int rows) const noexcept {
    const jit_dot_code_t &code = code_[static_cast<size_t>(rows)];
    const dim_t cols = cols_of(rows), groups = weights_.groups();
    const dim_t pitch = bytes_of(weights_.type, weights_.pitch);
    float sums[most_code_rows * most_dot_cols];
    jit_dot_args_t args;
    args.a = src_at(block, row);
    args.a_pitch = src_pitch_bytes(block);
    args.ahead = cols * pitch;
    args.sums = sums;
    for (dim_t n = 0; n < block.cols; n += cols) {
        const dim_t here = std::min(cols, block.cols - n);
        // What is too much does the last column again.
        for (dim_t c = 0; c < cols; ++c)
            args.weights[c]
                    = static_cast<const char *>(buffers[0])
                      + (block.first_col + n + std::min(c, here - 1)) * pitch;
        args.scales = block.scales + n * groups;
        args.zps = block.zps + n * groups;
        code(args);
        float *const c = block.c + row * block.c_pitch + n;
        for (dim_t r = 0; r < rows; ++r)
            std::copy_n(sums + r * cols, here, c + r * block.c_pitch);
    }
}

void jit_dot_t::run(void *const *buffers, const block_t &block) const noexcept {
    for_strips(block.rows, most_code_rows, [&](dim_t row, dim_t rows) {
        run_rows(buffers, block, row, static_cast<int>(rows));
    });
}

} // namespace

result_t make_dot(const gemv_weights_t &weights, dim_t,
        std::shared_ptr<const gemv_t> &gemv) {
    auto made = std::make_shared<jit_dot_t>(weights);
    const result_t result = made->make();
    if (result.ok()) gemv = std::move(made);
    return result;
}

} // namespace dnnl_dequant
