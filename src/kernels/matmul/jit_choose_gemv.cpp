// Which generated code multiplies a few rows: of those that suit the order of
// the weights, the first that takes them.

#include "kernels/matmul/gemv.hpp"

namespace dnnl_dequant {

namespace {

// Weights by row that gemv_panel_of_avx2() has no panel for are transposed, and
// multiplied as those by column are.
result_t make_on_avx2(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv) {
    if (!weights.by_column) {
        const result_t made = make_gemv_by_row(weights, rows, isa_avx2, gemv);
        if (made.is_final()) return made;
    }
    return make_dot_avx2(weights, rows, gemv);
}

result_t make_on_avx512(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv) {
    if (weights.by_column) return make_dot(weights, gemv);
    // A table of a column's rounded numbers serves nibbles that are transposed.
    const bool rounds = weights.rounded != data_type_t::f32
                        || weights.multiplied != data_type_t::f32;
    if (rounds) {
        const result_t made = make_transposed(weights, rows, gemv);
        if (made.is_final()) return made;
    }
    return make_gemv_by_row(weights, rows, isa_avx512_core, gemv);
}

} // namespace

result_t make_gemv(const gemv_weights_t &weights, dim_t rows, isa_t isa,
        std::shared_ptr<const gemv_t> &gemv) {
    if (!has(isa, isa_avx2)) return refuse("there is no AVX2");
    const data_type_t zps = weights.zps.type;
    if (zps != data_type_t::undef && (!is_integer(zps) || bits_of(zps) > 16))
        return refuse("zero points are no integers of 16 bits");
    if (weights.pitch * bits_of(weights.type) % 8 != 0)
        return refuse("a row or column begins within a byte");
    return has(isa, isa_avx512_core) ? make_on_avx512(weights, rows, gemv)
                                     : make_on_avx2(weights, rows, gemv);
}

} // namespace dnnl_dequant
