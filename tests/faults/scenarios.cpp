#include "dnnl_dequant/dnnl_dequant.h"
#include "faults/scenario.hpp"

namespace dnnl_dequant {
namespace faults {

namespace {

constexpr int f32 = dnnl_f32, bf16 = dnnl_bf16, s8 = dnnl_s8, u4 = dnnl_u4;
constexpr int u16 = dnnl_dequant_data_type_u16;

// Bytes of 0x40 make scales of 3.0039215 (0x40404040), 4-bit values of 0 and
// 4, s8 of 64, u16 of 0x4040; 0x40404040 * 4 is 0x41404040.
constexpr uint32_t sixty_fours = 0x40404040;

// 1 in f32; the 4-bit values 0, 0, 0, 0, 0, 8, 15, 3.
constexpr uint32_t ones = 0x3f800000;

scenario_t grouped() {
    return {"grouped",
            {dense(0, u4, {3, 20}), dense(1, f32, {3, 3}),
                    dense(2, f32, {3, 20})},
            {{dnnl_graph_op_dynamic_dequantize, {0, 1}, {2}, "per_group",
                    dnnl_graph_op_attr_group_shape, {1, 8}}},
            {0, 1}, 2, sixty_fours, {0, 0, 0, 0, 0x40, 0x40, 0x40, 0x41}};
}

scenario_t transposed() {
    auto scenario = grouped();
    scenario.name = "transposed";
    scenario.tensors[0].layout.strides[0] = 1;
    scenario.tensors[0].layout.strides[1] = 3;
    // Element (0, 1) is the fourth in memory, the high half of a byte.
    return scenario;
}

// Known to our schema only: a Wildcard to oneDNN, its tensors bytes.
scenario_t extension() {
    return {"extension",
            {dense(0, u16, {4, 6}), dense(1, f32, {6}), dense(2, u16, {6}),
                    dense(3, f32, {4, 6})},
            {{dnnl_dequant_op_DequantizeLinear, {0, 1, 2}, {3}, nullptr,
                    dnnl_graph_op_attr_axis, {1}}},
            {0, 1, 2}, 3, sixty_fours, {0, 0, 0, 0, 0, 0, 0, 0}};
}

// 0x40 is 64; 64 * 0x40404040 is 0x43404040, in bf16 0x4340.
scenario_t chain() {
    return {"chain",
            {dense(0, s8, {4, 6}), dense(1, f32, {1}), dense(2, f32, {4, 6}),
                    dense(3, bf16, {4, 6})},
            {{dnnl_graph_op_dynamic_dequantize, {0, 1}, {2}, "per_tensor", 0,
                     {}},
                    {dnnl_graph_op_type_cast, {2}, {3}, nullptr, 0, {}}},
            {0, 1}, 3, sixty_fours, {0x40, 0x43, 0x40, 0x43}};
}

op_spec_t weights_in_groups_of(dnnl_dim_t group) {
    return {dnnl_graph_op_dynamic_dequantize, {1, 2}, {3}, "per_group",
            dnnl_graph_op_attr_group_shape, {group, 1}};
}

// Sums of 8 * 3 * 12, 12 being the scale times 4 rounded to bf16: 0x4390. Its
// blocks of either factor are made in memory of the execution.
scenario_t product() {
    return {"product",
            {dense(0, bf16, {14, 8}), dense(1, u4, {8, 6}),
                    dense(2, f32, {2, 6}), dense(3, bf16, {8, 6}),
                    dense(4, bf16, {14, 6})},
            {weights_in_groups_of(4),
                    {dnnl_graph_op_matmul, {0, 3}, {4}, nullptr, 0, {}}},
            {0, 1, 2}, 4, sixty_fours, {0, 0, 0x90, 0x43, 0, 0, 0x90, 0x43}};
}

// One row, for which AVX-512 streams the weights: sums of sixteen zeros and,
// in column 5, of sixteen eights: 128 is 0x43000000.
scenario_t row() {
    return {"row",
            {dense(0, f32, {1, 16}), dense(1, u4, {16, 128}),
                    dense(2, f32, {2, 128}), dense(3, f32, {16, 128}),
                    dense(4, f32, {1, 128})},
            {weights_in_groups_of(8),
                    {dnnl_graph_op_matmul, {0, 3}, {4}, nullptr, 0, {}}},
            {0, 1, 2}, 4, ones,
            {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                    0, 0x43}};
}

// Integers, which AVX-512 VNNI multiplies by weights that are repacked and
// kept: sums of eight times (128 + 63) * 8 in column 5, 12224, which is
// 0x463f0000 whatever multiplies.
scenario_t constant() {
    scenario_t scenario {"constant",
            {dense(0, dnnl_u8, {2, 32}), dense(1, u4, {32, 64}),
                    dense(2, f32, {1, 64}), dense(3, f32, {32, 64}),
                    dense(4, f32, {2, 64}), dense(5, f32, {1}),
                    dense(6, f32, {2, 32})},
            {{dnnl_graph_op_dynamic_dequantize, {0, 5}, {6}, "per_tensor", 0,
                     {}},
                    weights_in_groups_of(32),
                    {dnnl_graph_op_matmul, {6, 3}, {4}, nullptr, 0, {}}},
            {0, 5, 1, 2}, 4, ones,
            {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                    0x3f, 0x46}};
    for (const size_t id : {size_t(1), size_t(2)})
        scenario.tensors[id].property = dnnl_graph_tensor_property_constant;
    scenario.constant_capacity = 1;
    return scenario;
}

// A query of ones by keys of the bytes 0, 0, -128 and 63: all the weight is the
// last token's, whose values are the same bytes.
scenario_t attention() {
    const std::vector<int64_t> key_groups {1, 1, 4, 1}, groups {1, 1, 1, 4};
    return {"attention",
            {dense(0, f32, {1, 1, 1, 4}), dense(1, s8, {1, 1, 4, 4}),
                    dense(2, f32, {1, 1, 1, 4}), dense(3, f32, {1, 1, 4, 4}),
                    dense(4, f32, {1, 1, 1, 4}), dense(5, f32, {1, 1, 1, 4}),
                    dense(6, s8, {1, 1, 4, 4}), dense(7, f32, {1, 1, 4, 1}),
                    dense(8, f32, {1, 1, 4, 4}), dense(9, f32, {1, 1, 1, 4})},
            {{dnnl_graph_op_dynamic_dequantize, {1, 2}, {3}, "per_group",
                     dnnl_graph_op_attr_group_shape, key_groups},
                    {dnnl_graph_op_matmul, {0, 3}, {4}, nullptr, 0, {}},
                    {dnnl_graph_op_softmax, {4}, {5}, nullptr,
                            dnnl_graph_op_attr_axis, {-1}},
                    {dnnl_graph_op_dynamic_dequantize, {6, 7}, {8}, "per_group",
                            dnnl_graph_op_attr_group_shape, groups},
                    {dnnl_graph_op_matmul, {5, 8}, {9}, nullptr, 0, {}}},
            {1, 2, 0, 6, 7}, 9, ones,
            {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3, 0, 0, 0x7c, 0x42}};
}

op_spec_t weights_of_one_group(size_t weights, size_t scales, size_t floats) {
    return {dnnl_graph_op_dynamic_dequantize, {weights, scales}, {floats},
            "per_group", dnnl_graph_op_attr_group_shape, {16, 1}};
}

// A gated MLP, a partition of three products: 16 times the weights, squared,
// times weights again. The sums of squares are 305152; times 8 in column 5.
scenario_t compound() {
    scenario_t scenario {"compound",
            {dense(0, f32, {1, 16}), dense(1, u4, {16, 32}),
                    dense(2, f32, {1, 32}), dense(3, f32, {16, 32}),
                    dense(4, f32, {1, 32}), dense(5, f32, {1, 32}),
                    dense(6, u4, {16, 32}), dense(7, f32, {1, 32}),
                    dense(8, f32, {16, 32}), dense(9, f32, {1, 32}),
                    dense(10, f32, {1, 32}), dense(11, u4, {32, 8}),
                    dense(12, f32, {2, 8}), dense(13, f32, {32, 8}),
                    dense(14, f32, {1, 8})},
            {weights_of_one_group(1, 2, 3),
                    {dnnl_graph_op_matmul, {0, 3}, {4}, nullptr, 0, {}},
                    {dnnl_graph_op_relu, {4}, {5}, nullptr, 0, {}},
                    weights_of_one_group(6, 7, 8),
                    {dnnl_graph_op_matmul, {0, 8}, {9}, nullptr, 0, {}},
                    {dnnl_graph_op_multiply, {5, 9}, {10}, nullptr, 0, {}},
                    weights_of_one_group(11, 12, 13),
                    {dnnl_graph_op_matmul, {10, 13}, {14}, nullptr, 0, {}}},
            {0, 1, 2, 6, 7, 11, 12}, 14, ones,
            {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                    0x15, 0x4a, 0, 0xb0, 0x8b, 0x4a, 0, 0x80, 0x5f, 0x49}};
    // It makes some six thousand requests.
    scenario.step = 43;
    return scenario;
}

// dst overlaps itself: refused with a sentence at compile.
scenario_t refused() {
    auto scenario = grouped();
    scenario.name = "refused";
    scenario.tensors[2].layout.strides[0] = 1;
    scenario.compile_status = dnnl_invalid_shape;
    return scenario;
}

} // namespace

const std::vector<scenario_t> &scenarios() {
    static const std::vector<scenario_t> all {grouped(), transposed(),
            extension(), chain(), product(), row(), constant(), attention(),
            compound(), refused()};
    return all;
}

} // namespace faults
} // namespace dnnl_dequant
