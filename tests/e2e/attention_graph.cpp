#include "e2e/attention_graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {

namespace {

using t = data_type_t;
using kind = op::kind;
using granularity_t = attention_case_t::granularity_t;
using cache_t = attention_case_t::cache_t;
using scale_t = attention_case_t::scale_t;
using mask_t = attention_case_t::mask_t;
using tail_t = attention_case_t::tail_t;

constexpr dim_t room_for_tokens = 7; // of a cache that has more than are used

} // namespace

std::string to_string(const attention_case_t &c) {
    std::ostringstream text;
    text << to_string(c.type) << " scores " << to_string(c.scores) << " keys "
         << to_string(c.keys) << " values " << to_string(c.values) << " zps "
         << c.has_zps << " granularity " << static_cast<int>(c.granularity)
         << " cache " << static_cast<int>(c.cache) << " grouped "
         << c.is_grouped << " " << c.batch << "x" << c.heads << "x" << c.group
         << "x" << c.rows << " tokens " << c.tokens << " head " << c.head
         << " cols " << c.cols << " scale " << static_cast<int>(c.scale)
         << " caps " << c.caps << " mask " << static_cast<int>(c.mask)
         << " zero " << c.masked_rows_are_zero << " tail "
         << static_cast<int>(c.tail) << " seed " << c.seed;
    return text.str();
}

// --- the graph

size_t attention_graph_t::add(t type, const dims_t &dims, dims_t strides) {
    if (strides.empty()) strides = support::dense_strides(dims);
    const support::tensor_t tensor {
            type == t::undef ? t::u8 : type, dims, strides};
    const size_t id = ports_.size();
    ports_.emplace(
            id, port_t {logical_tensor(id,
                                type == t::undef
                                        ? logical_tensor::data_type::boolean
                                        : type_of(type),
                                dims, strides),
                        type, dims, strides,
                        std::make_shared<support::guarded_buffer_t>(
                                tensor.bytes())});
    return id;
}

size_t attention_graph_t::value(t type, const dims_t &dims) {
    return add(type, dims);
}

op &attention_graph_t::then(
        kind k, const std::vector<size_t> &inputs, size_t output) {
    const size_t id = ops_.size();
    ops_.emplace_back(id, k, "op" + std::to_string(id));
    for (const size_t input : inputs)
        ops_.back().add_input(ports_.at(input).tensor);
    ops_.back().add_output(ports_.at(output).tensor);
    return ops_.back();
}

void attention_graph_t::fill(size_t id, double low, double high) {
    const port_t &port = ports_.at(id);
    const dim_t span
            = support::tensor_t {port.type, port.dims, port.strides}.span();
    for (dim_t i = 0; i < span; ++i) {
        const double value
                = low
                  + (high - low) * static_cast<double>(random_.between(0, 1000))
                            / 1000;
        const uint32_t bits
                = is_float(port.type)
                          ? support::round_to(
                                    support::format_of(port.type), value)
                          : static_cast<uint32_t>(std::lround(value));
        support::put_bits(port.type, port.buffer->data(), i, bits);
    }
}

dims_t attention_graph_t::shape(dim_t rows, dim_t cols, bool of_cache) const {
    dims_t dims {c_.batch, c_.heads};
    if (c_.is_grouped) dims.push_back(of_cache ? 1 : c_.group);
    dims.push_back(rows);
    dims.push_back(cols);
    return dims;
}

attention_graph_t::cached_t attention_graph_t::cached(
        t type, dim_t numbers, bool is_keys) {
    const bool by_number
            = is_keys
              && (c_.cache == cache_t::strided || c_.cache == cache_t::dense);
    dims_t dims = by_number ? shape(numbers, c_.tokens, true)
                            : shape(c_.tokens, numbers, true);
    // In memory a token's numbers are side by side, unless it is `dense`.
    const dim_t allocated
            = c_.tokens + (c_.cache == cache_t::padded ? room_for_tokens : 0);
    dims_t physical = c_.cache == cache_t::dense
                              ? shape(numbers, c_.tokens, true)
                              : shape(allocated, numbers, true);
    dims_t strides = support::dense_strides(physical);
    if ((c_.cache == cache_t::dense) != by_number)
        std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
    cached_t result;
    result.is_quantized = !is_float(type);
    result.numbers = dims.size() - (by_number ? 2 : 1);
    result.groups.assign(dims.size(), 1);
    result.integers = add(type, dims, strides);
    result.value = result.integers;
    if (!result.is_quantized) {
        fill(result.integers, -1, 1);
        return result;
    }
    const bool is_signed = type == t::s8 || type == t::s4;
    const double half = bits_of(type) == 8 ? 127 : 7;
    fill(result.integers, is_signed ? -half : 0, is_signed ? half : 2 * half);
    dequantize(type, result);
    return result;
}

void attention_graph_t::dequantize(t type, cached_t &cached) {
    const dims_t dims = ports_.at(cached.integers).dims;
    const size_t numbers = cached.numbers;
    dims_t of_parameters {1};
    switch (c_.granularity) {
    case granularity_t::tensor: cached.groups = dims; break;
    case granularity_t::channel:
        cached.groups = dims;
        cached.groups[numbers] = 1;
        of_parameters = {dims[numbers]};
        break;
    case granularity_t::token: cached.groups[numbers] = dims[numbers]; break;
    case granularity_t::groups:
        cached.groups[numbers] = std::max<dim_t>(dims[numbers] / 2, 1);
        break;
    case granularity_t::ragged:
        cached.groups[numbers] = dims[numbers] / 2 + 1;
        break;
    }
    const bool is_grouped = c_.granularity != granularity_t::tensor
                            && c_.granularity != granularity_t::channel;
    if (is_grouped) {
        of_parameters = dims;
        of_parameters[numbers] = div_up(dims[numbers], cached.groups[numbers]);
    }
    cached.scales = add(c_.type, of_parameters);
    const double largest = bits_of(type) == 8 ? 1. / 64 : 1. / 4;
    fill(cached.scales, largest / 2, largest);
    std::vector<size_t> inputs {cached.integers, cached.scales};
    if (c_.has_zps) {
        const bool is_signed = type == t::s8 || type == t::s4;
        cached.zps = add(is_signed ? t::s8 : t::u8, of_parameters);
        const double zp = bits_of(type) == 8 ? 100 : 7;
        fill(cached.zps, is_signed ? -zp / 10 : zp,
                is_signed ? zp / 10 : 1.2 * zp);
        inputs.push_back(cached.zps);
    }
    cached.value = value(c_.type, dims);
    op &dequantize = then(kind::DynamicDequantize, inputs, cached.value);
    dequantize.set_attr<std::string>(op::attr::qtype,
            is_grouped                                 ? "per_group"
            : c_.granularity == granularity_t::channel ? "per_channel"
                                                       : "per_tensor");
    dequantize.set_attr<int64_t>(op::attr::axis, static_cast<int64_t>(numbers));
    if (is_grouped)
        dequantize.set_attr<std::vector<int64_t>>(
                op::attr::group_shape, cached.groups);
}

size_t attention_graph_t::scale_scores(size_t scores) {
    if (c_.scale == scale_t::none) return scores;
    const dims_t &dims = ports_.at(scores).dims;
    const bool divides = c_.scale == scale_t::divide;
    scale_ = add(c_.scores, c_.scale == scale_t::of_all ? dims : dims_t {1});
    const double by = std::sqrt(static_cast<double>(c_.head));
    fill(scale_, divides ? by : 0.8 / by, divides ? by : 1 / by);
    const size_t scaled = value(c_.scores, dims);
    then(divides ? kind::Divide : kind::Multiply, {scores, scale_}, scaled);
    return scaled;
}

size_t attention_graph_t::cap_scores(size_t scores) {
    if (!c_.caps) return scores;
    const dims_t &dims = ports_.at(scores).dims;
    cap_ = add(c_.scores, {1});
    fill(cap_, cap, cap);
    const size_t divided = value(c_.scores, dims),
                 bent = value(c_.scores, dims), scaled = value(c_.scores, dims);
    then(kind::Divide, {scores, cap_}, divided);
    then(kind::Tanh, {divided}, bent);
    then(kind::Multiply, {bent, cap_}, scaled);
    return scaled;
}

size_t attention_graph_t::causal_condition(size_t scores) {
    const dims_t &dims = ports_.at(scores).dims;
    const auto rank = static_cast<int64_t>(dims.size());
    size_t rows = value(t::s32, dims);
    const size_t tokens = value(t::s32, dims);
    then(kind::GenIndex, {scores}, rows)
            .set_attr<int64_t>(op::attr::axis, rank - 2);
    then(kind::GenIndex, {scores}, tokens)
            .set_attr<int64_t>(op::attr::axis, -1);
    if (c_.mask == mask_t::bottom_right)
        for (const bool adds : {true, false}) {
            const size_t by = add(t::s32, {1});
            const auto length = static_cast<double>(adds ? c_.tokens : c_.rows);
            fill(by, length, length);
            const size_t moved = value(t::s32, dims);
            then(adds ? kind::Add : kind::Subtract, {rows, by}, moved);
            rows = moved;
        }
    const size_t condition = value(t::undef, dims);
    then(kind::GreaterEqual, {rows, tokens}, condition);
    return condition;
}

size_t attention_graph_t::mask_scores(size_t scores) {
    if (c_.mask == mask_t::none) return scores;
    const dims_t dims = ports_.at(scores).dims;
    const size_t masked = value(c_.scores, dims);
    if (c_.mask == mask_t::row || c_.mask == mask_t::all) {
        dims_t of_mask = dims;
        if (c_.mask == mask_t::row) {
            of_mask.assign(dims.size(), 1);
            of_mask.back() = dims.back();
        }
        mask_ = add(c_.scores, of_mask);
        fill(mask_, -2, 2);
        then(kind::Add, {scores, mask_}, masked);
        return masked;
    }
    fill_ = add(c_.scores, {1});
    fill(fill_, -30000, -30000);
    size_t condition = 0;
    if (c_.mask == mask_t::causal || c_.mask == mask_t::bottom_right)
        condition = causal_condition(scores);
    else {
        dims_t of_mask(dims.size(), 1);
        of_mask[0] = dims[0];
        of_mask[dims.size() - 2] = dims[dims.size() - 2];
        of_mask.back() = dims.back();
        condition = mask_ = add(t::undef, of_mask);
        auto *const bytes
                = static_cast<unsigned char *>(ports_.at(mask_).buffer->data());
        for (size_t i = 0; i < ports_.at(mask_).buffer->size(); ++i)
            bytes[i] = random_.one_in(3) == (c_.mask == mask_t::select_fill);
    }
    if (c_.mask == mask_t::select_fill)
        then(kind::Select, {condition, fill_, scores}, masked);
    else then(kind::Select, {condition, scores, fill_}, masked);
    return masked;
}

void attention_graph_t::end_with(size_t heads) {
    const dims_t dims = ports_.at(heads).dims;
    dst_ = heads;
    if (c_.tail == tail_t::cast) {
        dst_ = value(c_.type == t::f32 ? t::bf16 : t::f32, dims);
        then(kind::TypeCast, {heads}, dst_);
    }
    if (c_.tail != tail_t::transpose) return;
    std::vector<int64_t> order;
    for (size_t d = 0; d < dims.size(); ++d)
        order.push_back(static_cast<int64_t>(d));
    std::swap(order[1], order[dims.size() - 2]);
    dims_t moved = dims;
    std::swap(moved[1], moved[dims.size() - 2]);
    dst_ = value(c_.type, moved);
    then(kind::StaticTranspose, {heads}, dst_)
            .set_attr<std::vector<int64_t>>(op::attr::order, order);
}

attention_graph_t::attention_graph_t(const attention_case_t &c)
    : c_(c)
    , random_(c.seed) {
    query_ = add(c.type, shape(c.rows, c.head, false));
    fill(query_, -1, 1);
    keys_ = cached(c.keys, c.head, true);
    const size_t product = value(c.scores, shape(c.rows, c.tokens, false));
    then(kind::MatMul, {query_, keys_.value}, product)
            .set_attr<bool>(op::attr::transpose_b,
                    c.cache == cache_t::tokens || c.cache == cache_t::padded);
    const size_t masked = mask_scores(cap_scores(scale_scores(product)));
    const size_t weights = value(c.type, ports_.at(masked).dims);
    op &softmax = then(kind::SoftMax, {masked}, weights);
    softmax.set_attr<int64_t>(op::attr::axis, -1);
    if (c.masked_rows_are_zero)
        softmax.set_attr<std::string>(op::attr::mode, "inf_as_zero");
    values_ = cached(c.values, c.cols, false);
    const size_t heads = value(c.type, shape(c.rows, c.cols, false));
    then(kind::MatMul, {weights, values_.value}, heads);
    end_with(heads);
}

std::vector<partition> attention_graph_t::partitions() {
    graph g(dnnl::engine::kind::cpu);
    for (const op &o : ops_)
        g.add_op(o);
    g.finalize();
    return g.get_partitions();
}

bool attention_graph_t::run(const partition &p) {
    std::vector<logical_tensor> inputs, outputs;
    for (const auto &port : p.get_input_ports())
        inputs.push_back(ports_.at(port.get_id()).tensor);
    for (const auto &port : p.get_output_ports())
        outputs.push_back(ports_.at(port.get_id()).tensor);
    const auto compiled = compile_or_throw(p, inputs, outputs);
    const auto bind = [&](const std::vector<logical_tensor> &tensors) {
        std::vector<tensor> bound;
        for (const logical_tensor &logical : tensors)
            bound.emplace_back(logical, cpu_engine(),
                    ports_.at(logical.get_id()).buffer->data());
        return bound;
    };
    compiled.execute(cpu_stream(), bind(inputs), bind(outputs));
    return ports_.at(dst_).buffer->intact();
}

} // namespace e2e
} // namespace dnnl_dequant
