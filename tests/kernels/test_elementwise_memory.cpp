// Ways that the elementwise family takes only if dst is too large for the
// caches. The kernels are compared with the reference kernel.

#include <gtest/gtest.h>

#include "kernels/chain_case.hpp"
#include "kernels/expect_as_ref.hpp"

namespace dnnl_dequant {
namespace {

using support::chain_case_t;
using t = data_type_t;

// Rows of dst that begin at cache lines, and rows that do not.
constexpr dim_t sizes[] = {2560, 2563};

chain_case_t transposed(t type, dim_t rows, dim_t cols) {
    chain_case_t c;
    c.dims = c.groups = {rows, cols};
    c.tensors.push_back({type, {1, rows}, false, 0});
    c.values = support::values_t::ordinary;
    return c;
}

// src less its zero points, times its scales, a group along the columns each.
chain_case_t dequantized(t src, dim_t size) {
    chain_case_t c = transposed(src, size, size);
    c.groups = {1, 32};
    const dims_t strides {(size + 31) / 32, 1};
    c.tensors.push_back({src, strides, true, 0});
    c.tensors.push_back({t::f32, strides, true, 0});
    c.steps = {{step_kind_t::subtract, 1}, {step_kind_t::multiply, 2}};
    return c;
}

TEST(elementwise_in_memory, transposes_chains) {
    for (const dim_t size : sizes)
        for (const t src : {t::u8, t::s4}) {
            if (src == t::s4 && size % 2 != 0) continue; // no whole bytes
            auto c = dequantized(src, size);
            c.tensors.push_back({t::bf16, {size, 1}, false, 0});
            c.steps.push_back({step_kind_t::add, 3});
            c.tensors.push_back({t::f32, {size, 1}, false, 0});
            expect_as_ref(c, "jit_");
        }
}

TEST(elementwise_in_memory, transposes_chains_to_sixteen_bits) {
    for (const dim_t size : sizes)
        for (const t dst : {t::bf16, t::f16}) {
            auto c = dequantized(t::u8, size);
            c.dims = {size, 2 * size};
            c.tensors[1].strides[0] *= 2;
            c.tensors[2].strides[0] *= 2;
            c.tensors[1].strides[0] += 2;
            c.tensors[2].strides[0] += 2;
            c.tensors.push_back({dst, {2 * size, 1}, false, 0});
            expect_as_ref(c, "jit_");
        }
}

// Panels have groups along the dimension that is dense in src. The last group
// is short; groups come one after the other or four next to each other. A
// second tensor is read in place or transposed too.
TEST(elementwise_in_memory, transposes_chains_by_panels) {
    for (const t src : {t::u4, t::s8, t::f16})
        for (const bool both : {false, true}) {
            const dim_t rows = both ? 2472 : 2600, cols = 4098;
            auto c = transposed(src, rows, cols);
            c.groups = {128, 1};
            c.tensors.push_back({t::f32, {1, (rows + 127) / 128}, true, 0});
            const t other = both ? t::u8 : t::bf16;
            const dims_t strides = both ? dims_t {1, rows} : dims_t {cols, 1};
            c.tensors.push_back({other, strides, false, 0});
            c.steps = {{step_kind_t::multiply, 1},
                    {step_kind_t::round, -1, t::bf16}, {step_kind_t::add, 2}};
            c.tensors.push_back({t::bf16, {cols, 1}, false, 0});
            expect_as_ref(c, "jit_");
        }
}

// Short rows with gaps between them: heads that are taken out of rows.
TEST(elementwise_in_memory, takes_heads_out_of_rows) {
    for (const dim_t head : {64, 67}) {
        const dim_t heads = 8, rows = 1200;
        chain_case_t c;
        c.dims = c.groups = {heads, rows, head};
        c.values = support::values_t::ordinary;
        c.tensors.push_back({t::s8, {head, heads * head, 1}, false, 0});
        c.tensors.push_back({t::f32, {0, 0, 1}, false, 0});
        c.steps = {{step_kind_t::multiply, 1}};
        c.tensors.push_back({t::f32, {rows * head, head, 1}, false, 0});
        expect_as_ref(c, "jit_");
    }
}

TEST(elementwise_in_memory, transposes_copies) {
    for (const dim_t cols : sizes)
        for (const t type : {t::s4, t::u8, t::f16, t::f32}) {
            if (type == t::s4 && cols % 2 != 0) continue; // no whole bytes
            const dim_t rows = 9 * 1024 * 1024 / (cols * bits_of(type)) * 4;
            auto c = transposed(type, rows + 2, cols);
            c.tensors.push_back({type, {cols, 1}, false, 0});
            expect_as_ref(c, "copy_");
        }
}

// Rows of a tile go along two and three loops of few iterations.
TEST(elementwise_in_memory, transposes_copies_of_short_loops) {
    const std::vector<dims_t> sources
            = {{1, 3, 15, 15 * 37}, {1, 3 * 37, 3, 15 * 37}};
    for (const dim_t cols : {512, 611, 20011})
        for (const t type : {t::u8, t::f16, t::f32})
            for (const dims_t &strides : sources) {
                chain_case_t c;
                c.groups = dims_t {3, 5, 37, cols};
                c.dims = c.groups;
                c.tensors.push_back({type, strides, false, 0});
                c.tensors.push_back(
                        {type, {5 * 37 * cols, 37 * cols, cols, 1}, false, 0});
                expect_as_ref(c, "copy_");
            }
}

// Columns of a tile go along two loops in dst: those of the inner one are a
// group of src, such as the points of a filter. Blocks of columns begin
// anywhere in a group. Nibbles and 64 columns are tiles by themselves.
TEST(elementwise_in_memory, transposes_copies_of_short_columns) {
    for (const dim_t cols : {2, 3, 9, 25, 63, 64})
        for (const dim_t outer : {2, 31, 200})
            for (const t type : {t::s4, t::u8, t::f16, t::f32}) {
                const dim_t rows = 130;
                if (type == t::s4 && cols % 2 != 0) continue;
                chain_case_t c;
                c.groups = dims_t {rows, outer, cols};
                c.dims = c.groups;
                c.tensors.push_back({type, {1, rows, rows * outer}, false, 0});
                c.tensors.push_back({type, {outer * cols, cols, 1}, false, 0});
                expect_as_ref(c, "copy_");
            }
}

TEST(elementwise_in_memory, copies_short_rows) {
    for (const dim_t cols : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33})
        for (const t type : {t::u8, t::f16, t::f32})
            for (const dim_t pitch : {cols, cols + 1, 2 * cols}) {
                if (cols == 1 && pitch > 1) continue; // not dense
                chain_case_t c;
                c.groups = dims_t {64, 501, cols};
                c.dims = c.groups;
                c.tensors.push_back({type, {cols, 64 * cols, 1}, false, 0});
                c.tensors.push_back({type, {501 * pitch, pitch, 1}, false, 0});
                expect_as_ref(c, "copy_");
            }
}

TEST(elementwise_in_memory, copies_rows) {
    for (const t type : {t::s4, t::u8, t::f32}) {
        chain_case_t c;
        c.dims = c.groups = {64, 50, 1002};
        c.tensors.push_back({type, {1010, 64 * 1010, 1}, false, 0});
        c.tensors.push_back({type, {50 * 1002, 1002, 1}, false, 0});
        expect_as_ref(c, "copy_");
    }
}

} // namespace
} // namespace dnnl_dequant
