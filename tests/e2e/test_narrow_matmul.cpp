// Products of 16 bits on CPUs that multiply them. Blocks (narrow_matmul) and a
// few rows (narrow_rows) go by code of our own. Elsewhere products are f32,
// except oneDNN's blocks in the run that pretends another CPU (`cpu`).

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>

#include "e2e/matmul_graph.hpp"
#include "e2e/plugin.hpp"
#include "oneapi/dnnl/dnnl.h"
#include "support/cross_product.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;
using mode_t = dnnl::fpmath_mode;

bool cpu_multiplies_bf16() {
    return cpu_has(dnnl_cpu_isa_avx512_core_bf16);
}

// A preloaded library may claim what the CPU lacks. Only oneDNN's code can run.
bool cpu_is_pretended() {
    return std::getenv("DNNL_DEQUANT_TEST_SIXTEEN_BITS") != nullptr;
}

// A preloaded library that claims the instructions counts, too.
TEST(narrow_matmul, is_taken_where_it_is_asked_for) {
    const bool must
            = cpu_is_pretended() && cpu_has(dnnl_cpu_isa_avx512_core_vnni);
    EXPECT_TRUE(!must || cpu_multiplies_bf16());
}

// Whether few rows, and blocks without tiles, multiply pairs. Intel's CPUs
// mostly multiply f32, which is faster there (kernels/machine.def).
bool pairs_are_wanted() {
    const char *policy = std::getenv("DNNL_DEQUANT_POLICY");
    if (policy == nullptr) return __builtin_cpu_is("intel") == 0;
    const std::string name = policy;
    return name != "Cascade Lake" && name != "Xeon with AMX";
}

const std::string by_pairs = "jit_matmul_avx512_core_bf16",
                  by_tiles = "jit_matmul_amx_bf16",
                  by_column = "jit_matmul_k_lanes_avx512_core_bf16",
                  by_row = "jit_matmul_n_lanes_avx512_core_bf16",
                  in_tiles = "jit_matmul_transposed_avx512_core_bf16",
                  of_f32, // whatever it is
        by_any = "any";   // of f32 or bf16

// The most rows that multiply pairs where they are not wanted for more.
constexpr dim_t most_pair_rows = 2;

// Returns the kernel of blocks of so many rows.
std::string by_own_blocks(dim_t rows = 9) {
    if (may_use_tiles()) return by_tiles;
    if (pairs_are_wanted()) return by_pairs;
    return rows > most_pair_rows ? of_f32 : by_any;
}

// The same with 16 rows or more.
std::string by_blocks() {
    const bool is_onednn
            = cpu_has(dnnl_cpu_isa_avx512_core_amx) && !may_use_tiles();
    return is_onednn ? "onednn_matmul_bf16" : by_own_blocks();
}

// Returns the kernel of few rows, which multiplies pairs where they are wanted.
const std::string &by_few_rows(const std::string &kernel, dim_t rows) {
    if (pairs_are_wanted()) return kernel;
    return rows > most_pair_rows ? of_f32 : by_any;
}

bool is_narrow(const std::string &kernel) {
    const std::string end = "_bf16";
    return kernel.size() > end.size()
           && kernel.compare(kernel.size() - end.size(), end.size(), end) == 0;
}

std::string run_fused(const chain_graph_t &g, const chain_values_t &values,
        mode_t mode = mode_t::strict, bool apply_to_int = false) {
    graph built(dnnl::engine::kind::cpu);
    built.set_fpmath_mode(mode, apply_to_int);
    build(g, built);
    const auto partitions = built.get_partitions();
    EXPECT_EQ(partitions.size(), 1u);
    return run(g, partitions.at(0), values);
}

// Runs the graph, which ends with the product or what follows it.
void check_exact(const chain_graph_t &g, const std::string &expected_kernel,
        mode_t mode = mode_t::strict, bool apply_to_int = false) {
    const chain_values_t expected = exact_values(g, 3);
    const chain_values_t got = exact_values(g, 3);
    compute_exactly(g, expected);
    const std::string kernel = run_fused(g, got, mode, apply_to_int);
    if (expected_kernel != of_f32 && cpu_multiplies_bf16())
        EXPECT_TRUE(expected_kernel == by_any || kernel == expected_kernel)
                << kernel << ", expected " << expected_kernel;
    else EXPECT_FALSE(is_narrow(kernel)) << kernel;
    const size_t dst = g.nodes.back().outputs[0];
    EXPECT_TRUE(got[dst].intact());
    EXPECT_EQ(support::difference(g.tensors[dst].type, expected[dst].data(),
                      got[dst].data(), g.tensors[dst].span()),
            "");
}

matmul_case_t bf16_case(const dims_t &src, const dims_t &weights) {
    matmul_case_t c;
    c.src = src;
    c.weights = weights;
    c.type = t::bf16;
    return c;
}

// Up to 24 rows by [N,K] are few. Blocks are at most 512 rows, 2048 deep and
// 256 columns.
TEST(narrow_matmul, is_the_formula_where_sums_are_exact) {
    const matmul_cross_t cross {
            {{{25, 1}, {1, 1}}, {{27, 33}, {33, 65}}, {{26, 2100}, {2100, 9}},
                    {{25, 30}, {30, 600}}, {{28, 24}, {24, 257}},
                    {{530, 48}, {48, 66}}, {{3, 9, 24}, {24, 130}},
                    {{3, 26, 16}, {3, 16, 9}}, {{2, 2, 27, 12}, {2, 1, 12, 7}},
                    {{2, 1, 28, 40}, {3, 40, 96}}},
            {t::undef, t::u4}, {t::bf16}, {0, -1, 8, 6}};
    for (const matmul_case_t &c : cases_of(cross, 17)) {
        SCOPED_TRACE(to_string(c));
        check_exact(graph_of(c), by_blocks());
        if (HasFailure()) return;
    }
}

TEST(narrow_matmul, takes_what_follows) {
    matmul_case_t c = bf16_case({2, 21, 24}, {24, 300});
    c.group = 8;
    const dims_t shape {2, 21, 300};
    chain_graph_t g = graph_of(c);
    const size_t residual = add_tensor(g, t::bf16, shape);
    g = with(g, {op::kind::Add, {}, {}}, t::bf16, shape, {residual});
    check_exact(g, by_blocks());
    g = with(g, {op::kind::ReLU, {}, {}}, t::bf16, shape);
    check_exact(g, by_blocks());
    g = with(g, {op::kind::TypeCast, {}, {}}, t::f32, shape);
    check_exact(g, by_blocks());
    g = with(g, {op::kind::StaticTranspose, {}, {}, {1, 0, 2}}, t::f32,
            {21, 2, 300});
    check_exact(g, by_blocks());
}

TEST(narrow_matmul, rounds_only_what_the_graph_lets_it) {
    matmul_case_t c;
    c.src = {20, 64};
    c.weights = {64, 80};
    c.group = 16;
    for (const t zps : {t::u4, t::undef})
        for (const bool apply_to_int : {false, true}) {
            c.zps = zps;
            const chain_graph_t g = graph_of(c);
            check_exact(g, of_f32, mode_t::strict, apply_to_int);
            check_exact(g, by_blocks(), mode_t::bf16, apply_to_int);
            check_exact(g, by_blocks(), mode_t::any, apply_to_int);
            check_exact(g, of_f32, mode_t::f16, apply_to_int);
            check_exact(g, of_f32, mode_t::tf32, apply_to_int);
        }
    // Nothing says that f16 may be rounded to bf16.
    c.type = t::f16;
    check_exact(graph_of(c), of_f32, mode_t::any);
    // AMX, where the CPU has it for f16, or blocks of f32.
    check_exact(graph_of(c), of_f32);
}

// Fewer rows do not fill oneDNN's tiles.
TEST(narrow_matmul_large, has_blocks_of_its_own_for_fewer_rows) {
    if (cpu_is_pretended()) GTEST_SKIP() << "the CPU may lack AVX512_BF16";
    for (const dim_t rows : {9, 13, 15})
        for (const dim_t depth : {1, 2, 63, 64, 2049})
            for (const dim_t cols : {1, 31, 32, 128, 333})
                check_exact(graph_of(bf16_case({rows, depth}, {depth, cols})),
                        by_own_blocks());
    // Groups of odd sizes cut blocks of odd depths.
    for (const bool transpose_b : {false, true}) {
        matmul_case_t c = bf16_case({40, 4098}, {4098, 40});
        c.group = 2049;
        c.transpose_b = transpose_b;
        check_exact(graph_of(c), by_own_blocks());
    }
    // Each batch has its own weights, and few rows.
    check_exact(graph_of(bf16_case({4, 9, 16}, {4, 16, 32})), by_own_blocks());
}

// Weights that are whole tiles of AMX are made such, up to 32 rows: nibbles,
// and bytes by [K,N]. Returns the kernel, or nothing.
std::string by_made_tiles(const matmul_case_t &c) {
    constexpr dim_t most_rows = 32, depth = 128, columns = 16, group = 32,
                    cols_of_bytes = 64, least_rows_of_bytes = 3;
    const dim_t rows = c.src[c.src.size() - 2];
    const dim_t cols = c.transpose_b ? columns : depth;
    const bool in_groups = c.group <= 0 || c.group >= c.weights[0]
                           || c.group % depth == 0
                           || (depth % c.group == 0 && c.group % group == 0);
    const bool is_nibble = bits_of(c.quantized) == 4;
    if (!may_use_tiles() || rows > most_rows || c.weights[0] % depth != 0
            || c.weights[1] % (is_nibble ? cols : cols_of_bytes) != 0
            || !in_groups)
        return "";
    if (!is_nibble)
        return c.transpose_b || rows < least_rows_of_bytes
                       ? ""
                       : "jit_matmul_n_lanes_amx_bf16";
    return c.transpose_b ? "jit_matmul_k_lanes_amx_bf16"
                         : "jit_matmul_transposed_amx_bf16";
}

// Up to four rows by nibbles by row are multiplied in whole tiles.
std::string kernel_of(const matmul_case_t &c) {
    const std::string made = by_made_tiles(c);
    if (!made.empty()) return made;
    constexpr dim_t tile = 128, most_rows_of_tiles = 4, most_rows_by_row = 8,
                    most_rows_by_column = 24, least_rows_of_amx = 8;
    const bool is_nibble = bits_of(c.quantized) == 4;
    const dim_t rows = c.src[c.src.size() - 2];
    if (c.transpose_b) {
        const bool in_bytes
                = c.group <= 0 || c.group % (is_nibble ? 4 : 2) == 0;
        if (!in_bytes || rows > most_rows_by_column) return by_own_blocks(rows);
        return may_use_tiles() && rows >= least_rows_of_amx
                       ? by_tiles
                       : by_few_rows(by_column, rows);
    }
    const auto in_whole = [](dim_t size) { return size % tile == 0; };
    const bool has_tiles = is_nibble && in_whole(c.weights[0])
                           && in_whole(c.weights[1])
                           && (c.group <= 0 || in_whole(c.group));
    if (has_tiles && rows <= most_rows_of_tiles)
        return by_few_rows(in_tiles, rows);
    return rows <= most_rows_by_row ? by_few_rows(by_row, rows)
                                    : by_own_blocks();
}

TEST(narrow_rows, are_the_formula_where_sums_are_exact) {
    const struct {
        bool by_column;
        dim_t depth, cols;
        std::vector<dim_t> groups;
    } shapes[] = {{true, 34, 3, {0, -1}}, {true, 300, 70, {-1, 128, 64, 32}},
            {true, 96, 200, {0, 32, 96}}, {true, 2080, 9, {128, 32}},
            {true, 100, 9, {16, 48}}, {false, 256, 256, {0, -1, 128}},
            {false, 384, 128, {-1, 384, 128}}, {false, 640, 384, {128}},
            {false, 100, 96, {0, -1, 20}}, {false, 96, 64, {32}}};
    dim_t n = 0;
    const auto check = [&](matmul_case_t c) {
        for (const t zps : {t::u8, t::undef, t::s16}) {
            c.zps = zps;
            c.bias = n % 2;
            // A gap is of one element, and a nibble's row would begin in a
            // byte.
            c.dense = bits_of(c.quantized) == 4 || n % 3;
            c.seed = support::first_seed() + static_cast<uint64_t>(n);
            if (n++ % (7 * support::every())) continue;
            SCOPED_TRACE(to_string(c));
            check_exact(graph_of(c), kernel_of(c));
        }
    };
    for (const dim_t rows :
            {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 23, 24, 32, 33})
        for (const t quantized : {t::u4, t::s4, t::u8, t::s8})
            for (const auto &shape : shapes)
                for (const dim_t group : shape.groups) {
                    matmul_case_t c = bf16_case(
                            {rows, shape.depth}, {shape.depth, shape.cols});
                    c.quantized = quantized;
                    c.group = group;
                    c.transpose_b = shape.by_column;
                    check(c);
                }
}

TEST(narrow_rows, round_only_what_the_graph_lets_them) {
    matmul_case_t c;
    c.src = {3, 128};
    c.weights = {128, 128};
    for (const bool transpose_b : {false, true}) {
        c.transpose_b = transpose_b;
        const std::string kernel = kernel_of(c);
        const chain_graph_t g = graph_of(c);
        check_exact(g, of_f32, mode_t::strict);
        check_exact(g, kernel, mode_t::bf16);
        check_exact(g, kernel, mode_t::any);
        check_exact(g, of_f32, mode_t::f16);
        check_exact(g, of_f32, mode_t::tf32);
    }
    c.type = t::f16;
    check_exact(graph_of(c), of_f32, mode_t::any);
}

TEST(narrow_rows, are_for_weights_of_batches_and_for_shared_ones) {
    matmul_case_t c = bf16_case({2, 4, 128}, {128, 128});
    const std::string made = by_made_tiles(c);
    const std::string kernel = made.empty() ? by_few_rows(by_row, 8) : made;
    check_exact(graph_of(c), kernel);
    c.transpose_a = true;
    check_exact(graph_of(c), kernel);
    check_exact(graph_of(bf16_case({4, 8, 16}, {4, 16, 32})),
            by_few_rows(by_row, 8));
}

TEST(narrow_rows, leave_the_rest_to_others) {
    // No pairs of rows, or few columns that are no whole vectors.
    check_exact(graph_of(bf16_case({4, 97}, {97, 128})), of_f32);
    check_exact(graph_of(bf16_case({4, 96}, {96, 72})), by_own_blocks());
    // Groups of three bytes, where two are a unit.
    matmul_case_t c = bf16_case({4, 120}, {120, 16});
    c.transpose_b = true;
    c.group = 6;
    check_exact(graph_of(c), by_own_blocks());
}

// Each sum's error; stock's is of the weights that are dequantized before.
double largest_error(
        const chain_graph_t &g, const chain_values_t &values, const void *dst) {
    double largest = 0;
    for_each_product(g, 1, values, [&](const sum_t &sum) {
        const double got = support::float_at(t::bf16, dst, sum.element);
        largest = std::max(largest,
                std::fabs(got - sum.sum) / (sum.magnitude + std::exp2(-100)));
    });
    return largest;
}

// Terms of every magnitude, which cancel.
void fill_adversarially(const support::tensor_t &src, void *data) {
    for (dim_t i = 0; i < src.span(); ++i)
        support::put_bits(src.type, data, i,
                support::round_to(support::format_of(src.type),
                        std::sin(static_cast<double>(i))
                                * std::exp2(static_cast<double>(i % 21 - 10))));
}

void check_errors(matmul_case_t c) {
    for (const bool adversarial : {false, true}) {
        SCOPED_TRACE(to_string(c));
        const chain_graph_t g = graph_of(c);
        const auto values = initial_values(
                g, support::values_t::ordinary, support::first_seed());
        const size_t src = g.nodes[1].inputs[0];
        if (adversarial) fill_adversarially(g.tensors[src], values[src].data());
        run_fused(g, values);
        compute(g, 0, values);
        const support::guarded_buffer_t stock(g.tensors.back().bytes());
        // Below AVX-512 it has no bf16.
        if (!run_stock(g, 1, values, stock.data())) continue;
        EXPECT_LE(largest_error(g, values, values.back().data()),
                largest_error(g, values, stock.data()) * 1.001
                        + std::exp2(-24));
    }
}

TEST(narrow_matmul_large, errs_no_more_than_stock) {
    for (const dims_t &weights : {dims_t {2500, 70}, dims_t {513, 64}}) {
        matmul_case_t c = bf16_case({18, weights[0]}, weights);
        c.quantized = t::s8;
        c.zps = t::s8;
        c.group = 64;
        check_errors(c);
    }
}

TEST(narrow_rows_large, err_no_more_than_stock) {
    for (const dim_t rows : {1, 7})
        for (const bool transpose_b : {false, true}) {
            matmul_case_t c = bf16_case({rows, 2560}, {2560, 128});
            c.transpose_b = transpose_b;
            c.group = 128;
            check_errors(c);
            c.quantized = t::s8;
            c.zps = t::s8;
            check_errors(c);
        }
}

// Finds a function of OpenMP, whichever runtime the library brings.
template <typename function_t>
function_t openmp(const char *name) {
    return reinterpret_cast<function_t>(dlsym(RTLD_DEFAULT, name));
}

void check_bits(const matmul_case_t &c) {
    const auto set_threads = openmp<void (*)(int)>("omp_set_num_threads");
    const int before = openmp<int (*)()>("omp_get_max_threads")();
    const chain_graph_t g = graph_of(c);
    const auto run_once = [&] {
        auto values = initial_values(
                g, support::values_t::ordinary, support::first_seed());
        run_fused(g, values);
        return values;
    };
    for (const int threads : {1, 2, 3}) {
        set_threads(threads);
        const auto first = run_once();
        for (int again = 0; again < 3; ++again)
            EXPECT_EQ(
                    support::difference(t::bf16, first.back().data(),
                            run_once().back().data(), g.tensors.back().span()),
                    "")
                    << threads << " threads";
    }
    set_threads(before);
}

TEST(narrow_matmul_large, has_the_same_bits_at_every_run) {
    matmul_case_t c = bf16_case({530, 700}, {700, 520});
    c.group = 32;
    check_bits(c);
}

TEST(narrow_rows_large, have_the_same_bits_at_every_run) {
    matmul_case_t c = bf16_case({5, 640}, {640, 1536});
    c.group = 128;
    check_bits(c);
    c.transpose_b = true;
    check_bits(c);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
