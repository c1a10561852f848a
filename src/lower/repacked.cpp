// Products by weights that are constant, and so are repacked only once.

#include <algorithm>

#include "lower/matmul.hpp"
#include "lower/matmul_sizes.hpp"
#include "lower/ports.hpp"

namespace dnnl_dequant {

bool has_constant_weights(
        const lowered_t &lowered, const product_blocks_t &blocks) {
    const auto first = lowered.operands.begin()
                       + static_cast<std::ptrdiff_t>(blocks.src_operands);
    return std::all_of(first,
            first + static_cast<std::ptrdiff_t>(blocks.weights_operands),
            [&](const source_t &source) {
        return source.constant >= 0
               || find_port(lowered.inputs, source.tensor)->property
                          == dnnl_graph_tensor_property_constant;
    });
}

result_t add_repacked(const composition_t &composition,
        const product_target_t &target, const made_product_t &as_they_lie,
        lowered_t &lowered) {
    const product_blocks_t &blocks = as_they_lie.product->multiplier().blocks();
    const integer_format_t &format = as_they_lie.integers->plan().format;
    if (!has(target.isa, isa_avx512_core_vnni)
            || blocks.rows > most_repacked_rows(target.isa,
                       bits_of(format.weights), format.is_by_column())
            || !has_constant_weights(lowered, blocks))
        return {};
    lowered_t same_ports;
    same_ports.inputs = lowered.inputs;
    same_ports.outputs = lowered.outputs;
    product_target_t repacks = target;
    repacks.repacks = true;
    made_product_t made;
    const result_t result
            = make_product(composition, repacks, same_ports, made);
    if (result.status == status_t::unimplemented) return {};
    if (!result.ok()) return result;
    lowered.implementation.name = made.product->name();
    lowered.implementation.repacked = std::make_shared<const repacked_t>(
            repacked_t {blocks.src_operands, blocks.weights_operands,
                    made.integers->repacked_bytes(),
                    make_repack_stage(made.integers, blocks.src_operands),
                    make_workload(made.product)});
    return {};
}

} // namespace dnnl_dequant
