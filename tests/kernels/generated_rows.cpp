#if defined(__x86_64__)

#include "base/text.hpp"
#include "kernels/chain_case.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/generated_code.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/on_machine.hpp"
#include "kernels/quantize/jit_dynamic_rows.hpp"
#include "kernels/quantize/ranges.hpp"
#include "kernels/short_rows/interleave.hpp"
#include "support/linear_cases.hpp"

namespace dnnl_dequant {

namespace {

using op_t = support::dequantize_op_t;
using support::types_t;

constexpr data_type_t quantized_types[] = {data_type_t::u8, data_type_t::s8,
        data_type_t::u16, data_type_t::s16, data_type_t::u32, data_type_t::s32,
        data_type_t::u4, data_type_t::s4, data_type_t::u2, data_type_t::s2,
        data_type_t::f8_e4m3, data_type_t::f8_e5m2, data_type_t::f8_e4m3fnuz,
        data_type_t::f8_e5m2fnuz, data_type_t::f4_e2m1, data_type_t::f16,
        data_type_t::bf16, data_type_t::f32};

constexpr data_type_t plain_types[]
        = {data_type_t::f32, data_type_t::bf16, data_type_t::f16};

void generate(const kernel_row_t &row, const problem_t &problem) {
    std::shared_ptr<const kernel_t> kernel;
    (void)row.factory(problem, row.isa, kernel);
}

// Takes one of so many combinations of types and shapes. The number is a prime,
// so that each type meets other shapes.
template <typename body_t>
void for_sample(const std::vector<types_t> &types,
        const std::vector<support::dequantize_case_t> &shapes, dim_t one_in,
        body_t &&body) {
    dim_t number = 0;
    for (const auto &combination : types)
        for (const auto &shape : shapes)
            if (number++ % one_in == 0)
                body(support::with_types(
                        shape, combination, static_cast<uint64_t>(number)));
}

void hash_dequantize(const kernel_row_t &row, code_hashes_t &hashes) {
    for (const auto src : quantized_types)
        for (const auto dst : plain_types) {
            auto types = support::type_combinations(src, dst);
            const auto more = support::extended_combinations(src, dst);
            types.insert(types.end(), more.begin(), more.end());
            record_generated(hashes,
                    text(row.name, " ", to_string(src), " to ", to_string(dst)),
                    [&] {
                for_sample(types, support::vector_shapes(), 307,
                        [&](const support::dequantize_case_t &c) {
                    generate(row, problem_of(c));
                });
            });
        }
}

// A transposed source whose result leaves L2 is taken by panels.
void hash_panels(const kernel_row_t &row, code_hashes_t &hashes) {
    const dims_t dims {1024, 2048};
    for (const auto dst : plain_types) {
        support::chain_case_t c;
        c.dims = c.groups = dims;
        c.tensors = {{data_type_t::u8, {1, dims[0]}, false, 0},
                {data_type_t::f32, {1, 1}, true, 0},
                {dst, {dims[1], 1}, false, 0}};
        c.steps = {{step_kind_t::multiply, 1}};
        record_generated(hashes, text(row.name, " panels to ", to_string(dst)),
                [&] { generate(row, problem_of(c)); });
    }
}

// Rows in groups of eight columns, in caches.
void hash_eights(const kernel_row_t &row, code_hashes_t &hashes) {
    if (!has(row.isa, isa_avx512_core_bf16)
            || !has(row.isa, isa_avx512_core_vbmi))
        return;
    for (const auto src : {data_type_t::u4, data_type_t::s4, data_type_t::u8,
                 data_type_t::s8})
        for (const auto dst : plain_types) {
            support::dequantize_case_t c;
            c.src.dims = c.dst.dims = {4, 256};
            c.qtype = support::qtype_t::per_group;
            c.group_shape = {1, 8};
            c.scales.dims = c.zps.dims = support::scales_dims_of(c);
            c.scales.strides = c.zps.strides
                    = support::dense_strides(c.scales.dims);
            c.src.strides = c.dst.strides = support::dense_strides(c.dst.dims);
            const auto typed = support::with_types(
                    c, {src, data_type_t::f32, src, dst}, 1);
            record_generated(hashes,
                    text(row.name, " eights ", to_string(src), " to ",
                            to_string(dst)),
                    [&] { generate(row, problem_of(typed)); });
        }
}

// Rows of floats of 8 bits with a scale each, or one along the columns, in
// caches and past them.
void hash_f8_rows(const kernel_row_t &row, code_hashes_t &hashes) {
    if (!has(row.isa, isa_avx512_core_bf16)
            || !has(row.isa, isa_avx512_core_vbmi))
        return;
    for (const auto src : {data_type_t::f8_e4m3, data_type_t::f8_e5m2})
        for (const auto dst : plain_types)
            record_generated(hashes,
                    text(row.name, " rows of ", to_string(src), " to ",
                            to_string(dst)),
                    [&] {
                for (const dim_t cache : {dim_t {32 << 20}, no_cache_bytes}) {
                    const on_machine_t on(
                            {policy_named("Zen 4"), cache, 1 << 20});
                    for (const dim_t cols : {32, 128, 1000})
                        for (const dims_t &scales : {dims_t {1, 0}, {0, 1}})
                            for (const dim_t gap : {0, 64})
                                generate(row,
                                        {{{4, -1, 0}, {cols, -1, 0}},
                                                {{src, 0, {cols + gap, 1}},
                                                        {data_type_t::f32, 0,
                                                                scales},
                                                        {dst, 0, {cols, 1}}},
                                                {{step_kind_t::multiply, 1}}});
                }
            });
}

void hash_quantize(const kernel_row_t &row, code_hashes_t &hashes) {
    for (const auto dst : quantized_types)
        for (const auto src : plain_types) {
            std::vector<types_t> types = support::linear_combinations(
                    op_t::quantize_linear, dst, src);
            const auto shapes = support::shapes_of(
                    op_t::quantize_linear, support::vector_shapes());
            record_generated(hashes,
                    text(row.name, " ", to_string(src), " to ", to_string(dst)),
                    [&] {
                for_sample(types, shapes, 59, [&](auto c) {
                    c.op = op_t::quantize_linear;
                    generate(row, problem_of(c));
                });
            });
        }
}

void hash_elementwise(const kernel_row_t &row, code_hashes_t &hashes) {
    for (const auto src : quantized_types)
        record_generated(hashes, text(row.name, " ", to_string(src)), [&] {
            for (const bool wide : {false, true})
                for (dim_t n = 0; n < support::chain_case_count(wide); n += 61)
                    generate(row, problem_of(support::make_chain_case(
                                          src, wide, n, 1)));
        });
}

void hash_interleave(code_hashes_t &hashes) {
    for (const bool interleaves : {false, true})
        for (const int bytes : {1, 2, 4})
            record_generated(hashes,
                    text(interleaves ? "interleave " : "deinterleave ", bytes,
                            " bytes"),
                    [&] {
                std::shared_ptr<const interleave_t> interleave;
                for (int count = 2; count <= planes_t::most_planes; ++count)
                    (void)make_jit_interleave({count, bytes, interleaves},
                            isa_avx512_core_vbmi, interleave);
            });
}

bool is_generated(const kernel_row_t &row) {
    return row.name.compare(0, 4, "jit_") == 0;
}

// Dynamic quantizes whose groups are rows, of a machine that takes them so.
void hash_dynamic_rows(code_hashes_t &hashes) {
    for (const auto src : plain_types)
        record_generated(hashes, text("dynamic rows ", to_string(src)), [&] {
            for (const dim_t last_cache_bytes : {no_cache_bytes, no_limit}) {
                const on_machine_t on(
                        {policy_named("Zen 4"), last_cache_bytes, 1 << 20});
                for (const dim_t cols : {64, 128, 1024, 1216})
                    for (const auto dst : {data_type_t::u8, data_type_t::s8})
                        for (const bool has_zps : {false, true}) {
                            std::shared_ptr<const kernel_t> kernel;
                            (void)make_jit_dynamic_rows(
                                    {src, dst, has_zps, 100, cols},
                                    isa_avx512_core, kernel);
                        }
            }
        });
}

} // namespace

void hash_rows(code_hashes_t &hashes) {
    for (const auto &row : dequantize_rows())
        if (is_generated(row)) {
            hash_dequantize(row, hashes);
            hash_panels(row, hashes);
            hash_eights(row, hashes);
            hash_f8_rows(row, hashes);
        }
    for (const auto &row : quantize_rows())
        if (is_generated(row)) hash_quantize(row, hashes);
    const kernel_row_t elementwise[] = {
#define X(name, isa, factory) {#name, isa, factory},
#include "kernels/elementwise/kernels.def"
#undef X
    };
    for (const auto &row : elementwise)
        if (is_generated(row)) hash_elementwise(row, hashes);
    hash_interleave(hashes);
    hash_dynamic_rows(hashes);
    for (const isa_t isa : {isa_avx2, isa_avx512_core})
        for (const auto src : plain_types) {
            const problem_t problem {{{100, -1, 0}, {1000, -1, 0}},
                    {{src, 0, {1000, 1}}, {data_type_t::f32, 0, {1, 0}}}, {}};
            record_generated(hashes,
                    text("ranges ", isa == isa_avx2 ? "avx2 " : "avx512_core ",
                            to_string(src)),
                    [&] {
                std::shared_ptr<const kernel_t> kernel;
                (void)make_jit_ranges(problem, isa, kernel);
            });
        }
}

} // namespace dnnl_dequant

#endif
