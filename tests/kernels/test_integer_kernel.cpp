// Products of integers: the plain C++ against 64-bit sums, and the kernel for
// VNNI against it, bit for bit.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sstream>

#include "base/convert.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/matmul/integer_kernel.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;
constexpr auto panel = static_cast<size_t>(integer_panel);

struct case_t {
    integer_format_t format;
    dim_t depth, cols, rows;

    std::string text() const {
        std::ostringstream out;
        out << (format.is_src_signed ? "s8" : "u8") << " by "
            << to_string(format.weights) << ", zps " << to_string(format.zps)
            << (format.has_src_zps ? " and of src" : "") << ", strides "
            << format.depth_stride << ' ' << format.col_stride << ", " << depth
            << " deep, " << cols << " columns, " << rows << " rows";
        return out.str();
    }
};

size_t size_of(t type, dim_t count) {
    return static_cast<size_t>(bytes_of(type, count));
}

// What a case is made of, and where a kernel writes to.
class run_t {
public:
    explicit run_t(const case_t &c)
        : c_(c)
        , weights_(size_of(c.format.weights, weights_span()))
        , zps_(c.format.zps == t::undef ? 1
                                        : size_of(c.format.zps, integer_panel))
        , scales_(panel)
        , quads_(static_cast<size_t>(whole_quads(c.depth)) * panel, 77)
        , sums_(panel, 0)
        , params_(panel, 0)
        , factors_(panel + 16, 0.f)
        , a_(static_cast<size_t>(whole_quads(c.depth) * c.rows))
        , row_groups_(static_cast<size_t>(c.rows))
        , dst(static_cast<size_t>(c.rows) * panel, 0.5f) {
        support::random_t random(7);
        const auto fill = [&](const support::guarded_buffer_t &buffer) {
            for (size_t i = 0; i < buffer.size(); ++i)
                static_cast<uint8_t *>(buffer.data())[i]
                        = static_cast<uint8_t>(random.between(0, 255));
        };
        fill(weights_);
        fill(zps_);
        for (float &scale : scales_)
            scale = static_cast<float>(random.between(-99, 99)) / 64;
        for (dim_t r = 0; r < c.rows; ++r)
            fill_row(random, r);
    }

    void run(const integer_kernel_t &kernel) {
        const integer_panel_t of_b {
                quads_.data(), sums_.data(), params_.data(), factors_.data()};
        kernel.unpack(weights_.data(), 0, c_.depth, c_.cols, of_b);
        kernel.load_parameters(
                scales_.data(), 0, zps_.data(), 0, c_.cols, of_b);
        integer_tile_t tile;
        tile.a = a_.data();
        tile.a_pitch = whole_quads(c_.depth);
        tile.rows = c_.rows;
        tile.row_groups = row_groups_.data();
        tile.row_groups_pitch = 1;
        tile.quads = whole_quads(c_.depth) / 4;
        tile.b = of_b;
        tile.c = dst.data();
        tile.c_pitch = integer_panel;
        tile.accumulates = true;
        kernel.multiply(tile);
    }

    float expected(dim_t row, dim_t col) const {
        int64_t dot = 0;
        const auto &of_row = row_groups_[static_cast<size_t>(row)];
        const int64_t zp = c_.format.zps == t::undef
                                   ? 0
                                   : load_int(c_.format.zps, zps_.data(),
                                             col * c_.format.zps_stride);
        for (dim_t k = 0; k < c_.depth; ++k)
            dot += (src(row, k) - of_row.zp)
                   * (load_int(c_.format.weights, weights_.data(),
                              k * c_.format.depth_stride
                                      + col * c_.format.col_stride)
                           - zp);
        const float scaled
                = static_cast<float>(dot)
                  * scales_[static_cast<size_t>(col * c_.format.scales_stride)];
        return std::fma(scaled, of_row.scale, 0.5f);
    }

    bool intact() const { return weights_.intact() && zps_.intact(); }

private:
    dim_t weights_span() const {
        return (c_.depth - 1) * c_.format.depth_stride
               + (c_.cols - 1) * c_.format.col_stride + 1;
    }
    int64_t src(dim_t row, dim_t k) const {
        const uint8_t value
                = a_[static_cast<size_t>(row * whole_quads(c_.depth) + k)];
        return c_.format.is_src_signed ? static_cast<int8_t>(value) : value;
    }
    void fill_row(support::random_t &random, dim_t r) {
        auto &row = row_groups_[static_cast<size_t>(r)];
        row.scale = static_cast<float>(random.between(-99, 99)) / 64;
        if (c_.format.has_src_zps)
            row.zp = static_cast<int32_t>(random.between(-128, 127));
        for (dim_t k = 0; k < c_.depth; ++k) {
            a_[static_cast<size_t>(r * whole_quads(c_.depth) + k)]
                    = static_cast<uint8_t>(random.between(0, 255));
            row.sum += static_cast<int32_t>(src(r, k)) - row.zp;
        }
    }

    const case_t c_;
    const support::guarded_buffer_t weights_, zps_;
    std::vector<float> scales_;
    std::vector<int8_t> quads_;
    std::vector<int32_t> sums_, params_;
    std::vector<float> factors_;
    std::vector<uint8_t> a_;
    std::vector<row_group_t> row_groups_;

public:
    std::vector<float> dst;
};

void check(const case_t &c) {
    SCOPED_TRACE(c.text());
    run_t plain(c);
    plain.run(*make_portable_integer_kernel(c.format));
    for (dim_t r = 0; r < c.rows; ++r)
        for (dim_t n = 0; n < c.cols; ++n)
            ASSERT_EQ(plain.dst[static_cast<size_t>(r) * panel
                                + static_cast<size_t>(n)],
                    plain.expected(r, n))
                    << r << ' ' << n;
    std::shared_ptr<const integer_kernel_t> kernel;
    if (!has(isa_of_machine(), isa_avx512_core_vnni)) return;
    ASSERT_TRUE(
            make_integer_kernel_vnni(c.format, isa_of_machine(), kernel).ok());
    run_t fast(c);
    fast.run(*kernel);
    for (dim_t r = 0; r < c.rows; ++r)
        for (dim_t n = 0; n < c.cols; ++n) {
            const auto i
                    = static_cast<size_t>(r) * panel + static_cast<size_t>(n);
            ASSERT_EQ(fast.dst[i], plain.dst[i]) << r << ' ' << n;
        }
    EXPECT_TRUE(plain.intact() && fast.intact());
}

TEST(integer_kernel, is_exact) {
    for (const bool is_signed : {false, true})
        for (const t weights : {t::u4, t::s4, t::u8, t::s8})
            for (const t zps : {t::undef, t::u8, t::s8, t::u4, t::s4})
                for (const dim_t depth : {1, 3, 4, 30, 64, 100, 130})
                    for (const dim_t cols : {1, 5, 32, 63, 64})
                        for (const bool by_rows : {false, true}) {
                            case_t c {{}, depth, cols, depth % 8 + 1};
                            c.format.is_src_signed = is_signed;
                            c.format.has_src_zps = cols % 2;
                            c.format.weights = weights;
                            c.format.zps = zps;
                            c.format.scales = t::f32;
                            c.format.scales_stride = depth != 30;
                            c.format.zps_stride = depth != 64;
                            c.format.depth_stride = by_rows ? 66 : 1;
                            c.format.col_stride = by_rows ? 1 : 132;
                            check(c);
                            if (HasFailure()) return;
                        }
}

// The largest products there are, of the longest group.
TEST(integer_kernel, does_not_overflow) {
    for (const bool is_signed : {false, true}) {
        case_t c {{}, 32768, 1, 1};
        c.format.is_src_signed = is_signed;
        c.format.weights = is_signed ? t::s8 : t::u8;
        c.format.scales = t::f32;
        c.format.depth_stride = 1;
        c.format.col_stride = 32768;
        check(c);
    }
}

TEST(integer_kernel, says_what_it_does_not_take) {
    integer_format_t format;
    format.weights = t::u4;
    format.scales = t::f32;
    format.depth_stride = 5;
    format.col_stride = 1;
    std::shared_ptr<const integer_kernel_t> kernel;
    const auto reason = [&](isa_t isa) {
        return make_integer_kernel(format, isa, kernel).reason;
    };
#if defined(__x86_64__)
    EXPECT_NE(reason(isa_avx512_core_vnni).find("begin within a byte"),
            std::string::npos);
    format.col_stride = 3;
    EXPECT_NE(reason(isa_avx512_core_vnni).find("side by side"),
            std::string::npos);
#endif
    EXPECT_NE(reason(isa_avx2).find("VNNI"), std::string::npos);
    EXPECT_EQ(reason(isa_none), "");
}

} // namespace
} // namespace dnnl_dequant
