#ifndef LOWER_LOWER_HPP
#define LOWER_LOWER_HPP

#include <memory>
#include <vector>

#include "base/isa.hpp"
#include "base/status.hpp"
#include "kernels/kernel.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/quantize/dynamic_quantize.hpp"
#include "kernels/quantize/spelled_quantize.hpp"
#include "partition/partition.hpp"
#include "primitives/reorder.hpp"

namespace dnnl_dequant {

/// What carries a problem out: one of our kernels, one that finds its
/// parameters first (by an op's formula, or by one that ops spell out), a
/// product whose elements the problem begins with, or a primitive of oneDNN's.
/// Exactly one is set, but for what may be repacked.
struct implementation_t {
    std::shared_ptr<const kernel_t> kernel;
    std::shared_ptr<const dynamic_quantize_t> dynamic;
    std::shared_ptr<const spelled_quantize_t> spelled;
    std::shared_ptr<const matmul_t> matmul;
    std::shared_ptr<const reorder_t> primitive;
    /// The product by weights that are repacked once, to the same bits, or
    /// null; `matmul` serves where they cannot be kept.
    std::shared_ptr<const matmul_t> repacked;

    const char *name() const {
        if (repacked) return repacked->name();
        if (matmul) return matmul->name();
        if (dynamic) return dynamic->name();
        if (spelled) return spelled->name.c_str();
        return kernel ? kernel->name() : primitive->name();
    }
};

/// A partition for given shapes, ready to execute.
struct lowered_t {
    std::vector<logical_tensor_t> inputs;  // ports, with shapes and strides
    std::vector<logical_tensor_t> outputs; // inferred where they were not told
    problem_t problem;
    /// Where each operand comes from; of a product, those of src and of the
    /// weights come first, and the problem's first is none.
    std::vector<source_t> operands;
    std::vector<constant_t> constants; // those that no tensor holds
    /// Inputs that must hold zeros only (ONNX: zero points of small floats);
    /// looked at when executed, before anything is written.
    std::vector<logical_tensor_t> must_be_zero;
    /// Inputs, each with the output that may take its place.
    std::vector<dnnl_graph_inplace_pair_t> inplace;
    implementation_t implementation;
};

/// Lowers a partition.
/// @param inputs, outputs Logical tensors as the user gave them to compile,
///     in any order, found by id.
/// @param isa What kernels may use.
/// @param threads What it will run on, most likely.
/// @param keeps_constants What is made of constant tensors may be kept from
///     one execution to the next.
/// @returns invalid_arguments where a port is missing or its layout unknown,
///     invalid_data_type, invalid_shape or invalid_graph_op where they do not
///     fit the partition or each other, unimplemented for what only oneDNN
///     can serve (opaque layouts); always with a sentence.
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
