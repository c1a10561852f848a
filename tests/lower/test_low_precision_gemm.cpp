// In which type blocks are multiplied, and that oneDNN's primitive multiplies
// them, also where it has no instructions of its own for that.

#include "lower/low_precision_gemm.hpp"

#include <gtest/gtest.h>

#include "base/convert.hpp"
#include "primitives/matmul.hpp"
#include "support/guarded_buffer.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

// A product of factors that are rounded to these types and computed in f32.
product_t product_of(t src, t weights) {
    product_t product;
    product.src.chain.begin(src, {32, 64}, {64, 1});
    product.weights.chain.begin(t::s8, {64, 96}, {96, 1});
    product.weights.chain.set_type(t::f32);
    const result_t scaled = product.weights.chain.apply(
            step_kind_t::multiply, {t::f32, {{}, {}}});
    EXPECT_TRUE(scaled.ok()) << scaled.reason;
    product.weights.chain.set_type(weights);
    for (composition_t *factor : {&product.src, &product.weights})
        factor->chain.set_type(t::f32);
    return product;
}

struct choice_t {
    t src, weights;
    dnnl_fpmath_mode_t mode;
    t type; // where the CPU has everything
};

constexpr choice_t choices[] = {
        {t::bf16, t::bf16, dnnl_fpmath_mode_strict, t::bf16},
        {t::f16, t::f16, dnnl_fpmath_mode_strict, t::f16},
        {t::f32, t::f32, dnnl_fpmath_mode_strict, t::f32},
        {t::f32, t::f32, dnnl_fpmath_mode_bf16, t::bf16},
        {t::f32, t::f32, dnnl_fpmath_mode_any, t::bf16},
        {t::f32, t::f32, dnnl_fpmath_mode_f16, t::f32},
        {t::f32, t::f32, dnnl_fpmath_mode_tf32, t::f32},
        {t::bf16, t::f32, dnnl_fpmath_mode_strict, t::f32},
        {t::bf16, t::f32, dnnl_fpmath_mode_bf16, t::bf16},
        {t::f32, t::bf16, dnnl_fpmath_mode_bf16, t::bf16},
        {t::f16, t::bf16, dnnl_fpmath_mode_any, t::f32},
        {t::f32, t::f16, dnnl_fpmath_mode_any, t::f32},
};

TEST(narrow_type, rounds_no_more_than_the_graph) {
    for (const choice_t &choice : choices)
        for (const isa_t isa : {isa_none, isa_avx512_core_vnni,
                     isa_avx512_core_bf16, isa_amx_int8, isa_amx_fp16})
            for (const dim_t rows : {15, 16}) {
                t type = t::undef;
                const result_t result = choose_narrow_type(
                        product_of(choice.src, choice.weights), choice.mode,
                        isa, rows, type);
                const bool can = has(isa,
                        choice.type == t::f16 ? isa_amx_fp16 : isa_amx_int8);
                SCOPED_TRACE(testing::Message()
                             << to_string(choice.src) << " by "
                             << to_string(choice.weights) << ", mode "
                             << choice.mode << ", isa " << isa << ", " << rows
                             << " rows");
                EXPECT_EQ(type, can && rows == 16 ? choice.type : t::f32);
                EXPECT_EQ(result.ok(),
                        choice.type == t::f32 || (can && rows == 16));
            }
}

TEST(narrow_type, says_why_not) {
    t type;
    const product_t product = product_of(t::bf16, t::bf16);
    const auto reason = [&](isa_t isa, dim_t rows) {
        return choose_narrow_type(
                product, dnnl_fpmath_mode_strict, isa, rows, type)
                .reason;
    };
    EXPECT_EQ(reason(isa_avx512_core_bf16, 32),
            "onednn_matmul_bf16: AMX for bf16 is not available");
    EXPECT_EQ(reason(isa_amx_int8, 3),
            "onednn_matmul_bf16: blocks have 3 rows; expected 16 or more");
    EXPECT_EQ(reason(isa_amx_bf16, 32),
            "onednn_matmul_bf16: blocks are of type bf16, which generated code "
            "multiplies; expected f16");
}

constexpr dim_t src_pitch = 100;

product_blocks_t blocks_of(
        dim_t rows, const dims_t &depths, const dims_t &cols) {
    product_blocks_t blocks;
    blocks.row_blocks = {{0, rows, 0}};
    blocks.depth_blocks = depths;
    blocks.col_blocks = cols;
    blocks.pitch = 128;
    return blocks;
}

// Small integers: exact in bf16, and so are their sums in f32.
float number(dim_t i) {
    return static_cast<float>(i % 7 - 3);
}

std::vector<uint16_t> numbers(dim_t count) {
    std::vector<uint16_t> result(static_cast<size_t>(count));
    for (dim_t i = 0; i < count; ++i)
        store_f32(t::bf16, result.data(), i, number(i));
    return result;
}

TEST(low_precision_gemm, multiplies_and_accumulates) {
    // Called here, so that the program is linked with oneDNN.
    const auto isa = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
    const unsigned needed = dnnl_cpu_isa_avx512_core;
    if ((isa & needed) != needed) GTEST_SKIP() << "this machine lacks AVX-512";
    const product_blocks_t blocks = blocks_of(19, {48, 48, 33}, {128, 67, 1});
    std::shared_ptr<const gemm_t> gemm;
    const result_t made
            = make_low_precision_gemm(t::bf16, blocks, src_pitch, gemm);
    ASSERT_TRUE(made.ok()) << made.reason;
    EXPECT_EQ(gemm->name(), std::string("onednn_matmul_bf16"));
    EXPECT_EQ(gemm->type(), t::bf16);
    EXPECT_TRUE(gemm->takes_rows());
    const auto a = numbers(19 * 100), b = numbers(48 * 128);
    std::vector<float> c(19 * 128, 77.f);
    const auto bytes = static_cast<size_t>(gemm->scratch_bytes(128, 48));
    std::vector<char> scratch(bytes + 64);
    gemm_block_t block {a.data(), b.data(), c.data(), 128, 128, 19, 0, 0, false,
            {}, scratch.data()};
    size_t space = scratch.size();
    std::align(64, bytes, block.scratch, space);
    for (const dim_t cols : {128, 67, 1})
        for (const bool accumulates : {false, true}) {
            const std::vector<float> before = c;
            const dim_t depth = accumulates ? 33 : 48;
            block.cols = cols;
            block.depth = depth;
            block.accumulates = accumulates;
            ASSERT_EQ(gemm->run(block), status_t::success);
            for (dim_t r = 0; r < 19; ++r)
                for (dim_t n = 0; n < 128; ++n) {
                    // Beside an only column c is unspecified.
                    if (cols == 1 && n == 1) continue;
                    const auto i = static_cast<size_t>(r * 128 + n);
                    float sum = accumulates || n >= cols ? before[i] : 0;
                    for (dim_t k = 0; k < depth && n < cols; ++k)
                        sum += number(r * 100 + k) * number(k * 128 + n);
                    ASSERT_EQ(c[i], sum) << r << ' ' << n;
                }
        }
    // A shape that it was not made for.
    block.rows = 18;
    EXPECT_EQ(gemm->run(block), status_t::runtime_error);
}

// f32, so that any machine has the primitive.
TEST(low_precision_gemm, multiplies_rows_of_src_as_they_are) {
    constexpr dim_t rows = 19, depth = 129, most_depth = 48, pitch = 128;
    constexpr dim_t block_of_weights = most_depth * pitch;
    product_blocks_t blocks = blocks_of(rows, {48, 48, 33}, {pitch, 67});
    blocks.rows = 2 * rows;
    blocks.depth = depth;
    blocks.row_blocks = {{0, rows, 0}, {rows, rows, 0}};
    blocks.src_operands = blocks.weights_operands = 1;
    float_blocks_t plan;
    plan.src.pitch = depth + 3;
    plan.ldb = pitch;
    const result_t made = make_low_precision_gemm(
            t::f32, blocks, plan.src.pitch, plan.gemm);
    ASSERT_TRUE(made.ok()) << made.reason;
    // Each block of weights lies by itself and is copied.
    plan.weights = block_kernels_t({t::f32, t::f32},
            {{{{0, 0}, {0}, 1},
                    {{0, 0, 2 * block_of_weights, 0, 4 * block_of_weights, 0},
                            {0, 0, 0}, 1},
                    {{0, 0, block_of_weights, 0}, {0, 0}, 1}}});
    plan.weights.set_copied_bytes({}, block_of_weights * sizeof(float));

    std::vector<float> src(2 * rows * (depth + 3)),
            weights(6 * block_of_weights);
    for (auto *values : {&src, &weights})
        for (size_t i = 0; i < values->size(); ++i)
            (*values)[i] = number(static_cast<dim_t>(i));
    const auto multiplier = make_multiplier(blocks, std::move(plan));
    EXPECT_EQ(multiplier->scratch().shared, 0);
    EXPECT_TRUE(multiplier->prepare(1).empty());
    const support::guarded_buffer_t own(
            static_cast<size_t>(round_up(multiplier->scratch().own, 64)));
    void *buffers[] = {src.data(), weights.data()};
    const stage_memory_t memory {buffers, nullptr, own.data()};
    for (size_t block = 0; block < 2; ++block)
        for (size_t col = 0; col < 2; ++col) {
            std::vector<float> sums(rows * pitch, 77.f);
            ASSERT_EQ(
                    multiplier->run({block, col, col + 1}, memory, sums.data()),
                    status_t::success);
            for (dim_t r = 0; r < rows; ++r)
                for (dim_t n = 0; n < blocks.col_blocks[col]; ++n) {
                    float sum = 0;
                    for (dim_t k = 0; k < depth; ++k) {
                        const dim_t row = static_cast<dim_t>(block) * rows + r;
                        const dim_t of_block
                                = k / most_depth * 2 + static_cast<dim_t>(col);
                        sum += number(row * (depth + 3) + k)
                               * number(of_block * block_of_weights
                                        + k % most_depth * pitch + n);
                    }
                    ASSERT_EQ(sums[static_cast<size_t>(r * pitch + n)], sum)
                            << block << ' ' << col << ' ' << r << ' ' << n;
                }
        }
    EXPECT_TRUE(own.intact());
}

TEST(low_precision_gemm, says_why_there_is_none) {
    std::shared_ptr<const gemm_t> gemm;
    const result_t made = make_low_precision_gemm(
            t::f16, blocks_of(16, {64}, {64}), src_pitch, gemm);
    if (made.ok()) { // this CPU multiplies f16
        EXPECT_EQ(gemm->name(), std::string("onednn_matmul_f16"));
        return;
    }
    EXPECT_EQ(gemm, nullptr);
    EXPECT_EQ(made.status, status_t::unimplemented);
    EXPECT_EQ(made.reason.rfind("onednn_matmul_f16: oneDNN ", 0), 0u)
            << made.reason;
}

// f32 takes the code here that CPUs with instructions for 16 bits use for
// those. oneDNN wants memory for it, if it accumulates.
TEST(matmul_primitive, sums_in_the_memory_that_it_is_given) {
    constexpr dim_t rows = 33, depth = 70, cols = 65, pitch = 128;
    matmul_desc_t desc {t::f32, rows, depth, cols, 100, pitch, pitch, true};
    std::shared_ptr<const matmul_primitive_t> primitive;
    const result_t made = make_matmul_primitive(desc, primitive);
    ASSERT_TRUE(made.ok()) << made.reason;
    std::vector<float> a(rows * 100), b(depth * pitch), c(rows * pitch, 5.f);
    for (auto *values : {&a, &b})
        for (size_t i = 0; i < values->size(); ++i)
            (*values)[i] = number(static_cast<dim_t>(i));
    const auto bytes = static_cast<size_t>(primitive->scratchpad_bytes());
    const support::guarded_buffer_t scratchpad((bytes + 63) / 64 * 64);
    ASSERT_EQ(
            primitive->execute(a.data(), b.data(), c.data(), scratchpad.data()),
            status_t::success);
    for (dim_t r = 0; r < rows; ++r)
        for (dim_t n = 0; n < pitch; ++n) {
            float sum = 5;
            for (dim_t k = 0; k < depth && n < cols; ++k)
                sum += number(r * 100 + k) * number(k * pitch + n);
            ASSERT_EQ(c[static_cast<size_t>(r * pitch + n)], sum)
                    << r << ' ' << n;
        }
    EXPECT_TRUE(scratchpad.intact());
}

} // namespace
} // namespace dnnl_dequant
