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

result_t add_repacked(const composition_t &composition,
        const product_target_t &target, const matmul_plan_t &product,
        lowered_t &lowered) {
    // Of others the sums would have other bits.
    if (!product.integers || !has(target.isa, isa_avx512_core_vnni)
            || product.rows > most_repacked_rows
            || !has_constant_weights(lowered, product))
        return {};
    lowered_t same_ports;
    same_ports.inputs = lowered.inputs;
    same_ports.outputs = lowered.outputs;
    product_target_t repacks = target;
    repacks.repacks = true;
    std::shared_ptr<const matmul_t> made;
    const result_t result
            = make_product(composition, repacks, same_ports, made);
    if (!result.ok() || !made->plan().integers) return result;
    const matmul_plan_t &plan = made->plan();
    lowered.implementation.name = made->name();
    lowered.implementation.repacked
            = std::make_shared<const repacked_t>(repacked_t {plan.src_operands,
                    plan.weights_operands, plan.integers->repacked_bytes(),
                    make_repack_stage(made), make_workload(made)});
    return {};
}

} // namespace dnnl_dequant
