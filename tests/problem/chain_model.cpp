#include "problem/chain_model.hpp"

#include "kernels/elementwise/elementwise.hpp"
#include "support/dequantize_case.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {

using support::float_at;
using support::format_of;
using support::integer_at;

namespace {

double rounded(data_type_t type, double value) {
    const auto &format = format_of(type);
    return support::value_of(format, support::round_to(format, value));
}

double value_at(const chain_buffer_t &buffer, dim_t element) {
    const void *data = buffer.bytes.data();
    return is_integer(buffer.type)
                   ? static_cast<double>(integer_at(buffer.type, data, element))
                   : float_at(buffer.type, data, element);
}

dim_t element_at(const chain_t::view_t &view, const dims_t &index) {
    dim_t element = 0;
    for (size_t d = 0; d < index.size(); ++d)
        element += index[d] / view.along[d].group * view.along[d].stride;
    return element;
}

chain_t::view_t view_of(data_type_t type, const dims_t &strides) {
    chain_t::view_t view {type, {}};
    for (const dim_t stride : strides)
        view.along.push_back({stride, 1});
    return view;
}

// The elements of each point in turn; none for an empty shape.
std::vector<dim_t> elements_of(
        const chain_t::view_t &view, const dims_t &shape) {
    std::vector<dim_t> elements;
    if (product(shape) == 0) return elements;
    dims_t index(shape.size(), 0);
    do
        elements.push_back(element_at(view, index));
    while (advance(index, shape));
    return elements;
}

dim_t span_of(const std::vector<dim_t> &elements) {
    dim_t span = 0;
    for (const dim_t element : elements)
        span = std::max(span, element + 1);
    return span;
}

} // namespace

bool advance(dims_t &index, const dims_t &shape) {
    for (size_t d = shape.size(); d-- > 0;) {
        if (++index[d] < shape[d]) return true;
        index[d] = 0;
    }
    return false;
}

dim_t product(const dims_t &shape) {
    dim_t result = 1;
    for (const dim_t dim : shape)
        result *= dim;
    return result;
}

chain_buffer_t chain_model_t::new_operand(data_type_t type, dim_t elements) {
    chain_buffer_t buffer {type, {}};
    buffer.bytes.resize(static_cast<size_t>(bytes_of(type, elements)));
    if (is_integer(type))
        support::fill_integers(
                type, buffer.bytes.data(), buffer.bytes.size(), *random_);
    else
        support::fill_floats(type, buffer.bytes.data(), buffer.bytes.size(),
                random_->one_in(2) ? support::values_t::any
                                   : support::values_t::ordinary,
                *random_);
    return buffer;
}

void chain_model_t::begin(
        data_type_t type, const dims_t &shape, const dims_t &strides) {
    shape_ = shape;
    type_ = type;
    is_integer_ = is_integer(type);
    const auto elements = elements_of(view_of(type, strides), shape);
    operands_ = {new_operand(type, span_of(elements))};
    values_.clear();
    for (const dim_t element : elements)
        values_.push_back(value_at(operands_[0], element));
}

void chain_model_t::apply(step_kind_t kind, const chain_t::view_t &view) {
    const auto elements = elements_of(view, shape_);
    operands_.push_back(new_operand(view.type, span_of(elements)));
    const auto f32
            = [](double value) { return rounded(data_type_t::f32, value); };
    const bool exact = is_integer_ && is_integer(view.type);
    for (size_t i = 0; i < values_.size(); ++i) {
        double a = values_[i], b = value_at(operands_.back(), elements[i]);
        // Two integers of at most 32 bits: doubles hold their difference.
        if (kind != step_kind_t::subtract || !exact) a = f32(a), b = f32(b);
        values_[i] = f32(kind == step_kind_t::subtract ? a - b
                         : kind == step_kind_t::add    ? a + b
                                                       : a * b);
    }
    is_integer_ = false;
}

void chain_model_t::clamp(float lower, float upper) {
    for (double &value : values_) {
        value = rounded(data_type_t::f32, value);
        if (!(value > static_cast<double>(lower))) value = lower;
        if (!(value < static_cast<double>(upper))) value = upper;
    }
    is_integer_ = false;
}

void chain_model_t::set_type(data_type_t type) {
    for (double &value : values_)
        value = rounded(type, rounded(data_type_t::f32, value));
    type_ = type;
    is_integer_ = false;
}

void chain_model_t::add(const chain_model_t &other) {
    for (size_t i = 0; i < values_.size(); ++i)
        values_[i] = rounded(data_type_t::f32,
                rounded(data_type_t::f32, values_[i])
                        + rounded(data_type_t::f32, other.values_[i]));
    operands_.insert(
            operands_.end(), other.operands_.begin(), other.operands_.end());
    is_integer_ = false;
}

void chain_model_t::transpose(const std::vector<size_t> &order) {
    dims_t shape, from;
    const dims_t strides = support::dense_strides(shape_);
    for (const size_t d : order) {
        shape.push_back(shape_[d]);
        from.push_back(strides[d]);
    }
    std::vector<double> values;
    for (const dim_t element : elements_of(view_of(type_, from), shape))
        values.push_back(values_[static_cast<size_t>(element)]);
    values_ = std::move(values);
    shape_ = shape;
}

namespace {

// Runs the reference kernel. Returns what is wrong with the problem, or
// nothing.
std::string run_problem(
        const problem_t &problem, const std::vector<void *> &buffers) {
    std::shared_ptr<const kernel_t> kernel;
    const result_t made = make_ref_elementwise(problem, isa_none, kernel);
    if (!made.ok()) return made.reason;
    if (problem.operands.size() != buffers.size())
        return "another number of operands";
    kernel->run(buffers.data(), 0, kernel->work_amount());
    return "";
}

} // namespace

std::string chain_model_t::difference(
        const std::function<std::string(const std::vector<void *> &)> &run,
        const dims_t &dst_strides) const {
    const auto elements = elements_of(view_of(type_, dst_strides), shape_);
    const dim_t span = span_of(elements);
    std::vector<unsigned char> got(static_cast<size_t>(bytes_of(type_, span)));
    auto expected = got;
    for (size_t i = 0; i < elements.size(); ++i)
        support::put_bits(type_, expected.data(), elements[i],
                support::round_to(format_of(type_), values_[i]));
    std::vector<void *> buffers;
    for (const chain_buffer_t &operand : operands_)
        buffers.push_back(const_cast<unsigned char *>(operand.bytes.data()));
    buffers.push_back(got.data());
    const std::string wrong = run(buffers);
    if (!wrong.empty()) return wrong;
    return support::difference(type_, expected.data(), got.data(), span);
}

std::string chain_model_t::difference(
        const problem_t &problem, const dims_t &dst_strides) const {
    return difference([&](const std::vector<void *> &buffers) {
        return run_problem(problem, buffers);
    }, dst_strides);
}

std::string chain_model_t::difference(const problem_t &first, size_t operands,
        data_type_t between, const problem_t &rest,
        const dims_t &dst_strides) const {
    return difference([&](const std::vector<void *> &buffers) {
        std::vector<unsigned char> value(
                static_cast<size_t>(bytes_of(between, product(shape_))));
        const auto cut
                = buffers.begin() + static_cast<std::ptrdiff_t>(operands);
        std::vector<void *> of_first(buffers.begin(), cut);
        of_first.push_back(value.data());
        std::vector<void *> of_rest {value.data()};
        of_rest.insert(of_rest.end(), cut, buffers.end());
        const std::string wrong = run_problem(first, of_first);
        return wrong.empty() ? run_problem(rest, of_rest) : wrong;
    }, dst_strides);
}

} // namespace dnnl_dequant
