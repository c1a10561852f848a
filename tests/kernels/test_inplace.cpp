// Every kernel where dst lies in an operand's own place, as may_overwrite()
// allows: the same as next to it, whatever the order of units.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iostream>

#include "kernels/chain_case.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/kernel_rows.hpp"
#include "support/cross_product.hpp"
#include "support/guarded_buffer.hpp"

namespace dnnl_dequant {
namespace {

using support::chain_case_t;
using support::dequantize_case_t;
using support::guarded_buffer_t;
using t = data_type_t;

using bytes_t = std::vector<unsigned char>;
using buffers_t = std::vector<bytes_t>; // one an operand, the last one dst

const std::vector<kernel_row_t> &all_rows() {
    static const std::vector<kernel_row_t> rows = [] {
        std::vector<kernel_row_t> all {
#define X(name, isa, factory) {#name, isa, factory},
#include "kernels/elementwise/kernels.def"
#undef X
        };
        for (const auto *family : {&dequantize_rows(), &quantize_rows()})
            for (const auto &row : *family)
                if (row.name != "ref_elementwise") all.push_back(row);
        return all;
    }();
    return rows;
}

struct tally_t {
    std::vector<dim_t> taken = std::vector<dim_t>(all_rows().size());
};

std::vector<void *> pointers_of(buffers_t &buffers) {
    std::vector<void *> result;
    for (bytes_t &buffer : buffers)
        result.push_back(buffer.data());
    return result;
}

// Runs the kernel with dst in place of operand `o`, in guarded memory.
bytes_t run_in_place(
        const kernel_t &kernel, buffers_t buffers, size_t o, bool one_by_one) {
    const guarded_buffer_t place(
            std::max(buffers[o].size(), buffers.back().size()));
    std::copy(buffers[o].begin(), buffers[o].end(),
            static_cast<unsigned char *>(place.data()));
    auto operands = pointers_of(buffers);
    operands[o] = operands.back() = place.data();
    const dim_t units = kernel.work_amount();
    if (one_by_one)
        for (dim_t u = units; u-- > 0;)
            kernel.run(operands.data(), u, u + 1);
    else kernel.run(operands.data(), 0, units);
    EXPECT_TRUE(place.intact());
    const auto *bytes = static_cast<const unsigned char *>(place.data());
    return bytes_t(bytes, bytes + place.size());
}

using reference_t = std::function<void(const std::vector<void *> &)>;
using difference_t = std::function<std::string(const void *, const void *)>;

// All kernels, in place of all operands that allow it.
void check_problem(const problem_t &problem, buffers_t buffers,
        const reference_t &write, const difference_t &compare, tally_t &tally) {
    for (size_t o = 0; o + 1 < buffers.size(); ++o) {
        if (!may_overwrite(problem, o)) continue;
        // Bytes between dst's elements are the operand's.
        buffers_t expected = buffers;
        expected.back() = buffers[o];
        write(pointers_of(expected));
        for (size_t r = 0; r < all_rows().size(); ++r) {
            const kernel_row_t &row = all_rows()[r];
            std::shared_ptr<const kernel_t> kernel;
            if (!runs_here(row) || !row.factory(problem, row.isa, kernel).ok())
                continue;
            ++tally.taken[r];
            for (const bool one_by_one : {false, true}) {
                const bytes_t got
                        = run_in_place(*kernel, buffers, o, one_by_one);
                EXPECT_EQ(compare(expected.back().data(), got.data()), "")
                        << row.name << " in place of operand " << o << ": "
                        << to_string(problem);
            }
        }
    }
}

void check_chain(const chain_case_t &c, tally_t &tally) {
    buffers_t buffers;
    for (size_t i = 0; i < c.tensors.size(); ++i) {
        buffers.emplace_back(c.bytes(c.tensors[i]));
        if (i + 1 < c.tensors.size())
            support::fill(c, i, buffers.back().data());
    }
    check_problem(problem_of(c), buffers, [&](const std::vector<void *> &to) {
        reference(c, to);
    }, [&](const void *expected, const void *got) {
        return difference(c, expected, got);
    }, tally);
}

void check_dequantize(const dequantize_case_t &c, tally_t &tally) {
    const problem_t problem = problem_of(c);
    const bool has_zps = c.zps.present();
    buffers_t buffers {bytes_t(c.src.bytes())};
    if (has_zps) buffers.emplace_back(c.zps.bytes());
    buffers.emplace_back(c.scales.bytes());
    const size_t scales = buffers.size() - 1;
    fill(c, buffers[0].data(), buffers[scales].data(),
            has_zps ? buffers[1].data() : nullptr);
    buffers.emplace_back(c.dst.bytes());
    check_problem(problem, buffers, [&](const std::vector<void *> &to) {
        support::reference(
                c, to[0], to[scales], has_zps ? to[1] : nullptr, to.back());
    }, [&](const void *expected, const void *got) {
        return support::difference(c.dst.type, expected, got, c.dst.span());
    }, tally);
}

// --- problems

const std::vector<dims_t> &shapes() {
    static const std::vector<dims_t> all {{}, {1}, {7}, {3, 5}, {1000},
            {70, 130}, {3, 257}, {5, 40, 36}, {129, 33}, {17, 3, 19},
            {600, 1024}};
    return all;
}

// src and dst alike; of what is added, too.
dims_t any_layout(const dims_t &dims, dim_t n) {
    std::vector<size_t> order;
    for (size_t d = dims.size(); d-- > 0;)
        order.push_back(d);
    dims_t strides = support::dense_strides(dims);
    if (n == 1) strides = support::permuted_strides(dims, order);
    if (n == 2) strides = support::padded_strides(dims, 3);
    if (n == 3)
        for (dim_t &stride : strides)
            stride *= 2;
    return strides;
}

void print(const tally_t &tally) {
    for (size_t r = 0; r < all_rows().size(); ++r)
        std::cout << all_rows()[r].name << ": " << tally.taken[r] << '\n';
}

// Every kernel of this machine whose name has `part` in it took some case.
void expect_taken(const tally_t &tally, const char *part) {
    for (size_t r = 0; r < all_rows().size(); ++r) {
        const kernel_row_t &row = all_rows()[r];
        if (runs_here(row) && row.name.find(part) != std::string::npos) {
            EXPECT_GT(tally.taken[r], 0) << row.name;
        }
    }
}

chain_case_t chain_of(t src, t dst, const dims_t &dims, dim_t layout) {
    chain_case_t c;
    c.dims = c.groups = dims;
    for (dim_t &group : c.groups)
        group = std::max<dim_t>(group / 2, 1);
    const dims_t alike = any_layout(dims, layout);
    const dims_t constant(dims.size(), 0);
    const dims_t transposed = any_layout(dims, layout == 1 ? 0 : 1);
    dims_t last = constant;
    if (!last.empty()) last.back() = 1;
    c.tensors = {{src, alike, false, 1}, {t::f32, last, false, 0},
            {dst, alike, false, 1}, {t::u8, transposed, false, 0},
            {dst, alike, false, 1}};
    c.seed = support::first_seed() + static_cast<uint64_t>(layout);
    return c;
}

TEST(in_place, chains_are_what_they_are_beside) {
    using k = step_kind_t;
    tally_t tally;
    dim_t n = 0;
    const std::vector<std::vector<step_t>> chains {
            {{k::multiply, 1}},
            {{k::multiply, 1}, {k::round, -1, t::bf16}, {k::add, 2},
                    {k::clamp, -1, t::undef, 0, 6}},
            {{k::subtract, 3}, {k::multiply, 1}, {k::push, 2}, {k::multiply, 1},
                    {k::pop_add}},
            {{k::push, 3}, {k::multiply, 2}, {k::pop_add}},
    };
    for (const t dst : {t::f32, t::bf16, t::f16})
        for (const t src : {t::u8, t::s4, t::s32, t::f32, t::u16, t::f16})
            for (const dims_t &dims : shapes())
                for (dim_t layout = 0; layout < 4; ++layout)
                    for (const auto &steps : chains) {
                        chain_case_t c = chain_of(src, dst, dims, layout);
                        c.steps = steps;
                        // A sample; 37 goes into none of the counts.
                        if (n++ % 37 == 0) check_chain(c, tally);
                        if (HasFailure()) return;
                    }
    print(tally);
}

TEST(in_place, copies_are_what_they_are_beside) {
    tally_t tally;
    for (const t type : {t::u4, t::s8, t::f16, t::s32})
        for (const dims_t &dims : shapes())
            for (dim_t layout = 0; layout < 3; ++layout) {
                chain_case_t c = chain_of(type, type, dims, layout);
                c.tensors = {c.tensors.front(), c.tensors.back()};
                check_chain(c, tally);
                if (HasFailure()) return;
            }
    print(tally);
    expect_taken(tally, "copy_");
}

TEST(in_place, dequantized_and_quantized_are_what_they_are_beside) {
    using op_t = support::dequantize_op_t;
    struct pair_t {
        op_t op;
        t src, dst;
    };
    tally_t tally;
    const std::vector<pair_t> pairs {{op_t::dynamic, t::s32, t::f32},
            {op_t::dynamic, t::u32, t::f32}, {op_t::dynamic, t::u16, t::bf16},
            {op_t::dynamic, t::s16, t::f16},
            {op_t::extended_linear, t::f32, t::f32},
            {op_t::extended_linear, t::f16, t::bf16},
            {op_t::extended_quantize_linear, t::f32, t::s32},
            {op_t::extended_quantize_linear, t::bf16, t::u16}};
    for (const pair_t &pair : pairs)
        for (dequantize_case_t c : support::vector_shapes()) {
            c.op = pair.op;
            c.src.type = pair.src;
            c.dst.type = pair.dst;
            c.dst.strides = c.src.strides;
            c.scales.type = t::f32;
            c.zps.type = c.seed++ % 2 ? t::undef : pair.src;
            if (support::is_quantize(pair.op)) c.zps.type = pair.dst;
            check_dequantize(c, tally);
            if (HasFailure()) return;
        }
    print(tally);
    expect_taken(tally, "dequantize");
    expect_taken(tally, "_quantize");
}

} // namespace
} // namespace dnnl_dequant
