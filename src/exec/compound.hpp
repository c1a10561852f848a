#ifndef EXEC_COMPOUND_HPP
#define EXEC_COMPOUND_HPP

#include <functional>
#include <string>
#include <vector>

#include "exec/compiled_partition.hpp"

namespace dnnl_dequant {

/// A compiled partition of several parts, which run one after the other. The
/// values between them lie in one allocation of an execution's own. Immutable;
/// any number of threads may execute it at once.
struct compound_t {
    /// A value that one part gives to others.
    struct value_t {
        size_t tensor;
        dim_t count;   // elements
        size_t offset; // bytes into the scratch memory
    };

    std::vector<compiled_partition_t> parts;
    std::vector<value_t> values;
    size_t bytes = 0; // scratch memory
    std::vector<logical_tensor_t> ports;
    std::vector<dnnl_graph_inplace_pair_t> inplace;
    std::string kernels;   // of the parts, separated by ';'
    std::string not_taken; // of the parts
};

/// Fills a part for the given shapes.
using compile_part_t = std::function<result_t(compiled_partition_t &part,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs)>;

/// Compiles the parts of a compound in their order. Each part gets the shapes
/// that earlier ones have given. Values between parts are dense.
/// @returns The status of the first part that fails; invalid_arguments for a
///     missing port.
result_t compile_parts(const partition_t &partition,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs,
        const compile_part_t &compile_part,
        std::shared_ptr<const compound_t> &compound);

/// Runs a part on values that are found by id.
using execute_part_t = std::function<result_t(
        const compiled_partition_t &part, const buffer_list_t &buffers)>;

/// Runs the parts. The user's tensors are checked before anything is written.
/// @returns out_of_memory where there is none for the values between the parts;
///     invalid_arguments as executable_t::execute(); what a part returns.
result_t execute_parts(const compound_t &compound, const buffer_list_t &given,
        const execute_part_t &execute_part);

} // namespace dnnl_dequant

#endif
