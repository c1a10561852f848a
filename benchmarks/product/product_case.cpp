#include "product_case.hpp"

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr dim_t decode_rows = 1, few_rows = 8, more_rows = 16, some_rows = 32,
                prefill_rows = 512;

dim_t groups_of(const product_case_t &c) {
    return c.depth / c.group;
}

dim_t parameters_of(const product_case_t &c) {
    return groups_of(c) * (c.columns / c.column_group);
}

// Orders dimensions of [K,N] as the weights lie.
dims_t by_layout(const product_case_t &c, dim_t k, dim_t n) {
    return c.by_column ? dims_t {n, k} : dims_t {k, n};
}

dims_t parameter_dims(const product_case_t &c) {
    return c.is_per_channel()
                   ? dims_t {c.columns}
                   : by_layout(c, groups_of(c), c.columns / c.column_group);
}

void add_value(graph_file_t &file, size_t id, type_t type, const dims_t &dims) {
    graph_value_t value;
    value.id = id;
    value.type = type;
    value.dims = dims;
    file.values[id] = value;
}

graph_op_t make_op(size_t id, op_kind_t kind, const char *name,
        std::vector<size_t> inputs, size_t output) {
    graph_op_t op;
    op.id = id;
    op.name = op.kind_name = name;
    op.kind = kind;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    return op;
}

graph_op_t dynamic_dequantize(
        const product_case_t &c, const std::vector<size_t> &inputs) {
    graph_op_t op = make_op(0, op_kind_t::DynamicDequantize,
            "DynamicDequantize", inputs, float_weights_value);
    if (c.is_per_channel()) {
        op.attributes["qtype"] = std::string("per_channel");
        op.attributes["axis"] = int64_t {c.by_column ? 0 : 1};
    } else {
        op.attributes["qtype"] = std::string("per_group");
        op.attributes["group_shape"] = by_layout(c, c.group, c.column_group);
    }
    return op;
}

graph_op_t dequantize_linear(
        const product_case_t &c, const std::vector<size_t> &inputs) {
    graph_op_t op = make_op(0, op_kind::DequantizeLinear, "DequantizeLinear",
            inputs, float_weights_value);
    const int64_t depth_axis = c.by_column ? 1 : 0;
    if (c.is_per_channel()) {
        op.attributes["axis"] = 1 - depth_axis;
    } else {
        op.attributes["axis"] = depth_axis;
        op.attributes["block_size"] = int64_t {c.group};
    }
    return op;
}

void add_weights(const product_case_t &c, graph_file_t &file) {
    const dims_t dims = by_layout(c, c.depth, c.columns);
    add_value(file, weights_value, c.weights, dims);
    add_value(file, scales_value, c.floats(), parameter_dims(c));
    if (c.has_zps) add_value(file, zps_value, c.weights, parameter_dims(c));
    for (auto &[id, value] : file.values)
        if (c.constant) value.property = lt_t::property_type::constant;
    add_value(file, float_weights_value, c.floats(), dims);
    std::vector<size_t> inputs {weights_value, scales_value};
    if (c.has_zps) inputs.push_back(zps_value);
    file.ops.push_back(c.is_of_onnx() ? dequantize_linear(c, inputs)
                                      : dynamic_dequantize(c, inputs));
}

void add_codes(const product_case_t &c, graph_file_t &file) {
    add_value(file, codes_value, c.src, {c.rows, c.depth});
    add_value(file, code_scales_value, type_t::f32, {c.rows});
    add_value(file, code_zps_value, c.src, {c.rows});
    graph_op_t op = make_op(1, op_kind_t::DynamicDequantize,
            "DynamicDequantize",
            {codes_value, code_scales_value, code_zps_value}, src_value);
    op.attributes["qtype"] = std::string("per_channel");
    op.attributes["axis"] = int64_t {0};
    file.ops.push_back(op);
}

std::vector<product_case_t> with_rows_and_types(product_case_t c,
        const std::vector<type_t> &types, const std::vector<dim_t> &rows) {
    std::vector<product_case_t> all;
    for (const type_t src : types)
        for (const dim_t one : rows) {
            c.src = src;
            c.rows = one;
            all.push_back(c);
        }
    return all;
}

std::vector<product_case_t> groups_of_128(product_case_t c) {
    std::vector<product_case_t> all;
    for (const dim_t columns : {4096, 11008})
        for (const bool by_column : {true, false}) {
            c.columns = columns;
            c.by_column = by_column;
            for (const auto &one : with_rows_and_types(c,
                         {type_t::f32, type_t::u8, type_t::bf16, type_t::f16},
                         {decode_rows, few_rows, some_rows, prefill_rows}))
                all.push_back(one);
        }
    return all;
}

// ONNX Runtime's groups, those of oneDNN's own graphs, and what most 8-bit
// models have.
std::vector<product_case_t> other_granularities(product_case_t c) {
    std::vector<product_case_t> all;
    const auto add = [&](const std::vector<type_t> &types) {
        for (const bool by_column : {true, false}) {
            c.by_column = by_column;
            for (const auto &one : with_rows_and_types(c, types,
                         {decode_rows, few_rows, more_rows, some_rows,
                                 prefill_rows}))
                all.push_back(one);
        }
    };
    const std::vector<type_t> floats {type_t::f32, type_t::bf16, type_t::f16};
    c.group = 32;
    add({type_t::f32, type_t::u8, type_t::bf16, type_t::f16});
    c.group = 1;
    for (const dim_t columns : {128, 32}) {
        c.column_group = columns;
        add(floats);
    }
    c.weights = type_t::s8;
    c.has_zps = false;
    add(floats);
    c.group = c.depth;
    c.column_group = 1;
    add({type_t::f32, type_t::u8, type_t::bf16, type_t::f16});
    return all;
}

// Weights that only ONNX dequantizes: floats of 8 and 4 bits, and 2 bits.
std::vector<product_case_t> other_types(product_case_t c) {
    std::vector<product_case_t> all;
    const auto add = [&](type_t weights, dim_t group) {
        c.weights = weights;
        c.group = group;
        c.has_zps = !is_floating(weights);
        for (const bool by_column : {true, false}) {
            c.by_column = by_column;
            for (const auto &one : with_rows_and_types(c,
                         {type_t::f32, type_t::bf16, type_t::f16},
                         {decode_rows, few_rows, some_rows}))
                all.push_back(one);
        }
    };
    add(type_t::f8_e4m3, c.depth);
    add(type_t::f8_e5m2, c.depth);
    add(data_type::f4_e2m1, 32);
    add(data_type::u2, 128);
    return all;
}

bool is_quick(const product_case_t &c) {
    const bool smaller = c.columns == c.depth;
    if (c.group != 128 || c.src == type_t::bf16 || c.src == type_t::f16
            || (!smaller && c.rows != decode_rows))
        return false;
    return c.by_column || c.rows == decode_rows || c.rows == some_rows;
}

} // namespace

size_t product_case_t::weights_bytes() const {
    return bytes_of(weights, depth * columns);
}

size_t product_case_t::scales_bytes() const {
    return bytes_of(floats(), parameters_of(*this));
}

size_t product_case_t::zps_bytes() const {
    return has_zps ? bytes_of(weights, parameters_of(*this)) : 0;
}

size_t product_case_t::packed_bytes() const {
    return weights_bytes() + scales_bytes() + zps_bytes();
}

double product_case_t::operations() const {
    return 2. * static_cast<double>(product(dims()));
}

peak_kind_t product_case_t::peak() const {
    return in_integers() ? peak_kind_t::vnni : peak_kind_t::fma;
}

const char *product_case_t::layout_name() const {
    return by_column ? "by_column" : "by_row";
}

std::string product_case_t::name() const {
    return std::string("MatMul/") + to_string(src) + "/" + to_string(weights)
           + "/" + granularity_name() + "/zps_" + zps_name() + "/"
           + layout_name() + "/" + std::to_string(rows) + "x"
           + std::to_string(depth) + "x" + std::to_string(columns) + "/t"
           + std::to_string(threads);
}

std::string product_case_t::granularity_name() const {
    if (is_per_channel()) return "channel";
    if (column_group == 1) return "group_" + std::to_string(group);
    return "group_" + std::to_string(group) + "x"
           + std::to_string(column_group);
}

const char *product_case_t::zps_name() const {
    return has_zps ? to_string(weights) : "none";
}

std::optional<double> product_case_t::target() const {
    if (rows != decode_rows) return std::nullopt;
    if (in_integers()) return 1.2;
    if (bits_of(weights) == 8) return 1.3;
    if (src != type_t::f32) return 1.6;
    return threads == 1 ? 2.0 : 1.5;
}

std::optional<double> product_case_t::peak_target() const {
    if (rows != prefill_rows || src != type_t::f32) return std::nullopt;
    return 0.93;
}

std::optional<double> product_case_t::dense_target() const {
    if (rows == few_rows) return 1.0;
    if (rows == more_rows) return 1.2;
    if (rows == some_rows) return 1.1;
    if (rows == prefill_rows) return 1.05;
    return std::nullopt;
}

graph_file_t graph_of(const product_case_t &c) {
    graph_file_t file;
    file.path = c.name();
    add_weights(c, file);
    add_value(file, src_value, c.floats(), {c.rows, c.depth});
    if (c.in_integers()) add_codes(c, file);
    add_value(file, dst_value, c.floats(), {c.rows, c.columns});
    graph_op_t op = make_op(2, op_kind_t::MatMul, "MatMul",
            {src_value, float_weights_value}, dst_value);
    op.attributes["transpose_b"] = c.by_column;
    file.ops.push_back(op);
    return file;
}

std::vector<product_case_t> products_set(
        const std::vector<int> &threads, bool quick) {
    std::vector<product_case_t> all;
    for (const int n : threads) {
        product_case_t c;
        c.threads = n;
        for (const auto &cases :
                {groups_of_128(c), other_granularities(c), other_types(c)})
            for (const auto &one : cases)
                if (!quick || is_quick(one)) all.push_back(one);
    }
    return all;
}

} // namespace bench
} // namespace dnnl_dequant
