// Calls that no program should make, and the damage that they must not do:
// sizes that wrap, ranks that nothing has, names of a megabyte, buffers that
// overlap.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/bad_input.hpp"
#include "e2e/matmul_graph.hpp"
#include "support/guarded_buffer.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using support::guarded_buffer_t;

constexpr dim_t most = std::numeric_limits<dim_t>::max();
constexpr dim_t least = std::numeric_limits<dim_t>::min();

// An op that only we take, named as the test wants.
op named(const dequantize_case_t &c, const std::string &name) {
    op dequantize(0, op::kind::DynamicDequantize, inputs_of(c),
            {strided(dst_id, c.dst)}, name);
    set_attributes(dequantize, c);
    return dequantize;
}

// Our own lines of what the call prints.
std::vector<std::string> lines_of(const std::function<void()> &call) {
    ::testing::internal::CaptureStdout();
    call();
    std::istringstream printed(::testing::internal::GetCapturedStdout());
    std::vector<std::string> ours;
    for (std::string line; std::getline(printed, line);)
        if (line.find("dequant_backend") != std::string::npos)
            ours.push_back(line);
    return ours;
}

void expect_harmless(const std::vector<std::string> &lines) {
    for (const auto &line : lines) {
        EXPECT_LT(line.size(), 2000u) << line.substr(0, 2000);
        for (const char c : line)
            EXPECT_TRUE(c >= 0x20 && c < 0x7f) << line.substr(0, 2000);
    }
    const char *const wanted = std::getenv("ONEDNN_VERBOSE");
    if (wanted && *wanted) {
        EXPECT_FALSE(lines.empty());
    }
}

std::string every_byte() {
    std::string bytes;
    for (int byte = 1; byte < 256; ++byte)
        bytes += static_cast<char>(byte);
    return bytes;
}

TEST(abuse, names_of_any_bytes_and_length) {
    for (const std::string &name :
            {std::string("\n\x1b[2J\\x,\"\x9b"), every_byte(),
                    std::string(1 << 20, 'x'), std::string(1 << 20, '\n')})
        expect_harmless(lines_of([&] {
            const auto c = grouped();
            const auto compiled = compile_or_throw(partition_of(named(c, name)),
                    inputs_of(c), {strided(dst_id, c.dst)});
            EXPECT_EQ(check_execution(c, compiled), "");
            auto wrong = grouped();
            wrong.scales.dims = {4, 4};
            EXPECT_NE(status_of([&] {
                compile_or_throw(partition_of(named(c, name)), inputs_of(wrong),
                        {strided(dst_id, c.dst)});
            }),
                    dnnl_success);
        }));
}

TEST(abuse, attributes_of_any_bytes_length_and_size) {
    const auto refused = [](const std::function<void(op &)> &set) {
        expect_harmless(lines_of([&] {
            EXPECT_NE(status_of([&] {
                const auto c = grouped();
                auto dequantize = named(c, "dequantize");
                set(dequantize);
                compile_or_throw(partition_of(dequantize), inputs_of(c),
                        {strided(dst_id, c.dst)});
            }),
                    dnnl_success);
        }));
    };
    const auto text = [&](const std::string &value) {
        refused([&](op &o) {
            o.set_attr<std::string>(op::attr::qtype, value);
        });
    };
    const auto groups = [&](const std::vector<int64_t> &value) {
        refused([&](op &o) {
            o.set_attr<std::vector<int64_t>>(op::attr::group_shape, value);
        });
    };
    text(every_byte());
    text(std::string(1 << 20, '\n'));
    groups(std::vector<int64_t>(100000, 8));
    groups({least, least});
    groups({0, most});
    for (const int64_t axis : {least, most, dim_t {2}, dim_t {-3}})
        refused([&](op &o) {
            o.set_attr<std::string>(op::attr::qtype, "per_channel");
            o.set_attr<int64_t>(op::attr::axis, axis);
        });
}

TEST(abuse, sizes_that_wrap) {
    const dim_t half = dim_t {1} << 32;
    const std::vector<dims_t> shapes {{half, half}, {half, half, 4}, {most, 2},
            {2, most}, {most, most}, {dim_t {1} << 62, 2},
            {(dim_t {1} << 61) + 1, 8}, {half, half, half, half}};
    for (const auto &dims : shapes)
        for (const dim_t stride : {dim_t {1}, most, dim_t {1} << 62, least})
            for (const data_type_t src : {data_type_t::u4, data_type_t::s8}) {
                auto c = dense_case({2, 2}, src, data_type_t::f32);
                c.src.dims = c.dst.dims = dims;
                c.src.strides = c.dst.strides = dims_t(dims.size(), stride);
                EXPECT_NE(status_of([&] {
                    compile_or_throw(partition_of(op_of(c)), inputs_of(c),
                            {strided(dst_id, c.dst)});
                }),
                        dnnl_success)
                        << to_string(c);
            }
}

// A tensor whose struct says what no function of oneDNN's would have written.
logical_tensor of_rank(size_t id, const support::tensor_t &t, int rank) {
    dnnl_graph_logical_tensor_t data;
    EXPECT_EQ(dnnl_graph_logical_tensor_init_with_dims(&data, id,
                      static_cast<dnnl_data_type_t>(t.type),
                      static_cast<int>(t.dims.size()), t.dims.data(),
                      dnnl_graph_layout_type_strided,
                      dnnl_graph_tensor_property_undef),
            dnnl_success);
    data.ndims = rank;
    return logical_tensor(data);
}

TEST(abuse, ranks_that_nothing_has) {
    const auto c = grouped();
    constexpr int any_int = std::numeric_limits<int>::max();
    for (const int rank : {13, 1000, any_int, -2, -any_int - 1})
        for (const size_t spoiled : {src_id, scales_id, zps_id, dst_id}) {
            const auto port = [&](size_t id, const support::tensor_t &t) {
                return id == spoiled ? of_rank(id, t, rank) : strided(id, t);
            };
            const std::vector<logical_tensor> inputs {port(src_id, c.src),
                    port(scales_id, c.scales), port(zps_id, c.zps)};
            const logical_tensor output = port(dst_id, c.dst);
            op dequantize(0, op::kind::DynamicDequantize, inputs, {output},
                    "dequantize");
            set_attributes(dequantize, c);
            graph g(dnnl::engine::kind::cpu);
            EXPECT_EQ(status_of([&] { g.add_op(dequantize); }),
                    dnnl_invalid_graph_op);
            EXPECT_EQ(status_of([&] {
                compile_or_throw(partition_of(op_of(c)), inputs, {output});
            }),
                    dnnl_invalid_shape)
                    << "rank " << rank << " of tensor " << spoiled;
        }
}

// INT64_MIN itself says that a stride is not known.
TEST(abuse, strides_that_wrap) {
    for (const dim_t stride :
            {most, most / 2, most / 4 + 1, least + 1, dim_t {-1}})
        for (const bool of_src : {false, true}) {
            auto c = grouped();
            (of_src ? c.src : c.dst).strides = {stride, 1};
            EXPECT_NE(status_of([&] {
                compile_or_throw(partition_of(op_of(grouped())), inputs_of(c),
                        {strided(dst_id, c.dst)});
            }),
                    dnnl_success)
                    << to_string(c);
        }
}

// Compile takes any stride of a dimension of 1, so such tensors can be made.
TEST(abuse, sizes_that_no_integer_holds) {
    const auto tensor_of = [](dim_t extent, dim_t stride) {
        return logical_tensor(0, data_type::u16, dims_t {extent, 128, 15},
                dims_t {stride, 15, 1});
    };
    // The first product overflows, the next ones only as bits.
    for (const auto &[extent, stride] : {std::pair<dim_t, dim_t> {3, most / 2},
                 {3, most / 4}, {1, most / 15}, {1, most / 16 + 1}}) {
        const logical_tensor tensor = tensor_of(extent, stride);
        EXPECT_EQ(tensor.get_mem_size(), std::numeric_limits<size_t>::max());
        std::vector<char> memory(128 * 15 * 2);
        const dnnl::graph::tensor made(tensor, cpu_engine(), memory.data());
        EXPECT_EQ(made.get_data_handle(), memory.data());
    }
    EXPECT_EQ(tensor_of(1, most / 16 - 1).get_mem_size(),
            2 * static_cast<size_t>(most / 16 - 1));
}

// Every buffer at an odd address, and at the end of its pages.
TEST(abuse, buffers_at_any_byte) {
    for (const data_type_t dst :
            {data_type_t::f32, data_type_t::bf16, data_type_t::f16})
        for (const dim_t width : {5, 67, 1030}) {
            const auto c = per_group(dense_case({3, width}, data_type_t::s8,
                                             dst, data_type_t::s32),
                    {1, 8});
            std::vector<char> src(c.src.bytes()), scales(c.scales.bytes()),
                    zps(c.zps.bytes()), expected(c.dst.bytes()),
                    actual(c.dst.bytes());
            support::fill(c, src.data(), scales.data(), zps.data());
            support::reference(
                    c, src.data(), scales.data(), zps.data(), expected.data());
            const auto compiled = compile_or_throw(partition_of(op_of(c)),
                    inputs_of(c), {strided(dst_id, c.dst)});
            for (const size_t slack : {1u, 2u, 3u}) {
                const auto copy = [&](const std::vector<char> &from) {
                    guarded_buffer_t to(
                            from.size(), guarded_buffer_t::edge_t::end, slack);
                    std::memcpy(to.data(), from.data(), from.size());
                    return to;
                };
                const auto a = copy(src), b = copy(scales), z = copy(zps),
                           out = copy(expected);
                std::memset(out.data(), 0x5a, out.size());
                compiled.execute(cpu_stream(),
                        {{strided(src_id, c.src), cpu_engine(), a.data()},
                                {strided(scales_id, c.scales), cpu_engine(),
                                        b.data()},
                                {strided(zps_id, c.zps), cpu_engine(),
                                        z.data()}},
                        {{strided(dst_id, c.dst), cpu_engine(), out.data()}});
                cpu_stream().wait();
                std::memcpy(actual.data(), out.data(), out.size());
                EXPECT_EQ(support::difference(dst, expected.data(),
                                  actual.data(), c.dst.span()),
                        "")
                        << to_string(c) << ", " << slack << " bytes";
                EXPECT_TRUE(
                        a.intact() && b.intact() && z.intact() && out.intact());
            }
        }
}

// A product's, too.
TEST(abuse, buffers_of_a_product_at_any_byte) {
    for (const data_type_t type : {data_type_t::f32, data_type_t::bf16})
        for (const dim_t rows : {1, 5, 30})
            for (const size_t slack : {1u, 2u, 3u}) {
                matmul_case_t c;
                c.src = {rows, 40};
                c.weights = {40, 128};
                c.type = type;
                c.group = 8;
                c.bias = true;
                const chain_graph_t g = graph_of(c);
                const auto expected = exact_values(g, 1);
                const chain_values_t odd = copies_of(expected, slack);
                compute_exactly(g, expected);
                graph built(dnnl::engine::kind::cpu);
                build(g, built);
                const auto partitions = built.get_partitions();
                ASSERT_EQ(partitions.size(), 1u);
                EXPECT_NE(run(g, partitions[0], odd).find("matmul"),
                        std::string::npos);
                EXPECT_EQ(support::difference(type, expected.back().data(),
                                  odd.back().data(), g.tensors.back().span()),
                        "")
                        << to_string(c) << ", " << slack << " bytes";
                for (const auto &buffer : odd)
                    EXPECT_TRUE(buffer.intact());
            }
}

// No in-place ports: dst has no meaning then, and all else stays as it was.
TEST(abuse, inputs_that_overlap_dst) {
    for (const dim_t width : {20, 67, 1030, 70000}) {
        const auto c = per_group(dense_case({3, width}, data_type_t::u8,
                                         data_type_t::f32, data_type_t::u8),
                {1, 8});
        const auto compiled = compile_or_throw(
                partition_of(op_of(c)), inputs_of(c), {strided(dst_id, c.dst)});
        const guarded_buffer_t dst(
                c.dst.bytes(), guarded_buffer_t::edge_t::end, 3);
        char *const begin = static_cast<char *>(dst.data());
        for (const size_t shift : {size_t {0}, size_t {1}, c.src.bytes(),
                     c.dst.bytes() - c.src.bytes()})
            for (const bool scales_too : {false, true}) {
                std::memset(begin, 0x41, dst.size());
                std::vector<char> scales(c.scales.bytes(), 0x3f),
                        zps(c.zps.bytes(), 1);
                const size_t last = dst.size() - scales.size();
                compiled.execute(cpu_stream(),
                        {{strided(src_id, c.src), cpu_engine(), begin + shift},
                                {strided(scales_id, c.scales), cpu_engine(),
                                        scales_too ? begin + last
                                                   : scales.data()},
                                {strided(zps_id, c.zps), cpu_engine(),
                                        zps.data()}},
                        {{strided(dst_id, c.dst), cpu_engine(), begin}});
                cpu_stream().wait();
                EXPECT_TRUE(dst.intact());
            }
        EXPECT_EQ(check_execution(c, compiled), "");
    }
}

// The bytes behind dst are an input's alone: they stay as they were.
TEST(abuse, inputs_of_a_product_that_overlap_dst) {
    for (const data_type_t type : {data_type_t::f32, data_type_t::bf16})
        for (const dim_t rows : {1, 5, 30}) {
            matmul_case_t c;
            c.src = {rows, 64};
            c.weights = {64, 128};
            c.type = type;
            c.group = 16;
            const chain_graph_t g = graph_of(c);
            const auto values = exact_values(g, 1);
            const size_t dst = g.tensors.size() - 1;
            graph built(dnnl::engine::kind::cpu);
            build(g, built);
            const auto partitions = built.get_partitions();
            ASSERT_EQ(partitions.size(), 1u);
            const size_t bytes = values[dst].size();
            for (const auto &port : partitions[0].get_input_ports())
                for (const size_t shift : {size_t {0}, bytes / 2, bytes - 1}) {
                    const size_t input = port.get_id();
                    const std::string what = to_string(c) + ", tensor "
                                             + std::to_string(input) + " at "
                                             + std::to_string(shift);
                    const size_t end
                            = std::max(bytes, shift + values[input].size());
                    const guarded_buffer_t both(
                            end, guarded_buffer_t::edge_t::end);
                    char *const begin = static_cast<char *>(both.data());
                    std::memset(begin, 0x11, end);
                    const auto kernel = run(
                            g, partitions[0], [&](size_t tensor) -> void * {
                        if (tensor == dst) return begin;
                        if (tensor == input) return begin + shift;
                        return values[tensor].data();
                    });
                    EXPECT_NE(kernel.find("matmul"), std::string::npos);
                    EXPECT_TRUE(std::all_of(
                            begin + bytes, begin + end, [](char byte) {
                        return byte == 0x11;
                    })) << what;
                    EXPECT_TRUE(both.intact()) << what;
                }
            for (const auto &buffer : values)
                EXPECT_TRUE(buffer.intact()) << to_string(c);
        }
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
