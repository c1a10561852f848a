// Every kernel of the quantize family against the reference, over the cross
// product of types, granularities, layouts and sizes; and its division against
// the machine's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/convert.hpp"
#include "base/float_format.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/on_machine.hpp"
#include "kernels/run_case.hpp"
#include "problem/make_problem.hpp"
#include "support/linear_cases.hpp"

namespace dnnl_dequant {
namespace {

using support::dequantize_case_t;
using op_t = support::dequantize_op_t;

constexpr int failures_to_show = 3;

// Empty if the kernel is right about the case.
std::string check_row(const kernel_row_t &row, const dequantize_case_t &c,
        const case_buffers_t &expected) {
    const problem_t problem = problem_of(c);
    std::shared_ptr<const kernel_t> kernel;
    const result_t made = row.factory(problem, row.isa, kernel);
    if (made.ok()) {
        if (kernel->name() != row.name)
            return std::string("is named ") + kernel->name();
        return check_kernel(*kernel, c, expected);
    }
    if (made.status != status_t::unimplemented || made.reason.empty())
        return "refused without a reason";
    const bool may_refuse
            = row.isa != isa_none
              && (problem.loops.empty() || problem.dst().strides.back() != 1);
    return may_refuse ? "" : "refused: " + made.reason;
}

class quantize_kernels : public ::testing::TestWithParam<data_type_t> {
protected:
    // All the types that go with this dst; of so many cases, one.
    void run(const std::vector<dequantize_case_t> &shapes, dim_t sample) {
        int failures = 0;
        // Together these have every type of x, scale and zero point.
        for (const auto op : {op_t::dynamic_quantize, op_t::quantize_linear,
                     op_t::extended_quantize_linear})
            for (const auto plain : support::plain_types(op)) {
                auto types
                        = support::linear_combinations(op, GetParam(), plain);
                if (op == op_t::dynamic_quantize && is_integer(GetParam()))
                    for (const auto zps : {data_type_t::s32, data_type_t::u32,
                                 data_type_t::u16, data_type_t::u4})
                        types.push_back(
                                {plain, data_type_t::f32, zps, GetParam()});
                support::for_each_case(types, support::shapes_of(op, shapes),
                        [&](const dequantize_case_t &shown, dim_t n) {
                    if (n % sample != 0 && support::only_case() < 0)
                        return true;
                    const auto c = with_offsets(shown);
                    const case_buffers_t expected = expected_of(c);
                    for (const auto &row : quantize_rows()) {
                        if (!runs_here(row)) continue;
                        const auto wrong = check_row(row, c, expected);
                        if (wrong.empty()) continue;
                        ++failures;
                        ADD_FAILURE()
                                << row.name << ": " << wrong << "\n  case " << n
                                << ": " << to_string(c)
                                << "\n  problem: " << to_string(problem_of(c));
                    }
                    return failures < failures_to_show;
                });
            }
    }
};

TEST_P(quantize_kernels, equal_reference_on_small_odd_shapes) {
    run(support::small_shapes(), 31);
}

TEST_P(quantize_kernels, equal_reference_about_multiples_of_vectors) {
    run(support::vector_shapes(), 29);
}

TEST_P(quantize_kernels, equal_reference_where_dst_leaves_the_caches) {
    for (const auto &policy : machine_policies()) {
        const on_machine_t machine({policy, no_cache_bytes, no_cache_bytes});
        run(support::small_shapes(), 311);
        run(support::vector_shapes(), 211);
    }
}

INSTANTIATE_TEST_SUITE_P(every, quantize_kernels,
        ::testing::Values(data_type_t::u8, data_type_t::s8, data_type_t::u16,
                data_type_t::s16, data_type_t::u32, data_type_t::s32,
                data_type_t::u4, data_type_t::s4, data_type_t::u2,
                data_type_t::s2, data_type_t::f8_e4m3, data_type_t::f8_e5m2,
                data_type_t::f8_e4m3fnuz, data_type_t::f8_e5m2fnuz,
                data_type_t::f4_e2m1, data_type_t::f16, data_type_t::bf16,
                data_type_t::f32),
        [](const auto &param_info) { return to_string(param_info.param); });

// --- the division

// x in so many places near the ties of dst's integers times the scale.
std::vector<float> near_ties(
        float scale, dim_t most, support::random_t &random) {
    std::vector<float> xs;
    while (xs.size() < 240) {
        const double tie
                = static_cast<double>(random.between(-most, most)) + 0.5;
        float x = static_cast<float>(tie * static_cast<double>(scale));
        for (int i = 0; i < 2; ++i)
            x = std::nextafter(x, -HUGE_VALF);
        for (int i = 0; i < 5; ++i, x = std::nextafter(x, HUGE_VALF))
            xs.push_back(x);
    }
    for (const float x : {0.f, -0.f, 1e-45f, 1e-38f, 1e38f, HUGE_VALF,
                 -HUGE_VALF, std::nanf("")})
        xs.push_back(x);
    return xs;
}

float scale_like(uint32_t n, support::random_t &random) {
    uint32_t bits = static_cast<uint32_t>(random.bits()) & 0x7fffffffu;
    switch (n % 8) {
    case 0: bits |= 0x7fffffu; break; // a significand of all ones
    case 1: bits = (bits | 0x7fffffu) - 1u - n % 5; break;
    case 2: bits &= ~0x7fffffu; break; // a power of two
    case 3: bits = (bits & ~0x7fffffu) + 1u + n % 5; break;
    case 4: break; // any, NaN and infinities among them
    default:       // about one
        bits = (bits & 0x7fffffu)
               | static_cast<uint32_t>(random.between(120, 134)) << 23;
    }
    float scale;
    std::memcpy(&scale, &bits, sizeof(scale));
    return n % 3 == 0 ? -scale : scale;
}

void expect_true_division(data_type_t dst, dim_t most) {
    const dim_t count = 248;
    const problem_t problem = make_problem({count}, {count},
            {{data_type_t::f32, {1}, false}, {data_type_t::f32, {0}, true},
                    {dst, {1}, false}},
            {{step_kind_t::divide, 1}});
    const auto range = range_of(dst);
    for (const auto &row : quantize_rows()) {
        if (!runs_here(row)) continue;
        std::shared_ptr<const kernel_t> kernel;
        ASSERT_TRUE(row.factory(problem, row.isa, kernel).ok()) << row.name;
        support::random_t random(20263);
        for (uint32_t n = 0; n < 20000; ++n) {
            float scale = scale_like(n, random);
            auto xs = near_ties(scale, most, random);
            std::vector<int32_t> got(xs.size());
            void *const buffers[] = {xs.data(), &scale, got.data()};
            kernel->run(buffers, 0, kernel->work_amount());
            for (size_t i = 0; i < xs.size(); ++i) {
                const int64_t wanted = std::min(
                        std::max(nearest_int(xs[i] / scale), range.lowest),
                        range.highest);
                const int64_t stored
                        = load_int(dst, got.data(), static_cast<dim_t>(i));
                ASSERT_EQ(stored, wanted)
                        << row.name << ": " << xs[i] << " / " << scale;
            }
        }
    }
}

// --- sums of quotients that 32 bits or 16 can hardly hold

std::vector<float> far_quotients() {
    std::vector<float> values {HUGE_VALF, -HUGE_VALF, std::nanf("")};
    for (const int bits : {7, 8, 15, 16, 22, 24, 30, 31})
        for (const float sign : {1.f, -1.f}) {
            const float power = std::ldexp(sign, bits);
            for (const int less : {0, 1, 8, 15, 16, 22})
                for (const float toward : {1.f, -1.f})
                    values.push_back(power + toward * std::ldexp(1.f, less));
            values.push_back(std::nextafter(power, 0.f));
        }
    return values;
}

struct sums_case_t {
    data_type_t dst, zps;
    dim_t cols;
    int64_t zp;
    bool zps_vary; // along the columns, all of them alike
};

std::ostream &operator<<(std::ostream &out, const sums_case_t &c) {
    return out << c.zp << " of " << to_string(c.zps) << " to "
               << to_string(c.dst) << ", " << c.cols << " columns";
}

problem_t problem_of(const sums_case_t &c) {
    return make_problem({c.cols, c.cols}, {c.cols, c.cols},
            {{data_type_t::f32, {c.cols, 1}, false},
                    {data_type_t::f32, {0, 0}, true},
                    {c.zps, {0, c.zps_vary ? 1 : 0}, true},
                    {c.dst, {c.cols, 1}, false}},
            {{step_kind_t::divide, 1}, {step_kind_t::offset, 2}});
}

// One far quotient in every place of a row by turns.
void expect_sums_as_ref(const sums_case_t &c) {
    const problem_t problem = problem_of(c);
    std::vector<std::shared_ptr<const kernel_t>> kernels;
    for (const auto &row : quantize_rows()) {
        if (!runs_here(row)) continue;
        kernels.emplace_back();
        const result_t made = row.factory(problem, row.isa, kernels.back());
        ASSERT_TRUE(made.ok()) << row.name << ": " << made.reason;
    }
    const auto cols = static_cast<size_t>(c.cols);
    std::vector<int32_t> zps(cols);
    for (dim_t col = 0; col < c.cols; ++col)
        store_int(c.zps, zps.data(), col, c.zp);
    float scale = 1.f;
    for (const float far : far_quotients()) {
        std::vector<float> x(cols * cols, 3.f);
        for (size_t at = 0; at < cols; ++at)
            x[at * cols + at] = far;
        const auto run = [&](const kernel_t &kernel) {
            std::vector<int16_t> got(x.size());
            void *const buffers[] = {x.data(), &scale, zps.data(), got.data()};
            kernel.run(buffers, 0, kernel.work_amount());
            return got;
        };
        const auto expected = run(*kernels.back());
        for (const auto &kernel : kernels)
            ASSERT_EQ(run(*kernel), expected)
                    << kernel->name() << ": " << far << " and " << c;
    }
}

TEST(quantize_sums, are_those_of_the_reference_however_far) {
    using t = data_type_t;
    for (const auto dst : {t::u8, t::s8, t::u4, t::s4, t::u16, t::s16})
        for (const auto zps : {dst, t::s32})
            for (const dim_t cols : {16, 32, 64, 83})
                for (const int most : {100, 4000000}) {
                    const auto range = range_of(zps);
                    for (const int64_t zp : {int64_t {most}, -int64_t {most}})
                        for (const bool vary : {false, true})
                            expect_sums_as_ref({dst, zps, cols,
                                    std::clamp(zp, range.lowest, range.highest),
                                    vary});
                    if (HasFatalFailure()) return;
                }
}

// --- the division, of so many bits

TEST(quantize_division, is_true_to_8_bits) {
    expect_true_division(data_type_t::s8, 130);
}

TEST(quantize_division, is_true_to_16_bits) {
    expect_true_division(data_type_t::u16, 65540);
}

TEST(quantize_division, is_true_to_32_bits) {
    expect_true_division(data_type_t::s32, (dim_t {1} << 24) + 3);
}

// --- the division of floats of 16 bits by each other, all of them

// The part of x that has a scale of its own, and the shape of all x then.
enum class scaled_t {
    tensor,  // [65536]
    rows,    // [2048, 32], two of which are stored together
    columns, // [16, 4096]
};

struct short_floats_t {
    data_type_t x, scale, dst, zps; // zps undef: none
    int64_t zp;
    scaled_t scaled;
};

std::ostream &operator<<(std::ostream &out, const short_floats_t &c) {
    const char *const names[] = {"a tensor", "rows", "columns"};
    return out << to_string(c.x) << " / " << to_string(c.scale) << " of "
               << names[static_cast<int>(c.scaled)] << " + " << c.zp << " of "
               << to_string(c.zps) << " to " << to_string(c.dst);
}

// Finite scales of every significand, but for every second or third of f16's.
// Their exponents and signs vary.
std::vector<uint16_t> short_scales(data_type_t type) {
    const auto format = float_format_of(type);
    std::vector<uint16_t> scales;
    support::random_t random(20264);
    for (unsigned n = 0; n < 1u << format.significand_bits;
            n += type == data_type_t::f16 ? 1 + n % 3 : 1) {
        // About 2^-9, or from 2^-12 to 2.
        const auto exponent = static_cast<unsigned>(
                format.bias + (n % 2 == 0 ? -9 : random.between(-12, 1)));
        const unsigned sign = n % 5 == 0 ? format.sign() : 0;
        scales.push_back(static_cast<uint16_t>(
                sign | exponent << format.significand_bits | n));
    }
    for (const unsigned few : {1u, 3u, 0x2ffu}) // f16: subnormal
        if (type == data_type_t::f16)
            scales.push_back(static_cast<uint16_t>(few));
    return scales;
}

// All x of a type, and what becomes of them by some scales.
class short_table_t {
public:
    explicit short_table_t(const short_floats_t &c)
        : c_(c)
        , cols_(c.scaled == scaled_t::rows        ? 32
                  : c.scaled == scaled_t::columns ? 4096
                                                  : count)
        , scales_(c.scaled == scaled_t::tensor    ? 1
                  : c.scaled == scaled_t::columns ? cols_
                                                  : count / cols_)
        , wanted_(count)
        , got_(count) {
        for (dim_t i = 0; i < count; ++i) {
            xs_.push_back(static_cast<uint16_t>(i));
            numbers_.push_back(load_f32(c.x, xs_.data(), i));
        }
        if (has_zps()) store_int(c.zps, &zp_, 0, c.zp);
    }

    problem_t problem() const {
        const dim_t by_row = c_.scaled == scaled_t::rows ? 1 : 0;
        const dim_t by_col = c_.scaled == scaled_t::columns ? 1 : 0;
        std::vector<tensor_view_t> operands {
                {c_.x, {cols_, 1}, false}, {c_.scale, {by_row, by_col}, true}};
        std::vector<step_t> steps {{step_kind_t::divide, 1}};
        if (has_zps()) {
            operands.push_back({c_.zps, {0, 0}, true});
            steps.push_back({step_kind_t::offset, 2});
        }
        operands.push_back({c_.dst, {cols_, 1}, false});
        const dims_t dims {count / cols_, cols_};
        const dims_t shared {by_row ? 1 : dims[0], by_col ? 1 : dims[1]};
        return make_problem(dims, shared, operands, steps);
    }

    // @param first The scales are those from there on, over and over.
    void check(const kernel_t &kernel, const std::vector<uint16_t> &scales,
            dim_t first) {
        std::vector<uint16_t> codes;
        std::vector<float> divisors;
        for (dim_t i = 0; i < scales_; ++i) {
            codes.push_back(
                    scales[static_cast<size_t>(first + i) % scales.size()]);
            divisors.push_back(load_f32(c_.scale, codes.data(), i));
        }
        const auto range = range_of(c_.dst);
        for (dim_t i = 0; i < count; ++i) {
            const auto scale
                    = c_.scaled == scaled_t::columns ? i % cols_ : i / cols_;
            const float quotient = numbers_[static_cast<size_t>(i)]
                                   / divisors[static_cast<size_t>(scale)];
            store_int(c_.dst, wanted_.data(), i,
                    std::clamp(nearest_int(quotient) + c_.zp, range.lowest,
                            range.highest));
        }
        std::vector<void *> buffers {xs_.data(), codes.data()};
        if (has_zps()) buffers.push_back(&zp_);
        buffers.push_back(got_.data());
        kernel.run(buffers.data(), 0, kernel.work_amount());
        ASSERT_EQ(got_, wanted_)
                << kernel.name() << ": scales from " << divisors[0] << " on";
    }

    dim_t scales() const { return scales_; }

private:
    static constexpr dim_t count = 1 << 16;

    bool has_zps() const { return c_.zps != data_type_t::undef; }

    const short_floats_t c_;
    const dim_t cols_, scales_;
    std::vector<uint16_t> xs_;
    std::vector<float> numbers_;
    uint8_t zp_ = 0;
    std::vector<uint8_t> wanted_, got_;
};

class short_quotients : public ::testing::TestWithParam<short_floats_t> {};

// A tensor meets every scale. Rows and columns meet some in each of 40 turns.
TEST_P(short_quotients, are_true) {
    short_table_t table(GetParam());
    const auto scales = short_scales(GetParam().scale);
    const dim_t turns
            = table.scales() == 1 ? static_cast<dim_t>(scales.size()) : 40;
    const problem_t problem = table.problem();
    for (const auto &row : quantize_rows()) {
        if (!runs_here(row)) continue;
        std::shared_ptr<const kernel_t> kernel;
        ASSERT_TRUE(row.factory(problem, row.isa, kernel).ok()) << row.name;
        for (dim_t turn = 0; turn < turns; ++turn) {
            constexpr dim_t odd = 7;
            table.check(
                    *kernel, scales, table.scales() == 1 ? turn : odd * turn);
            if (HasFatalFailure()) return;
        }
    }
}

std::vector<short_floats_t> short_cases() {
    using t = data_type_t;
    std::vector<short_floats_t> cases {
            {t::bf16, t::f16, t::u8, t::u8, 128, scaled_t::tensor},
            {t::f16, t::bf16, t::s8, t::s8, -127, scaled_t::tensor}};
    for (const auto scaled :
            {scaled_t::tensor, scaled_t::rows, scaled_t::columns})
        for (const t x : {t::bf16, t::f16}) {
            cases.push_back({x, x, t::s8, t::undef, 0, scaled});
            cases.push_back({x, x, t::s8, t::s8, -128, scaled});
            cases.push_back({x, x, t::u8, t::u8, 255, scaled});
            cases.push_back({x, x, t::u8, t::s8, -128, scaled});
            cases.push_back({x, x, t::s4, t::undef, 0, scaled});
            cases.push_back({x, x, t::u4, t::u4, 15, scaled});
        }
    return cases;
}

INSTANTIATE_TEST_SUITE_P(
        every, short_quotients, ::testing::ValuesIn(short_cases()));

} // namespace
} // namespace dnnl_dequant
