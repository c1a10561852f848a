// Chooses the generated code for a skinny GEMM: the first row of kernels.def
// that takes the weights.

#include <algorithm>

#include "base/text.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"

namespace dnnl_dequant {

namespace {

// The most columns that a kernel computes together, unless its unit is more.
constexpr dim_t most_panel = 128;

// The words of kernels.def.
constexpr bool kn = false, nk = true;
constexpr auto f32 = data_type_t::f32, bf16 = data_type_t::bf16;
constexpr unsigned int2 = 1, int4 = 2, f4 = 4, int8 = 8, f8 = 16;
constexpr unsigned nibbles = int2 | int4 | f4, bytes = int8 | f8,
                   no_int8 = nibbles | f8, all = nibbles | bytes;
constexpr unsigned exact = 1, to_bf16 = 2, to_f16 = 4;
constexpr unsigned to_any = to_bf16 | to_f16, no_f16 = exact | to_bf16,
                   any = exact | to_any;

// A row of kernels.def, which explains the fields.
struct row_t {
    const char *name;
    isa_t isa;
    data_type_t multiplied;
    make_skinny_gemm_t *make;
    bool by_column;
    unsigned weights, rounded; // sets
    dim_t rows, cols, depth, group_bytes, col_group;
};
constexpr row_t kernels[] = {
#define X(name, ...) {#name, __VA_ARGS__},
#include "kernels/skinny_gemm/kernels.def"
#undef X
};

unsigned kind_of(data_type_t weights) {
    switch (bits_of(weights)) {
    case 2: return int2;
    case 4: return is_integer(weights) ? int4 : f4;
    default: return is_integer(weights) ? int8 : f8;
    }
}

unsigned rounding_of(const skinny_weights_t &weights) {
    switch (weights.rounded) {
    case data_type_t::bf16: return to_bf16;
    case data_type_t::f16: return to_f16;
    default: return exact;
    }
}

// Says why a row does not multiply by tiles, or otherwise, as the weights ask.
std::string misfit_of_tiles(
        const row_t &row, const skinny_weights_t &weights, dim_t rows) {
    const bool is_exact = weights.tiles == skinny_tiles_t::exact
                          || weights.tiles == skinny_tiles_t::integers;
    if (has(row.isa, isa_amx_bf16)) {
        if (weights.may_have_far_zps())
            return text("zero points are of type ", to_string(weights.zps.type),
                    "; expected integers of 16 bits at most");
        if (weights.tiles == skinny_tiles_t::none)
            return "tiles serve more rows, of f32 or bf16";
        if (row.multiplied == bf16 && is_exact)
            return "src and weights may not be rounded to bf16";
        if (row.multiplied == f32 && !is_exact)
            return "src and weights may be rounded to bf16, which is faster";
        return "";
    }
    if (weights.tiles == skinny_tiles_t::only)
        return text(rows, " rows are faster in blocks by tiles");
    if (weights.tiles == skinny_tiles_t::integers)
        return "src has integers, which other ways multiply";
    if (row.multiplied == bf16 && weights.multiplied != bf16)
        return "src and weights may not be rounded to bf16";
    return "";
}

// True if columns of [K,N] weights are no whole units, but so many that those
// which fill the last one up do not count (skinny_gemm_t::multiply()).
bool has_rest(const row_t &row, const skinny_weights_t &weights) {
    constexpr dim_t least_units = 4;
    return weights.calls_multiply && !row.by_column && row.col_group == 1
           && !has(row.isa, isa_amx_bf16) && weights.cols % row.cols != 0
           && weights.cols >= least_units * row.cols;
}

// Says why a row of the table does not take the weights; empty if it does.
std::string misfit(const row_t &row, const skinny_weights_t &weights,
        dim_t rows, isa_t isa) {
    const auto in_units = [](const char *of, dim_t found, dim_t unit) {
        return found % unit == 0 ? std::string()
                                 : text(of, " ", found,
                                           "; expected a multiple of ", unit);
    };
    const dim_t unit_bits = weights.are_nibbles() ? 4 : 8;
    if (!has(isa, row.isa)) return "its instructions are not available";
    if (row.by_column != weights.by_column)
        return text("weights are ", weights.by_column ? "[N,K]" : "[K,N]");
    if ((row.weights & kind_of(weights.type)) == 0)
        return text("weights are of type ", to_string(weights.type));
    if ((row.rounded & rounding_of(weights)) == 0)
        return weights.rounded == f32 ? std::string("weights are not rounded")
                                      : text("weights are rounded to ",
                                                to_string(weights.rounded));
    if (std::string why = misfit_of_tiles(row, weights, rows); !why.empty())
        return why;
    const dim_t most
            = row.multiplied == f32 && weights.multiplied == bf16
                      ? std::min(row.rows, skinny_gemm_t::most_f32_rows_of_bf16)
                      : row.rows;
    if (rows > most)
        return text("found ", rows, " rows; expected ", most, " at most");
    if (row.col_group == 1 && weights.col_group > 1)
        return "columns share scales";
    if (row.col_group > 1 && weights.col_group == 1)
        return "columns have scales of their own";
    std::string why = has_rest(row, weights)
                              ? std::string()
                              : in_units("columns", weights.cols, row.cols);
    if (why.empty()) why = in_units("depth", weights.depth, row.depth);
    if (why.empty() && row.group_bytes > 0 && weights.group < weights.depth)
        why = in_units("group", weights.group, row.group_bytes * 8 / unit_bits);
    if (why.empty())
        why = in_units(
                "columns with one scale", weights.col_group, row.col_group);
    return why;
}

// Makes the first row that takes the weights.
result_t make_first(const skinny_weights_t &weights, dim_t rows, isa_t isa,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm,
        const skinny_refusal_t &refused) {
    const data_type_t zps = weights.zps.type;
    if (zps != data_type_t::undef && !is_integer(zps))
        return refuse("zero points are no integers");
    if (zps != data_type_t::undef && !is_integer(weights.type))
        return refuse("weights are floats that have zero points");
    if (weights.pitch * bits_of(weights.type) % 8 != 0)
        return refuse("a row or column begins within a byte");
    for (const row_t &kernel : kernels) {
        skinny_weights_t taken = weights;
        taken.multiplied = kernel.multiplied;
        taken.kernel = kernel.name;
        const dim_t panel = std::max(most_panel, kernel.cols);
        if (has_rest(kernel, weights)) taken.cols -= taken.cols % panel;
        result_t made = refuse(misfit(kernel, weights, rows, isa));
        if (made.reason.empty()) made = kernel.make(taken, rows, skinny_gemm);
        if (made.is_final()) return made;
        if (refused) refused(kernel.name, made.reason);
    }
    return refuse("");
}

} // namespace

result_t make_skinny_kernel(const skinny_weights_t &weights, dim_t rows,
        isa_t isa, std::shared_ptr<const skinny_gemm_t> &skinny_gemm,
        const skinny_refusal_t &refused) {
    std::shared_ptr<skinny_gemm_t> made;
    result_t result = make_first(weights, rows, isa, made, refused);
    if (result.ok()) {
        std::shared_ptr<const skinny_gemm_t> of_ordinary_weights;
        if (weights.calls_multiply && weights.may_be_ordinary()
                && !weights.are_ordinary && made->src_type() == f32
                && made->has_ordinary_rounding()) {
            skinny_weights_t ordinary = weights;
            ordinary.are_ordinary = true;
            result = make_skinny_kernel(
                    ordinary, rows, isa, of_ordinary_weights);
        }
        made->init_multiply(std::move(of_ordinary_weights));
    }
    if (result.ok()) skinny_gemm = std::move(made);
    return result;
}

} // namespace dnnl_dequant
