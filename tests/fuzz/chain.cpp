// A chain of steps out of bytes, and the problem it makes, on every kernel of
// the elementwise family: the reference kernel's answer is everybody's.

#include "problem/chain.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/convert.hpp"
#include "fuzz/bytes.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "support/guarded_buffer.hpp"

using namespace dnnl_dequant;
using dnnl_dequant::fuzz::bytes_t;
using support::guarded_buffer_t;

namespace {

constexpr data_type_t types[] = {data_type_t::f32, data_type_t::bf16,
        data_type_t::f16, data_type_t::s8, data_type_t::u8, data_type_t::s4,
        data_type_t::u4, data_type_t::s32, data_type_t::u16, data_type_t::s2,
        data_type_t::f8_e4m3, data_type_t::f4_e2m1};
constexpr data_type_t results[]
        = {data_type_t::f32, data_type_t::bf16, data_type_t::f16};

constexpr dim_t most_elements = 1 << 14;

dims_t shape_of(bytes_t &bytes) {
    dims_t shape(bytes.below(5));
    for (dim_t &extent : shape)
        extent = static_cast<dim_t>(bytes.below(20));
    return shape;
}

// Strides as ports lets them through: from 0, and any gaps.
dims_t strides_of(bytes_t &bytes, const dims_t &shape) {
    dims_t strides(shape.size());
    dim_t stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
        strides[d] = stride + (bytes.one_in_eight() ? 3 : 0);
        stride = strides[d] * std::max<dim_t>(shape[d], 1);
    }
    return strides;
}

chain_t::view_t view_of(bytes_t &bytes, const chain_t &chain) {
    chain_t::view_t view;
    view.type = types[bytes.below(std::size(types))];
    const dim_t group = static_cast<dim_t>(bytes.below(9)) + 1;
    const size_t grouped = bytes.below(6);
    dim_t stride = 1;
    for (size_t d = 0; d < chain.shape().size(); ++d) {
        if (bytes.flag()) {
            view.along.push_back({});
            continue;
        }
        view.along.push_back({stride, d == grouped ? group : 1});
        stride *= std::max<dim_t>(chain.shape()[d], 1);
    }
    return view;
}

void transpose(bytes_t &bytes, chain_t &chain) {
    std::vector<size_t> order;
    for (size_t d = 0; d < chain.shape().size(); ++d)
        order.insert(order.begin()
                             + static_cast<std::ptrdiff_t>(
                                     bytes.below(order.size() + 1)),
                d);
    chain.transpose(order);
}

result_t any_step(bytes_t &bytes, chain_t &chain) {
    switch (bytes.below(6)) {
    case 0: transpose(bytes, chain); return {};
    case 1: return chain.reshape(shape_of(bytes));
    case 2: chain.clamp(-1, 100); return {};
    case 3: chain.set_type(results[bytes.below(std::size(results))]); return {};
    case 4: return chain.apply(step_kind_t::add, view_of(bytes, chain));
    default: return chain.apply(step_kind_t::multiply, view_of(bytes, chain));
    }
}

// Elements up to the last that the operand's strides reach.
dim_t reach_of(const problem_t &problem, const operand_t &operand) {
    dim_t reach = operand.offset + 1;
    for (size_t l = 0; l < problem.loops.size(); ++l)
        reach += std::max<dim_t>(problem.loops[l].extent - 1, 0)
                 * operand.strides[l];
    return reach;
}

[[noreturn]] void fail(const problem_t &problem, const char *what) {
    std::fprintf(stderr, "%s: %s\n", what, to_string(problem).c_str());
    std::abort();
}

class buffers_t {
public:
    explicit buffers_t(const problem_t &problem) {
        for (const operand_t &operand : problem.operands) {
            const dim_t bytes
                    = bytes_of(operand.type, reach_of(problem, operand));
            buffers_.emplace_back(static_cast<size_t>(bytes));
            pointers_.push_back(buffers_.back().data());
        }
        uint32_t state = 1;
        for (size_t b = 0; b + 1 < buffers_.size(); ++b)
            for (size_t i = 0; i < buffers_[b].size(); ++i) {
                state = state * 1664525u + 1013904223u;
                static_cast<uint8_t *>(buffers_[b].data())[i]
                        = static_cast<uint8_t>(state >> 24);
            }
    }
    void *const *pointers() const { return pointers_.data(); }
    const guarded_buffer_t &dst() const { return buffers_.back(); }
    bool intact() const {
        for (const auto &buffer : buffers_)
            if (!buffer.intact()) return false;
        return true;
    }

private:
    std::vector<guarded_buffer_t> buffers_;
    std::vector<void *> pointers_;
};

// NaN may have any payload: equal enough where both are NaN.
bool same(data_type_t type, const buffers_t &a, const buffers_t &b) {
    const size_t size = a.dst().size();
    const auto *x = static_cast<const uint8_t *>(a.dst().data());
    const auto *y = static_cast<const uint8_t *>(b.dst().data());
    if (std::memcmp(x, y, size) == 0) return true;
    const dim_t count = static_cast<dim_t>(size) * 8 / bits_of(type);
    for (dim_t i = 0; i < count; ++i) {
        const float p = load_f32(type, x, i), q = load_f32(type, y, i);
        if (std::memcmp(&p, &q, sizeof(p)) != 0 && !(p != p && q != q))
            return false;
    }
    return true;
}

void run_everywhere(const problem_t &problem) {
    struct row_t {
        isa_t isa;
        kernel_factory_t factory;
    };
    constexpr row_t rows[] = {
#define X(name, isa, factory) {isa, factory},
#include "kernels/elementwise/kernels.def"
#undef X
    };
    std::shared_ptr<const kernel_t> ref;
    const isa_t isa = !__builtin_cpu_supports("avx2") ? isa_none
                      : __builtin_cpu_supports("avx512bw")
                                      && __builtin_cpu_supports("avx512dq")
                                      && __builtin_cpu_supports("avx512vl")
                              ? isa_avx512_core
                              : isa_avx2;
    if (!rows[std::size(rows) - 1].factory(problem, isa_none, ref).ok()) return;
    const buffers_t expected(problem);
    ref->run(expected.pointers(), 0, ref->work_amount());
    if (!expected.intact()) fail(problem, "ref wrote outside a buffer");
    for (const row_t &row : rows) {
        std::shared_ptr<const kernel_t> kernel;
        if (!has(isa, row.isa) || !row.factory(problem, isa, kernel).ok())
            continue;
        const buffers_t got(problem);
        for (dim_t u = kernel->work_amount(); u-- > 0;)
            kernel->run(got.pointers(), u, u + 1);
        if (!got.intact()) fail(problem, "wrote outside a buffer");
        if (!same(problem.dst().type, expected, got))
            fail(problem, kernel->name());
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes_t bytes(data, size);
    const dims_t shape = shape_of(bytes);
    chain_t chain;
    chain.begin(types[bytes.below(std::size(types))], shape,
            strides_of(bytes, shape));
    if (!chain.apply(step_kind_t::subtract, view_of(bytes, chain)).ok()
            || !chain.apply(step_kind_t::multiply, view_of(bytes, chain)).ok())
        return 0;
    chain.set_type(results[bytes.below(std::size(results))]);
    for (int step = 0; step < 6 && !bytes.empty(); ++step)
        if (!any_step(bytes, chain).ok()) break;
    problem_t problem;
    if (!chain.finish(strides_of(bytes, chain.shape()), problem).ok()) return 0;
    if (!(problem == problem_t(problem)) || to_string(problem).empty())
        fail(problem, "is not itself");
    for (const operand_t &operand : problem.operands)
        if (reach_of(problem, operand) > most_elements) return 0;
    run_everywhere(problem);
    return 0;
}
