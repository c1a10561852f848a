#include "lower/lower.hpp"

#include "lower/dequantize.hpp"
#include "lower/ports.hpp"

namespace dnnl_dequant {

result_t lower(const partition_t &partition,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, isa_t isa,
        lowered_t &lowered) {
    lowered = lowered_t();
    result_t result = resolve_ports(partition, inputs, outputs, lowered);
    if (!result.ok()) return result;
    switch (partition.kind) {
    case partition_kind_t::dequantize:
        result = lower_dequantize(partition, lowered);
        break;
    }
    if (!result.ok()) return result;
    return choose_implementation(lowered.problem, isa, lowered.implementation);
}

} // namespace dnnl_dequant
