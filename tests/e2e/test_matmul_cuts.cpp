// Products whose columns cannot be cut into blocks, or into many.

#include <gtest/gtest.h>

#include "e2e/matmul_graph.hpp"
#include "e2e/plugin.hpp"
#include "oneapi/dnnl/dnnl.h"
#include "support/cross_product.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

// Returns the kernel's name.
std::string expect_exact(const matmul_case_t &c, const chain_graph_t &g) {
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    const auto partitions = built.get_partitions();
    EXPECT_EQ(partitions.size(), 1u);
    if (partitions.size() != 1) return "";
    const auto got = exact_values(g, 3), expected = exact_values(g, 3);
    const std::string kernel = run(g, partitions[0], got);
    compute_exactly(g, expected);
    EXPECT_EQ(support::difference(g.tensors.back().type, expected.back().data(),
                      got.back().data(), g.tensors.back().span()),
            "")
            << to_string(c);
    return kernel;
}

// The weights of one row are read once, where there are kernels for that. Gaps
// between nibbles may begin within bytes.
void expect_skinny(const matmul_case_t &c, const std::string &kernel) {
    const dim_t bits = bits_of(c.quantized), cols = c.weights.back();
    if (!cpu_has(dnnl_cpu_isa_avx2) || (!c.dense && bits < 8)
            || cols * bits % 8 != 0)
        return;
    EXPECT_TRUE(kernel.find("lanes") != std::string::npos
                || kernel.find("column_groups") != std::string::npos
                || kernel.find("transposed") != std::string::npos)
            << kernel << ": " << to_string(c);
}

// Each half of them is a matrix of dst.
TEST(matmul_cuts_large, moves_halves_of_many_columns) {
    for (const bool transposed : {true, false})
        for (const dim_t rows : {2, 9}) {
            const dim_t half = transposed ? 16411 : 32771;
            matmul_case_t c;
            c.src = {rows, 64};
            c.weights = {64, 2 * half};
            c.quantized = data_type_t::u8;
            c.zps = data_type_t::undef;
            c.group = 32;
            c.transpose_b = transposed;
            chain_graph_t g = graph_of(c);
            chain_node_t reshape {op::kind::StaticReshape, {}, {}};
            reshape.shape = {rows, 2, half};
            reshape.inputs = {g.nodes.back().outputs[0]};
            reshape.outputs = {add_tensor(g, data_type_t::f32, reshape.shape)};
            g.nodes.push_back(reshape);
            chain_node_t transpose {op::kind::StaticTranspose, {}, {}};
            transpose.order = {1, 0, 2};
            transpose.inputs = reshape.outputs;
            transpose.outputs
                    = {add_tensor(g, data_type_t::f32, {2, rows, half})};
            g.nodes.push_back(transpose);
            expect_exact(c, g);
        }
}

// Scales of f32 are read where the user has them. Their last one is followed by
// a page that faults.
TEST(matmul_cuts, of_few_rows_reads_no_scales_beyond_the_last) {
    using t = data_type_t;
    for (dim_t rows = 1; rows <= 12; ++rows)
        for (const dim_t cols : {4, 20, 40, 64, 65})
            for (const t quantized : {t::u4, t::s8})
                for (const dim_t group : {dim_t(-1), dim_t(16), dim_t(32)}) {
                    matmul_case_t c;
                    c.src = {rows, 96};
                    c.weights = {96, cols};
                    c.quantized = quantized;
                    c.zps = rows % 2 == 0 ? t::undef : quantized;
                    c.group = group;
                    c.transpose_b = true;
                    expect_exact(c, graph_of(c));
                }
}

// Columns that share scales lie side by side or one after the other, the last
// ones may be fewer. They are multiplied by a few rows or by blocks.
TEST(matmul_cuts, keeps_columns_that_share_scales_apart) {
    using t = data_type_t;
    dim_t number = 0;
    for (const t quantized : {t::u4, t::s4, t::u8, t::s8})
        for (const t type : {t::f32, t::bf16, t::f16})
            for (const dim_t group : {1, 16})
                for (const dim_t col_group :
                        {8, 16, 24, 32, 64, 96, 100, 128, 384, 2})
                    for (const dim_t rows : {1, 5, 13}) {
                        if (number++ % support::every()) continue;
                        matmul_case_t c;
                        const dim_t depth = number / 4 % 2 ? 80 : 256;
                        c.src = {rows, depth};
                        c.weights = {depth, 384};
                        c.quantized = quantized;
                        const t zps[] = {quantized, t::undef, t::s8};
                        c.zps = zps[number % 3];
                        c.type = type;
                        c.group = group;
                        c.col_group = col_group;
                        c.transpose_b = number % 4 == 0;
                        c.dense = number % 5 != 0;
                        c.seed = static_cast<uint64_t>(number);
                        expect_exact(c, graph_of(c));
                    }
}

// Each batch has weights, scales and zero points of its own, and few rows.
TEST(matmul_cuts, reads_batches_of_weights_where_they_begin) {
    using t = data_type_t;
    dim_t number = 0;
    for (const t quantized : {t::u4, t::s8, t::u8})
        for (const t type : {t::f32, t::bf16, t::f16})
            for (const dim_t col_group : {1, 32, 4})
                for (const dim_t rows : {1, 3, 13})
                    for (const bool transposed : {false, true}) {
                        if (number++ % support::every()) continue;
                        matmul_case_t c;
                        c.src = {2, 3, rows, 64};
                        c.weights = {2, 3, 64, 128};
                        if (number % 3 == 0) c.weights[0] = 1;
                        c.quantized = quantized;
                        c.zps = number % 2 ? t::undef : t::s8;
                        c.type = type;
                        c.group = 32;
                        c.col_group = col_group;
                        c.transpose_b = transposed;
                        c.dense = number % 5 != 0;
                        c.seed = static_cast<uint64_t>(number);
                        const auto kernel = expect_exact(c, graph_of(c));
                        if (rows == 1 && (col_group != 4 || transposed))
                            expect_skinny(c, kernel);
                    }
}

// Zero points of 32 bits are near all weights, or some are far. A 1 in a row of
// src shows each bit of a difference.
TEST(matmul_cuts, subtracts_zero_points_of_32_bits) {
    using t = data_type_t;
    for (const t quantized : {t::u4, t::s8})
        for (const t type : {t::f32, t::bf16})
            for (const bool transposed : {false, true})
                for (const dim_t rows : {1, 3})
                    for (const int32_t far : {9, 65537, INT32_MIN}) {
                        matmul_case_t c;
                        c.src = {rows, 128};
                        c.weights = {128, 160};
                        c.quantized = quantized;
                        c.zps = t::s32;
                        c.type = type;
                        c.group = 32;
                        c.transpose_b = transposed;
                        const chain_graph_t g = graph_of(c);
                        const auto values = [&] {
                            chain_values_t made = exact_values(g, 3);
                            const size_t zps = g.nodes[0].inputs[2],
                                         src = g.nodes[1].inputs[0];
                            auto *const at
                                    = static_cast<int32_t *>(made[zps].data());
                            for (dim_t i = 0; i < g.tensors[zps].span(); ++i)
                                at[i] = i == 161 ? far
                                                 : static_cast<int32_t>(i % 7);
                            for (dim_t i = 0; i < g.tensors[src].span(); ++i)
                                support::put_bits(type, made[src].data(), i,
                                        support::round_to(
                                                support::format_of(type),
                                                i % 128 == 40 ? 1 : 0));
                            return made;
                        };
                        const chain_values_t expected = values(),
                                             got = values();
                        compute_exactly(g, expected);
                        const std::string kernel
                                = run(g, only_partition(g), got);
                        if (rows == 1) expect_skinny(c, kernel);
                        EXPECT_EQ(support::difference(type,
                                          expected.back().data(),
                                          got.back().data(),
                                          g.tensors.back().span()),
                                "")
                                << to_string(c) << ", " << far;
                    }
}

// The columns behind the last whole panel are copied.
TEST(matmul_cuts, multiplies_any_number_of_columns) {
    using t = data_type_t;
    dim_t number = 0;
    for (const t quantized : {t::u4, t::s8, t::u2})
        for (const t type : {t::f32, t::bf16, t::f16})
            for (const dim_t cols : {130, 260, 516, 1028})
                for (const dim_t rows : {1, 2, 8}) {
                    if (number++ % support::every()) continue;
                    matmul_case_t c;
                    c.src = {rows, 256};
                    c.weights = {256, cols};
                    c.quantized = quantized;
                    c.zps = number % 2 ? t::undef : quantized;
                    c.type = type;
                    c.group = number % 4 ? 128 : -1;
                    c.dense = number % 5 != 0;
                    c.seed = static_cast<uint64_t>(number);
                    const auto kernel = expect_exact(c, graph_of(c));
                    if (rows == 1) expect_skinny(c, kernel);
                }
}

// A scale for each row of [K,N] weights: all columns share it.
TEST(matmul_cuts, multiplies_rows_that_have_a_scale_each) {
    using t = data_type_t;
    for (const t quantized : {t::u4, t::u8})
        for (const t type : {t::f32, t::bf16, t::f16})
            for (const dim_t rows : {1, 4, 20})
                for (const bool transposed : {false, true}) {
                    matmul_case_t c;
                    c.src = {rows, 96};
                    c.weights = {96, 256};
                    c.quantized = quantized;
                    c.zps = rows == 4 ? t::undef : quantized;
                    c.type = type;
                    c.group = 1;
                    c.col_group = 256;
                    c.transpose_b = transposed;
                    const auto kernel = expect_exact(c, graph_of(c));
                    if (rows == 1) expect_skinny(c, kernel);
                }
}

// Each thread has several to go through, depth by depth, and one has fewer.
TEST(matmul_cuts_large, takes_blocks_of_columns_in_turns) {
    for (const bool transposed : {true, false}) {
        matmul_case_t c;
        c.src = {13, 288};
        c.weights = {288, 4104};
        c.quantized = data_type_t::u4;
        c.group = 32;
        c.transpose_b = transposed;
        expect_exact(c, graph_of(c));
    }
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
