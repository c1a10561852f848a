#include "kernels/matmul/gemm.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace dnnl_dequant {

namespace {

class portable_gemm_t : public gemm_t {
public:
    const char *name() const override { return "portable_matmul"; }
    dim_t panel() const override { return 1; }
    dim_t strip() const override { return 1; }
    void run(const gemm_block_t &block) const noexcept override {
        for (dim_t r = 0; r < block.rows; ++r) {
            float *c = block.c + r * block.ldc;
            if (!block.accumulates) std::fill(c, c + block.cols, 0.f);
            for (dim_t k = 0; k < block.depth; ++k) {
                const float a = block.a[r * block.depth + k];
                const float *b = block.b + k * block.ldb;
                for (dim_t n = 0; n < block.cols; ++n)
                    c[n] += a * b[n];
            }
        }
    }
};

// A user's rows begin at any byte. Compilers unroll a count that they know.
using whole_strip_t = std::integral_constant<dim_t, 6>;

template <typename count_t>
void pack_strip(const float *src, dim_t pitch, count_t rows, dim_t depth,
        float *to) noexcept {
    for (dim_t k = 0; k < depth; ++k)
        for (dim_t r = 0; r < rows; ++r)
            std::memcpy(to + k * rows + r, src + r * pitch + k, sizeof(*to));
}

} // namespace

void pack_rows(const float *src, dim_t pitch, dim_t rows, dim_t depth,
        dim_t most, float *packed) noexcept {
    for_strips(rows, most, [&](dim_t first, dim_t count) {
        const float *const from = src + first * pitch;
        float *const to = packed + first * depth;
        if (count == 6) pack_strip(from, pitch, whole_strip_t(), depth, to);
        else pack_strip(from, pitch, count, depth, to);
    });
}

result_t make_gemm(isa_t isa, std::shared_ptr<const gemm_t> &gemm) {
    const result_t made = make_jit_gemm(isa, gemm);
    if (made.is_final()) return made;
    gemm = std::make_shared<portable_gemm_t>();
    return {};
}

} // namespace dnnl_dequant
