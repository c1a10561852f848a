#ifndef TESTS_PROBLEM_CHAIN_MODEL_HPP
#define TESTS_PROBLEM_CHAIN_MODEL_HPP

#include <functional>
#include <memory>

#include "problem/chain.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {

/// A tensor's memory: elements of its type, with any values.
struct chain_buffer_t {
    data_type_t type = data_type_t::undef;
    std::vector<unsigned char> bytes;
};

/// A value as plain numbers, one a point of its shape in row-major order. Each
/// op changes them by index arithmetic alone, and chain_t has to give the same.
/// Operands are filled with random values as they join.
class chain_model_t {
public:
    explicit chain_model_t(support::random_t &random)
        : random_(&random) {}

    void begin(data_type_t type, const dims_t &shape, const dims_t &strides);
    void apply(step_kind_t kind, const chain_t::view_t &view);
    void clamp(float lower, float upper);
    void set_type(data_type_t type);
    void add(const chain_model_t &other);
    void transpose(const std::vector<size_t> &order);
    void reshape(const dims_t &shape) { shape_ = shape; }

    const dims_t &shape() const { return shape_; }
    data_type_t type() const { return type_; }
    const std::vector<chain_buffer_t> &operands() const { return operands_; }

    /// Runs the problem by the reference kernel, on the model's operands and a
    /// dst of these strides, and compares. Empty if equal.
    std::string difference(
            const problem_t &problem, const dims_t &dst_strides) const;

    /// The same of two problems, of which the second begins with what the first
    /// one makes of so many operands, dense in row-major order, of `between`.
    std::string difference(const problem_t &first, size_t operands,
            data_type_t between, const problem_t &rest,
            const dims_t &dst_strides) const;

private:
    std::string difference(
            const std::function<std::string(const std::vector<void *> &)> &run,
            const dims_t &dst_strides) const;
    chain_buffer_t new_operand(data_type_t type, dim_t elements);

    support::random_t *random_;
    dims_t shape_;
    data_type_t type_ = data_type_t::undef;
    std::vector<double> values_; // exact while nothing was computed
    bool is_integer_ = false;
    std::vector<chain_buffer_t> operands_;
};

/// The next index of a shape in row-major order; false after the last.
bool advance(dims_t &index, const dims_t &shape);

dim_t product(const dims_t &shape);

} // namespace dnnl_dequant

#endif
