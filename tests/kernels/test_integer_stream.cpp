// A few rows of integers times weights that are read as a stream: random cases
// against 64-bit sums, bit for bit, every buffer at an inaccessible page.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sstream>

#include "base/convert.hpp"
#include "kernels/integer_gemm/integer_kernel.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/on_machine.hpp"
#include "support/cross_product.hpp"
#include "support/guarded_buffer.hpp"
#include "support/numbers.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;
using support::guarded_buffer_t;
using support::random_t;

struct case_t {
    integer_stream_weights_t weights;
    dim_t rows = 1, cols = 1, first_col = 0;
    // Every byte of src and of the weights, or anything: sums of 16 bits come
    // to their ends by the largest only.
    int src_byte = -1, weights_byte = -1;

    bool by_column() const { return weights.format.depth_stride == 1; }
    std::string text() const {
        const integer_format_t &format = weights.format;
        std::ostringstream out;
        out << (weights.is_src_signed ? "s8" : "u8")
            << (format.has_src_zps ? " with zps" : "") << " by "
            << to_string(format.weights) << ", zps " << to_string(format.zps)
            << ", scales " << to_string(format.scales) << ", "
            << (by_column() ? "by column" : "by row") << ", rows " << rows
            << ", depth " << weights.depth << " in " << weights.group
            << ", columns " << cols << " from " << first_col << ", bytes "
            << src_byte << " and " << weights_byte;
        return out.str();
    }
};

size_t size_of(t type, dim_t count) {
    return static_cast<size_t>(bytes_of(type, count));
}

// The elements that parameters span.
dim_t span(const case_t &c, dim_t group_stride, dim_t col_stride) {
    return (c.weights.groups() - 1) * group_stride
           + (c.first_col + c.cols - 1) * col_stride + 1;
}

class run_t {
public:
    run_t(const case_t &c, random_t &random)
        : c_(c)
        , w_(c.weights)
        , pitch_(round_up(w_.depth, integer_stream_t::src_unit))
        , c_pitch_(round_up(c.cols, integer_stream_t::panel))
        , weights_(size_of(w_.format.weights,
                  (w_.depth - 1) * w_.format.depth_stride
                          + (c.first_col + c.cols - 1) * w_.format.col_stride
                          + 1))
        , scales_(size_of(w_.format.scales,
                  span(c, w_.scales_group_stride, w_.format.scales_stride)))
        , zps_(w_.format.zps == t::undef
                          ? 1
                          : size_of(w_.format.zps,
                                    span(c, w_.zps_group_stride,
                                            w_.format.zps_stride)))
        , a_(size_of(t::u8, c.rows * pitch_))
        , dst_(size_of(t::f32, c.rows * c_pitch_)) {
        support::fill_integers(
                w_.format.weights, weights_.data(), weights_.size(), random);
        if (c.weights_byte >= 0)
            std::memset(weights_.data(), c.weights_byte, weights_.size());
        support::fill_floats(w_.format.scales, scales_.data(), scales_.size(),
                support::values_t::ordinary, random);
        if (w_.format.zps != t::undef)
            support::fill_integers(
                    w_.format.zps, zps_.data(), zps_.size(), random);
        for (dim_t r = 0; r < c.rows; ++r)
            fill_row(r, random);
    }

    void check(const integer_stream_t &stream) {
        const std::vector<float> expected = this->expected();
        const guarded_buffer_t own(
                static_cast<size_t>(stream.own_bytes(c_.rows, c_.cols)));
        for (dim_t r = 0; r < c_.rows; ++r)
            stream.arrange(a() + r * pitch_);
        auto *const dst = static_cast<float *>(dst_.data());
        std::fill_n(dst, c_.rows * c_pitch_, 0.f);
        stream.run(weights_.data(), scales_.data(), zps_.data(),
                {a(), pitch_, c_.rows, row_groups_.data(), w_.groups(),
                        c_.first_col, c_.cols, dst, c_pitch_, own.data()});
        for (dim_t r = 0; r < c_.rows; ++r)
            for (dim_t n = 0; n < c_.cols; ++n)
                ASSERT_EQ(dst[r * c_pitch_ + n],
                        expected[static_cast<size_t>(r * c_.cols + n)])
                        << r << ' ' << n;
        EXPECT_TRUE(weights_.intact() && scales_.intact() && zps_.intact()
                    && a_.intact() && dst_.intact() && own.intact());
    }

private:
    uint8_t *a() const { return static_cast<uint8_t *>(a_.data()); }
    int32_t value(dim_t row, dim_t k) const {
        const uint8_t byte = a()[row * pitch_ + k];
        return w_.is_src_signed ? static_cast<int8_t>(byte) : byte;
    }

    void fill_row(dim_t row, random_t &random) {
        std::memset(a() + row * pitch_, 0, static_cast<size_t>(pitch_));
        support::fill_integers(t::u8, a() + row * pitch_,
                static_cast<size_t>(w_.depth), random);
        if (c_.src_byte >= 0)
            std::memset(a() + row * pitch_, c_.src_byte,
                    static_cast<size_t>(w_.depth));
        for (dim_t g = 0; g < w_.groups(); ++g) {
            const auto zp = static_cast<int32_t>(
                    w_.format.has_src_zps ? random.between(-128, 255) : 0);
            int32_t sum = 0;
            for_group(g, [&](dim_t k) { sum += value(row, k) - zp; });
            row_groups_.push_back(make_row_group(
                    zp, sum, static_cast<float>(random.between(-99, 99)) / 64));
        }
    }

    template <typename body_t>
    void for_group(dim_t g, const body_t &body) const {
        const dim_t end = std::min((g + 1) * w_.group, w_.depth);
        for (dim_t k = g * w_.group; k < end; ++k)
            body(k);
    }

    std::vector<float> expected() const {
        std::vector<float> result;
        for (dim_t r = 0; r < c_.rows; ++r)
            for (dim_t n = 0; n < c_.cols; ++n) {
                float sum = 0;
                for (dim_t g = 0; g < w_.groups(); ++g)
                    sum = add_group(sum, r, c_.first_col + n, g);
                result.push_back(sum);
            }
        return result;
    }

    float add_group(float to, dim_t row, dim_t col, dim_t g) const {
        const integer_format_t &format = w_.format;
        const auto &of_row
                = row_groups_[static_cast<size_t>(row * w_.groups() + g)];
        const int64_t zp = format.zps == t::undef
                                   ? 0
                                   : load_int(format.zps, zps_.data(),
                                             g * w_.zps_group_stride
                                                     + col * format.zps_stride);
        int64_t sum = 0;
        for_group(g, [&](dim_t k) {
            sum += (value(row, k) - of_row.zp)
                   * (load_int(format.weights, weights_.data(),
                              k * format.depth_stride + col * format.col_stride)
                           - zp);
        });
        const float scaled = static_cast<float>(sum)
                             * load_f32(format.scales, scales_.data(),
                                     g * w_.scales_group_stride
                                             + col * format.scales_stride);
        return std::fma(scaled, of_row.scale, to);
    }

    const case_t c_;
    const integer_stream_weights_t &w_ = c_.weights;
    const dim_t pitch_, c_pitch_;
    const guarded_buffer_t weights_, scales_, zps_, a_, dst_;
    std::vector<row_group_t> row_groups_;
};

void pick_strides(case_t &c, random_t &random) {
    integer_stream_weights_t &w = c.weights;
    const dim_t cols = c.first_col + c.cols;
    const dim_t gap = 2 * random.between(0, 3);
    if (random.one_in(2)) {
        w.format.depth_stride = 1;
        w.format.col_stride = round_up(w.depth, 2) + gap;
    } else {
        // Policies read rows that lie half a page apart in other orders.
        const dim_t half_page = 2048 * 8 / bits_of(w.format.weights);
        w.format.depth_stride = random.one_in(4) ? round_up(cols, half_page)
                                                 : round_up(cols, 2) + gap;
        w.format.col_stride = 1;
    }
    const auto place = [&](dim_t &of_groups, dim_t &of_cols) {
        switch (random.between(0, 3)) {
        case 0: of_groups = 0, of_cols = 1; break;
        case 1: of_groups = 1, of_cols = 0; break;
        case 2: of_groups = cols, of_cols = 1; break;
        default: of_groups = 1, of_cols = w.groups(); break;
        }
    };
    place(w.scales_group_stride, w.format.scales_stride);
    place(w.zps_group_stride, w.format.zps_stride);
}

case_t random_case(random_t &random) {
    case_t c;
    integer_stream_weights_t &w = c.weights;
    w.format.weights = random.pick(std::vector<t> {t::u4, t::s4, t::u8, t::s8});
    w.format.zps = random.pick(
            std::vector<t> {t::undef, t::u4, t::s4, t::u8, t::s8});
    w.format.scales = random.pick(std::vector<t> {t::f32, t::bf16, t::f16});
    w.format.has_src_zps = random.one_in(2);
    w.is_src_signed = random.one_in(2);
    w.depth = 4 * random.between(1, random.one_in(4) ? 700 : 80);
    w.group = random.pick(std::vector<dim_t> {
            w.depth, 8, 16, 32, 64, 128, 256, 384, 4 * random.between(2, 60)});
    w.group = std::min(w.group, w.depth);
    if (random.one_in(60)) w.group = w.depth = 4 * random.between(1100, 1500);
    c.cols = random.between(1, random.one_in(4) ? 300 : 40);
    c.first_col = random.one_in(2) ? 0 : 2 * random.between(1, 9);
    c.rows = random.between(1, 7);
    if (random.one_in(4)) {
        c.src_byte = random.pick(std::vector<int> {0xff, 0x80, 0x7f});
        c.weights_byte = random.pick(std::vector<int> {0xff, 0x77, 0x7f, 0});
    }
    pick_strides(c, random);
    return c;
}

void check_cases(isa_t isa) {
    const dim_t count = 1000;
    dim_t taken = 0;
    for (dim_t n = 0; n < count; ++n) {
        if (support::only_case() >= 0 ? support::only_case() != n
                                      : n % support::every())
            continue;
        random_t random(support::first_seed() + static_cast<uint64_t>(n));
        const case_t c = random_case(random);
        SCOPED_TRACE("case " + std::to_string(n) + ": " + c.text());
        std::shared_ptr<const integer_stream_t> stream;
        const result_t result = make_integer_stream(c.weights, isa, stream);
        if (!result.ok()) {
            EXPECT_EQ(result.reason, "groups are not in whole vectors");
            EXPECT_TRUE(c.by_column());
            continue;
        }
        ++taken;
        run_t(c, random).check(*stream);
        if (testing::Test::HasFailure()) return;
    }
    if (support::only_case() < 0) {
        EXPECT_GT(taken * support::every(), count / 2);
    }
}

TEST(integer_stream, is_exact) {
    if (!has(isa_of_machine(), isa_avx512_core_vnni))
        GTEST_SKIP() << "this machine lacks AVX-512 VNNI";
    // Chunks and prefetch distances are those of a policy.
    for (const auto &policy : machine_policies()) {
        SCOPED_TRACE(policy.name);
        const on_machine_t machine({policy, 32 << 20, 1 << 20});
        check_cases(isa_avx512_core_vnni);
        if (HasFailure()) return;
    }
}

TEST(integer_stream, is_exact_on_avx2) {
    if (!has(isa_of_machine(), isa_avx2))
        GTEST_SKIP() << "this machine lacks AVX2";
    check_cases(isa_avx2);
}

TEST(integer_stream, is_exact_on_avx_vnni) {
    if (!has(isa_of_machine(), isa_avx_vnni))
        GTEST_SKIP() << "this machine lacks AVX-VNNI";
    check_cases(isa_avx_vnni);
}

#if defined(__x86_64__)
// The name says for which set the code is, not what the machine has. Code is
// made for any set, but not run.
TEST(integer_stream, is_named_after_its_code) {
    const struct {
        isa_t isa;
        const char *n_lanes, *k_lanes;
    } expected[] = {
            {isa_avx2, "avx2", "avx2"},
            {isa_avx_vnni, "avx2", "avx_vnni"},
            {isa_avx512_core, "avx2", "avx2"},
            {isa_avx512_core_vnni, "avx512_core_vnni", "avx512_core_vnni"},
            {isa_avx512_core_bf16, "avx512_core_vnni", "avx512_core_vnni"},
            {isa_amx_bf16, "avx512_core_vnni", "avx512_core_vnni"},
    };
    integer_stream_weights_t weights;
    weights.format.weights = t::u4;
    weights.format.scales = t::f32;
    weights.depth = weights.group = 128;
    for (const auto &e : expected)
        for (const bool by_column : {false, true}) {
            weights.format.depth_stride = by_column ? 1 : 128;
            weights.format.col_stride = by_column ? 128 : 1;
            std::shared_ptr<const integer_stream_t> stream;
            ASSERT_TRUE(make_integer_stream(weights, e.isa, stream).ok());
            EXPECT_EQ(stream->name(),
                    std::string("jit_integer_matmul_")
                            + (by_column ? "k_lanes_" : "n_lanes_")
                            + (by_column ? e.k_lanes : e.n_lanes));
        }
}
#endif

TEST(integer_stream, says_what_it_does_not_take) {
    integer_stream_weights_t weights;
    weights.format.weights = t::u4;
    weights.format.scales = t::f32;
    weights.depth = 128;
    weights.group = 32;
    weights.format.depth_stride = 64;
    weights.format.col_stride = 1;
    const isa_t isa = isa_avx512_core_vnni;
    std::shared_ptr<const integer_stream_t> stream;
    const auto refuses = [&](isa_t on, const char *why) {
        const result_t result = make_integer_stream(weights, on, stream);
        return !result.ok() && result.reason.find(why) != std::string::npos;
    };
#if defined(__x86_64__)
    EXPECT_TRUE(refuses(isa_none, "AVX2"));
    weights.format.depth_stride = 65;
    EXPECT_TRUE(refuses(isa, "within a byte"));
    weights.format.depth_stride = 64;
    weights.format.col_stride = 2;
    EXPECT_TRUE(refuses(isa, "side by side"));
    weights.format.col_stride = 1;
    weights.group = 30;
    EXPECT_TRUE(refuses(isa, "k4 blocks"));
    weights.format.depth_stride = 1;
    weights.format.col_stride = 128;
    EXPECT_TRUE(refuses(isa, "vectors"));
    weights.group = 127;
    weights.depth = 127;
    EXPECT_TRUE(refuses(isa, "within a byte"));
#else
    EXPECT_TRUE(refuses(isa, "x86-64"));
#endif
}

} // namespace
} // namespace dnnl_dequant
