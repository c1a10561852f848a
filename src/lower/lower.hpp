#ifndef LOWER_LOWER_HPP
#define LOWER_LOWER_HPP

#include <memory>
#include <string>
#include <vector>

#include "base/isa.hpp"
#include "base/status.hpp"
#include "kernels/stage.hpp"
#include "partition/partition.hpp"

namespace dnnl_dequant {

/// A product by constant weights that are repacked once. The plain product
/// serves, to the same bits, where they cannot be kept.
struct repacked_t {
    /// The operands that the weights are made of. Repacked ones take the place
    /// of the first; the others are not read.
    size_t first_operand = 0, operands = 0;
    dim_t bytes = 0;
    stage_t repack; // to the shared memory
    workload_t workload;
};

/// The kernels that carry a problem out.
struct implementation_t {
    /// The name in impl_info and in the log: "jit_dequantize_avx512_core".
    std::string name;
    workload_t workload;
    /// Outputs other than dst are written even where dst has no elements.
    bool runs_without_elements = false;
    std::shared_ptr<const repacked_t> repacked; // or null
};

/// A partition for given shapes, ready to execute.
struct lowered_t {
    std::vector<logical_tensor_t> inputs;  // ports, with shapes and strides
    std::vector<logical_tensor_t> outputs; // inferred where they were not told
    problem_t problem;
    /// The source of each operand. For a product the operands of src come
    /// first, then those of the weights; the problem's first operand has none.
    std::vector<source_t> operands;
    std::vector<constant_t> constants; // those that no tensor holds
    /// Inputs that must hold zeros only (ONNX: zero points of small floats);
    /// looked at when executed, before anything is written.
    std::vector<logical_tensor_t> must_be_zero;
    /// Inputs, each with the output that may take its place.
    std::vector<dnnl_graph_inplace_pair_t> inplace;
    implementation_t implementation;
    /// Why implementations that are tried before this one were not taken: a
    /// line each, "name: reason".
    std::string not_taken;
};

/// Lowers a partition.
/// @param inputs, outputs Logical tensors as the user gave them to compile, in
///     any order, found by id.
/// @param isa The instructions that kernels may use.
/// @param threads The number of threads that it will most likely run on.
/// @param keeps_constants True if values made of constant tensors may be kept
///     from one execution to the next.
/// @returns success, or one of these with a sentence:
/// - invalid_arguments: a port is missing or its layout is unknown, or an op of
///   oneDNN's has another number of scales or zero points;
/// - invalid_data_type, invalid_shape, invalid_graph_op: ports do not fit the
///   partition or each other;
/// - unimplemented: only oneDNN can serve this (opaque layouts).
result_t lower(const partition_t &partition,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, isa_t isa, int threads,
        bool keeps_constants, lowered_t &lowered);

/// The first kernel of ours, best first, that takes the problem.
result_t choose_kernel(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel);

/// The first implementation, best first, that takes the problem; why those
/// before it did not is logged.
result_t choose_implementation(
        const problem_t &problem, isa_t isa, implementation_t &implementation);

} // namespace dnnl_dequant

#endif
