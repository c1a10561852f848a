#ifndef KERNELS_DEQUANTIZE_JIT_DEQUANTIZE_HPP
#define KERNELS_DEQUANTIZE_JIT_DEQUANTIZE_HPP

#include "kernels/dequantize/jit_rows.hpp"

namespace dnnl_dequant {

/// dst = (src - zps) * scales.
class jit_dequantize_t : public jit_rows_t {
public:
    static result_t make(const problem_t &problem, isa_t isa, const char *name,
            std::shared_ptr<const kernel_t> &kernel);

private:
    using jit_rows_t::jit_rows_t;

    void choose_order();
    bool takes_halves() const;
    void choose_dwords();
    bool can_be_dwords(int bits) const;
    bool is_row_better(int bits) const;
    bool has_eights() const;
    bool has_f8_rows() const;
    jit_row_desc_t desc_of(row_src_t src, bool streams) const;
    result_t make_row_kernel(row_src_t src, bool streams) override;
    bool has_one_scale() const;
    bool looks_up_bytes() const;
    bool looks_up_f8() const;
    result_t make_one_row_kernel(const jit_row_desc_t &desc, bool is_first,
            std::unique_ptr<const jit_row_kernel_t> &made) const;
    bool zps_may_be_wide() const;
    bool zps_may_be_zero() const;

    bool in_halves_ = false;   // see jit_row_desc_t
    bool in_eights_ = false;   // see jit_row_eights_t
    bool has_f8_rows_ = false; // see jit_row_f8_t
};

} // namespace dnnl_dequant

#endif
