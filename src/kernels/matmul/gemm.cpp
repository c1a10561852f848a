#include "kernels/matmul/gemm.hpp"

#include <algorithm>

namespace dnnl_dequant {

namespace {

class portable_gemm_t : public gemm_t {
public:
    const char *name() const override { return "portable_matmul"; }
    dim_t panel() const override { return 1; }
    void run(const gemm_block_t &block) const noexcept override {
        for (dim_t r = 0; r < block.rows; ++r) {
            float *c = block.c + r * block.ldc;
            if (!block.accumulates) std::fill(c, c + block.cols, 0.f);
            for (dim_t k = 0; k < block.depth; ++k) {
                const float a = block.a[r * block.lda + k];
                const float *b = block.b + k * block.ldb;
                for (dim_t n = 0; n < block.cols; ++n)
                    c[n] += a * b[n];
            }
        }
    }
};

} // namespace

result_t make_gemm(isa_t isa, std::shared_ptr<const gemm_t> &gemm) {
    const result_t made = make_jit_gemm(isa, gemm);
    if (made.ok() || made.status == status_t::out_of_memory) return made;
    gemm = std::make_shared<portable_gemm_t>();
    return {};
}

} // namespace dnnl_dequant
