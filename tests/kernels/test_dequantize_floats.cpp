// Rows of floats of 8 bits, and of f16, as a Zen 4 takes them, compared with
// the reference kernel: every code of 8 bits by scales of every kind. They are
// in groups of 32, longer, with scales along the columns and with one scale,
// with gaps and without, in caches and past them.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/dequantize/dequantize.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/on_machine.hpp"
#include "support/guarded_buffer.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;
using support::guarded_buffer_t;
using edge_t = guarded_buffer_t::edge_t;

struct rows_t {
    dim_t rows, cols;
    dims_t scales;                      // strides
    dim_t src_pitch = 0, dst_pitch = 0; // 0: no gap
};

const dims_t by_row {1, 0}, by_col {0, 1}, by_both {777, 1}, one {0, 0};

// Every end of a step, and each number of rows at once.
std::vector<rows_t> all_rows() {
    std::vector<rows_t> all;
    for (const dim_t rows : {1, 2, 7, 130})
        for (const auto &[src, dst] :
                {std::pair<dim_t, dim_t> {0, 0}, {45, 0}, {0, 64}, {32, 40}})
            all.push_back({rows, 32, by_row, src, dst});
    for (const dim_t cols : {64, 65, 95, 96, 127, 128, 320, 513, 1000})
        for (const dims_t &scales : {by_row, by_col, by_both, one})
            for (const dim_t pitch : {0, 1024})
                all.push_back({5, cols, scales, pitch, pitch});
    return all;
}

// The first are as the table of rows wants them; the others have one that is
// small.
const float largest = std::numeric_limits<float>::max();
const std::vector<float> ordinary {1.f, 285.f / 256, -287.f / 256, 0x1p-100f,
        -0x1p-100f, 0.f, -0.f, 1e-30f, -3e37f, largest, INFINITY, -INFINITY,
        0.37f, -1.f / 448};
const std::vector<float> with_small {1.f, 0x1.fffffep-101f, -1e-40f, 1e-45f,
        -0x1p-126f, 0.7f, -0x1p-110f, NAN};

class float_rows : public ::testing::TestWithParam<std::tuple<t, t>> {
protected:
    t src() const { return std::get<0>(GetParam()); }
    t dst() const { return std::get<1>(GetParam()); }

    problem_t problem_of(const rows_t &r) const {
        const dim_t src_pitch = r.src_pitch > 0 ? r.src_pitch : r.cols;
        const dim_t dst_pitch = r.dst_pitch > 0 ? r.dst_pitch : r.cols;
        return {{{r.rows, -1, 0}, {r.cols, -1, 0}},
                {{src(), 0, {src_pitch, 1}}, {t::f32, 0, r.scales},
                        {dst(), 0, {dst_pitch, 1}}},
                {{step_kind_t::multiply, 1}}};
    }

    static size_t bytes_of_operand(const problem_t &problem, size_t o) {
        const auto &operand = problem.operands[o];
        dim_t elements = 1;
        for (size_t l = 0; l < problem.loops.size(); ++l)
            elements += (problem.loops[l].extent - 1) * operand.strides[l];
        return static_cast<size_t>(bytes_of(operand.type, elements));
    }

    // Runs the kernel; the codes and the scales begin anywhere in their order.
    static guarded_buffer_t run(const kernel_t &kernel,
            const problem_t &problem, const std::vector<float> &scales,
            size_t first, edge_t edge) {
        guarded_buffer_t src(bytes_of_operand(problem, 0), edge);
        guarded_buffer_t by(bytes_of_operand(problem, 1), edge);
        guarded_buffer_t dst(bytes_of_operand(problem, 2), edge, 6 * first);
        for (size_t i = 0; i < src.size(); ++i)
            static_cast<uint8_t *>(src.data())[i]
                    = static_cast<uint8_t>(i * 41 + i / 256 + first);
        for (size_t i = 0; i < by.size() / sizeof(float); ++i)
            std::memcpy(static_cast<char *>(by.data()) + i * sizeof(float),
                    &scales[(i + first) % scales.size()], sizeof(float));
        std::memset(dst.data(), 0x5a, dst.size());
        void *const buffers[] = {src.data(), by.data(), dst.data()};
        kernel.run(buffers, 0, kernel.work_amount());
        EXPECT_TRUE(dst.intact());
        return dst;
    }

    void expect_as_ref(const rows_t &rows, const std::vector<float> &scales) {
        const problem_t problem = problem_of(rows);
        std::shared_ptr<const kernel_t> ref;
        ASSERT_TRUE(make_ref_dequantize(problem, isa_none, ref).ok());
        for (const auto &row : dequantize_rows()) {
            if (!runs_here(row) || row.isa == isa_none) continue;
            std::shared_ptr<const kernel_t> kernel;
            const result_t made = row.factory(problem, row.isa, kernel);
            ASSERT_TRUE(made.ok()) << made.reason << to_string(problem);
            for (const edge_t edge : {edge_t::start, edge_t::end})
                for (const size_t first : {size_t {0}, size_t {1}}) {
                    const auto want = run(*ref, problem, scales, first, edge);
                    const auto got = run(*kernel, problem, scales, first, edge);
                    const auto count = static_cast<dim_t>(want.size())
                                       / bytes_of(dst(), 1);
                    ASSERT_EQ(support::difference(
                                      dst(), want.data(), got.data(), count),
                            "")
                            << row.name << ' ' << to_string(problem);
                }
        }
    }
};

TEST_P(float_rows, equal_reference) {
    const dim_t caches[][2] = {{32 << 20, 1 << 20}, {32 << 20, no_cache_bytes},
            {no_cache_bytes, no_cache_bytes}};
    for (const auto &cache : caches) {
        const on_machine_t on({policy_named("Zen 4"), cache[0], cache[1]});
        for (const rows_t &rows : all_rows())
            for (const auto &scales : {ordinary, with_small}) {
                expect_as_ref(rows, scales);
                if (HasFatalFailure()) return;
            }
    }
}

// Rows to bf16 have the bits of the reference's NaN, too.
class float_rows_to_bf16 : public float_rows {};

TEST_P(float_rows_to_bf16, have_its_nans) {
    const kernel_row_t &best = dequantize_rows().back();
    ASSERT_TRUE(has(best.isa, isa_avx512_core_bf16));
    ASSERT_TRUE(has(best.isa, isa_avx512_core_vbmi));
    if (!runs_here(best))
        GTEST_SKIP() << "this machine lacks AVX512_BF16 with VBMI";
    const on_machine_t on({policy_named("Zen 4"), 32 << 20, 1 << 20});
    const std::vector<float> finite(ordinary.begin(), ordinary.begin() + 5);
    for (const rows_t &rows :
            {rows_t {30, 32, by_row}, {9, 129, by_row}, {9, 129, by_col}}) {
        const problem_t problem = problem_of(rows);
        std::shared_ptr<const kernel_t> ref, kernel;
        ASSERT_TRUE(make_ref_dequantize(problem, isa_none, ref).ok());
        ASSERT_TRUE(best.factory(problem, best.isa, kernel).ok());
        const auto want = run(*ref, problem, finite, 0, edge_t::end);
        const auto got = run(*kernel, problem, finite, 0, edge_t::end);
        EXPECT_EQ(std::memcmp(want.data(), got.data(), want.size()), 0)
                << to_string(problem);
    }
}

std::string name_of(
        const ::testing::TestParamInfo<float_rows::ParamType> &made) {
    return std::string(to_string(std::get<0>(made.param))) + '_'
           + to_string(std::get<1>(made.param));
}

INSTANTIATE_TEST_SUITE_P(every, float_rows,
        ::testing::Combine(::testing::Values(t::f8_e4m3, t::f8_e5m2, t::f16),
                ::testing::Values(t::f32, t::bf16, t::f16)),
        name_of);

INSTANTIATE_TEST_SUITE_P(every, float_rows_to_bf16,
        ::testing::Combine(::testing::Values(t::f8_e4m3, t::f8_e5m2, t::f16),
                ::testing::Values(t::bf16)),
        name_of);

} // namespace
} // namespace dnnl_dequant
