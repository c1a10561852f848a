#if defined(__x86_64__)

#include "base/text.hpp"
#include "kernels/attention/digits.hpp"
#include "kernels/attention/softmax_rows.hpp"
#include "kernels/attention/value_digits.hpp"
#include "kernels/generated_code.hpp"
#include "kernels/integer_gemm/integer_kernel.hpp"
#include "kernels/matmul/gemm.hpp"
#include "kernels/on_machine.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"
#include "kernels/skinny_gemm/weighted_sum.hpp"

namespace dnnl_dequant {

namespace {

using t = data_type_t;

constexpr t weight_types[] = {t::u4, t::s4, t::u8, t::s8};
constexpr t skinny_types[] = {t::u4, t::s4, t::u8, t::s8, t::u2, t::s2,
        t::f4_e2m1, t::f8_e4m3, t::f8_e5m2};
constexpr t scale_types[] = {t::f32, t::bf16, t::f16};

const char *order_of(bool by_column) {
    return by_column ? "[N,K]" : "[K,N]";
}

void generate_skinny_gemm(skinny_weights_t weights, isa_t isa) {
    weights.depth = 256;
    weights.cols = 256;
    weights.pitch = 256;
    weights.scales.type = t::f32;
    for (const dim_t group : {16, 32, 48, 128, 256})
        for (const dim_t rows : {1, 2, 3, 4, 8, 12}) {
            weights.group = group;
            std::shared_ptr<const skinny_gemm_t> skinny_gemm;
            (void)make_skinny_kernel(weights, rows, isa, skinny_gemm);
        }
}

void generate_column_groups(skinny_weights_t weights, isa_t isa) {
    weights.depth = weights.cols = weights.pitch = 256;
    weights.scales.type = t::f32;
    const bool are_few = has(isa, isa_avx512_core_bf16) && weights.by_column
                         && weights.are_nibbles();
    const dim_t most = are_few && bits_of(weights.type) != 4 ? 8
                       : has(isa, isa_avx512_core)           ? 12
                                                             : 4;
    for (const dim_t group : {1, 64})
        for (const dim_t col_group : {8, 16, 32, 64, 128}) {
            weights.group = group;
            weights.col_group = col_group;
            std::shared_ptr<const skinny_gemm_t> skinny_gemm;
            (void)make_skinny_kernel(weights, most, isa, skinny_gemm);
        }
}

// Records what generate() makes of the weights, and of ordinary ones too if it
// may be told that they are.
template <typename generate_t>
void record_skinny_gemm(code_hashes_t &hashes, const char *of,
        skinny_weights_t weights, isa_t isa, const generate_t &generate) {
    const std::string name = text(of, name_of(isa), " ",
            to_string(weights.type), " ", order_of(weights.by_column),
            " rounded to ", to_string(weights.rounded), " zps ",
            to_string(weights.zps.type));
    record_generated(hashes, name, [&] { generate(weights, isa); });
    if (!weights.may_be_ordinary()) return;
    weights.are_ordinary = true;
    record_generated(
            hashes, name + " ordinary", [&] { generate(weights, isa); });
}

void hash_column_groups(isa_t isa, code_hashes_t &hashes) {
    for (const t type : skinny_types)
        for (const t rounded : {t::f32, t::bf16, t::f16})
            for (const bool by_column : {false, true})
                for (const t zps : {t::undef, t::u8}) {
                    if (zps != t::undef && is_floating(type)) continue;
                    skinny_weights_t weights;
                    weights.type = type;
                    weights.by_column = by_column;
                    weights.rounded = rounded;
                    weights.zps.type = zps;
                    if (isa == isa_avx512_core_bf16)
                        weights.multiplied = t::bf16;
                    record_skinny_gemm(hashes, "skinny_gemm column groups ",
                            weights, isa, generate_column_groups);
                }
}

void hash_skinny_gemm(isa_t isa, code_hashes_t &hashes) {
    skinny_weights_t weights;
    const bool in_pairs = has(isa, isa_avx512_core_bf16);
    weights.multiplied = in_pairs ? t::bf16 : t::f32;
    for (const t type : skinny_types)
        for (const bool by_column : {false, true})
            for (const t rounded : {t::f32, t::bf16, t::f16})
                for (const t zps : {t::undef, t::u8, t::s16}) {
                    if (zps != t::undef && is_floating(type)) continue;
                    weights.type = type;
                    weights.by_column = by_column;
                    weights.rounded = rounded;
                    weights.zps.type = zps;
                    record_skinny_gemm(hashes, "skinny_gemm ", weights, isa,
                            generate_skinny_gemm);
                }
}

// Weights that meet digits of a few rows.
void generate_skinny_gemm_digits(skinny_weights_t weights) {
    weights.depth = 512;
    weights.cols = weights.by_column ? 64 : 512;
    weights.pitch = 512;
    weights.scales.type = t::f32;
    weights.calls_multiply = true;
    for (const dim_t group : {32, 64, 128, 256, 512}) {
        weights.group = group;
        std::shared_ptr<const skinny_gemm_t> skinny_gemm;
        (void)make_skinny_kernel(weights, weights.by_column ? 2 : 4,
                isa_avx512_core_vnni, skinny_gemm);
    }
}

void hash_skinny_gemm_digits(code_hashes_t &hashes) {
    for (const t type : {t::u4, t::s4, t::u2, t::s2})
        for (const bool by_column : {true, false})
            for (const bool has_zps : {false, true}) {
                skinny_weights_t weights;
                weights.type = type;
                weights.by_column = by_column;
                weights.zps.type = has_zps ? type : t::undef;
                record_generated(hashes,
                        text("skinny_gemm digits ", to_string(type), " ",
                                order_of(by_column),
                                has_zps ? " with zero points" : ""),
                        [&] { generate_skinny_gemm_digits(weights); });
            }
}

// Weights that tiles of AMX multiply, of 256 x 256 in one group.
// @param src bf16, f32, or u8 for integers as bf16.
skinny_weights_t weights_of_tiles(t type, bool by_column, t zps, t src) {
    skinny_weights_t weights;
    weights.type = type;
    weights.by_column = by_column;
    weights.zps.type = zps;
    weights.rounded = src == t::bf16 ? t::bf16 : t::f32;
    weights.multiplied = weights.rounded;
    weights.tiles = src == t::bf16  ? skinny_tiles_t::only
                    : src == t::f32 ? skinny_tiles_t::exact
                                    : skinny_tiles_t::integers;
    weights.depth = weights.cols = weights.pitch = weights.group = 256;
    weights.scales.type = t::f32;
    return weights;
}

// Rows of two tiles multiply them, and many rows of terms.
void generate_skinny_gemm_tiles(skinny_weights_t weights) {
    std::shared_ptr<const skinny_gemm_t> skinny_gemm;
    for (const dim_t rows : {32, 512})
        for (const dim_t group : {32, 64, 128, 256}) {
            weights.group = group;
            (void)make_skinny_kernel(weights, rows, isa_amx_bf16, skinny_gemm);
        }
}

// The columns are cut out of longer ones. Weights of two bits end within a line
// of the cache.
void generate_skinny_gemm_tiles_with_gaps(skinny_weights_t weights) {
    std::shared_ptr<const skinny_gemm_t> skinny_gemm;
    weights.depth = weights.group = 384;
    weights.pitch = 400;
    for (const dim_t rows : {16, 512})
        (void)make_skinny_kernel(weights, rows, isa_amx_bf16, skinny_gemm);
}

void hash_skinny_gemm_tiles(
        code_hashes_t &hashes, t src, t type, bool by_column) {
    const char *const of = src == t::bf16  ? ""
                           : src == t::f32 ? "terms "
                                           : "integers ";
    for (const t zps : {t::undef, src == t::bf16 ? t::u8 : t::u4}) {
        if (zps != t::undef && is_floating(type)) continue;
        const skinny_weights_t weights
                = weights_of_tiles(type, by_column, zps, src);
        const std::string what = text("skinny_gemm amx ", of, to_string(type),
                " ", order_of(by_column), " zps ", to_string(zps));
        record_generated(
                hashes, what, [&] { generate_skinny_gemm_tiles(weights); });
        if (by_column)
            record_generated(hashes, what + " with gaps",
                    [&] { generate_skinny_gemm_tiles_with_gaps(weights); });
    }
}

void hash_skinny_gemm_tiles(code_hashes_t &hashes) {
    for (const t type : skinny_types)
        for (const bool by_column : {false, true})
            for (const t src : {t::bf16, t::f32, t::u8})
                if (src != t::bf16 || bits_of(type) <= 4 || !by_column)
                    hash_skinny_gemm_tiles(hashes, src, type, by_column);
}

// Calls body with the flags that a format may have besides its types.
template <typename body_t>
void for_formats(integer_format_t format, bool by_column, body_t &&body) {
    format.depth_stride = by_column ? 1 : 256;
    format.col_stride = by_column ? 256 : 1;
    for (const t scales : scale_types)
        for (const bool is_packed : {false, true})
            for (const bool has_src_zps : {false, true})
                for (const bool has_short_sums : {false, true}) {
                    format.scales = scales;
                    format.is_packed = is_packed;
                    format.has_src_zps = has_src_zps;
                    format.has_short_sums = has_short_sums;
                    for (const dim_t stride : {0, 1, 2}) {
                        format.scales_stride = format.zps_stride = stride;
                        body(format);
                    }
                }
}

void generate_integers(
        const integer_format_t &types, bool by_column, isa_t isa) {
    for_formats(types, by_column, [&](const integer_format_t &format) {
        std::shared_ptr<const integer_kernel_t> kernel;
        (void)make_jit_integer_kernel(format, isa, kernel);
        std::shared_ptr<const integer_repacked_kernel_t> repacked;
        for (const dim_t rows : {1, 4, 13})
            if (format.is_packed && format.scales_stride == 1)
                (void)make_integer_repacked(format, rows, isa, repacked);
    });
}

void generate_stream(
        integer_stream_weights_t weights, bool by_column, isa_t isa) {
    weights.depth = 256;
    for_formats(weights.format, by_column, [&](const integer_format_t &format) {
        if (format.is_packed || format.has_short_sums) return;
        weights.format = format;
        for (const dim_t group : {16, 32, 64, 128, 256})
            for (const dim_t stride : {0, 1, 256}) {
                weights.group = group;
                weights.scales_group_stride = weights.zps_group_stride = stride;
                std::shared_ptr<const integer_stream_t> stream;
                (void)make_integer_stream(weights, isa, stream);
            }
    });
}

void hash_integers(isa_t isa, const integer_format_t &format, bool by_column,
        code_hashes_t &hashes) {
    const auto what = text(name_of(isa), " ", to_string(format.weights), " ",
            order_of(by_column), " zps ", to_string(format.zps));
    record_generated(hashes, "integer blocks " + what,
            [&] { generate_integers(format, by_column, isa); });
    for (const bool is_src_signed : {false, true}) {
        integer_stream_weights_t weights;
        weights.format = format;
        weights.is_src_signed = is_src_signed;
        record_generated(hashes,
                text("integer stream ", is_src_signed ? "s8 by " : "u8 by ",
                        what),
                [&] { generate_stream(weights, by_column, isa); });
    }
}

} // namespace

void hash_products(code_hashes_t &hashes) {
    for (const isa_t isa : {isa_avx2, isa_avx512_core}) {
        std::shared_ptr<const gemm_t> gemm;
        record_generated(hashes, text("gemm ", name_of(isa)),
                [&] { (void)make_gemm(isa, gemm); });
    }
    record_generated(hashes, "gemm bf16", [&] {
        std::shared_ptr<const gemm_t> gemm;
        (void)make_jit_gemm(isa_avx512_core_bf16, t::bf16, gemm);
    });
    record_generated(hashes, "gemm amx", [&] {
        std::shared_ptr<const gemm_t> gemm;
        for (const bool nk : {false, true})
            (void)make_amx_gemm(nk, gemm);
    });
    for (const isa_t isa : {isa_avx2, isa_avx512_core, isa_avx512_core_bf16})
        hash_skinny_gemm(isa, hashes);
    hash_skinny_gemm_digits(hashes);
    hash_skinny_gemm_tiles(hashes);
    for (const isa_t isa : {isa_avx2, isa_avx512_core, isa_avx512_core_bf16})
        hash_column_groups(isa, hashes);
}

// Sums of values whose tokens, or groups of a token's columns, have scales.
static void hash_sums_by_token(code_hashes_t &hashes) {
    for (const t type : weight_types)
        for (const isa_t isa : {isa_avx2, isa_avx512_core})
            record_generated(hashes,
                    text("weighted sum by token ", name_of(isa), " ",
                            to_string(type)),
                    [&] {
                std::shared_ptr<const weighted_sum_t> kernel;
                weighted_values_t values {type, bytes_of(type, 128), 128};
                values.by_token = true;
                for (const dim_t group : {0, 8, 32, 64})
                    for (const bool has_zp : {false, true}) {
                        values.group_cols = group;
                        values.has_zp = has_zp;
                        (void)make_jit_weighted_sum(
                                values, weighted_sum_t::most_rows, isa, kernel);
                    }
            });
}

void hash_attention(code_hashes_t &hashes) {
    hash_sums_by_token(hashes);
    for (const isa_t isa : {isa_avx2, isa_avx512_core, isa_avx512_core_bf16})
        record_generated(hashes, text("softmax rows ", name_of(isa)), [&] {
            std::shared_ptr<const softmax_rows_t> softmax;
            (void)make_jit_softmax_rows(isa, softmax);
        });
    for (const t type : weight_types)
        for (const dim_t head : {16, 64, 96, 128, 256}) {
            const dim_t bytes = bytes_of(type, head);
            const std::string of = text(to_string(type), " head ", head);
            for (const int digits : {2, 3})
                record_generated(
                        hashes, text("digits ", of, ", ", digits), [&] {
                    std::shared_ptr<const digits_kernel_t> kernel;
                    for (const bool has_zps : {false, true})
                        (void)make_jit_digits(
                                {type, head, bytes, digits, has_zps},
                                digits_kernel_t::most_rows,
                                isa_avx512_core_vnni, kernel);
                });
            record_generated(hashes, text("value digits ", of), [&] {
                std::shared_ptr<const value_digits_kernel_t> kernel;
                for (const t zps : {t::undef, t::s8, t::u8}) {
                    value_digits_t format {type, zps, head, bytes};
                    format.tolerance = 1e-4f; // two digits and three
                    (void)make_jit_value_digits(format,
                            value_digits_kernel_t::most_rows,
                            isa_avx512_core_vnni, kernel);
                }
            });
            record_generated(hashes, text("digits ", of, ", scaled"), [&] {
                std::shared_ptr<const digits_kernel_t> kernel;
                digits_format_t format {type, head, bytes, 3, true};
                format.group = 32;
                (void)make_jit_digits(format, digits_kernel_t::most_rows,
                        isa_avx512_core_vnni, kernel);
                format.group = 0;
                format.by_number = true;
                (void)make_jit_digits(format, digits_kernel_t::most_rows,
                        isa_avx512_core_vnni, kernel);
            });
            for (const isa_t isa : {isa_avx2, isa_avx512_core})
                record_generated(hashes,
                        text("weighted sum ", name_of(isa), " ", of), [&] {
                    std::shared_ptr<const weighted_sum_t> kernel;
                    for (const bool has_zp : {false, true})
                        (void)make_jit_weighted_sum({type, bytes, head, has_zp},
                                weighted_sum_t::most_rows, isa, kernel);
                });
        }
}

static void hash_integer_tiles(code_hashes_t &hashes) {
    record_generated(hashes, "integer tiles", [&] {
        for (const dim_t k4_chunk : {5, 8, 16})
            for (const bool has_src_zps : {false, true})
                for (const bool has_short_sums : {false, true}) {
                    integer_format_t format;
                    format.weights = t::u4;
                    format.scales = t::f32;
                    format.depth_stride = 256;
                    format.col_stride = 1;
                    format.k4_chunk = k4_chunk;
                    format.has_src_zps = has_src_zps;
                    format.has_short_sums = has_short_sums;
                    std::shared_ptr<const integer_kernel_t> kernel;
                    (void)make_jit_integer_kernel(format, isa_amx_bf16, kernel);
                }
    });
}

static void hash_two_panels(code_hashes_t &hashes) {
    for (const t type : {t::u4, t::s4, t::u8, t::s8})
        record_generated(
                hashes, text("integer two panels ", to_string(type)), [&] {
            for (const bool has_src_zps : {false, true})
                for (const bool has_short_sums : {false, true}) {
                    integer_format_t format;
                    format.weights = type;
                    format.scales = t::f32;
                    format.depth_stride = 256;
                    format.col_stride = 1;
                    format.unpacks_two = true;
                    format.has_src_zps = has_src_zps;
                    format.has_short_sums = has_short_sums;
                    std::shared_ptr<const integer_kernel_t> kernel;
                    (void)make_jit_integer_kernel(
                            format, isa_avx512_core_vbmi, kernel);
                }
        });
}

static void hash_kept_sums(code_hashes_t &hashes) {
    record_generated(hashes, "integer packed, sums of weights are kept", [&] {
        for (const t type : {t::u4, t::s8}) {
            integer_format_t format;
            format.weights = type;
            format.scales = t::f32;
            format.depth_stride = 1;
            format.col_stride = 256;
            format.is_packed = format.has_src_zps = format.keeps_sums = true;
            format.has_short_sums = type == t::u4;
            std::shared_ptr<const integer_kernel_t> kernel;
            (void)make_jit_integer_kernel(format, isa_avx512_core_vnni, kernel);
        }
    });
}

static void hash_transposing(code_hashes_t &hashes) {
    record_generated(hashes, "integer transposing", [&] {
        for (const dim_t group : {32, 128, 1024})
            for (const dim_t rows : {8, 24}) {
                integer_transposing_desc_t desc;
                desc.format.weights = group == 32 ? t::s4 : t::u4;
                desc.format.depth_stride = 1;
                desc.format.col_stride = desc.depth = 2048;
                desc.format.is_packed = desc.format.has_src_zps = true;
                desc.format.has_short_sums = group <= 128;
                desc.rows = desc.block_rows = rows;
                desc.group = group;
                std::shared_ptr<const integer_transposing_kernel_t> kernel;
                (void)make_integer_transposing(
                        desc, isa_avx512_core_vnni, kernel);
            }
    });
}

// [N,K] weights on a CPU that prefetches them as lines that are needed long
// after.
static void hash_early_integers(code_hashes_t &hashes) {
    const on_machine_t machine({policy_named("Zen 5"), 32 << 20, 1 << 20});
    for (const t type : weight_types) {
        integer_stream_weights_t weights;
        weights.format.weights = type;
        record_generated(hashes,
                text("integer stream early u8 by ", to_string(type)),
                [&] { generate_stream(weights, true, isa_avx512_core_vnni); });
    }
}

void hash_integer_products(code_hashes_t &hashes) {
    hash_integer_tiles(hashes);
    hash_two_panels(hashes);
    hash_kept_sums(hashes);
    hash_transposing(hashes);
    hash_early_integers(hashes);
    for (const isa_t isa : {isa_avx2, isa_avx_vnni, isa_avx512_core_vnni})
        for (const t weights : weight_types)
            for (const t zps : {t::undef, t::u8, t::s8, t::u4, t::s4})
                for (const bool by_column : {false, true}) {
                    integer_format_t format;
                    format.weights = weights;
                    format.zps = zps;
                    hash_integers(isa, format, by_column, hashes);
                }
}

} // namespace dnnl_dequant

#endif
