// Products of integers: the plain C++ against 64-bit sums, and the generated
// code against it, bit for bit.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iostream>
#include <sstream>
#include <utility>

#include "base/convert.hpp"
#include "base/text.hpp"
#include "kernels/integer_gemm/integer_kernel.hpp"
#include "kernels/kernel_rows.hpp"
#include "support/cross_product.hpp"
#include "support/guarded_buffer.hpp"
#include "support/numbers.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;
constexpr auto panel = static_cast<size_t>(integer_panel);
// Groups of one panel, each with src of its own.
constexpr dim_t groups = 2;

struct case_t {
    integer_format_t format;
    dim_t depth = 0, cols = 0, rows = 0;
    // The bytes to choose from; all bytes if none is named.
    std::vector<uint8_t> of_src = {}, of_weights = {}, of_zps = {};
    std::vector<int32_t> src_zps = {};

    std::string text() const {
        std::ostringstream out;
        out << to_string(format.weights) << ", zps " << to_string(format.zps)
            << (format.has_src_zps ? " and of src" : "")
            << (format.has_short_sums ? ", short sums" : "")
            << (format.is_packed ? ", packed" : "")
            << (format.k4_chunk > 1 ? ", tiles" : "") << ", strides "
            << format.depth_stride << ' ' << format.col_stride << ", " << depth
            << " deep, " << cols << " columns, " << rows << " rows";
        return out.str();
    }
};

size_t size_of(t type, dim_t count) {
    return static_cast<size_t>(bytes_of(type, count));
}

// The operands of a case, and the place that a kernel writes to.
class run_t {
public:
    explicit run_t(const case_t &c)
        : c_(c)
        , weights_(size_of(c.format.weights, weights_span()))
        , zps_(c.format.zps == t::undef ? 1
                                        : size_of(c.format.zps, integer_panel))
        , scales_(panel)
        , whole_(whole_units(c.format, c.depth))
        , k4_blocks_(static_cast<size_t>(whole_) * panel, 77)
        , a_(static_cast<size_t>(whole_ * groups * c.rows))
        , row_groups_(static_cast<size_t>(c.rows * groups))
        , dst(static_cast<size_t>(c.rows) * panel, 0.5f) {
        support::random_t random(7);
        const auto fill = [&](const support::guarded_buffer_t &buffer,
                                  const std::vector<uint8_t> &values) {
            for (size_t i = 0; i < buffer.size(); ++i)
                static_cast<uint8_t *>(buffer.data())[i]
                        = byte_of(random, values);
        };
        fill(weights_, c.of_weights);
        fill(zps_, c.of_zps);
        for (float &scale : scales_)
            scale = static_cast<float>(random.between(-99, 99)) / 64;
        for (dim_t r = 0; r < c.rows * groups; ++r)
            fill_row(random, r);
    }

    void run(const integer_kernel_t &kernel, bool accumulates) {
        integer_group_t of_b[groups];
        for (dim_t g = 0; g < groups; ++g)
            of_b[g] = {k4_blocks_.data(), &columns_, g * whole_, whole_ / 4};
        integer_tile_t tile = prepare(kernel, of_b[0]);
        tile.groups = of_b;
        tile.group_count = groups;
        tile.accumulates = accumulates;
        kernel.multiply(tile);
    }

    // Multiplies the first group, in parts of so many k4 blocks. The kernel
    // unpacks to this type.
    void run_in_parts(
            const integer_kernel_t &kernel, dim_t most, t unpacked = t::u8) {
        const integer_group_t whole
                = {k4_blocks_.data(), &columns_, 0, whole_ / 4};
        const dim_t k4_bytes = bytes_of(unpacked, 4 * integer_panel);
        integer_tile_t tile = prepare(kernel, whole);
        tile.group_count = 1;
        for (dim_t k4 = 0; k4 < whole.k4_count; k4 += most) {
            const integer_group_t part = {whole.k4_blocks + k4 * k4_bytes,
                    &columns_, k4 * 4, std::min(most, whole.k4_count - k4)};
            tile.groups = &part;
            tile.continues = tile.accumulates = k4 > 0;
            tile.ends = k4 + part.k4_count == whole.k4_count;
            kernel.multiply(tile);
        }
    }

    float expected(dim_t row, dim_t col, bool accumulates) const {
        float result = accumulates ? 0.5f : 0.f;
        for (dim_t g = 0; g < groups; ++g) {
            const float scaled = static_cast<float>(dot(row * groups + g, col))
                                 * scales_[static_cast<size_t>(
                                         col * c_.format.scales_stride)];
            result = std::fma(scaled,
                    row_groups_[static_cast<size_t>(row * groups + g)].scale,
                    result);
        }
        return result;
    }

    bool intact() const { return weights_.intact() && zps_.intact(); }

private:
    // Unpacks the weights, and describes the rows of src.
    integer_tile_t prepare(
            const integer_kernel_t &kernel, const integer_group_t &group) {
        kernel.unpack({weights_.data(), 0, 0, c_.depth, c_.cols, 0}, group);
        const dim_t place = 0;
        kernel.load_parameters({scales_.data(), zps_.data(), &place, &place, 0},
                c_.cols, 1, &columns_);
        integer_tile_t tile {};
        const dim_t row = whole_ * groups;
        tile.a_pitch = c_.format.is_packed ? 4 : row;
        tile.a_k4_pitch = c_.format.is_packed ? 4 * c_.rows : 4;
        if (c_.format.is_packed) interleave();
        tile.a = interleaved_.empty() ? a_.data() : interleaved_.data();
        tile.rows = c_.rows;
        tile.row_groups = row_groups_.data();
        tile.row_groups_pitch = groups;
        tile.c = dst.data();
        tile.c_pitch = integer_panel;
        return tile;
    }

    dim_t weights_span() const {
        return (c_.depth - 1) * c_.format.depth_stride
               + (c_.cols - 1) * c_.format.col_stride + 1;
    }
    // Quads of all rows side by side.
    void interleave() {
        interleaved_.resize(a_.size());
        const dim_t row = whole_ * groups;
        for (dim_t r = 0; r < c_.rows; ++r)
            for (dim_t k = 0; k < row; ++k)
                interleaved_[static_cast<size_t>(
                        (k / 4 * c_.rows + r) * 4 + k % 4)]
                        = a_[static_cast<size_t>(r * row + k)];
    }

    // Rows are groups of rows here.
    size_t place(dim_t row, dim_t k) const {
        return static_cast<size_t>(row * whole_ + place_in_group(c_.format, k));
    }
    int64_t dot(dim_t row, dim_t col) const {
        int64_t sum = 0;
        const auto &of_row = row_groups_[static_cast<size_t>(row)];
        const int64_t zp = c_.format.zps == t::undef
                                   ? 0
                                   : load_int(c_.format.zps, zps_.data(),
                                             col * c_.format.zps_stride);
        for (dim_t k = 0; k < c_.depth; ++k)
            sum += (int64_t(a_[place(row, k)]) - of_row.zp)
                   * (load_int(c_.format.weights, weights_.data(),
                              k * c_.format.depth_stride
                                      + col * c_.format.col_stride)
                           - zp);
        return sum;
    }
    static uint8_t byte_of(
            support::random_t &random, const std::vector<uint8_t> &values) {
        return values.empty() ? static_cast<uint8_t>(random.between(0, 255))
                              : random.pick(values);
    }
    // Long sums allow src of s8 with zero points of u8, or the other way round.
    int32_t src_zp(support::random_t &random) const {
        if (!c_.format.has_src_zps) return 0;
        if (!c_.src_zps.empty()) return random.pick(c_.src_zps) - 128;
        const bool is_short = c_.format.has_short_sums && c_.depth > 85;
        return static_cast<int32_t>(is_short ? random.between(-128, 127)
                                             : random.between(-256, 255));
    }
    void fill_row(support::random_t &random, dim_t row) {
        const float scale = static_cast<float>(random.between(-99, 99)) / 64;
        const int32_t zp = src_zp(random);
        int32_t sum = 0;
        for (dim_t k = 0; k < c_.depth; ++k) {
            a_[place(row, k)]
                    = static_cast<int8_t>(byte_of(random, c_.of_src) - 128);
            sum += a_[place(row, k)] - zp;
        }
        row_groups_[static_cast<size_t>(row)] = make_row_group(zp, sum, scale);
    }

    const case_t c_;
    const support::guarded_buffer_t weights_, zps_;
    std::vector<float> scales_;
    const dim_t whole_;
    std::vector<uint8_t> k4_blocks_;
    integer_columns_t columns_ {};
    std::vector<int8_t> a_, interleaved_;
    std::vector<row_group_t> row_groups_;

public:
    std::vector<float> dst;
};

// Checks plain C++, and generated code within `isa` if the machine has it.
void check(const case_t &c, isa_t isa) {
    SCOPED_TRACE(c.text());
    const bool accumulates = c.depth % 2 == 0;
    run_t plain(c);
    plain.run(*make_ref_integer_kernel(c.format), accumulates);
    for (dim_t r = 0; r < c.rows; ++r)
        for (dim_t n = 0; n < c.cols; ++n)
            ASSERT_EQ(plain.dst[static_cast<size_t>(r) * panel
                                + static_cast<size_t>(n)],
                    plain.expected(r, n, accumulates))
                    << r << ' ' << n;
    std::shared_ptr<const integer_kernel_t> kernel;
    if (!has(isa_of_machine(), isa)) return;
    ASSERT_TRUE(make_jit_integer_kernel(c.format, isa, kernel).ok());
    run_t fast(c);
    fast.run(*kernel, accumulates);
    for (dim_t r = 0; r < c.rows; ++r)
        for (dim_t n = 0; n < c.cols; ++n) {
            const auto i
                    = static_cast<size_t>(r) * panel + static_cast<size_t>(n);
            ASSERT_EQ(fast.dst[i], plain.dst[i]) << r << ' ' << n;
        }
    EXPECT_TRUE(plain.intact() && fast.intact());
}

// Gives the format the chunks that a product of so deep groups has, and the
// case one to three tiles of rows.
case_t with_tiles(case_t c) {
    constexpr dim_t most_k4_blocks = 16;
    c.format.is_packed = false;
    c.format.k4_chunk
            = std::min(most_k4_blocks, whole_units(c.format, c.depth) / 4);
    c.rows += (c.depth + c.cols) % 3 * 20;
    return c;
}

void check(case_t c) {
    check(c, isa_avx512_core_vnni);
    // The others keep nothing packed.
    c.format.is_packed = false;
    const case_t tiles = with_tiles(c);
    if (tiles.format.k4_chunk > 1) check(tiles, isa_amx_bf16);
    check(c, isa_avx_vnni);
    check(c, isa_avx2);
}

void say_what_is_left_out() {
    if (!has(isa_of_machine(), isa_amx_bf16))
        std::cout << "left out: tiles of AMX\n";
}

TEST(integer_kernel, is_exact) {
    say_what_is_left_out();
    dim_t n = 0;
    for (const bool has_short_sums : {false, true})
        for (const t weights : {t::u4, t::s4, t::u8, t::s8})
            for (const t zps : {t::undef, t::u8, t::s8, t::u4, t::s4})
                for (const dim_t depth : {1, 3, 4, 30, 64, 100, 128, 203})
                    for (const dim_t cols : {1, 5, 32, 63, 64})
                        for (const bool by_rows : {false, true}) {
                            if (has_short_sums && depth > 128) continue;
                            if (n++ % support::every()) continue;
                            case_t c;
                            c.depth = depth;
                            c.cols = cols;
                            c.rows = (depth + cols) % 27 + 1;
                            c.format.is_packed = n / 2 % 2;
                            c.format.has_short_sums = has_short_sums;
                            c.format.has_src_zps = n % 3 != 0;
                            c.format.weights = weights;
                            c.format.zps = zps;
                            c.format.scales = t::f32;
                            c.format.scales_stride = depth != 30;
                            c.format.zps_stride = depth != 64;
                            c.format.depth_stride = by_rows ? 66 : 1;
                            c.format.col_stride = by_rows ? 1 : 204;
                            check(c);
                            if (HasFailure()) return;
                        }
}

// Unpacks two panels at once, and one by one by the plain kernel. No byte
// behind the weights is read.
void check_two_panels(const integer_format_t &format, dim_t depth) {
    const size_t size = static_cast<size_t>(depth) * panel;
    const auto bytes = size_of(format.weights,
            (depth - 1) * format.depth_stride + 2 * integer_panel);
    support::random_t random(5);
    const support::guarded_buffer_t weights(bytes);
    for (size_t i = 0; i < bytes; ++i)
        static_cast<uint8_t *>(weights.data())[i]
                = static_cast<uint8_t>(random.between(0, 255));
    struct unpacked_t {
        std::vector<uint8_t> k4_blocks[2];
        integer_columns_t columns[2] = {};
        integer_group_t group(int p) {
            return {k4_blocks[p].data(), &columns[p], 0, 0};
        }
    } expected, two;
    for (unpacked_t *to : {&expected, &two})
        for (auto &k4_blocks : to->k4_blocks)
            k4_blocks.assign(size, 77);
    const auto plain = make_ref_integer_kernel(format);
    for (int p = 0; p < 2; ++p)
        plain->unpack(
                {weights.data(), p * integer_panel, 0, depth, integer_panel, 0},
                expected.group(p));
    std::shared_ptr<const integer_kernel_t> kernel;
    ASSERT_TRUE(
            make_jit_integer_kernel(format, isa_avx512_core_vbmi, kernel).ok());
    constexpr dim_t first = 8; // parts of a group come in order
    for (const auto &[begin, end] :
            {std::pair<dim_t, dim_t> {0, first}, {first, depth}})
        kernel->unpack_two({weights.data(), begin * format.depth_stride, begin,
                                   end - begin, integer_panel, 0},
                two.group(0), two.group(1));
    EXPECT_TRUE(weights.intact());
    for (int p = 0; p < 2; ++p) {
        EXPECT_EQ(two.k4_blocks[p], expected.k4_blocks[p]);
        for (size_t n = 0; format.has_src_zps && n < panel; ++n)
            ASSERT_EQ(two.columns[p].sums[n], expected.columns[p].sums[n]);
    }
}

TEST(integer_kernel, unpacks_two_panels_at_once) {
    if (!has(isa_of_machine(), isa_avx512_core_vbmi))
        GTEST_SKIP() << "this machine lacks AVX-512 VBMI";
    for (const t weights : {t::u4, t::s4, t::u8, t::s8})
        for (const bool has_src_zps : {false, true})
            for (const dim_t depth : {12, 72, 76, 128, 140})
                for (const dim_t pitch : {128, 130, 4096}) {
                    integer_format_t format;
                    format.unpacks_two = true;
                    format.has_src_zps = has_src_zps;
                    format.weights = weights;
                    format.scales = t::f32;
                    format.depth_stride = pitch;
                    format.col_stride = 1;
                    SCOPED_TRACE(text(to_string(weights), ", ", depth,
                            " deep, pitch ", pitch));
                    check_two_panels(format, depth);
                }
}

void check_parts(const case_t &c, isa_t isa) {
    if (!has(isa_of_machine(), isa)) return;
    SCOPED_TRACE(c.text());
    const auto plain = make_ref_integer_kernel(c.format);
    run_t whole(c), parts(c), generated(c);
    whole.run_in_parts(*plain, c.depth);
    parts.run_in_parts(*plain, 16);
    ASSERT_EQ(parts.dst, whole.dst);
    std::shared_ptr<const integer_kernel_t> kernel;
    ASSERT_TRUE(make_jit_integer_kernel(c.format, isa, kernel).ok());
    generated.run_in_parts(
            *kernel, 16, c.format.is_packed ? c.format.weights : t::u8);
    ASSERT_EQ(generated.dst, whole.dst);
}

// A group in parts has the bits of the whole one.
TEST(integer_kernel, continues_a_group) {
    say_what_is_left_out();
    for (const t weights : {t::u4, t::s4, t::u8, t::s8})
        for (const bool has_src_zps : {false, true})
            for (const dim_t depth : {128, 130, 200})
                for (const dim_t rows : {1, 2, 6, 12, 17, 50}) {
                    case_t c;
                    c.depth = depth;
                    c.cols = integer_panel;
                    c.rows = rows;
                    c.format.has_src_zps = has_src_zps;
                    c.format.weights = c.format.zps = weights;
                    c.format.scales = t::f32;
                    c.format.scales_stride = c.format.zps_stride = 1;
                    c.format.depth_stride = integer_panel;
                    c.format.col_stride = 1;
                    case_t tiles = c;
                    tiles.format.k4_chunk = 16;
                    check_parts(tiles, isa_amx_bf16);
                    c.format.is_packed = true;
                    if (rows <= 12) check_parts(c, isa_avx512_core_vnni);
                    c.format.is_packed = false;
                    c.format.unpacks_two = true;
                    check_parts(c, isa_avx512_core_vbmi);
                    if (HasFailure()) return;
                }
}

// 383 from the integers, to either side, for those of 8 bits.
case_t extreme_case(t weights, bool is_src_high, bool are_weights_high) {
    case_t c;
    c.rows = 2;
    c.format.has_src_zps = true;
    c.format.weights = weights;
    const bool is_signed = weights == t::s8 || weights == t::s4;
    c.format.zps = is_signed ? t::u8 : t::s8;
    c.format.zps_stride = 1;
    c.format.scales = t::f32;
    c.format.scales_stride = 1;
    c.of_src = {is_src_high ? uint8_t(255) : uint8_t(0)};
    c.src_zps = {is_src_high ? -128 : 383};
    const uint8_t most = !is_signed ? 0xff : weights == t::s8 ? 0x7f : 0x77;
    c.of_weights = {are_weights_high ? most : uint8_t(~most)};
    const uint8_t least_zp = is_signed ? 0 : 0x80;
    c.of_zps = {are_weights_high ? least_zp : uint8_t(~least_zp)};
    return c;
}

// The largest sums there are, of the longest groups.
TEST(integer_kernel, does_not_overflow) {
    for (int flags = 0; flags < 32; ++flags)
        for (const t weights : {t::u8, t::s8, t::u4, t::s4}) {
            const auto is = [&](int bit) { return (flags >> bit & 1) != 0; };
            const bool by_rows = is(4);
            case_t c = extreme_case(weights, is(0), is(1));
            c.format.has_short_sums = is(2);
            c.format.is_packed = is(3);
            // Columns next to each other are read in rounds of whole panels
            // only.
            c.depth = c.format.has_short_sums ? 85 : by_rows ? 200 : 14 * 1024;
            c.cols = by_rows ? integer_panel : 3;
            c.format.depth_stride = by_rows ? integer_panel : 1;
            c.format.col_stride = by_rows ? 1 : c.depth + c.depth % 2;
            check(c);
            if (HasFailure()) return;
        }
}

// Many groups and columns, in both layouts.
struct parameters_case_t {
    integer_format_t format;
    dim_t groups, cols, first_col;
    dim_t group_strides[2]; // of scales, of zero points
};

parameters_case_t random_parameters(support::random_t &random) {
    parameters_case_t c;
    integer_format_t &format = c.format;
    format.weights = random.pick(std::vector<t> {t::u4, t::s4, t::u8, t::s8});
    format.zps = random.pick(
            std::vector<t> {t::undef, t::u4, t::s4, t::u8, t::s8});
    format.scales = random.pick(std::vector<t> {t::f32, t::bf16, t::f16});
    format.depth_stride = 1;
    format.col_stride = 64;
    c.groups = random.one_in(9) ? random.between(120, 300)
                                : random.between(1, 40);
    c.cols = random.one_in(2) ? integer_panel : random.between(1, 63);
    c.first_col = random.between(0, 99);
    dim_t *const of_cols[] = {&format.scales_stride, &format.zps_stride};
    for (int i = 0; i < 2; ++i)
        switch (random.between(0, 3)) {
        case 0: *of_cols[i] = 1, c.group_strides[i] = 200; break;
        case 1: *of_cols[i] = c.groups, c.group_strides[i] = 1; break;
        case 2: *of_cols[i] = c.groups + 3, c.group_strides[i] = 1; break;
        default: *of_cols[i] = random.between(0, 1), c.group_strides[i] = 0;
        }
    return c;
}

void check_parameters(
        const parameters_case_t &c, isa_t isa, support::random_t &random) {
    const integer_format_t &format = c.format;
    const auto elements = [&](dim_t of_cols, dim_t of_groups) {
        return (c.first_col + c.cols - 1) * of_cols + (c.groups - 1) * of_groups
               + 1;
    };
    const support::guarded_buffer_t scales(size_of(
            format.scales, elements(format.scales_stride, c.group_strides[0])));
    const support::guarded_buffer_t zps(
            size_of(format.zps == t::undef ? t::u8 : format.zps,
                    elements(format.zps_stride, c.group_strides[1])));
    support::fill_floats(format.scales, scales.data(), scales.size(),
            support::values_t::ordinary, random);
    if (format.zps != t::undef)
        support::fill_integers(format.zps, zps.data(), zps.size(), random);
    std::vector<dim_t> places[2];
    for (dim_t g = 0; g < c.groups; ++g)
        for (int i = 0; i < 2; ++i)
            places[i].push_back(g * c.group_strides[i]);
    std::shared_ptr<const integer_kernel_t> fast;
    ASSERT_TRUE(make_jit_integer_kernel(format, isa, fast).ok());
    std::vector<integer_columns_t> got(static_cast<size_t>(c.groups)),
            expected(got.size());
    const integer_parameters_t from = {scales.data(), zps.data(),
            places[0].data(), places[1].data(), c.first_col};
    fast->load_parameters(from, c.cols, c.groups, got.data());
    make_ref_integer_kernel(format)->load_parameters(
            from, c.cols, c.groups, expected.data());
    const auto cols = static_cast<size_t>(c.cols);
    for (size_t g = 0; g < got.size(); ++g) {
        ASSERT_EQ(0, std::memcmp(got[g].scales, expected[g].scales, 4 * cols));
        ASSERT_EQ(0, std::memcmp(got[g].zps, expected[g].zps, 4 * cols));
    }
    EXPECT_TRUE(scales.intact() && zps.intact());
}

TEST(integer_kernel, loads_parameters) {
    if (!has(isa_of_machine(), isa_avx2))
        GTEST_SKIP() << "this machine lacks AVX2";
    for (dim_t n = 0; n < 500; ++n) {
        support::random_t random(
                support::first_seed() + static_cast<uint64_t>(n));
        const parameters_case_t c = random_parameters(random);
        SCOPED_TRACE("case " + std::to_string(n));
        check_parameters(c, isa_of_machine(), random);
        if (HasFailure()) return;
    }
}

#if defined(__x86_64__)
// The name says for which set the code is, not what the machine has. Code is
// made for any set, but not run.
TEST(integer_kernel, is_named_after_its_code) {
    const struct {
        isa_t isa;
        bool is_packed, has_tiles;
        const char *name;
    } expected[] = {
            {isa_avx2, false, false, "avx2"},
            {isa_avx_vnni, false, false, "avx_vnni"},
            {isa_avx512_core, false, false, "avx2"},
            {isa_avx512_core_vnni, false, false, "avx512_core_vnni"},
            {isa_avx512_core_vnni, true, false, "packed_avx512_core_vnni"},
            {isa_avx512_core_bf16, false, false, "avx512_core_vnni"},
            {isa_amx_bf16, false, false, "avx512_core_vnni"},
            {isa_amx_bf16, true, false, "packed_avx512_core_vnni"},
            {isa_amx_bf16, false, true, "amx_int8"},
    };
    for (const auto &e : expected) {
        integer_format_t format;
        format.weights = t::u4;
        format.scales = t::f32;
        format.depth_stride = integer_panel;
        format.col_stride = 1;
        format.is_packed = e.is_packed;
        format.k4_chunk = e.has_tiles ? 16 : 1;
        std::shared_ptr<const integer_kernel_t> kernel;
        ASSERT_TRUE(make_jit_integer_kernel(format, e.isa, kernel).ok());
        EXPECT_EQ(kernel->name(), std::string("jit_integer_matmul_") + e.name);
    }
}
#endif

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
    format.k4_chunk = 16;
    EXPECT_NE(reason(isa_avx512_core_vnni).find("AMX"), std::string::npos);
    format.k4_chunk = 1;
    format.is_packed = true;
    EXPECT_NE(reason(isa_avx2).find("packed"), std::string::npos);
    format.is_packed = false;
    format.unpacks_two = true;
    EXPECT_NE(reason(isa_avx512_core_vnni).find("VBMI"), std::string::npos);
#endif
    EXPECT_EQ(reason(isa_none), "");
}

} // namespace
} // namespace dnnl_dequant
