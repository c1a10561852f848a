// Computes attention op by op in double, and how near dst is to it.

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "e2e/attention_graph.hpp"
#include "e2e/plugin.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {

using support::tensor_t;
using t = data_type_t;
using kind = op::kind;

namespace {

using numbers_t = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();
// Masks have larger ones, which are no scores.
constexpr double largest_ordinary = 1000;

// Calls body(n, index) for each point, in row-major order.
template <typename Body>
void for_each_point(const dims_t &dims, Body &&body) {
    dims_t index(dims.size(), 0);
    const dim_t count = tensor_t {t::f32, dims, {}}.count();
    for (dim_t n = 0; n < count; ++n) {
        body(static_cast<size_t>(n), index);
        for (size_t d = dims.size(); d-- > 0;) {
            if (++index[d] < dims[d]) break;
            index[d] = 0;
        }
    }
}

// Returns the place of the point `index` in a dense tensor that broadcasts to
// it.
size_t place_of(const dims_t &dims, const dims_t &index) {
    const size_t more = index.size() - dims.size();
    dim_t place = 0;
    for (size_t d = 0; d < dims.size(); ++d)
        place = place * dims[d] + (dims[d] == 1 ? 0 : index[more + d]);
    return static_cast<size_t>(place);
}

bool is_16_bits(t type) {
    return type == t::bf16 || type == t::f16;
}

class evaluator_t {
public:
    evaluator_t(const attention_graph_t &g, const chain_values_t &values)
        : g_(g)
        , values_(values)
        , of_(g.roles.size()) {}

    attention_answer_t run() {
        for (size_t id = 0; id <= g_.last; ++id) {
            const chain_node_t &node = g_.ops.nodes[id];
            const size_t output = node.outputs[0];
            of_[output] = compute(id);
            const t type = g_.ops.tensors[output].type;
            if (!is_floating(type)) continue;
            // Scores and what follows them are not rounded.
            if (id < g_.scores)
                for (double &number : of_[output])
                    number = rounded(type, number);
            else if (id < g_.weights) note(of_[output], answer_.largest_score);
        }
        const chain_node_t &product = g_.ops.nodes[g_.product];
        note(input(product, 1), answer_.largest_value);
        answer_.dst = of_[g_.dst()];
        note(answer_.dst, answer_.largest);
        return answer_;
    }

private:
    static void note(const numbers_t &numbers, double &largest) {
        for (const double number : numbers)
            if (std::fabs(number) < largest_ordinary)
                largest = std::max(largest, std::fabs(number));
    }

    static double rounded(t type, double value) {
        const auto &format = support::format_of(type);
        return support::value_of(format, support::round_to(format, value));
    }

    const dims_t &dims(const chain_node_t &node, size_t i) const {
        return g_.ops.tensors[node.inputs[i]].dims;
    }

    const numbers_t &input(const chain_node_t &node, size_t i) {
        const size_t id = node.inputs[i];
        if (of_[id].empty())
            of_[id] = numbers_of(g_.ops.tensors[id], values_[id].data());
        return of_[id];
    }

    numbers_t compute(size_t id) {
        const chain_node_t &node = g_.ops.nodes[id];
        const tensor_t &output = g_.ops.tensors[node.outputs[0]];
        if (dequantizes(node)) {
            e2e::compute(g_.ops, id, values_);
            return numbers_of(output, values_[node.outputs[0]].data());
        }
        switch (node.kind) {
        case kind::MatMul: return multiply(node, output.dims);
        case kind::SoftMax: return soft_max(node);
        case kind::StaticTranspose: return transpose(node, output.dims);
        case kind::GenIndex: {
            const auto rank = static_cast<int64_t>(output.dims.size());
            const auto along = static_cast<size_t>(
                    node.along < 0 ? node.along + rank : node.along);
            numbers_t indices(static_cast<size_t>(output.count()));
            for_each_point(output.dims, [&](size_t n, const dims_t &index) {
                indices[n] = static_cast<double>(index[along]);
            });
            return indices;
        }
        default: return combine(node, output);
        }
    }

    // Ops of points; what is not known here leaves them as they are.
    numbers_t combine(const chain_node_t &node, const tensor_t &output) {
        numbers_t result = input(node, 0);
        if (node.inputs.size() == 1) {
            for (double &number : result)
                if (node.kind == kind::Tanh) number = std::tanh(number);
                else if (node.kind == kind::Exp) number = std::exp(number);
            return result;
        }
        result.resize(static_cast<size_t>(output.count()));
        const auto at = [&](size_t i, const dims_t &index) {
            return input(node, i)[place_of(dims(node, i), index)];
        };
        for_each_point(output.dims, [&](size_t n, const dims_t &index) {
            const double a = at(0, index), b = at(1, index);
            switch (node.kind) {
            case kind::Add: result[n] = a + b; break;
            case kind::Subtract: result[n] = a - b; break;
            case kind::Multiply: result[n] = a * b; break;
            case kind::Divide: result[n] = a / b; break;
            case kind::GreaterEqual: result[n] = a >= b ? 1 : 0; break;
            default: result[n] = a != 0 ? b : at(2, index); // Select
            }
        });
        return result;
    }

    numbers_t multiply(const chain_node_t &node, const dims_t &shape) {
        const numbers_t &a = input(node, 0), &b = input(node, 1);
        const auto depth = static_cast<size_t>(dims(node, 0).back());
        const auto cols = static_cast<size_t>(shape.back());
        const size_t along_depth = node.transpose_b ? 1 : cols;
        const size_t along_cols = node.transpose_b ? depth : 1;
        numbers_t result;
        dims_t rows = shape;
        rows.back() = 1;
        for_each_point(rows, [&](size_t n, dims_t index) {
            const double *const row = a.data() + n * depth;
            index[index.size() - 2] = 0;
            const double *const from
                    = b.data() + place_of(dims(node, 1), index);
            numbers_t sums(cols, 0);
            for (size_t k = 0; k < depth; ++k)
                for (size_t c = 0; c < cols; ++c)
                    sums[c] += row[k] * from[k * along_depth + c * along_cols];
            result.insert(result.end(), sums.begin(), sums.end());
        });
        return result;
    }

    numbers_t soft_max(const chain_node_t &node) {
        numbers_t result = input(node, 0);
        const auto tokens = static_cast<size_t>(dims(node, 0).back());
        for (size_t row = 0; row < result.size(); row += tokens) {
            double *const scores = result.data() + row;
            const double most = *std::max_element(scores, scores + tokens);
            double sum = 0;
            for (size_t i = 0; i < tokens; ++i) {
                scores[i] = std::exp(scores[i] - most);
                sum += scores[i];
            }
            answer_.stats.push_back(most + std::log(sum));
            for (size_t i = 0; i < tokens; ++i)
                scores[i] = most == -infinity && node.mode == "inf_as_zero"
                                    ? 0
                                    : scores[i] / sum;
        }
        if (node.outputs.size() > 1) of_[node.outputs[1]] = answer_.stats;
        return result;
    }

    numbers_t transpose(const chain_node_t &node, const dims_t &shape) {
        const numbers_t &from = input(node, 0);
        numbers_t result(from.size());
        for_each_point(shape, [&](size_t n, const dims_t &index) {
            dims_t source(index.size());
            for (size_t d = 0; d < index.size(); ++d)
                source[static_cast<size_t>(node.order[d])] = index[d];
            result[n] = from[place_of(dims(node, 0), source)];
        });
        return result;
    }

    const attention_graph_t &g_;
    const chain_values_t &values_;
    std::vector<numbers_t> of_; // each tensor, row-major
    attention_answer_t answer_;
};

// A unit in the last place of `value`.
double unit_of(t type, double value) {
    const auto &format = support::format_of(type);
    const int exponent
            = value == 0 ? format.least_exponent
                         : std::max(std::ilogb(value), format.least_exponent);
    return std::ldexp(1, exponent - format.fraction_bits);
}

// The error that a point may have, dst's own rounding aside.
double bound_of(const attention_graph_t &g, const attention_answer_t &answer) {
    int fraction_bits = support::format_of(t::f32).fraction_bits;
    for (size_t n = 0; n < g.product; ++n) {
        const t type = g.ops.tensors[g.ops.nodes[n].outputs[0]].type;
        if (is_16_bits(type))
            fraction_bits = std::min(
                    fraction_bits, support::format_of(type).fraction_bits);
    }
    double bound = 2e-5 * answer.largest;
    if (fraction_bits < support::format_of(t::f32).fraction_bits)
        bound += std::ldexp(1, -fraction_bits - 1)
                 * std::max(answer.largest_score, 1.) * answer.largest_value;
    return bound;
}

} // namespace

numbers_t numbers_of(const tensor_t &tensor, const void *data) {
    numbers_t numbers(static_cast<size_t>(tensor.count()));
    for_each_point(tensor.dims, [&](size_t n, const dims_t &index) {
        dim_t at = tensor.offset;
        for (size_t d = 0; d < index.size(); ++d)
            at += index[d] * tensor.strides[d];
        numbers[n] = is_floating(tensor.type)
                             ? support::float_at(tensor.type, data, at)
                             : static_cast<double>(support::integer_at(
                                       tensor.type, data, at));
    });
    return numbers;
}

attention_answer_t answer_of(
        const attention_graph_t &g, const chain_values_t &values) {
    return evaluator_t(g, values).run();
}

std::string difference(const attention_case_t &c, const attention_graph_t &g,
        const attention_answer_t &answer, const void *dst) {
    const chain_node_t &last = g.ops.nodes[g.last];
    const tensor_t &tensor = g.ops.tensors[g.dst()];
    const numbers_t got = numbers_of(tensor, dst);
    const bool quantized = last.kind == kind::Quantize;
    const t narrowest = is_16_bits(tensor.type) ? tensor.type : c.type;
    const double bound = bound_of(g, answer);
    size_t wrong = 0;
    std::ostringstream text;
    for (size_t n = 0; n < got.size(); ++n) {
        double want = answer.dst[n], allowed = bound;
        if (is_16_bits(narrowest) && std::isfinite(want))
            allowed += 2 * unit_of(narrowest, want);
        // Weights of 0 only, or values that happen to add up to 0.
        if (want == 0) allowed = std::min(allowed, 1e-6 * answer.largest);
        if (quantized) {
            const auto step = static_cast<double>(last.scales[0]);
            want = std::isnan(want) ? 0
                                    : std::clamp(want / step + 128, 0., 255.);
            allowed = allowed / step + 0.5;
        }
        if (std::fabs(got[n] - want) <= allowed
                || (std::isnan(want) && std::isnan(got[n])))
            continue;
        if (wrong++ == 0)
            text << "element " << n << " of " << got.size() << ": expected "
                 << want << " +- " << allowed << ", got " << got[n];
    }
    if (wrong > 1) text << "; " << wrong << " elements differ";
    return text.str();
}

std::string check(const attention_case_t &c, const change_t &change) {
    const attention_graph_t g = graph_of(c);
    const chain_values_t values = values_of(c, g);
    if (change) change(g, values);
    graph built(dnnl::engine::kind::cpu);
    build(g.ops, built);
    const auto partitions = built.get_partitions();
    if (partitions.size() != 1)
        return std::to_string(partitions.size()) + " partitions";
    if (!is_ours(partitions[0])) return "a partition of oneDNN's";
    const std::string kernel = run(g.ops, partitions[0], values);
    if (kernel.rfind("attention_", 0) != 0) return "ran '" + kernel + "'";
    for (const auto &buffer : values)
        if (!buffer.intact()) return "wrote outside a buffer";
    return difference(c, g, answer_of(g, values), values[g.dst()].data());
}

} // namespace e2e
} // namespace dnnl_dequant
