// DynamicQuantizeLinear's function body in oneDNN's ops: one partition, whose
// outputs have the bits that the ops give one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/plugin.hpp"
#include "e2e/values_by_id.hpp"
#include "support/cross_product.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using type = logical_tensor::data_type;
using bytes_t = std::vector<unsigned char>;

constexpr float infinity = std::numeric_limits<float>::infinity();

// x, 0 and 255 are given; scale, rounded and cast may leave.
enum : size_t {
    x,
    zero,
    levels,
    low,
    high,
    least,
    most,
    range,
    scale,
    quotient,
    difference,
    bounded,
    rounded,
    cast,
    quotients,
    rounds,
    sum,
    y
};

enum class tail_t { ops, cast_ops, dynamic, linear };

struct body_t {
    dims_t dims {5, 37};
    dims_t strides {37, 1};
    bool keep_dims = true, by_attributes = false, parameters_leave = true;
    tail_t tail = tail_t::dynamic;
    float zero = 0.f, levels = 255.f;
    std::vector<float> x;

    bool y_is_u8() const { return tail != tail_t::ops; }
};

logical_tensor tensor_of(const body_t &b, size_t id) {
    const auto layout = logical_tensor::layout_type::strided;
    const bool is_u8 = id == cast || (id == y && b.y_is_u8());
    const type t = is_u8 ? type::u8 : type::f32;
    if (id == x) return {id, t, b.dims, b.strides};
    if (id >= quotients) return {id, t, b.dims, layout};
    if (id == zero || id == levels) return {id, t, dims_t {1}, layout};
    const bool reduced = id == low || id == high
                         || (b.by_attributes && id >= least && id <= range);
    if (b.keep_dims) return {id, t, dims_t(b.dims.size(), 1), layout};
    if (reduced) return {id, t, 0, layout};
    return {id, t, dims_t {1}, layout};
}

class builder_t {
public:
    builder_t(const body_t &b, graph &g)
        : b_(b)
        , g_(g) {}

    void build() {
        reduce(op::kind::ReduceMin, low);
        reduce(op::kind::ReduceMax, high);
        bound();
        add(make(op::kind::Subtract, {most, least}, range));
        add(make(op::kind::Divide, {range, levels}, scale));
        add(make(op::kind::Divide, {least, scale}, quotient));
        add(make(op::kind::Subtract, {zero, quotient}, difference));
        clamp(difference, bounded, 0.f, 255.f);
        add(make(op::kind::Round, {bounded}, rounded));
        quantize();
        g_.finalize();
    }

private:
    op make(op::kind kind, const std::vector<size_t> &inputs, size_t output) {
        std::vector<logical_tensor> in;
        for (const size_t id : inputs)
            in.push_back(tensor_of(b_, id));
        const size_t id = next_++;
        return {id, kind, in, {tensor_of(b_, output)}, std::to_string(id)};
    }
    void add(const op &made) { g_.add_op(made); }
    void reduce(op::kind kind, size_t output) {
        op made = make(kind, {x}, output);
        std::vector<int64_t> axes;
        for (size_t d = b_.dims.size(); d-- > 0;) // any order, any sign
            axes.push_back(
                    static_cast<int64_t>(d)
                    - (d % 2 ? static_cast<int64_t>(b_.dims.size()) : 0));
        made.set_attr<std::vector<int64_t>>(op::attr::axes, axes);
        made.set_attr<bool>(op::attr::keep_dims, b_.keep_dims);
        add(made);
    }
    void clamp(size_t input, size_t output, float lower, float upper) {
        op made = make(op::kind::Clamp, {input}, output);
        made.set_attr<float>(op::attr::min, lower);
        made.set_attr<float>(op::attr::max, upper);
        add(made);
    }
    void bound() {
        if (b_.by_attributes) {
            clamp(low, least, -infinity, 0.f);
            clamp(high, most, 0.f, infinity);
            return;
        }
        add(make(op::kind::Minimum, {low, zero}, least));
        add(make(op::kind::Maximum, {zero, high}, most));
    }
    void cast_to_u8(size_t input, size_t output) {
        op made = make(op::kind::Quantize, {input}, output);
        made.set_attr<std::vector<float>>(op::attr::scales, {1.f});
        made.set_attr<std::vector<int64_t>>(op::attr::zps, {0});
        made.set_attr<std::string>(op::attr::qtype, "per_tensor");
        add(made);
    }
    void quantize() {
        if (b_.tail == tail_t::dynamic || b_.tail == tail_t::linear) {
            cast_to_u8(rounded, cast);
            op made = make(b_.tail == tail_t::dynamic
                                   ? op::kind::DynamicQuantize
                                   : dnnl_dequant::op_kind::QuantizeLinear,
                    {x, scale, cast}, y);
            if (b_.tail == tail_t::dynamic)
                made.set_attr<std::string>(op::attr::qtype, "per_tensor");
            add(made);
            leave({cast});
        } else {
            add(make(op::kind::Divide, {x, scale}, quotients));
            add(make(op::kind::Round, {quotients}, rounds));
            add(make(op::kind::Add, {rounds, rounded}, sum));
            const bool casts = b_.tail == tail_t::cast_ops;
            constexpr size_t before_cast = 100;
            bounded_y_ = casts ? before_cast : y;
            clamp_y();
            if (casts) cast_y();
        }
        leave({scale, rounded});
    }
    // f32 in front of a cast: a tensor that has no place in the list.
    logical_tensor bounded_y() const {
        return {bounded_y_, type::f32, b_.dims,
                logical_tensor::layout_type::strided};
    }
    void clamp_y() {
        const size_t id = next_++;
        op made(id, op::kind::Clamp, {tensor_of(b_, sum)}, {bounded_y()},
                std::to_string(id));
        made.set_attr<float>(op::attr::min, 0.f);
        made.set_attr<float>(op::attr::max, 255.f);
        add(made);
    }
    void cast_y() {
        const size_t id = next_++;
        op made(id, op::kind::Quantize, {bounded_y()}, {tensor_of(b_, y)},
                std::to_string(id));
        made.set_attr<std::vector<float>>(op::attr::scales, {1.f});
        made.set_attr<std::vector<int64_t>>(op::attr::zps, {0});
        made.set_attr<std::string>(op::attr::qtype, "per_tensor");
        add(made);
    }
    void leave(const std::vector<size_t> &ids) {
        for (const size_t id : ids)
            if (b_.parameters_leave)
                add({next_++, op::kind::End, {tensor_of(b_, id)}, {}, "end"});
    }

    const body_t &b_;
    graph &g_;
    size_t next_ = 0, bounded_y_ = y;
};

values_by_id_t initial_values(const body_t &b) {
    values_by_id_t values;
    const auto put = [&](size_t id, const std::vector<float> &floats) {
        values[id].resize(floats.size() * sizeof(float));
        if (!floats.empty())
            std::memcpy(values[id].data(), floats.data(), values[id].size());
    };
    put(x, b.x);
    put(zero, {b.zero});
    put(levels, {b.levels});
    return values;
}

values_by_id_t run_all(const body_t &b, partition::policy policy,
        size_t &largest, std::string &kernel) {
    values_by_id_t values = initial_values(b);
    const auto tensor_for = [&](size_t id) { return tensor_of(b, id); };
    graph g(dnnl::engine::kind::cpu);
    builder_t(b, g).build();
    for (const auto &p : g.get_partitions(policy)) {
        if (!p.is_supported()) continue; // End
        const std::string name = run(p, tensor_for, values);
        if (p.get_ops_num() > largest) kernel = name;
        largest = std::max(largest, p.get_ops_num());
    }
    return values;
}

size_t ops_of(const body_t &b) {
    return b.tail == tail_t::ops ? 14 : b.tail == tail_t::cast_ops ? 15 : 12;
}

values_by_id_t run_fused(const body_t &b) {
    size_t largest = 0;
    std::string kernel;
    const values_by_id_t values
            = run_all(b, partition::policy::fusion, largest, kernel);
    EXPECT_EQ(largest, ops_of(b));
    EXPECT_NE(kernel.find("dynamic_quantize"), std::string::npos) << kernel;
    return values;
}

// Op by op, and in one.
void expect_equal(const body_t &b) {
    size_t largest = 0;
    std::string kernel;
    const values_by_id_t apart
            = run_all(b, partition::policy::debug, largest, kernel);
    EXPECT_EQ(largest, 1u);
    const values_by_id_t fused = run_fused(b);
    for (const size_t id : {scale, rounded, cast, y}) {
        if (fused.count(id) == 0) continue;
        EXPECT_EQ(fused.at(id), apart.at(id))
                << "tensor " << id << ", tail " << static_cast<int>(b.tail);
    }
    EXPECT_EQ(fused.count(scale), b.parameters_leave ? 1u : 0u);
}

std::vector<float> between(float lower, float upper, size_t count) {
    support::random_t random(support::first_seed());
    std::vector<float> values(count);
    for (float &value : values)
        value = lower
                + (upper - lower)
                          * static_cast<float>(random.between(0, 1 << 20))
                          / static_cast<float>(1 << 20);
    return values;
}

constexpr tail_t tails[] {
        tail_t::ops, tail_t::cast_ops, tail_t::dynamic, tail_t::linear};

TEST(quantize_body, equals_its_ops_one_by_one) {
    for (const tail_t tail : tails)
        for (const bool keep_dims : {false, true})
            for (const bool by_attributes : {false, true})
                for (const bool leave : {false, true}) {
                    body_t b;
                    b.tail = tail;
                    b.keep_dims = keep_dims;
                    b.by_attributes = by_attributes;
                    b.parameters_leave = leave;
                    b.x = between(-2.f, 5.f, 5 * 37);
                    expect_equal(b);
                }
}

TEST(quantize_body, equals_its_ops_for_ranges_of_all_kinds) {
    const std::vector<std::pair<float, float>> ranges {{0.f, 0.f}, {1.f, 3.f},
            {-3.f, -1.f}, {-1e-40f, 2e-40f}, {-1e38f, 1e38f}, {-0.f, 1e-45f}};
    for (const tail_t tail : tails)
        for (const auto &[lower, upper] : ranges) {
            body_t b;
            b.tail = tail;
            b.x = between(lower, upper, 5 * 37);
            expect_equal(b);
        }
}

// Scalars are read when it is executed: any will do.
TEST(quantize_body, takes_other_scalars_than_zero_and_255) {
    for (const tail_t tail : tails)
        for (const float zero : {-0.f, 0.75f, -0.75f, 9.f, -9.f})
            for (const float levels : {255.f, 100.f}) {
                body_t b;
                b.tail = tail;
                b.zero = zero;
                b.levels = levels;
                b.x = between(-2.f, 5.f, 5 * 37);
                expect_equal(b);
            }
}

TEST(quantize_body, equals_its_ops_beyond_one_core) {
    body_t b;
    b.dims = {400, 1031};
    b.strides = {1031, 1};
    b.x = between(-2.f, 5.f, 400 * 1031);
    expect_equal(b);
    b.strides = {1, 400};
    expect_equal(b);
}

float f32_at(const values_by_id_t &values, size_t id) {
    float value = 0;
    std::memcpy(&value, values.at(id).data(), sizeof(value));
    return value;
}

// Stock's reductions drop a NaN too, or not, depending on where it stands.
TEST(quantize_body, leaves_nan_out_of_the_range) {
    for (const tail_t tail : tails) {
        body_t b;
        b.tail = tail;
        b.dims = {5};
        b.strides = {1};
        b.x = {std::nanf(""), -1.f, 2.f, 0.f, 2.f};
        const values_by_id_t values = run_fused(b);
        EXPECT_EQ(f32_at(values, scale), 3.f / 255.f);
        EXPECT_EQ(f32_at(values, rounded), 85.f);
        if (!b.y_is_u8()) continue;
        // QuantizeLinear gives NaN the zero point, a Clamp its lower bound.
        const auto nan_to
                = static_cast<unsigned char>(tail == tail_t::linear ? 85 : 0);
        const bytes_t expected {nan_to, 0, 255, 85, 255};
        EXPECT_TRUE(std::equal(
                expected.begin(), expected.end(), values.at(y).begin()));
    }
}

TEST(quantize_body, of_infinities_has_an_infinite_scale) {
    for (const tail_t tail : tails) {
        body_t b;
        b.tail = tail;
        b.dims = {3};
        b.strides = {1};
        b.x = {infinity, 1.f, -5.f};
        const values_by_id_t values = run_fused(b);
        EXPECT_EQ(f32_at(values, scale), infinity);
        EXPECT_EQ(f32_at(values, rounded), 0.f);
    }
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
