// What is made of constant weights once, instead of each time.

#include <algorithm>

#include "lower/matmul.hpp"
#include "lower/matmul_sizes.hpp"
#include "lower/ports.hpp"

namespace dnnl_dequant {

namespace {

// Every tensor that the weights are made of, if only of an attribute.
bool has_constant_weights(const lowered_t &lowered, const matmul_plan_t &plan) {
    const auto first = lowered.operands.begin()
                       + static_cast<std::ptrdiff_t>(plan.src_operands);
    return std::all_of(first,
            first + static_cast<std::ptrdiff_t>(plan.weights_operands),
            [&](const source_t &source) {
        return source.constant >= 0
               || find_port(lowered.inputs, source.tensor)->property
                          == dnnl_graph_tensor_property_constant;
    });
}

} // namespace

result_t lower_repacked(const composition_t &composition, isa_t isa,
        int threads, lowered_t &lowered) {
    implementation_t &implementation = lowered.implementation;
    const matmul_plan_t &plan = implementation.matmul->plan();
    // Of others the sums would have other bits.
    if (!plan.integers || !has(isa, isa_avx512_core_vnni)
            || plan.rows > most_repacked_rows
            || !has_constant_weights(lowered, plan))
        return {};
    lowered_t repacked;
    repacked.inputs = lowered.inputs;
    repacked.outputs = lowered.outputs;
    const result_t result = lower_product(composition,
            {isa, threads, dnnl_fpmath_mode_strict, true}, repacked);
    const auto &made = repacked.implementation.matmul;
    if (result.ok() && made->plan().integers) implementation.repacked = made;
    return result;
}

} // namespace dnnl_dequant
