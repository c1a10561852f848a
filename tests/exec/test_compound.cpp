// Tests where the values between the parts of a compound lie, and which ports
// may be overwritten. Parts are made by hand here: oneDNN's partitions of today
// end in a product, whose result overwrites nothing.

#include "exec/compound.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/logical_tensor.hpp"
#include "pipeline.hpp"

namespace dnnl_dequant {
namespace {

const dims_t dims {5, 40};

logical_tensor_t dense(size_t id, data_type_t type, const dims_t &shape) {
    logical_tensor_t tensor {};
    tensor.id = id;
    tensor.data_type = static_cast<dnnl_data_type_t>(type);
    set_layout(tensor, shape, dense_strides(shape));
    return tensor;
}

logical_tensor_t f32(size_t id) {
    return dense(id, data_type_t::f32, dims);
}

op_record_t op(size_t id, int kind, std::vector<logical_tensor_t> inputs,
        const logical_tensor_t &output) {
    op_record_t record;
    record.id = id;
    record.kind = kind;
    record.name = "op" + std::to_string(id);
    record.inputs = std::move(inputs);
    record.outputs = {output};
    return record;
}

// Three parts, src is s8 (0) and the scale (1):
//   2 = dequantize(0)
//   4 = dequantize(0) + 2
//   8 = dequantize(0) + 4 + residual (7, if not said)
class parts_t {
public:
    explicit parts_t(size_t last_summand = 7) {
        graph_.engine_kind = dnnl_cpu;
        const int add = dnnl_graph_op_add;
        graph_.ops = {dequantize(0, 2), dequantize(1, 3),
                op(2, add, {f32(3), f32(2)}, f32(4)), dequantize(3, 5),
                op(4, add, {f32(5), f32(4)}, f32(6)),
                op(5, add, {f32(6), f32(last_summand)}, f32(8))};
        compound_ = make_compound(graph_,
                {part(partition_kind_t::dequantize, {0}),
                        part(partition_kind_t::chain, {1, 2}),
                        part(partition_kind_t::chain, {3, 4, 5})},
                nullptr, 0);
    }

    const std::shared_ptr<const partition_t> &compound() const {
        return compound_;
    }

private:
    static op_record_t dequantize(size_t id, size_t output) {
        return op(id, dnnl_graph_op_dynamic_dequantize,
                {dense(0, data_type_t::s8, dims),
                        dense(1, data_type_t::f32, {1})},
                f32(output));
    }

    std::shared_ptr<const partition_t> part(
            partition_kind_t kind, const std::vector<size_t> &ops) {
        match_t match;
        match.kind = kind;
        for (const size_t id : ops)
            match.ops.push_back(&graph_.ops[id]);
        return std::make_shared<partition_t>(make_partition(graph_, match));
    }

    graph_record_t graph_;
    std::shared_ptr<const partition_t> compound_;
};

compiled_partition_t compiled_of(const parts_t &parts) {
    compiled_partition_t compiled;
    compiled.partition = parts.compound();
    EXPECT_EQ(compile(compiled, compiled.partition->inputs,
                      compiled.partition->outputs, nullptr),
            dnnl_success);
    return compiled;
}

TEST(compound, has_the_ports_that_cross_its_border) {
    const parts_t parts;
    std::vector<size_t> inputs, outputs;
    for (const auto &port : parts.compound()->inputs)
        inputs.push_back(port.id);
    for (const auto &port : parts.compound()->outputs)
        outputs.push_back(port.id);
    EXPECT_EQ(inputs, (std::vector<size_t> {0, 1, 7}));
    EXPECT_EQ(outputs, std::vector<size_t> {8});
    EXPECT_EQ(parts.compound()->ops.size(), 6u);
}

TEST(compound, overwrites_a_value_where_its_last_reader_may) {
    const parts_t parts;
    const compiled_partition_t compiled = compiled_of(parts);
    ASSERT_NE(compiled.compound, nullptr);
    const compound_t &compound = *compiled.compound;
    // Value 4 takes the place of 2.
    ASSERT_EQ(compound.values.size(), 2u);
    EXPECT_EQ(compound.values[0].offset, compound.values[1].offset);
    EXPECT_EQ(compound.bytes, 832u) << "5 * 40 floats in lines of 64 bytes";
}

TEST(compound, keeps_a_value_until_its_last_reader) {
    const parts_t parts(2);
    const compiled_partition_t compiled = compiled_of(parts);
    ASSERT_NE(compiled.compound, nullptr);
    const compound_t &compound = *compiled.compound;
    // Value 2 is read by the last part too, when 4 is there.
    ASSERT_EQ(compound.values.size(), 2u);
    EXPECT_NE(compound.values[0].offset, compound.values[1].offset);
    EXPECT_EQ(compound.bytes, 2 * 832u);
}

TEST(compound, tells_which_input_dst_may_overwrite) {
    const parts_t parts;
    const compiled_partition_t compiled = compiled_of(parts);
    const auto *pairs = compiled.inplace();
    ASSERT_NE(pairs, nullptr);
    ASSERT_EQ(pairs->size(), 1u);
    EXPECT_EQ(pairs->front().input_id, 7u);
    EXPECT_EQ(pairs->front().output_id, 8u);
}

TEST(compound, gives_what_the_ops_give_in_place_too) {
    const parts_t parts;
    const compiled_partition_t compiled = compiled_of(parts);
    std::vector<signed char> src(200);
    std::vector<float> residual(200), dst(200), scale {0.5f};
    for (size_t i = 0; i < src.size(); ++i) {
        src[i] = static_cast<signed char>(i * 37 % 251);
        residual[i] = static_cast<float>(i);
    }
    const auto run = [&](float *to) {
        buffer_list_t buffers;
        buffers.push_back({0, src.data(), 200, nullptr});
        buffers.push_back({1, scale.data(), 1, nullptr});
        buffers.push_back({7, residual.data(), 200, nullptr});
        buffers.push_back({8, to, 200, nullptr});
        return execute(compiled, nullptr, buffers);
    };
    ASSERT_EQ(run(dst.data()), dnnl_success);
    for (size_t i = 0; i < src.size(); ++i)
        EXPECT_EQ(dst[i], 3 * (static_cast<float>(src[i]) * 0.5f) + residual[i])
                << i;
    ASSERT_EQ(run(residual.data()), dnnl_success);
    EXPECT_EQ(residual, dst);
}

} // namespace
} // namespace dnnl_dequant
